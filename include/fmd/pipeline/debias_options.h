#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fmd/core/fields.h"
#include "fmd/pipeline/audit.h"
#include "fmd/repair/repair_options.h"

namespace fmd {

struct DebiasOptions : RepairOptions {
  Index layers = 1;  // of a network: the top layers that are changed; those below are held
  std::vector<std::string> repair;  // attributes; empty = all of the task that are read
  double holdout_share = 0.2;
  AuditOptions audit;
};

// Every field, in the order of a receipt. The list points into `options`.
[[nodiscard]] std::vector<OptionField> fields(DebiasOptions& options);

// All options as JSON text, in the form that receipts hold, and back: a run can be repeated
// from them. parse_options throws Error(bad_model) that names the source and the key, and
// Error(bad_option) for a name that does not exist.
[[nodiscard]] std::string options_json(const DebiasOptions& options, std::uint64_t seed);
struct ParsedOptions {
  DebiasOptions options;
  std::uint64_t seed = 1;
};
[[nodiscard]] ParsedOptions parse_options(const std::string& json,
                                          const std::string& source);

}  // namespace fmd
