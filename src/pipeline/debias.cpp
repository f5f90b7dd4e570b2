#include "fmd/pipeline/debias.h"

#include "fmd/core/blas.h"
#include "fmd/repair/candidates.h"
#include "fmd/repair/choice.h"
#include "fmd/repair/prediction.h"
#include "pipeline/contenders.h"
#include "pipeline/debias_options.h"
#include "pipeline/moved.h"
#include "pipeline/repair_cut.h"
#include "pipeline/repair_parts.h"

namespace fmd {
struct DebiasRun::State {
  Model whole;        // before the layers are cut
  DebiasInput input;  // its model has the layers to change as its head
  DebiasOptions options;
  Exec exec;
  RepairParts parts;
  Candidates candidates;
  int chosen = -1;
  Model model;

  State(DebiasInput given, DebiasOptions wanted, const Exec& how)
      : whole(given.model),
        input(with_cut(std::move(given), wanted)),
        options(std::move(wanted)),
        exec(how),
        parts(input, options, exec) {
    candidates = make_candidates(parts.problem, options, exec);
    measure_candidates(parts.problem, options,
                       {options.audit.confidence, options.audit.replicates}, exec,
                       candidates.all);
    chosen = choose(candidates.all, options);
    model = chosen < 0 ? whole : with_repaired(whole, options, choice().theta);
  }

  [[nodiscard]] static DebiasInput with_cut(DebiasInput given,
                                            const DebiasOptions& options) {
    const Table& rows = given.train ? *given.train : given.data;
    given.model = cut_for_repair(given.model, options, rows.rows());
    return given;
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
    report.model = input.model_name;
    report.data = parts.notes(input, exec);
    report.options = options_json(options, exec.seed);
    report.task = input.model.task;
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
    report.overlaps = parts.overlaps(input.model);
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
      const auto pairs = make_pairs(input.model, *parts.test, input.model.task, {}, exec);
      report.predicted_test.push_back(
          predict(pairs[parts.repaired[k]].value().set(*parts.test)));
    }
  }
};

DebiasRun::DebiasRun(DebiasInput input, DebiasOptions options, const Exec& exec) {
  require_valid(options, input.train.has_value());
  require_loss(*input.model.head, "debias");
  state_ = std::make_unique<State>(std::move(input), std::move(options), exec);
}

DebiasRun::~DebiasRun() = default;
bool DebiasRun::found() const { return state_->chosen >= 0; }
const Model& DebiasRun::model() const { return state_->model; }
const std::vector<Candidate>& DebiasRun::candidates() const {
  return state_->candidates.all;
}

DebiasReport DebiasRun::measure(const Model& repaired) const {
  const State& s = *state_;
  const Model& before = s.input.model;
  Model after = repaired;
  // A format without room for a task gets the one of the repair.
  if (after.task.label.empty()) set_task(after, before.task, s.input.inputs);
  after = cut_for_repair(after, s.options, 0);
  const AuditOptions& options = s.options.audit;
  DebiasReport report;
  s.describe(report);
  s.predict(report);
  report.leaves = leaf_edit(s.whole, repaired);

  const std::vector<Control> controls =
      make_controls(s.whole, before, after, s.parts, s.input.train, s.exec);
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

}  // namespace fmd
