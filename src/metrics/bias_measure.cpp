#include "fmd/metrics/bias_measure.h"

#include "core/check.h"
#include "metrics/pair_measures.h"
#include "metrics/row_measures.h"

namespace fmd {

std::unique_ptr<BiasMeasure> make_measure(const std::string& name,
                                          const MeasureOptions& options) {
  require_option(options.groups >= 2, "measure", "groups", options.groups, ">= 2");
  require_option(options.favorable >= 0, "measure", "favorable", options.favorable, ">= 0");
  require_option(options.sharpen > 0, "measure", "sharpen", options.sharpen, "> 0");
  if (name == "co") return make_co();
  if (name == "co_tv") return make_co_tv();
  if (name == "consistency") return make_consistency();
  if (name == "demographic_parity_soft") return make_soft(name, SoftRows::all, options);
  if (name == "equal_opportunity_soft")
    return make_soft(name, SoftRows::favorable, options);
  if (name == "false_positive_soft") return make_soft(name, SoftRows::unfavorable, options);
  if (name == "loss") return make_loss();
  throw Error(ErrorKind::bad_option, fmt::format("measure: there is no measure {}", name),
              "choose one of co, co_tv, consistency, demographic_parity_soft, "
              "equal_opportunity_soft, false_positive_soft, loss");
}

}  // namespace fmd
