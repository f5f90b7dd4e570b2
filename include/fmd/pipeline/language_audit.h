#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/language/language_model.h"
#include "fmd/language/seat.h"
#include "fmd/language/sentence_items.h"
#include "fmd/language/stereotype.h"
#include "fmd/report/language_report.h"

namespace fmd {

struct LanguageAuditOptions {
  StereotypeOptions scores;
  bool intersentence = false;  // also items whose sentence follows another; causal models
  bool swapped = true;         // also with swapped targets
  std::optional<std::filesystem::path> cache;  // folder of states; none: not kept
  Index text_lines = 200;  // the first lines of the text that are not empty
};

// What a model is asked. Each part may be missing, but not all.
struct LanguageQuestions {
  std::optional<SentenceItems> stereoset, crows;
  // Pairs that the model was edited with: SS is also given for items that share no tested
  // word with them.
  std::optional<SentenceItems> pairs;
  std::string text, text_sha256;  // name of a neutral text; empty: none
  std::vector<std::string> lines;
  std::vector<SeatTest> seat;
};

// Reads the files; a part without a name is missing. Throws what read_sentence_items does,
// and Error(bad_option) for CrowS-Pairs in the place of StereoSet and the other way round.
[[nodiscard]] LanguageQuestions read_questions(const std::string& stereoset,
                                               const std::string& crows,
                                               const std::string& pairs,
                                               const std::string& text,
                                               const std::vector<std::string>& seat);

[[nodiscard]] LanguageReport audit_language(const LanguageModel& model,
                                            const LanguageQuestions& questions,
                                            const LanguageAuditOptions& options,
                                            const Exec& exec);

// The same from the scores that another program gave to each sentence: no controls.
[[nodiscard]] LanguageReport audit_sentence_scores(const std::filesystem::path& scores,
                                                   const LanguageQuestions& questions,
                                                   const LanguageAuditOptions& options,
                                                   const Exec& exec);

}  // namespace fmd
