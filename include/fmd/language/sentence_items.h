#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "fmd/core/types.h"
#include "fmd/data/csv.h"

namespace fmd {

// What a sentence says about the group that its item names.
enum class SentenceRole { stereotype, anti_stereotype, unrelated };
[[nodiscard]] std::string to_string(SentenceRole role);

struct RoledSentence {
  std::string text;  // the whole sentence
  std::string word;  // intrasentence StereoSet: what stands in the place of BLANK
  SentenceRole role = SentenceRole::stereotype;
  std::string id;  // of the file; otherwise "<item>:<role>"
};

// One question to a model: sentences that differ in one place.
struct SentenceItem {
  std::string id;
  std::string domain;   // "gender", "race", ...; CSV without such a column: "all"
  std::string target;   // the term that is tested ("Ethiopian"); the unit of the bootstrap
  std::string context;  // StereoSet: with BLANK (intrasentence), or the sentence before
  bool intersentence = false;
  std::vector<RoledSentence> sentences;  // each role at most once

  [[nodiscard]] const RoledSentence* find(SentenceRole role) const;  // null: none
};

enum class SentenceSource { stereoset, crows, csv };

struct SentenceItems {
  SentenceSource source = SentenceSource::stereoset;
  std::vector<SentenceItem> items;  // in the order of the file
  std::string file;                 // as given
  std::string sha256;               // of the file
  Index dropped = 0;                // entries that could not be used, and why
  std::vector<std::string> notes;   // what was dropped or taken for something

  [[nodiscard]] std::vector<std::string> domains() const;  // sorted, each once
  [[nodiscard]] SentenceItems of_domain(const std::string& domain) const;
};

// Finds out which of the formats a file has. StereoSet: the official dev.json, the list of
// items alone, or sentences grouped by their label. CrowS-Pairs: its CSV (sent_more,
// sent_less, stereo_antistereo, bias_type). Other CSV: columns `stereotype` and
// `anti_stereotype`; `unrelated`, `domain`, `target` and `id` may be there. CrowS-Pairs and
// pairs without a target are a unit of their own each. Throws Error(cannot_read), and
// Error(bad_data) that names file and place: no items, not UTF-8, an item with one side
// alone, a role twice.
[[nodiscard]] SentenceItems read_sentence_items(const std::filesystem::path& file);
[[nodiscard]] SentenceItems parse_sentence_items(std::string_view text,
                                                 const std::string& source);

}  // namespace fmd
