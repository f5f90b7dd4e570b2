#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/report/sheet.h"

namespace fmd {

// Which sentences of a text the preference of a language model's pairs rests on.
struct LmExplainOptions {
  std::string domain;        // of the pairs; empty = all
  double damping = .01;      // of the curvature, relative; must be > 0
  double ridge = 1;          // of the refits; must be > 0
  Index text_tokens = 4096;  // of the text, from its start
  Index refits = 0;          // sentences that are also left out for real
  Index shown = 5;           // at each end of the list, on a screen
  std::optional<std::filesystem::path> cache;
};

struct LmExplained {
  Index piece = 0;  // from 1: lines are cut into pieces of at most 40 words
  std::string text;
  double influence = 0;         // predicted change of the mean preference without it
  std::optional<double> refit;  // the real one
};

struct LmExplainReport {
  std::string model, pairs_file, text_file, domain;
  Index pairs = 0, sentences = 0, tokens = 0;
  double preference = 0;  // mean of score(stereotype) - score(anti-stereotype), mean log p
  // The head was first fitted to the text, so that leaving a sentence out means something
  // exact. Otherwise it is the head as it came.
  bool refitted = false;
  double correlation = 0, rank_correlation = 0;  // of influence and refits
  std::vector<LmExplained> sentence;             // the largest influence first
  LmExplainOptions options;
  std::uint64_t seed = 0;
  std::vector<std::string> notes;
};

// Throws what the parts throw; Error(bad_data) for fewer than two sentences or no pair.
[[nodiscard]] LmExplainReport lm_explain(const std::filesystem::path& model,
                                         const std::filesystem::path& pairs,
                                         const std::filesystem::path& text,
                                         const LmExplainOptions& options, const Exec& exec);

[[nodiscard]] std::string to_json(const LmExplainReport& report);
[[nodiscard]] std::string lm_explain_csv(const LmExplainReport& report);
[[nodiscard]] Sheet sheet_of(const LmExplainReport& report);

}  // namespace fmd
