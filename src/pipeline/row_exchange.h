#pragma once

#include <vector>

#include "pipeline/candidates.h"

namespace fmd::internal {

// What one Newton step takes out of the training data and what it puts in. Exactly one of
// three is set: the pairs of the edit part, training rows, or training rows and their
// flips.
struct RowExchange {
  Index K = 0;
  const Study* study = nullptr;
  std::vector<Index> rows;          // remove
  std::vector<StudyPairs> pairs;    // replace
  const StudyPart* edit = nullptr;  // step

  [[nodiscard]] Vector gradient(const Head& head, const Vector& theta,
                                const Exec& exec) const;
};

struct RowExchanges {
  std::vector<RowExchange> all;           // K ascending
  double relative_gradient = kUndefined;  // of the head, where rows were ranked
};

// step: the edit part's pairs. remove and replace: training rows by their rank, for every
// K that is tried. Throws Error(bad_data) when fewer rows than asked for raise the flip
// gap.
[[nodiscard]] RowExchanges make_row_exchanges(const CandidateInput& input,
                                              const DebiasOptions& options,
                                              const Exec& exec);

}  // namespace fmd::internal
