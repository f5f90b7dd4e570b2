#include "fmd/pipeline/language_audit.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/index.h"
#include "core/internal.h"
#include "fmd/core/error.h"
#include "fmd/core/hash.h"
#include "fmd/core/safe_text.h"
#include "fmd/data/csv.h"
#include "fmd/language/head_study.h"
#include "fmd/language/prefix_states.h"
#include "fmd/metrics/bootstrap.h"

namespace fmd {
namespace {

// Items with their scores.
struct ScoredItems {
  SentenceItems items;
  SentenceScores scores;
};

void add_notes(LanguageReport& report, const std::vector<std::string>& notes) {
  report.notes.insert(report.notes.end(), notes.begin(), notes.end());
}

// Probabilities of the tokens of some items, and what they were computed from.
std::vector<std::vector<double>> probabilities(const LanguageModel& model,
                                               SentencePlan plan,
                                               const LanguageAuditOptions& options,
                                               const Exec& exec, LanguageReport& report,
                                               PrefixStates* kept = nullptr) {
  PrefixStates states = prefix_states(model, std::move(plan), options.cache, exec);
  report.states += states.states.rows();
  report.from_cache = report.from_cache || states.from_cache;
  add_notes(report, states.notes);
  auto log_p = token_log_probabilities(states.states, states.sequences, model.head(), exec);
  states.states.resize(0, 0);
  if (kept != nullptr) *kept = std::move(states);
  return log_p;
}

ScoredItems scored(const LanguageModel& model, SentenceItems items,
                   const LanguageAuditOptions& options, const Exec& exec,
                   LanguageReport& report) {
  const auto log_p = probabilities(model, plan_states(model, items), options, exec, report);
  return {std::move(items), sentence_scores(log_p, model.kind())};
}

LanguageReport::Items figures(const ScoredItems& scored,
                              const LanguageAuditOptions& options, const Exec& exec) {
  LanguageReport::Items result;
  result.file = scored.items.file;
  result.sha256 = scored.items.sha256;
  result.items = std::ssize(scored.items.items);
  result.domains = stereotype_scores(scored.items, scored.scores, options.scores, exec);
  return result;
}

std::vector<std::pair<std::string, double>> by_id(const ScoredItems& scored) {
  std::vector<std::pair<std::string, double>> result;
  std::size_t next = 0;
  for (const SentenceItem& item : scored.items.items)
    for (const RoledSentence& sentence : item.sentences)
      result.emplace_back(sentence.id, scored.scores[next++]);
  return result;
}

// The items with these numbers and their scores.
ScoredItems chosen(const ScoredItems& from, const SentenceItems& items,
                   const std::vector<Index>& kept) {
  ScoredItems result{items, {}};
  const std::vector<Index> first = first_sequences(from.items);
  for (const Index i : kept)
    for (std::size_t s = 0; s < from.items.items[at(i)].sentences.size(); ++s)
      result.scores.push_back(from.scores[at(first[at(i)]) + s]);
  return result;
}

void add_unseen(const ScoredItems& all, const LanguageQuestions& questions,
                const LanguageAuditOptions& options, const Exec& exec,
                LanguageReport& report) {
  if (!questions.pairs) return;
  report.pairs = questions.pairs->file;
  report.pairs_sha256 = questions.pairs->sha256;
  std::vector<Index> kept;
  const SentenceItems unseen = items_without_words_of(all.items, *questions.pairs, &kept);
  SentenceItems shared = all.items;
  shared.items.clear();
  std::vector<Index> others;
  for (Index i = 0; i < std::ssize(all.items.items); ++i)
    if (!std::binary_search(kept.begin(), kept.end(), i)) {
      others.push_back(i);
      shared.items.push_back(all.items.items[at(i)]);
    }
  if (!others.empty()) report.seen = figures(chosen(all, shared, others), options, exec);
  if (!kept.empty()) report.unseen = figures(chosen(all, unseen, kept), options, exec);
  if (others.empty() || kept.empty())
    report.notes.push_back(fmt::format("{}: {} item shares a word with these pairs",
                                       questions.pairs->file,
                                       kept.empty() ? "every" : "no"));
}

void add_swapped(const LanguageModel& model, const ScoredItems& all,
                 const LanguageAuditOptions& options, const Exec& exec,
                 LanguageReport& report) {
  if (!options.swapped) return;
  std::vector<Index> kept;
  SentenceItems swapped = swapped_targets(all.items, &kept);
  report.not_swapped = swapped.dropped;
  if (kept.empty()) return;
  const ScoredItems other = scored(model, std::move(swapped), options, exec, report);
  report.swapped = figures(other, options, exec);
  report.kept = kept_preferences(all.items, all.scores, other.items, other.scores, kept,
                                 options.scores, exec);
}

void add_stereoset(const LanguageModel& model, const LanguageQuestions& questions,
                   const LanguageAuditOptions& options, const Exec& exec,
                   LanguageReport& report) {
  if (!questions.stereoset) return;
  SentenceItems within = *questions.stereoset, next = *questions.stereoset;
  const auto follows = [](const SentenceItem& item) { return item.intersentence; };
  std::erase_if(within.items, follows);
  std::erase_if(next.items, [&](const SentenceItem& item) { return !follows(item); });
  add_notes(report, questions.stereoset->notes);
  const bool asked = options.intersentence && model.kind() == LanguageKind::causal;
  report.stereoset.file = within.file;
  report.stereoset.sha256 = within.sha256;
  if (!within.items.empty()) {
    const ScoredItems all = scored(model, std::move(within), options, exec, report);
    report.stereoset = figures(all, options, exec);
    report.within_scores = by_id(all);
    add_swapped(model, all, options, exec, report);
    add_unseen(all, questions, options, exec, report);
  }
  if (!next.items.empty() && asked) {
    const ScoredItems all = scored(model, std::move(next), options, exec, report);
    report.intersentence = figures(all, options, exec);
    report.next_scores = by_id(all);
  } else {
    report.intersentence_left_out = std::ssize(next.items);
  }
  if (report.intersentence_left_out > 0)
    report.notes.push_back(
        fmt::format("left out: {} that ask for a next sentence ({})",
                    report.intersentence_left_out == 1
                        ? "1 item"
                        : fmt::format("{} items", report.intersentence_left_out),
                    options.intersentence ? "a masked model gives none"
                                          : "--intersentence scores them"));
}

void add_crows(const LanguageModel& model, const LanguageQuestions& questions,
               const LanguageAuditOptions& options, const Exec& exec,
               LanguageReport& report) {
  if (!questions.crows) return;
  report.crows = questions.crows->file;
  report.crows_sha256 = questions.crows->sha256;
  add_notes(report, questions.crows->notes);
  PrefixStates plan;
  const auto log_p = probabilities(model, plan_states(model, *questions.crows), options,
                                   exec, report, &plan);
  report.crows_domains =
      crows_scores(*questions.crows, plan, log_p, model.kind(), options.scores, exec);
}

// exp(-mean log p), drawn by lines.
Interval perplexity_interval(const std::vector<std::vector<double>>& log_p,
                             const LanguageAuditOptions& options, const Exec& exec) {
  Matrix statistics(std::ssize(log_p), 2);
  for (std::size_t i = 0; i < log_p.size(); ++i) {
    double sum = 0;
    for (const double value : log_p[i]) sum += value;
    statistics(static_cast<Index>(i), 0) = sum;
    statistics(static_cast<Index>(i), 1) = static_cast<double>(log_p[i].size());
  }
  std::vector<double> drawn;
  if (options.scores.replicates > 0 && statistics.rows() > 1) {
    const Matrix sums = bootstrap_sums(statistics, options.scores.replicates, exec);
    for (Index r = 0; r < sums.rows(); ++r)
      drawn.push_back(std::exp(-sums(r, 0) / sums(r, 1)));
  }
  return percentile(perplexity(log_p), std::move(drawn), options.scores.confidence);
}

void add_text(const LanguageModel& model, const LanguageQuestions& questions,
              const LanguageAuditOptions& options, const Exec& exec,
              LanguageReport& report) {
  if (questions.text.empty()) return;
  std::vector<std::string> lines;
  for (const std::string& line : questions.lines) {
    if (std::ssize(lines) >= options.text_lines) break;
    if (line.find_first_not_of(" \t\r") != std::string::npos) lines.push_back(line);
  }
  if (lines.empty())
    throw Error(ErrorKind::bad_data, fmt::format("{}: it has no text", questions.text),
                "give a file of plain text, a sentence or paragraph on each line");
  const auto log_p = probabilities(model, plan_text(model, lines), options, exec, report);
  report.text = questions.text;
  report.text_sha256 = questions.text_sha256;
  report.text_lines = std::ssize(lines);
  for (const auto& line : log_p) report.text_tokens += std::ssize(line);
  report.perplexity = perplexity_interval(log_p, options, exec);
}

void require_questions(const LanguageQuestions& questions) {
  if (!questions.stereoset && !questions.crows && questions.text.empty() &&
      questions.seat.empty())
    throw Error(ErrorKind::bad_option, "lm audit: there is nothing to ask the model",
                "give --stereoset FILE, --crows FILE, --seat FILE or --text FILE");
  if (questions.pairs && !questions.stereoset)
    throw Error(ErrorKind::bad_option, "lm audit: --pairs needs --stereoset",
                "the pairs tell which items of StereoSet have unseen words");
}

LanguageReport empty_report(const LanguageAuditOptions& options, const Exec& exec) {
  LanguageReport report;
  report.confidence = options.scores.confidence;
  report.replicates = options.scores.replicates;
  report.seed = exec.seed;
  return report;
}

}  // namespace

LanguageQuestions read_questions(const std::string& stereoset, const std::string& crows,
                                 const std::string& pairs, const std::string& text,
                                 const std::vector<std::string>& seat) {
  LanguageQuestions questions;
  const auto wrong = [](const std::string& file, const char* option) {
    return Error(ErrorKind::bad_option,
                 fmt::format("{}: this file belongs to --{}", file, option));
  };
  if (!stereoset.empty()) {
    questions.stereoset = read_sentence_items(stereoset);
    if (questions.stereoset->source == SentenceSource::crows)
      throw wrong(stereoset, "crows");
  }
  if (!crows.empty()) {
    questions.crows = read_sentence_items(crows);
    if (questions.crows->source != SentenceSource::crows) throw wrong(crows, "stereoset");
  }
  if (!pairs.empty()) questions.pairs = read_sentence_items(pairs);
  for (const std::string& file : seat) questions.seat.push_back(read_seat(file));
  if (!text.empty()) {
    const std::string all = read_text(text, Index{1} << 28);
    questions.text = text;
    questions.text_sha256 =
        hex(sha256({reinterpret_cast<const std::uint8_t*>(all.data()), all.size()}));
    questions.lines = text_lines(all, text);
  }
  return questions;
}

LanguageReport audit_language(const LanguageModel& model,
                              const LanguageQuestions& questions,
                              const LanguageAuditOptions& options, const Exec& exec) {
  require_questions(questions);
  LanguageReport report = empty_report(options, exec);
  report.model = model.name();
  report.type = model.type();
  report.kind = to_string(model.kind());
  report.backbone_hash = model.backbone_hash();
  report.vocabulary = model.head().vocabulary();
  report.cols = model.cols();
  report.tied = model.head().tied;
  report.native = model.native();
  add_stereoset(model, questions, options, exec, report);
  add_crows(model, questions, options, exec, report);
  for (const SeatTest& test : questions.seat)
    report.seat.push_back({test.file, test.sha256,
                           test.target1.category + " / " + test.target2.category,
                           test.attribute1.category + " / " + test.attribute2.category,
                           fmd::seat(model, test, exec)});
  add_text(model, questions, options, exec, report);
  return report;
}

LanguageReport audit_sentence_scores(const std::filesystem::path& scores,
                                     const LanguageQuestions& questions,
                                     const LanguageAuditOptions& options,
                                     const Exec& exec) {
  if (!questions.stereoset || questions.crows || !questions.text.empty() ||
      !questions.seat.empty())
    throw Error(ErrorKind::bad_option,
                "lm audit: --scores needs --stereoset, and takes no --crows, --seat or "
                "--text",
                "scores belong to the sentences of StereoSet, by their ids");
  LanguageReport report = empty_report(options, exec);
  report.scores = scores.string();
  ScoredItems all{*questions.stereoset, read_sentence_scores(scores, *questions.stereoset)};
  add_notes(report, all.items.notes);
  std::vector<Index> within, next;
  for (std::size_t i = 0; i < all.items.items.size(); ++i)
    (all.items.items[i].intersentence ? next : within).push_back(static_cast<Index>(i));
  const auto part = [&](const std::vector<Index>& numbers) {
    SentenceItems items = all.items;
    items.items.clear();
    for (const Index i : numbers) items.items.push_back(all.items.items[at(i)]);
    return chosen(all, items, numbers);
  };
  const ScoredItems inside = part(within);
  if (!within.empty()) report.stereoset = figures(inside, options, exec);
  if (!next.empty()) report.intersentence = figures(part(next), options, exec);
  if (!within.empty()) add_unseen(inside, questions, options, exec, report);
  return report;
}

}  // namespace fmd
