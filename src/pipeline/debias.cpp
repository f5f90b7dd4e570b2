#include "fmd/pipeline/debias.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/clock.h"
#include "fmd/core/blas.h"
#include "fmd/core/error.h"
#include "fmd/formats/model_file.h"
#include "fmd/pipeline/complete_task.h"
#include "fmd/repair/candidates.h"
#include "fmd/repair/choice.h"
#include "fmd/repair/prediction.h"
#include "pipeline/complete_task.h"
#include "pipeline/contenders.h"
#include "pipeline/debias_options.h"
#include "pipeline/monotone_rules.h"
#include "pipeline/moved.h"
#include "pipeline/proxies.h"
#include "pipeline/repair_cut.h"
#include "pipeline/repair_parts.h"
#include "pipeline/save_debias.h"
#include "pipeline/study_parts.h"

namespace fmd {
namespace {

// The attributes that flags name are those to repair. The task keeps its others, which are
// measured too.
Model model_to_repair(const ModelSource& source, const DataSource& data,
                      DebiasOptions& options, const Exec& exec) {
  TaskChanges changes = std::exchange(options.task, {.inputs = options.task.inputs});
  const auto asked =
      std::exchange(changes.flags.attributes, {}).value_or(std::vector<std::string>{});
  Model model = complete_model(source.model(), data, changes, exec);
  Task task = model.task;
  for (const std::string& text : asked) {
    options.repair.push_back(parse_attribute(text).name);
    if (task.find(options.repair.back()) != nullptr) continue;
    TaskOverrides more;
    more.attributes.emplace();
    for (const AttributeSpec& spec : task.attributes) more.attributes->push_back(spec.name);
    more.attributes->push_back(text);
    task = merge(task, more);
  }
  set_task(model, std::move(task), changes.inputs);
  match_images(model, changes, exec);
  return model;
}

std::string file_name(const ModelSource& source) {
  const auto* file = dynamic_cast<const ModelFile*>(&source);
  return file == nullptr ? "" : file->path().filename().string();
}

}  // namespace

struct DebiasRun::State {
  DebiasOptions options;
  // What is said on the way is kept for the receipt, and said as before.
  std::vector<std::string> said;
  std::function<void(const std::string&)> note;
  Exec exec;
  std::string model_name;
  GroupsFile groups;
  Model whole;  // before the layers are cut
  RepairTables tables;
  Model original;  // with the layers to change as its head
  RepairParts parts;
  std::vector<MonotoneNote> monotone;
  RepairChoice choices;
  const Candidates& candidates = choices.candidates;
  int chosen = -1;
  Model model;

  State(const ModelSource& source, const DataSource& data, DebiasOptions wanted,
        const Exec& how)
      : options(std::move(wanted)),
        note([this, how](const std::string& text) {
          if (std::find(said.begin(), said.end(), text) == said.end()) said.push_back(text);
          how.note(text);
        }),
        exec(noting(how, note)),
        model_name(file_name(source)),
        groups(data.groups()),
        whole(model_to_repair(source, data, options, exec)),
        tables(read_repair(whole, data, options, exec)),
        original(cut_for_repair(whole, options, tables.rows())),
        parts(original, std::move(tables), options, exec) {
    set_rules();
    choices = choose_repair(parts.problem, options,
                            {options.audit.confidence, options.audit.replicates}, exec);
    chosen = choices.chosen;
    model = chosen < 0 ? whole : with_repaired(whole, choice().theta);
  }

  void set_rules() {
    monotone = monotone_notes(original, options);
    LeafOrder all;
    for (MonotoneNote& note : monotone) {
      const LeafOrder order = leaf_order(original, note);
      note.before = keeps(order, original.theta);
      if (!note.from_file || note.before) all.insert(all.end(), order.begin(), order.end());
    }
    if (options.allow_nonmonotone || all.empty()) return;
    parts.problem.keeps_rules = [all](const Vector& theta) { return keeps(all, theta); };
    parts.problem.ordered = std::move(all);
  }

  static Exec noting(Exec how, const std::function<void(const std::string&)>& note) {
    how.notes = &note;
    return how;
  }

  [[nodiscard]] const Candidate& choice() const {
    return candidates.all[static_cast<std::size_t>(chosen)];
  }

  // The chosen setting without each fold; none without folds.
  [[nodiscard]] std::optional<FoldModels> fold_models() const {
    if (choices.without_fold.empty()) return std::nullopt;
    FoldModels folds;
    for (const Vector& theta : choices.without_fold)
      folds.models.push_back(with_theta(original, theta));
    folds.fold.resize(static_cast<std::size_t>(parts.data.size()));
    for (std::size_t k = 0; k < parts.problem.folds.size(); ++k)
      for (const Index row : parts.problem.folds[k])
        folds.fold[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(k);
    return folds;
  }

  // What is predicted is where the chosen setting stands on the path.
  [[nodiscard]] bool on_path() const {
    return chosen >= 0 && !is_newton(options.method) && candidates.path.g.size() > 0;
  }

  [[nodiscard]] Predicted predict(const PairSet& pairs) const {
    if (chosen < 0) return {};
    if (is_newton(options.method))
      return first_order_gap(parts.problem, choice().theta, pairs, exec);
    if (!on_path()) return {};
    return path_gap(parts.problem, candidates.on_path(parts.problem.theta, choice().lambda),
                    pairs, exec);
  }

  void describe(DebiasReport& report) const {
    report.model = model_name;
    report.data = parts.notes(original.task, groups, exec);
    report.options = options_json(options, exec.seed);
    report.task = original.task;
    for (std::size_t k = 0; k < parts.repaired.size(); ++k) {
      report.repaired.push_back(parts.data.attributes[parts.repaired[k]].name);
      report.attribute_use.push_back({report.repaired.back(),
                                      parts.data.reads[parts.repaired[k]] == Reads::yes,
                                      true, false});
      report.pairs += parts.edit.pairs[k].size();
    }
    report.method = to_string(options.method);
    const bool matched = repairs_matched(parts.problem, options);
    report.rule = rule_in_words(options, matched);
    if (judges_worst_pair()) report.rule += " for the worst pair of values";
    report.measure = chosen_measure(options, matched);
    report.candidates = candidates.all;
    report.chosen = chosen;
    report.folds = std::ssize(parts.problem.folds);
    report.risk = options.risk;
    report.strict = options.strict;
    report.max_accuracy_loss = options.max_accuracy_loss;
    report.only_if_over = options.only_if_over;
    report.small_bias = choices.small_bias;
    if (chosen >= 0) report.budget = budget_of(choice(), options);
    report.overlaps = parts.overlaps(original);
    report.optimistic = parts.optimistic(report.overlaps);
    report.test_seen = parts.test_seen(report.overlaps);
    report.choice_seen = parts.choice_seen(report.overlaps);
    // Rows that were used before prove nothing about others.
    if (report.choice_seen && report.budget == Budget::proven)
      report.budget = Budget::not_proven;
    report.ledger = options.save.ledger;
    for (const std::size_t k : parts.repaired)
      for (const Mirror& mirror : parts.data.attributes[k].mirrors)
        if (!mirror.flipped) report.mirrors_left.push_back(mirror.column);
    add_proxies(report);
    report.notes = said;
    report.solve = candidates.solve;
    report.relative_gradient = candidates.relative_gradient;
    report.hessian_source = candidates.hessian_source;
    report.solve_status = candidates.status;
    report.edit_rows = static_cast<Index>(parts.edit.rows.size());
    report.holdout_rows = static_cast<Index>(parts.holdout.rows.size());
    report.blas_kernel = blas_info().kernel;
    report.seed = exec.seed;
  }

  // A target on co of an attribute with more than two values.
  [[nodiscard]] bool judges_worst_pair() const {
    if (!options.target || options.at.any() || options.target->measure != "co" ||
        options.target_on_mean)
      return false;
    return std::any_of(parts.repaired.begin(), parts.repaired.end(), [&](std::size_t k) {
      const Attribute& attribute = parts.data.attributes[k];
      return attribute.values.size() > 2 && (options.target->attribute.empty() ||
                                             options.target->attribute == attribute.name);
    });
  }

  // Columns that tell a repaired attribute, of those that the model reads and that are not
  // flipped with it.
  void add_proxies(DebiasReport& report) const {
    const std::vector<std::string> columns = whole.backbone->inputs().names();
    for (const std::size_t k : parts.repaired) {
      const Attribute& attribute = parts.data.attributes[k];
      if (parts.data.table.columns.empty()) {
        report.proxies.push_back(
            {.attribute = attribute.name, .reason = "a file of features has no columns"});
        continue;
      }
      std::vector<std::string> kept = columns;
      kept.insert(kept.end(), attribute.columns.begin(), attribute.columns.end());
      RowSample sample(std::move(kept), exec.seed);
      sample.add(parts.data.table);
      report.proxies.push_back(
          find_proxies(sample.table(), attribute, columns, options.audit.confidence, exec));
    }
  }

  [[nodiscard]] double choice_gamma() const {
    return chosen < 0 ? kUndefined : choice().gamma;
  }

  void predict(DebiasReport& report) const {
    if (report.measure == kOddsMeasure ||
        !std::isnan(choice_gamma())) {  // nothing is predicted for it
      report.predicted_holdout.resize(parts.repaired.size());
      if (parts.test) report.predicted_test.resize(parts.repaired.size());
      return;
    }
    for (const PairSet& pairs : parts.problem.holdout.pairs)
      report.predicted_holdout.push_back(predict(pairs));
    if (!parts.test) return;
    if (parts.test->size() > kFlippedRows && on_path() &&
        parts.problem.all_of_kind(PairKind::flip)) {
      const Vector theta = candidates.on_path(parts.problem.theta, choice().lambda);
      for (const std::size_t a : parts.repaired) {
        PathGap sum(parts.problem, theta);
        for_each_flips(original, *parts.test, a, exec, [&](const StudyPairs& pairs) {
          sum.add(pairs.set(*parts.test), exec);
        });
        report.predicted_test.push_back(sum.gap());
      }
      return;
    }
    const auto pairs = make_pairs(original, *parts.test, original.task, {}, exec);
    for (const std::size_t a : parts.repaired)
      report.predicted_test.push_back(predict(pairs[a].value().set(*parts.test)));
  }
};

namespace {

// The measure of a target; of a gap between groups the widest pair. Undefined where there
// is none.
Interval measured(const AttributeAudit& audit, const std::string& measure) {
  if (const GroupMeasure* gap = audit.groups.find(measure); gap != nullptr)
    return gap->widest.difference.defined() ? gap->widest.difference : gap->value;
  if (!audit.flip) return {};
  if (measure == "co_mean") return audit.flip->co;
  if (measure == "co" || measure == "co_worst")
    return audit.values.size() > 2 ? audit.flip->co_worst : audit.flip->co;
  return measure == "co_tv" ? audit.flip->co_tv : audit.flip->flip_rate;
}

// The target of a repaired attribute, on the rows of --test.
Verdict target_on_test(const Limit& target, DebiasReport& report) {
  Verdict all = Verdict::none;
  for (const std::string& name : report.repaired) {
    if (!target.attribute.empty() && target.attribute != name) continue;
    const AttributeAudit* audit = report.test[1].audit->find(name);
    if (audit == nullptr) continue;
    const Interval figure = measured(*audit, target.measure);
    const Verdict one = judge(figure, target.value);
    if (!report.on_target.defined() || figure.value > report.on_target.value)
      report.on_target = figure;
    if (all == Verdict::none || one == Verdict::fail ||
        (one == Verdict::unclear && all == Verdict::pass))
      all = all == Verdict::fail ? all : one;
  }
  return all;
}

// The rule on the rows of --test, by the paired interval of the change. Rows that were
// used before can show that it is missed, and never that it is kept. Nor can flips that
// leave a mirror of the attribute as it is.
Verdict rule_on_test(const DebiasOptions& options, DebiasReport& report) {
  if (report.chosen < 0 || options.at.any()) return Verdict::none;
  const auto of_new_rows = [&](Verdict verdict) {
    const bool hollow = report.test_seen || !report.mirrors_left.empty();
    return verdict == Verdict::pass && hollow ? Verdict::unclear : verdict;
  };
  if (options.target)
    return report.measure == kOddsMeasure
               ? Verdict::none
               : of_new_rows(target_on_test(*options.target, report));
  const Interval& change = report.accuracy_change;
  if (change.high < -options.max_accuracy_loss) return Verdict::fail;
  return of_new_rows(change.low >= -options.max_accuracy_loss ? Verdict::pass
                                                              : Verdict::unclear);
}

}  // namespace

DebiasRun::DebiasRun(const ModelSource& model, const DataSource& data,
                     DebiasOptions options, const Exec& exec) {
  require_valid(options, options.train.has_value());
  require_loss(*model.model().head, "debias");
  state_ = std::make_unique<State>(model, data, std::move(options), exec);
}

DebiasRun::~DebiasRun() = default;
bool DebiasRun::found() const { return state_->chosen >= 0; }
const Model& DebiasRun::model() const { return state_->model; }
const std::vector<Candidate>& DebiasRun::candidates() const {
  return state_->candidates.all;
}

DebiasReport DebiasRun::measure(const Model& repaired) const {
  const State& s = *state_;
  const Model& before = s.original;
  Model after = repaired;
  // A format without room for a task gets the one of the repair.
  if (after.task.label.empty()) set_task(after, before.task, s.options.task.inputs);
  after = cut_for_repair(after, s.options, 0);
  const AuditOptions& options = s.options.audit;
  DebiasReport report;
  s.describe(report);
  s.predict(report);
  report.leaves = leaf_edit(s.whole, repaired);
  report.monotone = s.monotone;
  for (MonotoneNote& note : report.monotone)
    note.after = keeps(leaf_order(s.whole, note), repaired.theta);

  std::vector<Control> controls = make_controls(s.whole, before, after, s.parts, s.exec);
  std::optional<Study> own;
  const Study& holdout = s.parts.holdout_study(before, s.exec, own);
  const std::optional<FoldModels> fitted = s.fold_models();
  const FoldModels* folds = fitted ? &*fitted : nullptr;
  const std::optional<Study>& test = s.parts.test;
  // Controls stand beside the figures that are shown.
  report.holdout =
      audit_all(before, after, test ? std::span<Control>{} : std::span(controls), holdout,
                options, s.exec, folds);
  if (test) report.test = audit_all(before, after, controls, *test, options, s.exec);
  const Study& shown = test ? *test : holdout;
  const FoldModels* shown_folds = test ? nullptr : folds;
  report.moved =
      what_moved(before, after, shown, report.repaired, options, s.exec, shown_folds);
  const Scored answers = shown_folds == nullptr ? score(after, shown, {}, s.exec)
                                                : score(*shown_folds, shown, s.exec);
  report.accuracy_change = accuracy_change(score(before, shown, {}, s.exec), answers,
                                           options.confidence, options.replicates, s.exec);
  report.dropped = dropped_columns(controls, report.figures(), shown, answers,
                                   report.repaired, report.measure, options, s.exec);
  if (test) report.on_test = rule_on_test(s.options, report);
  return report;
}

Repair debias(const ModelSource& model, const DataSource& data,
              const DebiasOptions& options, const Exec& exec) {
  const Clock begun = Clock::now();
  Repair repair;
  const auto note = [&] {
    const Clock now = Clock::now();
    repair.run = {options.save.date, now.wall - begun.wall, now.cpu - begun.cpu};
    return repair.run;
  };
  const auto* file = dynamic_cast<const ModelFile*>(&model);
  const bool save = !options.save.out.empty();
  if (save) {
    if (file == nullptr)
      throw Error(ErrorKind::unsupported, "debias: OUT is written for a model file alone",
                  "leave OUT out, and take the parameters of the result");
    require_writable(*file, options.save);
  }
  const DebiasRun run(model, data, options, exec);
  if (run.found()) repair.theta = run.model().theta;
  if (save && run.found()) {
    repair.report = save_debias(run, *file, options.save, note);
    if (const std::string others = other_files(*file, options.save.out); !others.empty())
      exec.note(others);
    return repair;
  }
  const auto after = model.with_theta(run.model().theta);
  Model repaired = after->model();
  set_task(repaired, run.model().task, options.task.inputs);
  repair.report = run.measure(repaired);
  (void)note();
  return repair;
}

}  // namespace fmd
