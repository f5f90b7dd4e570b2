#include "repro/specs.h"

namespace fmd {

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
    };
    std::vector<Spec> found;
    for (const Embedded& one : all)
      found.push_back(parse_spec({reinterpret_cast<const char*>(one.text), one.size},
                                 std::string("repro/") + one.name + ".toml"));
    return found;
  }();
  return kSpecs;
}

}  // namespace fmd
