#pragma once

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "fmd/report/audit_report.h"
#include "report/text.h"

// How a hidden count is written.
namespace fmd::internal::text {

inline std::string few_rows() { return fmt::format("<{}", kMaskedRows); }

inline std::string count(Index n, bool masked) { return masked ? few_rows() : count(n); }

inline bool has_masked(const GroupReport& g) {
  return std::any_of(g.groups.begin(), g.groups.end(),
                     [](const Group& group) { return group.masked; });
}

// The note where groups or labels are hidden; "" where none is.
inline std::string mask_words(const GroupReport& g) {
  const bool any = std::any_of(g.groups.begin(), g.groups.end(), [](const Group& group) {
    return group.masked || group.labels_masked;
  });
  if (!any) return "";
  return fmt::format(
      "groups and labels under {} rows are masked; other counts may be rounded",
      kMaskedRows);
}

}  // namespace fmd::internal::text
