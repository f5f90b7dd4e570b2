#include "fmd/pipeline/debias.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "core/check.h"
#include "fmd/core/blas.h"
#include "fmd/curvature/hessian.h"
#include "fmd/data/split.h"
#include "pipeline/candidates.h"
#include "pipeline/contenders.h"

namespace fmd {
namespace {

constexpr Index kFewestRows = 20;  // in each part; below that no choice means anything

void validate(const DebiasOptions& o) {
  const bool known =
      o.method == "solve" || o.method == "path" || o.method == "average-column";
  require_option(known, "debias", "method", o.method, "solve, path or average-column");
  require_option(o.max_accuracy_loss >= 0 && o.max_accuracy_loss <= 1, "debias",
                 "max_accuracy_loss", o.max_accuracy_loss, "from 0 to 1");
  require_option(o.holdout_share > 0 && o.holdout_share < 1, "debias", "holdout_share",
                 o.holdout_share, "between 0 and 1");
  require_option(o.points >= 2, "debias", "points", o.points, ">= 2");
  require_option(o.anchor > 0, "debias", "anchor", o.anchor, "> 0");
  require_option(o.fit >= 0, "debias", "fit", o.fit, ">= 0");
  if (o.at_lambda)
    require_option(*o.at_lambda >= 0, "debias", "at lambda", *o.at_lambda, ">= 0");
  if (o.target) {
    const auto& m = o.target->measure;
    const bool ok = m == "co" || m == "co_tv" || m == "flip_rate";
    require_option(ok, "debias", "target", m, "a limit on co, co_tv or flip_rate");
  }
  const bool plain = o.gaps.empty() && o.fit == 0;
  require_option(plain || o.method == "solve", "debias", "method", o.method,
                 "solve when fit or gap is given");
}

// The attributes to repair: the named ones, or all that the model reads.
std::vector<std::size_t> repair_list(const Study& study, const DebiasOptions& options) {
  std::vector<std::size_t> list;
  for (const std::string& name : options.repair) {
    const Index a = study.find(name);
    if (a < 0) {
      throw Error(ErrorKind::bad_option,
                  fmt::format("debias: {} is no attribute of the task", name),
                  "name it with --attribute or in task.toml");
    }
    list.push_back(static_cast<std::size_t>(a));
  }
  if (!options.repair.empty()) return list;
  for (std::size_t a = 0; a < study.attributes.size(); ++a)
    if (study.reads[a] == Reads::yes) list.push_back(a);
  if (list.empty()) {
    throw Error(ErrorKind::attribute_not_read,
                study.attributes.empty() ? "debias: no attribute is named"
                                         : "the model reads none of the task's attributes",
                "say whose use by the model is to be removed: --attribute COLUMN");
  }
  return list;
}

StudyPart make_part(const Model& model, const Study& study, const Task& task,
                    std::vector<Index> rows, const std::vector<std::size_t>& repaired,
                    const Exec& exec) {
  StudyPart part{.study = &study, .rows = std::move(rows), .pairs = {}};
  if (static_cast<Index>(part.rows.size()) < kFewestRows) {
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: {} rows are too few to edit and to choose on",
                            study.table.source, part.rows.size()),
                fmt::format("give at least {} labelled rows to each part", kFewestRows));
  }
  auto all = make_pairs(model, study, task, part.rows, exec);
  for (const std::size_t a : repaired) {
    if (!all[a])
      (void)make_flip_pairs(model, study, a, part.rows, exec);  // throws the reason
    part.pairs.push_back(std::move(all[a].value()));
  }
  return part;
}

std::vector<Index> all_rows(const Study& study) {
  std::vector<Index> rows(static_cast<std::size_t>(study.table.rows()));
  std::iota(rows.begin(), rows.end(), Index{0});
  return rows;
}

// Edit and hold-out rows: stratified by label and the first repaired attribute.
std::vector<std::vector<Index>> split(const Study& study, std::size_t attribute,
                                      double share, std::uint64_t seed) {
  const Attribute& a = study.attributes[attribute];
  const auto values = static_cast<std::int32_t>(a.values.size()) + 1;
  std::vector<std::int32_t> stratum;
  for (std::size_t i = 0; i < study.y.size(); ++i)
    stratum.push_back(study.y[i] * values + a.code[i] + 1);
  const std::vector<Part> parts = {{"edit", 1 - share}, {"holdout", share}};
  return split_rows(stratum, parts, seed);
}

void require_labels(const Study& study) {
  const auto unknown = std::find(study.y.begin(), study.y.end(), -1);
  if (unknown == study.y.end()) return;
  throw Error(
      ErrorKind::bad_value,
      fmt::format("{}: the label is missing", study.table.where(unknown - study.y.begin())),
      "debias needs labelled rows: accuracy is part of the choice");
}

}  // namespace

struct DebiasRun::State {
  DebiasInput input;
  DebiasOptions options;
  Exec exec;
  Study data;
  std::optional<Study> own_holdout, train, test;
  std::vector<std::size_t> repaired;
  StudyPart edit, holdout;
  Candidates candidates;
  int chosen = -1;
  Model model;

  Study study(Table table, const std::string& sha256) const {
    Study made = make_study(input.model, std::move(table), input.model.task, true, exec);
    made.sha256 = sha256;
    require_labels(made);
    return made;
  }

  void read() {
    data = study(input.data, input.data_sha256);
    if (input.holdout) own_holdout = study(*input.holdout, input.holdout_sha256);
    if (input.train) train = study(*input.train, input.train_sha256);
    if (input.test) test = study(*input.test, input.test_sha256);
    repaired = repair_list(data, options);
    std::vector<Index> edit_rows, holdout_rows;
    if (own_holdout) {
      edit_rows = all_rows(data);
      holdout_rows = all_rows(*own_holdout);
    } else {
      auto parts = split(data, repaired[0], options.holdout_share, exec.seed);
      edit_rows = std::move(parts[0]);
      holdout_rows = std::move(parts[1]);
    }
    const Task& task = input.model.task;
    edit = make_part(input.model, data, task, std::move(edit_rows), repaired, exec);
    holdout = make_part(input.model, own_holdout ? *own_holdout : data, task,
                        std::move(holdout_rows), repaired, exec);
  }

  void choose_model() {
    const Rows rows = train ? train->rows() : edit.view();
    const Matrix H =
        hessian(*input.model.head, rows, input.model.theta,
                {.l2 = input.model.note.l2, .rows_in_mean = 0, .gauge = true}, exec);
    candidates = make_candidates(input.model, edit, H, options, exec);
    measure_candidates(input.model, holdout, options, exec, candidates.points);
    chosen = choose(candidates.points, options);
    model = chosen < 0
                ? input.model
                : with_theta(input.model,
                             candidates.points[static_cast<std::size_t>(chosen)].theta);
  }

  double predicted(const Study& study, const StudyPairs& pairs) const {
    if (chosen < 0 || candidates.path.g.size() == 0) return kUndefined;
    const double lambda = candidates.points[static_cast<std::size_t>(chosen)].lambda;
    return predicted_gap(input.model, candidates.path.theta(lambda), study, pairs, exec);
  }

  std::vector<DataNote> data_notes() const {
    std::vector<DataNote> notes;
    const auto add = [&](const std::string& role, const Study& s, bool split) {
      DataNote note{role,   s.table.source,   s.sha256,    s.table.rows(),
                    s.seen, s.seen_by_chance, std::nullopt};
      if (split) note.split_seed = exec.seed;
      notes.push_back(std::move(note));
    };
    add(own_holdout ? "edit" : "edit and hold-out", data, !own_holdout);
    if (own_holdout) add("hold-out", *own_holdout, false);
    if (train) add("train", *train, false);
    if (test) add("test", *test, false);
    return notes;
  }
};

DebiasRun::DebiasRun(DebiasInput input, DebiasOptions options, const Exec& exec)
    : state_(std::make_unique<State>()) {
  validate(options);
  state_->input = std::move(input);
  state_->options = std::move(options);
  state_->exec = exec;
  state_->read();
  state_->choose_model();
}

DebiasRun::~DebiasRun() = default;
bool DebiasRun::found() const { return state_->chosen >= 0; }
const Model& DebiasRun::model() const { return state_->model; }
const std::vector<PathPoint>& DebiasRun::points() const {
  return state_->candidates.points;
}

DebiasReport DebiasRun::measure(const Model& after) const {
  const State& s = *state_;
  const Model& before = s.input.model;
  DebiasReport report;
  report.model = s.input.model_name;
  report.data = s.data_notes();
  report.options = options_json(s.options, s.exec.seed);
  report.task = before.task;
  for (const std::size_t a : s.repaired) {
    report.repaired.push_back(s.data.attributes[a].name);
    report.attribute_use.push_back({report.repaired.back(), true, true, false});
    report.pairs += s.edit.pairs[report.repaired.size() - 1].size();
  }
  report.method = s.options.method;
  report.rule = rule_in_words(s.options);
  if (s.options.target) report.measure = s.options.target->measure;
  report.points = s.candidates.points;
  report.chosen = s.chosen;
  report.optimistic = s.data.used_in_training();
  report.residual = s.candidates.residual;
  report.damping = s.candidates.path.damping;
  report.rcond = s.candidates.path.rcond;
  report.iterations = s.candidates.iterations;
  report.hessian_rows = s.train ? "train" : "edit";
  report.solve_status = s.candidates.status;
  report.edit_rows = static_cast<Index>(s.edit.rows.size());
  report.holdout_rows = static_cast<Index>(s.holdout.rows.size());
  report.blas_kernel = blas_info().kernel;
  report.seed = s.exec.seed;

  const std::vector<Control> controls =
      make_controls(before, after, s.edit, s.holdout, s.input.train, s.exec);
  // A hold-out that is part of DATA is audited as a table of its own.
  const Study holdout = s.study(select(s.holdout.study->table, s.holdout.rows), "");
  if (!s.test)
    report.holdout = audit_all(before, after, controls, holdout, s.options.audit, s.exec);
  else
    report.holdout = audit_all(before, after, {}, holdout, s.options.audit, s.exec);
  if (s.test)
    report.test = audit_all(before, after, controls, *s.test, s.options.audit, s.exec);
  const Study& shown = s.test ? *s.test : holdout;
  for (std::size_t k = 0; k < s.repaired.size(); ++k) {
    report.predicted_holdout.push_back(s.predicted(*s.holdout.study, s.holdout.pairs[k]));
    if (s.test) {
      const auto pairs = make_pairs(before, *s.test, before.task, {}, s.exec);
      report.predicted_test.push_back(s.predicted(*s.test, pairs[s.repaired[k]].value()));
    }
  }
  report.moved = what_moved(before, after, shown, report.repaired, s.options.audit, s.exec);
  report.accuracy_change =
      accuracy_change(score(before, shown, {}, s.exec), score(after, shown, {}, s.exec),
                      s.options.audit.confidence, s.options.audit.replicates, s.exec);
  return report;
}

}  // namespace fmd
