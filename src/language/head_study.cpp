#include "fmd/language/head_study.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <sstream>

#include "core/check.h"
#include "fmd/core/file.h"
#include "fmd/core/rng.h"
#include "fmd/core/safe_text.h"

namespace fmd {
namespace {

constexpr std::size_t kPieceWords = 40;

// Pieces one after the other, until there are enough tokens.
std::vector<std::string> enough(const LanguageModel& model,
                                const std::vector<std::string>& pieces, std::size_t from,
                                Index most, Index& tokens, bool& capped) {
  std::vector<std::string> taken;
  for (std::size_t k = from; k < pieces.size(); k += 2) {
    if (tokens >= most) {
      capped = true;
      break;
    }
    tokens += static_cast<Index>(model.tokenizer().encode(pieces[k]).size());
    taken.push_back(pieces[k]);
  }
  return taken;
}

}  // namespace

std::vector<std::string> text_lines(std::string_view text, const std::string& name) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
    if (valid_utf8(lines.back()) != lines.back())
      throw Error(ErrorKind::bad_value,
                  fmt::format("{}, line {}: this is not UTF-8", name, lines.size()),
                  "save the text as UTF-8");
  }
  return lines;
}

std::vector<std::string> text_pieces(const std::filesystem::path& file) {
  const FileView view = FileView::open(file, Index{1} << 30);
  std::vector<std::string> pieces;
  for (const std::string& line : text_lines(view.text(), file.string())) {
    std::istringstream words(line);
    std::string word, piece;
    for (std::size_t count = 0; words >> word;) {
      piece += (piece.empty() ? "" : " ") + word;
      if (++count < kPieceWords) continue;
      pieces.push_back(std::move(piece));
      piece.clear();
      count = 0;
    }
    if (!piece.empty()) pieces.push_back(std::move(piece));
  }
  return pieces;
}

HeadStudy head_study(const LanguageModel& model, SentenceItems items,
                     const std::optional<std::filesystem::path>& folder, const Exec& exec) {
  HeadStudy study;
  study.items = std::move(items);
  study.first = first_sequences(study.items);
  study.states = prefix_states(model, plan_states(model, study.items), folder, exec);
  for (const std::string& note : study.states.notes) exec.note(note);
  return study;
}

std::vector<Index> paired_items(const HeadStudy& study) {
  std::vector<Index> paired;
  for (std::size_t i = 0; i < study.items.items.size(); ++i) {
    const SentenceItem& item = study.items.items[i];
    if (item.find(SentenceRole::stereotype) != nullptr &&
        item.find(SentenceRole::anti_stereotype) != nullptr)
      paired.push_back(static_cast<Index>(i));
  }
  return paired;
}

std::vector<HeadPair> head_pairs(const HeadStudy& study) {
  std::map<std::pair<std::string, std::string>, Index> groups;
  std::vector<HeadPair> pairs;
  Index next = 0;
  for (const Index i : paired_items(study)) {
    const SentenceItem& item = study.items.items[static_cast<std::size_t>(i)];
    const auto sequence = [&](SentenceRole role) {
      const auto s = item.find(role) - item.sentences.data();
      return study.states.sequences[static_cast<std::size_t>(
          study.first[static_cast<std::size_t>(i)] + s)];
    };
    HeadPair pair{sequence(SentenceRole::stereotype),
                  sequence(SentenceRole::anti_stereotype), next};
    if (item.target.empty()) {
      ++next;
    } else {
      const auto [at, fresh] = groups.try_emplace({item.domain, item.target}, next);
      pair.group = at->second;
      if (fresh) ++next;
    }
    pairs.push_back(std::move(pair));
  }
  if (pairs.empty())
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: no item has both sides", study.items.file),
                "a pair needs the sentence with the stereotype and the one against it");
  return pairs;
}

SentenceScores study_scores(const HeadStudy& study, const LanguageModel& model,
                            const HeadChange& change,
                            const std::optional<std::vector<Index>>& items,
                            const Exec& exec) {
  std::vector<Index> wanted;  // sequences
  const auto add = [&](std::size_t item) {
    for (std::size_t s = 0; s < study.items.items[item].sentences.size(); ++s)
      wanted.push_back(study.first[item] + static_cast<Index>(s));
  };
  if (items)
    for (const Index item : *items) add(static_cast<std::size_t>(item));
  else
    for (std::size_t item = 0; item < study.items.items.size(); ++item) add(item);
  std::vector<ScoredSequence> sequences;
  for (const Index s : wanted)
    sequences.push_back(study.states.sequences[static_cast<std::size_t>(s)]);
  const FloatMatrix states = changed_states(study.states.states, change);
  const SentenceScores some = sentence_scores(
      token_log_probabilities(states, sequences, model.head(), exec), model.kind());
  SentenceScores all(study.states.sequences.size(),
                     std::numeric_limits<double>::quiet_NaN());
  for (std::size_t k = 0; k < wanted.size(); ++k)
    all[static_cast<std::size_t>(wanted[k])] = some[k];
  return all;
}

NeutralText neutral_text(const LanguageModel& model, const std::filesystem::path& file,
                         Index tokens, const std::optional<std::filesystem::path>& folder,
                         const Exec& exec) {
  require_option(tokens >= 2, "language", "text-tokens", tokens, ">= 2");
  const std::vector<std::string> pieces = text_pieces(file);
  if (pieces.size() < 2)
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: neutral text needs at least two lines", file.string()),
                "one half is for the curvature, the other for perplexity");
  NeutralText text;
  const auto half = [&](std::size_t from, Index& count) {
    const auto lines = enough(model, pieces, from, tokens / 2, count, text.capped);
    return prefix_states(model, plan_text(model, lines), folder, exec);
  };
  text.fit = half(0, text.tokens_fit);
  text.held_out = half(1, text.tokens_held_out);
  return text;
}

double text_perplexity(const NeutralText& text, const LanguageModel& model,
                       const HeadChange& change, const Exec& exec) {
  return perplexity(token_log_probabilities(changed_states(text.held_out.states, change),
                                            text.held_out.sequences, model.head(), exec));
}

int usable_folds(Index groups, int folds) {
  if (groups < 3)
    throw Error(
        ErrorKind::bad_data,
        fmt::format("language: the pairs have {} targets; cross-fitted figures need "
                    "at least 3",
                    groups),
        "give pairs of more targets, or other items to measure on: --stereoset FILE");
  Index parts = std::min<Index>(folds, groups);
  while (parts < groups && groups - (groups + parts - 1) / parts < 2) ++parts;
  return static_cast<int>(parts);
}

std::vector<int> group_folds(const std::vector<Index>& group, int folds,
                             std::uint64_t seed) {
  std::map<Index, int> fold;
  for (const Index g : group) fold[g] = 0;
  require_option(folds >= 2 && folds <= static_cast<int>(fold.size()), "language", "folds",
                 folds, fmt::format("2 .. {} (the number of targets)", fold.size()));
  Rng rng(seed, "targets");
  const std::vector<Index> order = permutation(static_cast<Index>(fold.size()), rng);
  std::size_t k = 0;
  for (auto& [g, part] : fold) part = static_cast<int>(order[k++] % folds);
  std::vector<int> parts;
  for (const Index g : group) parts.push_back(fold[g]);
  return parts;
}

}  // namespace fmd
