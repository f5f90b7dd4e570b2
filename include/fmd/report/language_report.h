#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fmd/language/seat.h"
#include "fmd/language/stereotype.h"
#include "fmd/report/sheet.h"

namespace fmd {

// What an audit of a language model found, as plain data.
struct LanguageReport {
  // The model; an empty name: scores of another program.
  std::string model, type, kind, backbone_hash;
  Index vocabulary = 0, cols = 0;
  bool tied = false, native = false;
  std::string scores;  // the file of scores that took the place of a model

  struct Items {
    std::string file, sha256;
    Index items = 0;
    std::vector<StereotypeDomain> domains;
  };
  Items stereoset;                   // items within a sentence; also pairs of a CSV
  Items intersentence;               // the second sentence after the first
  Index intersentence_left_out = 0;  // not asked for, or not possible
  Items swapped;                     // targets exchanged
  Index not_swapped = 0;             // items without a partner for their term
  std::vector<std::pair<std::string, Interval>> kept;  // preferences that keep their sign
  std::string pairs, pairs_sha256;  // that the model was, or will be, edited with
  Items seen, unseen;               // with and without a word that the pairs test

  std::string crows, crows_sha256;
  std::vector<CrowsDomain> crows_domains;

  std::string text, text_sha256;
  Index text_lines = 0, text_tokens = 0;
  Interval perplexity;

  struct Seat {
    std::string file, sha256, targets, attributes;  // "Flowers / Insects"
    SeatResult result;
  };
  std::vector<Seat> seat;

  double confidence = .95;
  Index replicates = 0, states = 0;
  bool from_cache = false;
  std::vector<std::string> notes;
  std::uint64_t seed = 0;

  // Of each sentence, in the order of the file: its id and score. In files of their own.
  std::vector<std::pair<std::string, double>> within_scores, next_scores;
};

[[nodiscard]] Sheet sheet_of(const LanguageReport& report);
[[nodiscard]] std::string to_json(const LanguageReport& report);
// The scores of the sentences as StereoSet writes predictions; read_sentence_scores reads
// it. Sentences without a score are left out.
[[nodiscard]] std::string scores_json(const LanguageReport& report);

}  // namespace fmd
