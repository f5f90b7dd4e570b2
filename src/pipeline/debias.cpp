#include "fmd/pipeline/debias.h"

#include "core/clock.h"
#include "fmd/core/blas.h"
#include "fmd/core/error.h"
#include "fmd/formats/model_file.h"
#include "fmd/pipeline/complete_task.h"
#include "fmd/repair/candidates.h"
#include "fmd/repair/choice.h"
#include "fmd/repair/prediction.h"
#include "pipeline/contenders.h"
#include "pipeline/debias_options.h"
#include "pipeline/moved.h"
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
  return model;
}

std::string file_name(const ModelSource& source) {
  const auto* file = dynamic_cast<const ModelFile*>(&source);
  return file == nullptr ? "" : file->path().filename().string();
}

}  // namespace

struct DebiasRun::State {
  DebiasOptions options;
  Exec exec;
  std::string model_name;
  GroupsFile groups;
  Model whole;  // before the layers are cut
  RepairTables tables;
  Model original;  // with the layers to change as its head
  RepairParts parts;
  Candidates candidates;
  int chosen = -1;
  Model model;

  State(const ModelSource& source, const DataSource& data, DebiasOptions wanted,
        const Exec& how)
      : options(std::move(wanted)),
        exec(how),
        model_name(file_name(source)),
        groups(data.groups()),
        whole(model_to_repair(source, data, options, exec)),
        tables(read_repair(whole, data, options, exec)),
        original(cut_for_repair(whole, options, tables.rows())),
        parts(original, std::move(tables), options, exec) {
    candidates = make_candidates(parts.problem, options, exec);
    measure_candidates(parts.problem, options,
                       {options.audit.confidence, options.audit.replicates}, exec,
                       candidates.all);
    chosen = choose(candidates.all, options);
    model = chosen < 0 ? whole : with_repaired(whole, options, choice().theta);
  }

  [[nodiscard]] const Candidate& choice() const {
    return candidates.all[static_cast<std::size_t>(chosen)];
  }

  [[nodiscard]] Predicted predict(const PairSet& pairs) const {
    if (chosen < 0) return {};
    if (is_newton(options.method))
      return first_order_gap(parts.problem, choice().theta, pairs, exec);
    if (candidates.path.g.size() == 0) return {};
    return path_gap(parts.problem, candidates.path.theta(choice().lambda), pairs, exec);
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
    report.measure = chosen_measure(options, matched);
    report.candidates = candidates.all;
    report.chosen = chosen;
    report.overlaps = parts.overlaps(original);
    report.optimistic = parts.optimistic(report.overlaps);
    report.solve = candidates.solve;
    report.relative_gradient = candidates.relative_gradient;
    report.hessian_source = candidates.hessian_source;
    report.solve_status = candidates.status;
    report.edit_rows = static_cast<Index>(parts.edit.rows.size());
    report.holdout_rows = static_cast<Index>(parts.holdout.rows.size());
    report.blas_kernel = blas_info().kernel;
    report.seed = exec.seed;
  }

  void predict(DebiasReport& report) const {
    if (report.measure == kOddsMeasure) {  // nothing is predicted for it
      report.predicted_holdout.resize(parts.repaired.size());
      if (parts.test) report.predicted_test.resize(parts.repaired.size());
      return;
    }
    for (std::size_t k = 0; k < parts.repaired.size(); ++k) {
      report.predicted_holdout.push_back(predict(parts.problem.holdout.pairs[k]));
      if (!parts.test) continue;
      const auto pairs = make_pairs(original, *parts.test, original.task, {}, exec);
      report.predicted_test.push_back(
          predict(pairs[parts.repaired[k]].value().set(*parts.test)));
    }
  }
};

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

  const std::vector<Control> controls =
      make_controls(s.whole, before, after, s.parts, s.exec);
  const Study holdout = s.parts.holdout_study(before, s.exec);
  const std::optional<Study>& test = s.parts.test;
  // Controls stand beside the figures that are shown.
  report.holdout = audit_all(before, after, test ? std::vector<Control>{} : controls,
                             holdout, options, s.exec);
  if (test) report.test = audit_all(before, after, controls, *test, options, s.exec);
  const Study& shown = test ? *test : holdout;
  report.moved = what_moved(before, after, shown, report.repaired, options, s.exec);
  report.accuracy_change =
      accuracy_change(score(before, shown, {}, s.exec), score(after, shown, {}, s.exec),
                      options.confidence, options.replicates, s.exec);
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
