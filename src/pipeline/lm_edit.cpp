#include "pipeline/lm_edit.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "data/field_json.h"
#include "fmd/core/error.h"
#include "fmd/core/hash.h"

namespace fmd::internal {
namespace {

// CrowS-Pairs says "race-color" where StereoSet says "race".
SentenceItems of_one_domain(SentenceItems items, const std::string& domain) {
  if (domain.empty()) return items;
  SentenceItems some = items;
  some.items.clear();
  for (SentenceItem& item : items.items)
    if (item.domain == domain || item.domain.starts_with(domain + "-"))
      some.items.push_back(std::move(item));
  if (some.items.empty())
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: there is no item of the domain {}", items.file, domain),
                "leave --domain out, or name one that the file has");
  return some;
}

HeadMethod method_of(const std::string& name) {
  return name == "solve" ? HeadMethod::solve : HeadMethod::step;
}

DataNote note_of(const std::string& role, const std::filesystem::path& file, Index rows) {
  DataNote note;
  note.role = role;
  note.name = file.filename().string();
  note.sha256 = hex(sha256_file(file));
  note.rows = rows;
  return note;
}

LmFigures lm_figures(const StereotypeDomain& domain) {
  return {domain.by_term.ss, domain.by_term.lms, domain.by_term.icat};
}

}  // namespace

LmEdit::LmEdit(const LmDebiasFiles& files, const LmDebiasOptions& options, const Exec& exec)
    : files_(files),
      options_(options),
      model_(LanguageModel::open(files.model, {}, exec)),
      seed_(exec.seed) {
  SentenceItems pairs = of_one_domain(read_sentence_items(files.pairs), options.domain);
  std::optional<SentenceItems> test;
  if (!files.stereoset.empty()) {
    test = of_one_domain(read_sentence_items(files.stereoset), options.domain);
    if (test->sha256 == pairs.sha256) test.reset();
  }
  for (const SentenceItems* items : {&pairs, test ? &*test : nullptr})
    if (items != nullptr)
      notes_.insert(notes_.end(), items->notes.begin(), items->notes.end());
  pairs_ = head_study(model_, std::move(pairs), options.cache, exec);
  if (test) test_ = head_study(model_, std::move(*test), options.cache, exec);
  list_ = head_pairs(pairs_);
  if (!test_) {
    const Index targets =
        1 + std::max_element(list_.begin(), list_.end(), [](const auto& a, const auto& b) {
              return a.group < b.group;
            })->group;
    folds_ = usable_folds(targets, options.folds);
    if (folds_ != options.folds)
      notes_.push_back(fmt::format("{} targets are cut into {} parts, not {}", targets,
                                   folds_, options.folds));
  }
  text_ = neutral_text(model_, files.text, options.text_tokens, options.cache, exec);
  if (text_.capped)
    notes_.push_back(
        fmt::format("{} has more text than --text-tokens {}: the rest was not "
                    "read",
                    files.text.filename().string(), options.text_tokens));
  curvature_ = head_curvature(model_.head(), text_.fit.states, options.damping, exec);
  const HeadOutputs outputs = head_outputs(model_.head(), pairs_.states.states, true, exec);
  gradients_ = pair_gradients(model_.head(), pairs_.states.states, outputs, list_);
  if (options.method == "project") {
    edit_.M = soft_projection(curvature_, pairs_.states.states, list_, options.lambda);
    edit_.kl = predicted_kl(curvature_, edit_.M);
    edit_.value = options.lambda;
    edit_.pairs = gradients_.pairs();
    edit_.score_before = preference_score(gradients_.r, gradients_.group);
    edit_.score_predicted = kUndefined;
    return;
  }
  kernel_ = pair_kernel(curvature_, gradients_, exec);
  edit_ = edit_head(curvature_, gradients_, kernel_,
                    {.method = method_of(options.method), .max_kl = options.max_kl}, exec);
}

VocabularyHead LmEdit::new_head() const {
  return changed_head(model_.head(), {.M = edit_.M, .shift = {}}, {});
}

LmDebiasReport LmEdit::report() const {
  LmDebiasReport r;
  r.model = model_.name();
  r.type = model_.type();
  r.kind = to_string(model_.kind());
  r.data.push_back(note_of("pairs", files_.pairs, gradients_.pairs()));
  if (test_)
    r.data.push_back(note_of("stereoset", files_.stereoset,
                             static_cast<Index>(test_->items.items.size())));
  r.data.push_back(note_of("text", files_.text, text_.tokens_fit + text_.tokens_held_out));
  LmDebiasOptions recorded = options_;
  r.options = fields_json(fields(recorded)).dump();
  r.method = options_.method;
  r.lambda = options_.lambda;
  r.seed = seed_;
  r.edit = edit_;
  r.edit.M.resize(0, 0);
  r.states_of_curvature = curvature_.states;
  r.cross_fitted = !test_;
  r.notes = notes_;
  return r;
}

HeadEdit LmEdit::edit_from(const std::vector<Index>& pairs, const Exec& exec) const {
  if (options_.method != "project")
    return edit_head(curvature_, some_pairs(gradients_, pairs), some_pairs(kernel_, pairs),
                     {.method = method_of(options_.method), .max_kl = options_.max_kl},
                     exec);
  std::vector<HeadPair> some;
  for (const Index i : pairs) some.push_back(list_[static_cast<std::size_t>(i)]);
  HeadEdit edit;
  edit.M = soft_projection(curvature_, pairs_.states.states, some, options_.lambda);
  edit.kl = predicted_kl(curvature_, edit.M);
  return edit;
}

HeadEdit LmEdit::control_from(HeadMethod method, const Matrix& kernel,
                              const std::vector<Index>& pairs, const HeadEdit& edit,
                              const Exec& exec) const {
  HeadEditOptions options{.method = method, .max_kl = 1e9, .kl = edit.kl};
  if (options_.method == "step") options.shares = {edit.value};
  return edit_head(curvature_, some_pairs(gradients_, pairs), some_pairs(kernel, pairs),
                   options, exec);
}

SentenceScores LmEdit::cross_fitted(const MakeEdit& make, const Exec& exec) const {
  const std::vector<Index> item_of = paired_items(pairs_);
  const std::vector<int> fold = group_folds(gradients_.group, folds_, seed_);
  SentenceScores all;
  for (int k = 0; k < folds_; ++k) {
    std::vector<Index> others, items;
    for (std::size_t i = 0; i < fold.size(); ++i)
      if (fold[i] == k)
        items.push_back(item_of[i]);
      else
        others.push_back(static_cast<Index>(i));
    const SentenceScores part =
        study_scores(pairs_, model_, {.M = make(others).M, .shift = {}}, items, exec);
    if (all.empty()) all = part;
    for (std::size_t s = 0; s < part.size(); ++s)
      if (!std::isnan(part[s])) all[s] = part[s];
  }
  return all;
}

void LmEdit::measure(const LanguageModel& changed, LmDebiasReport& report,
                     const Exec& exec) const {
  const StereotypeOptions options{.replicates = options_.replicates, .confidence = .95};
  const HeadStudy& study = items();
  const SentenceScores before = study_scores(study, model_, {}, std::nullopt, exec);
  const SentenceScores after =
      test_ ? study_scores(study, changed, {}, std::nullopt, exec)
            : cross_fitted([&](const auto& pairs) { return edit_from(pairs, exec); }, exec);
  const auto was = stereotype_scores(study.items, before, options, exec);
  const auto is = stereotype_scores(study.items, after, options, exec);
  const auto change = stereotype_changes(study.items, before, after, options, exec);
  for (std::size_t k = 0; k < was.size(); ++k)
    report.domains.push_back({.domain = was[k].domain,
                              .items = was[k].items,
                              .terms = was[k].terms,
                              .before = lm_figures(was[k]),
                              .after = lm_figures(is.at(k)),
                              .change = lm_figures(change.at(k))});
  report.perplexity_before = text_perplexity(text_, model_, {}, exec);
  report.perplexity_after = text_perplexity(text_, changed, {}, exec);
  if (options_.controls) add_controls(report, exec);
}

void LmEdit::add_controls(LmDebiasReport& report, const Exec& exec) const {
  const StereotypeOptions options{.replicates = options_.replicates, .confidence = .95};
  std::vector<Index> all(list_.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Index>(i);
  for (const HeadMethod method : {HeadMethod::plain, HeadMethod::input_only,
                                  HeadMethod::random, HeadMethod::tempered}) {
    const bool own = method == HeadMethod::plain || method == HeadMethod::input_only;
    const Matrix kernel = own ? pair_kernel(metric_of(method, curvature_), gradients_, exec)
                              : Matrix::Zero(gradients_.pairs(), gradients_.pairs());
    const HeadEdit found = control_from(method, kernel, all, edit_, exec);
    const HeadChange change{.M = found.M, .shift = {}};
    // Scored as the edit is: from targets that it was not made from, where that is so.
    const SentenceScores scores =
        test_ ? study_scores(items(), model_, change, std::nullopt, exec)
              : cross_fitted(
                    [&](const auto& pairs) {
                      return control_from(method, kernel, pairs, edit_from(pairs, exec),
                                          exec);
                    },
                    exec);
    const auto figures = stereotype_scores(items().items, scores, options, exec);
    report.controls.push_back({.name = to_string(method),
                               .kl = found.kl,
                               .figures = lm_figures(figures.back()),
                               .perplexity = text_perplexity(text_, model_, change, exec)});
  }
}

}  // namespace fmd::internal
