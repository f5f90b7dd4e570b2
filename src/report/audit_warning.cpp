#include "fmd/report/audit_warning.h"

namespace fmd {

const std::vector<std::string>& audit_warning_names() {
  static const std::vector<std::string> all = {"constant_answer", "other_threshold",
                                               "seen_in_training", "copied_rows",
                                               "label_is_attribute"};
  return all;
}

}  // namespace fmd
