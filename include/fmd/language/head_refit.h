#pragma once

#include <optional>
#include <vector>

#include "fmd/language/head_edit.h"

namespace fmd {

// The head W (I + M) fitted to text: the check of sentence_influence().
//
//   min over M of  (1/n) sum over tokens of -log p  +  ridge/2 <M, F M A>,  n = all tokens
//
// F and A are the curvature of the head as it is given, so the ridge holds M near 0 where
// the text says little: d x d numbers are fitted to few tokens.
struct HeadRefit {
  Matrix M;
  double loss = 0;  // with the ridge
  double size = 0;  // of the whitened gradient, beside that at M = 0
  Index rounds = 0;
};

struct HeadRefitOptions {
  double ridge = 1;        // > 0
  double residual = 1e-4;  // rounds end where the gradient is this much smaller; > 0
  Index rounds = 500;      // at most
};

// left_out: the number of a sentence whose tokens are not in the sum; n stays. start: 0 x
// 0, or where the rounds begin. Throws Error(bad_data: no token; bad_option; bad_shape).
[[nodiscard]] HeadRefit refit_head(const VocabularyHead& head, const FloatMatrix& states,
                                   const std::vector<ScoredSequence>& text,
                                   std::optional<std::size_t> left_out,
                                   const HeadCurvature& curvature, const Matrix& start,
                                   const HeadRefitOptions& options, const Exec& exec);

}  // namespace fmd
