#include "metrics/scores/scored_rows.h"

#include "core/check.h"

namespace fmd::internal {

void require_scored(const char* where, const Scored& scored) {
  require_size(where, "decision", static_cast<Index>(scored.decision.size()),
               scored.rows());
  if (scored.labelled())
    require_size(where, "y", static_cast<Index>(scored.y.size()), scored.rows());
  const bool known = scored.favorable >= -1 && scored.favorable < scored.p.cols();
  require_option(known, where, "favorable", scored.favorable,
                 fmt::format("a class below {}, or -1", scored.p.cols()));
  for (const std::int32_t y : scored.y) {
    if (y >= -1 && y < scored.p.cols()) continue;
    require_option(false, where, "y", y,
                   fmt::format("a class below {}, or -1", scored.p.cols()));
  }
}

void require_same_rows(const char* where, const Scored& before, const Scored& after) {
  require_scored(where, before);
  require_scored(where, after);
  require_size(where, "after", after.rows(), before.rows());
  if (before.y != after.y) {
    throw Error(ErrorKind::bad_shape,
                fmt::format("{}: before and after have different labels", where),
                "score the same rows in the same order with both models");
  }
}

void require_codes(const char* where, const std::vector<std::int32_t>& code, Index rows,
                   Index values) {
  require_size(where, "code", static_cast<Index>(code.size()), rows);
  for (const std::int32_t c : code) {
    if (c >= -1 && c < values) continue;
    throw Error(ErrorKind::bad_shape,
                fmt::format("{}: a row has the group {}, there are {}", where, c, values),
                "number groups from 0; rows without a group have -1");
  }
}

}  // namespace fmd::internal
