#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fmd/language/head_edit.h"
#include "fmd/language/stereotype.h"

namespace fmd {

// Sentences of a study with their states: what edits of the head are made from, and what
// they are measured on. No forward pass of the model after this.
struct HeadStudy {
  SentenceItems items;
  PrefixStates states;
  std::vector<Index> first;  // of each item's sequences
};
// folder: see prefix_states(). Throws what the parts throw.
[[nodiscard]] HeadStudy head_study(const LanguageModel& model, SentenceItems items,
                                   const std::optional<std::filesystem::path>& folder,
                                   const Exec& exec);

// One pair per item that has both sides: c is the stereotype. Pairs of one domain and
// target term are one group; a pair without a term is a group of its own.
[[nodiscard]] std::vector<HeadPair> head_pairs(const HeadStudy& study);
// The numbers of the items that head_pairs() made its pairs from.
[[nodiscard]] std::vector<Index> paired_items(const HeadStudy& study);

// One score per sentence under a changed head. items: only the sentences of these, the
// others are NaN; none: all.
[[nodiscard]] SentenceScores study_scores(const HeadStudy& study,
                                          const LanguageModel& model,
                                          const HeadChange& change,
                                          const std::optional<std::vector<Index>>& items,
                                          const Exec& exec);

// The lines of a text, without their ends. Throws Error(bad_value) with the number of a
// line that is not UTF-8; `name` is the file's.
[[nodiscard]] std::vector<std::string> text_lines(std::string_view text,
                                                  const std::string& name);
// The lines of a text, cut into pieces of at most 40 words. Throws Error(cannot_read),
// Error(bad_value) that names the line that is not UTF-8.
[[nodiscard]] std::vector<std::string> text_pieces(const std::filesystem::path& file);

// Neutral text in two halves: pieces of lines in turn go to one that the curvature is
// measured on, and to one for perplexity.
struct NeutralText {
  PrefixStates fit, held_out;
  Index tokens_fit = 0, tokens_held_out = 0;
  bool capped = false;  // there was more text
};
// Lines are cut into pieces of at most 40 words. tokens: at most about so many in all.
// Throws Error(cannot_read), Error(bad_value) that names the line that is not UTF-8,
// Error(bad_data) for fewer than two pieces.
[[nodiscard]] NeutralText neutral_text(const LanguageModel& model,
                                       const std::filesystem::path& file, Index tokens,
                                       const std::optional<std::filesystem::path>& folder,
                                       const Exec& exec);
// exp(- mean log p) of the held-out half under a changed head.
[[nodiscard]] double text_perplexity(const NeutralText& text, const LanguageModel& model,
                                     const HeadChange& change, const Exec& exec);

// At most `folds` parts of so many groups, but enough that at least two groups are outside
// each part. Throws Error(bad_data) for fewer than three groups.
[[nodiscard]] int usable_folds(Index groups, int folds);
// Groups in `folds` parts at random, by the seed: the part of each pair.
[[nodiscard]] std::vector<int> group_folds(const std::vector<Index>& group, int folds,
                                           std::uint64_t seed);

}  // namespace fmd
