#include "repro/specs.h"

namespace fmd::repro {

const std::vector<Spec>& specs() {
  struct Embedded {
    const char* name;
    const unsigned char* text;
    std::size_t size;
  };
  static const std::vector<Spec> kSpecs = [] {
    const Embedded all[] = {
        {"toy", kReproToy, kReproToySize},
        {"table1", kReproTable1, kReproTable1Size},
        {"table1_trained", kReproTable1_trained, kReproTable1_trainedSize},
        {"table2", kReproTable2, kReproTable2Size},
        {"table2_trained", kReproTable2_trained, kReproTable2_trainedSize},
        {"table3", kReproTable3, kReproTable3Size},
        {"table3_trained", kReproTable3_trained, kReproTable3_trainedSize},
        {"table4", kReproTable4, kReproTable4Size},
        {"table5", kReproTable5, kReproTable5Size},
        {"table6", kReproTable6, kReproTable6Size},
        {"table7", kReproTable7, kReproTable7Size},
        {"table8", kReproTable8, kReproTable8Size},
        {"samples", kReproSamples, kReproSamplesSize},
        {"hessian", kReproHessian, kReproHessianSize},
        {"pairs", kReproPairs, kReproPairsSize},
        {"overview", kReproOverview, kReproOverviewSize},
    };
    std::vector<Spec> found;
    for (const Embedded& one : all)
      found.push_back(parse_spec({reinterpret_cast<const char*>(one.text), one.size},
                                 std::string("repro/") + one.name + ".toml"));
    return found;
  }();
  return kSpecs;
}

}  // namespace fmd::repro
