#include "baselines/post_rows.h"

#include <cmath>

#include <fmt/format.h>

#include "core/check.h"

namespace fmd::internal {

void require_post_rows(std::string_view where, const PostRows& rows, Index groups) {
  require_size(where, "favorable", std::ssize(rows.favorable), rows.size());
  require_size(where, "group", std::ssize(rows.group), rows.size());
  for (const std::int32_t g : rows.group)
    if (g < -1 || g >= groups) {
      throw Error(
          ErrorKind::bad_option,
          fmt::format("{}: a row has group {}, must be -1 to {}", where, g, groups - 1));
    }
  for (const double score : rows.score)
    if (!std::isfinite(score)) {
      throw Error(ErrorKind::bad_data, fmt::format("{}: a score is not finite", where));
    }
}

void throw_empty(std::string_view where, Index group, std::string_view what) {
  throw Error(ErrorKind::bad_data,
              fmt::format("{}: group {} has no row with {}", where, group, what),
              "give more rows, or leave this method out");
}

}  // namespace fmd::internal
