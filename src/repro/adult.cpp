#include "repro/adult.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/index.h"
#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "fmd/data/datasets.h"
#include "fmd/metrics/scored.h"
#include "fmd/model/cut.h"
#include "fmd/model/mlp_head.h"
#include "fmd/model/passes.h"
#include "fmd/repair/choice.h"
#include "fmd/unlearn/simple.h"
#include "fmd/unlearn/solve.h"

namespace fmd::repro {
namespace {

Table some_rows(const Table& table, std::span<const Index> order, Index first, Index last) {
  std::vector<Index> rows(order.begin() + first, order.begin() + last);
  std::sort(rows.begin(), rows.end());
  return select(table, rows);
}

// The figures of a rival; expected values where it draws lots.
Score score_answers(const Answers& plain, const Answers& flipped, const Side& side) {
  Score found;
  double share[2] = {0, 0}, rows[2] = {0, 0}, hits[2] = {0, 0}, positive[2] = {0, 0};
  double gap = 0;
  const Index n = plain.p.rows();
  for (Index i = 0; i < n; ++i) {
    const std::int32_t y = side.rows.y[at(i)], g = side.group[at(i)];
    found.accuracy += plain.decision(i, y);
    gap += std::abs(plain.p(i, y) - flipped.p(i, y));
    rows[g] += 1;
    share[g] += plain.decision(i, 1);
    if (y != 1) continue;
    positive[g] += 1;
    hits[g] += plain.decision(i, 1);
  }
  found.accuracy /= static_cast<double>(n);
  found.bias = gap / static_cast<double>(n);
  found.parity = std::abs(share[0] / rows[0] - share[1] / rows[1]);
  found.opportunity = std::abs(hits[0] / positive[0] - hits[1] / positive[1]);
  return found;
}

}  // namespace

AdultIncome::AdultIncome(World& world, const Unit& unit, const Exec& exec)
    : exec_(exec),
      attribute_(unit.settings.word("attribute")),
      checkpoints_(world.checkpoints()) {
  const Settings& s = unit.settings;
  task_ = find_dataset("adult").task;
  task_.unseen = Unseen::bucket;
  train_ = load_dataset("adult", world.folder(), "train");
  if (s.count("train_rows") < train_.rows()) {
    Rng rng(unit.seed, "training rows");
    train_ = some_rows(train_, permutation(train_.rows(), rng), 0, s.count("train_rows"));
  }
  const Table test = load_dataset("adult", world.folder(), "test");
  Rng rng(unit.seed, "external rows");
  const std::vector<Index> order = permutation(test.rows(), rng);
  const Index external = s.count("external_rows"), edit = external * 4 / 5;
  edit_ = some_rows(test, order, 0, edit);
  holdout_ = some_rows(test, order, edit, external);
  report_ = some_rows(test, order, external, test.rows());
  if (s.word("model") == "mlp") {
    MlpOptions options;
    options.hidden = {100, 100, 100};
    options.adam.epochs = static_cast<int>(s.count("vanilla_epochs"));
    model_ = train_mlp(train_, task_, "", options, exec_).model;
  } else {
    model_ = train_model(train_, task_, "", {}, exec_).model;
  }
  facts_["training_rows"] = static_cast<double>(train_.rows());
  facts_["report_rows"] = static_cast<double>(report_.rows());
}

Side AdultIncome::side(const Model& model, const Table& table) const {
  Study study = make_study(model, table, model.task, true, exec_);
  const auto a = at(study.find(attribute_));
  StudyPairs pairs = make_flip_pairs(model, study, a, {});
  Side side;
  side.group = study.attributes[a].code;
  const std::shared_ptr<const Features> X(std::move(study.X));
  side.rows = {X, study.y};
  side.pairs = {X, std::shared_ptr<const Features>(std::move(pairs.cbar)), study.y};
  return side;
}

const Stage& AdultIncome::stage(Index layers) {
  const auto all = static_cast<Index>(model_.head->widths().size()) - 1;
  const Index used = layers <= 0 || layers > all ? all : layers;
  const auto found = stages_.find(used);
  if (found != stages_.end()) return found->second;
  const Model top = cut_layers(model_, used);
  Stage stage;
  stage.head = top.head;
  stage.problem.theta = top.theta;
  stage.problem.l2 = model_.note.l2;
  stage.edit = side(top, edit_);
  stage.holdout = side(top, holdout_);
  stage.report = side(top, report_);
  stage.edit_group = stage.edit.group;
  for (const std::int32_t g : stage.edit.group) stage.edit_group.push_back(1 - g);
  if (used == 1) {
    Study study = make_study(top, train_, top.task, true, exec_);
    stage.train = {std::shared_ptr<const Features>(std::move(study.X)), study.y};
    stage.problem.replaced = [this](std::span<const Index> rows, const Exec&) {
      const Table table = select(train_, {rows.begin(), rows.end()});
      return kept(std::move(side(cut_layers(model_, 1), table).pairs));
    };
  }
  connect(stage);
  return stages_.emplace(used, std::move(stage)).first->second;
}

Vector AdultIncome::averaged() const {
  const Study study = make_study(model_, edit_, model_.task, true, exec_);
  const Attribute& attribute = study.attributes[at(study.find(attribute_))];
  const std::vector<Index> features = model_.backbone->columns()->of(attribute);
  const LinearHead first = layers_of(*model_.head).front().head;
  Vector theta = model_.theta;
  theta.head(first.parameters()) = average_features(
      first, model_.theta.head(first.parameters()), study.rows(), features, exec_);
  return theta;
}

Measured AdultIncome::average_column(const std::string& id) {
  const Stopwatch start;
  Outcome outcome;
  outcome.theta = averaged();
  outcome.seconds = start.seconds();
  outcome.cpu = start.cpu();
  outcome.rows = edit_.rows();
  return report(id, stage(0), outcome, exec_);
}

Measured AdultIncome::solve_from_average(const std::string& id, const Settings& settings) {
  const Stage& all = stage(0);
  const Stopwatch start;
  const Vector first = averaged();
  std::vector<EditCandidate> candidates;
  Outcome outcome;
  for (const double lambda : settings.list("lambda")) {
    SolveOptions options;
    options.anchor = settings.number("anchor");
    options.lambda = lambda;
    options.mu = settings.number("mu");
    options.max_iterations = static_cast<int>(settings.count("max_iterations"));
    const Stopwatch begun;
    const HeadPart& edit = all.problem.edit;
    const Vector theta =
        solve(*all.head, all.problem.theta, edit.rows, edit.pairs, options, exec_, first)
            .theta;
    candidates.push_back(
        {theta, fmt::format("lambda = {:.4g}", lambda), begun.seconds(), begun.cpu()});
  }
  const std::size_t best = choose_edit(all, candidates, rule_of(settings), exec_);
  outcome.theta = candidates[best].theta;
  outcome.chosen = candidates[best].setting;
  outcome.seconds = candidates[best].seconds;
  outcome.cpu = candidates[best].cpu;
  outcome.choosing = start.seconds();
  outcome.rows = edit_.rows();
  return report(id, all, outcome, exec_);
}

Measured AdultIncome::retrained(const std::string& id) {
  const Stopwatch start;
  const Model model = train_without(model_, train_, {attribute_}, exec_).model;
  const double seconds = start.seconds(), cpu = start.cpu();
  // It does not read the column: there is no flip gap to measure.
  const Study study = make_study(model, report_, model.task, true, exec_);
  const Matrix p = all_probabilities(*model.head, study.rows(), model.theta, exec_);
  const std::vector<std::int32_t> decision = decide(p, 0.5);
  Index right = 0;
  for (std::size_t i = 0; i < decision.size(); ++i)
    if (decision[i] == study.y[i]) ++right;
  return {id,
          {{"accuracy", 100 * static_cast<double>(right) / static_cast<double>(p.rows())},
           {"seconds", seconds},
           {"cpu", cpu},
           {"choosing", 0},
           {"rows", 0}},
          "",
          false};
}

Score AdultIncome::scored(const BaselineCandidate& candidate, const Side& side) const {
  std::vector<std::int32_t> other;
  for (const std::int32_t g : side.group) other.push_back(1 - g);
  return score_answers(candidate.answer({side.rows.rows(), side.group}, exec_),
                       candidate.answer({side.pairs.cbar.rows(), other}, exec_), side);
}

std::size_t AdultIncome::best_of(const Stage& stage,
                                 const std::vector<BaselineCandidate>& candidates) const {
  std::vector<ChoiceFigures> figures;
  for (const BaselineCandidate& candidate : candidates)
    figures.push_back({scored(candidate, stage.holdout).accuracy, 0});
  const RuleStep rule[] = {{std::vector<bool>(figures.size(), true), {Prefer::accuracy}}};
  return static_cast<std::size_t>(choose(figures, rule));
}

Measured AdultIncome::measured(const std::string& id, const Stage& stage,
                               const BaselineCandidate& candidate) const {
  const Score reached = scored(candidate, stage.report);
  return {id,
          {{"accuracy", 100 * reached.accuracy},
           {"bias", reached.bias},
           {"parity", reached.parity},
           {"opportunity", reached.opportunity},
           {"choosing", 0}},
          candidate.setting,
          true};
}

Measured AdultIncome::rival(const std::string& id, const std::string& name) {
  const BaselineInfo* info = find_baseline(name);
  if (info == nullptr)
    throw Error(ErrorKind::bad_task, "reproduce: no method \"" + name + "\"");
  const Stage& last = stage(1);
  const Study study = make_study(model_, edit_, model_.task, true, exec_);
  const Attribute& attribute = study.attributes[at(study.find(attribute_))];
  const Study trained = make_study(model_, train_, model_.task, true, exec_);
  HeadProblem problem = last.problem;
  problem.favorable = 1;
  if (info->trains)
    problem.train->attributes = {
        {attribute_, trained.attributes[at(trained.find(attribute_))].code, 2}};
  else
    problem.train.reset();
  problem.attribute_features = model_.backbone->columns()->of(attribute);
  problem.edit.rows = last.edit.rows.rows();
  problem.edit.attributes = {{attribute_, last.edit.group, 2}};
  const Stopwatch start;
  const std::vector<BaselineCandidate> candidates = fit_baseline(name, problem, exec_);
  const double seconds = start.seconds(), cpu = start.cpu();
  Measured found = measured(id, last, candidates[best_of(last, candidates)]);
  found.value["seconds"] = seconds;
  found.value["cpu"] = cpu;
  found.value["rows"] = static_cast<double>(info->trains ? train_.rows() : edit_.rows());
  return found;
}

Measured AdultIncome::network(const std::string& id, const Settings& settings) {
  const Stage& whole = stage(0);
  const Study study = make_study(model_, train_, model_.task, true, exec_);
  const Attribute& attribute = study.attributes[at(study.find(attribute_))];
  const LinearHead none(study.X->cols(), 1);  // of no meaning: these methods make their own
  HeadProblem problem;
  problem.head = &none;
  problem.theta = Vector::Zero(none.parameters());
  problem.repaired = {{0, PairKind::flip}};
  problem.attribute_features = model_.backbone->columns()->of(attribute);
  problem.edit.rows = whole.edit.rows.rows();
  problem.edit.attributes = {{attribute_, whole.edit.group, 2}};
  problem.train =
      HeadPart{.rows = study.rows(), .attributes = {{attribute_, attribute.code, 2}}};
  BaselineOptions options;
  options.checkpoints = checkpoints_;
  options.hidden = {100, 100, 100};
  options.effort = settings.number("effort");
  options.watch = [&](const BaselineCandidate& candidate) {
    const Score reached = scored(candidate, whole.report);
    return std::vector<double>{100 * reached.accuracy, reached.bias};
  };
  const std::vector<BaselineCandidate> candidates =
      fit_baseline(settings.word("network"), problem, exec_, options);
  const BaselineCandidate& best = candidates[best_of(whole, candidates)];
  Measured found = measured(id, whole, best);
  found.chosen = training_text(best);
  found.value["seconds"] = best.training.seconds;
  found.value["cpu"] = best.training.cpu;
  if (candidates.size() > 1)
    for (const BaselineCandidate& candidate : candidates)
      found.value["choosing"] += candidate.training.seconds;
  found.value["rows"] = static_cast<double>(train_.rows());
  curves_.add(id, best.training);
  return found;
}

std::string AdultIncome::pareto(const Settings& settings) {
  nlohmann::ordered_json points = nlohmann::ordered_json::array();
  const Stage& last = stage(1);
  for (const double lambda : settings.list("lambda")) {
    Settings one = settings;
    one.numbers["lambda"] = {lambda};
    const Vector theta = solved(last, one, exec_).theta;
    const Score reached = score(*last.head, theta, last.report, exec_);
    points.push_back({{"lambda", lambda},
                      {"accuracy", reached.accuracy},
                      {"bias", reached.bias},
                      {"parity", reached.parity},
                      {"opportunity", reached.opportunity}});
  }
  return nlohmann::ordered_json{{"pareto_last_layer", points}}.dump();
}

UnitResult run_adult(World& world, const Unit& unit, const Exec& exec) {
  AdultIncome adult(world, unit, exec);
  UnitResult result;
  result.rows = run_rows(
      unit, [&](Index layers) -> const Stage& { return adult.stage(layers); },
      [&](const SpecRow& row, const Settings& settings) {
        if (row.method == "solve_averaged")
          return adult.solve_from_average(row.id, settings);
        if (row.method == "average") return adult.average_column(row.id);
        if (row.method == "retrained") return adult.retrained(row.id);
        if (row.method == "network") return adult.network(row.id, settings);
        return adult.rival(row.id, row.method);
      },
      exec);
  result.facts = adult.facts();
  result.pictures =
      unit.settings.has("pictures") ? adult.pareto(unit.settings) : adult.curves().json();
  return result;
}

}  // namespace fmd::repro
