#pragma once

#include <string>
#include <vector>

namespace fmd {

// What makes the figures of an audit say less than they seem to. No figure changes by it,
// but no limit passes either, unless --allow names it.
struct AuditWarning {
  std::string name;      // of audit_warning_names()
  std::string text;      // what was seen, with its figures
  bool allowed = false;  // by --allow: it is shown, and limits may pass
};

// constant_answer: every row gets the same answer. other_threshold: the audit decides at
// another threshold than the model. seen_in_training: more rows equal a training row than
// chance explains. copied_rows: more rows equal each other than the training rows explain,
// or each row stands there k times. label_is_attribute: an attribute tells every label.
[[nodiscard]] const std::vector<std::string>& audit_warning_names();

}  // namespace fmd
