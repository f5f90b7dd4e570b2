#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/language/language_model.h"

namespace fmd {

// A test of association between sentences (SEAT), or between words (WEAT): are the
// sentences of one target nearer to one attribute than those of the other target?
struct SeatTest {
  struct Set {
    std::string category;
    std::vector<std::string> examples;
  };
  std::string file, sha256;
  Set target1, target2, attribute1, attribute2;
};

// The tests' own format: {"targ1": {"category", "examples"}, "targ2", "attr1", "attr2"}.
// Throws Error(cannot_read, bad_data).
[[nodiscard]] SeatTest read_seat(const std::filesystem::path& file);
[[nodiscard]] SeatTest parse_seat(std::string_view json, const std::string& source);

struct SeatResult {
  // (mean_X s - mean_Y s) / sd s, with s(w) = mean_A cos(w, a) - mean_B cos(w, b), X and Y
  // the targets, A and B the attributes, and the standard deviation over X and Y together
  // (n - 1). 0 = no association; NaN where s does not vary.
  double effect = 0;
  // Share of divisions of X and Y into two such halves with at least this statistic, one-
  // sided: all divisions where there are 20,000 at most, else so many random ones and this.
  double p_value = 1;
  Index divisions = 0;
  bool exact = false;
};

// From one embedding per sentence, row by row: X, Y, A, B. Throws Error(bad_shape).
[[nodiscard]] SeatResult seat(const Matrix& X, const Matrix& Y, const Matrix& A,
                              const Matrix& B, const Exec& exec);

// The embedding of a sentence is the mean of its tokens' states (input of the vocabulary
// head; masked models: without the tokens around the sentence). An edit of the head does
// not change it.
[[nodiscard]] Matrix sentence_embeddings(const LanguageModel& model,
                                         const std::vector<std::string>& sentences,
                                         const Exec& exec);
[[nodiscard]] SeatResult seat(const LanguageModel& model, const SeatTest& test,
                              const Exec& exec);

}  // namespace fmd
