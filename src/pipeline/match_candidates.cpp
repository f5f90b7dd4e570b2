#include "pipeline/match_candidates.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/check.h"
#include "core/index.h"
#include "fmd/metrics/bias_measure.h"
#include "fmd/unlearn/solve.h"

namespace fmd::internal {
namespace {

const Attribute& attribute_of(const StudyPart& part, std::size_t k) {
  return part.study->attributes[part.pairs[k].attribute];
}

// The edit rows as pairs of themselves: solve's fit over pairs is then a fit over rows.
// Each cell of label x value of every repaired attribute has the same total weight.
PairSet balanced_rows(const StudyPart& edit) {
  std::map<std::vector<std::int32_t>, Index> cells;
  std::vector<std::vector<std::int32_t>> of_row;
  for (const Index row : edit.rows) {
    std::vector<std::int32_t> cell = {edit.study->y[at(row)]};
    for (std::size_t k = 0; k < edit.pairs.size(); ++k)
      cell.push_back(attribute_of(edit, k).code[at(row)]);
    ++cells[cell];
    of_row.push_back(std::move(cell));
  }
  PairSet set;
  set.c = set.cbar = edit.view();
  set.unit = edit.rows;
  for (const auto& cell : of_row)
    set.weight.push_back(static_cast<float>(
        1 / (static_cast<double>(cells.size()) * static_cast<double>(cells[cell]))));
  return set;
}

std::vector<GapPenalty> odds_penalties(const CandidateInput& input, double gamma) {
  const Task& task = input.model.task;
  std::vector<GapPenalty> penalties;
  for (std::size_t k = 0; k < input.edit.pairs.size(); ++k) {
    const LargeGroups groups = large_groups(attribute_of(input.edit, k), task.min_group);
    for (const char* name : {"equal_opportunity_soft", "false_positive_soft"}) {
      GapPenalty penalty;
      penalty.measure = make_measure(
          name,
          {.favorable = task.favorable_class(), .groups = groups.count, .sharpen = 1});
      penalty.gamma = gamma / static_cast<double>(input.edit.pairs.size());
      penalty.group = groups.code;
      penalties.push_back(std::move(penalty));
    }
  }
  return penalties;
}

struct Weights {
  double mu, gamma;
  auto operator<=>(const Weights&) const = default;
};

std::vector<Weights> grid(const DebiasOptions& options) {
  std::vector<Weights> all;
  for (const double mu : {0.001, 0.01, 0.1, 1.0, 10.0})
    for (const double gamma : {0.0, 1.0, 10.0, 100.0, 1000.0, 10000.0})
      if (options.mu < 0 || mu == 0.001)
        all.push_back({options.mu < 0 ? mu : options.mu, gamma});
  const CandidateAt& asked = options.at;
  if (asked.mu && asked.gamma) {
    const Weights one{*asked.mu, *asked.gamma};
    if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
  }
  std::sort(all.begin(), all.end());
  return all;
}

void require_cells(const CandidateInput& input) {
  const Task& task = input.model.task;
  const int favorable = task.favorable_class();
  if (favorable < 0) {
    throw Error(ErrorKind::bad_option, "debias: matched pairs need a favourable class",
                "say which answer is good for the person: --favorable VALUE");
  }
  for (std::size_t k = 0; k < input.edit.pairs.size(); ++k) {
    const Attribute& attribute = attribute_of(input.edit, k);
    const LargeGroups groups = large_groups(attribute, task.min_group);
    std::vector<Index> count(at(2 * groups.count));
    for (const Index row : input.edit.rows)
      if (groups.code[at(row)] >= 0)
        ++count[at(2 * groups.code[at(row)] +
                   (input.edit.study->y[at(row)] == favorable ? 1 : 0))];
    if (groups.count >= 2 &&
        std::none_of(count.begin(), count.end(), [](Index n) { return n == 0; }))
      continue;
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: {} needs two values with >= {} rows, each with favourable "
                            "and unfavourable labels",
                            input.edit.study->table.source, attribute.name, task.min_group),
                "give more labelled rows, or lower --min-group");
  }
}

}  // namespace

LargeGroups large_groups(const Attribute& attribute, Index min_rows) {
  const std::vector<Index> counts = attribute.counts();
  LargeGroups groups;
  std::vector<std::int32_t> number(counts.size(), -1);
  for (std::size_t v = 0; v < counts.size(); ++v)
    if (counts[v] >= min_rows) number[v] = static_cast<std::int32_t>(groups.count++);
  for (const std::int32_t code : attribute.code)
    groups.code.push_back(code < 0 ? -1 : number[at(code)]);
  return groups;
}

std::string chosen_measure(const DebiasOptions& options, bool matched) {
  if (options.target) return options.target->measure;
  return matched ? kOddsMeasure : "co";
}

bool repairs_matched(const StudyPart& part, const Task& task,
                     const DebiasOptions& options) {
  std::size_t matched = 0;
  for (const StudyPairs& pairs : part.pairs)
    matched += is_match(task.attributes[pairs.attribute]);
  const bool odds = chosen_measure(options, matched > 0) == kOddsMeasure;
  if (matched == 0) {
    require_option(!odds, "debias", "target", kOddsMeasure,
                   "co, co_tv or flip_rate where pairs are not matched");
    require_option(!options.at.gamma && !options.at.mu, "debias", "at",
                   to_string(options.at), "lambda, s or K where pairs are not matched");
    return false;
  }
  if (matched < part.pairs.size()) {
    throw Error(ErrorKind::bad_option,
                "debias: some of the attributes are matched and some are not",
                "repair them one after the other: --attribute NAME");
  }
  require_option(options.method == RepairMethod::solve, "debias", "method",
                 to_string(options.method), "solve on matched pairs");
  require_option(odds, "debias", "target", options.target ? options.target->measure : "",
                 "equalized_odds_soft on matched pairs");
  require_option(options.gaps.empty(), "debias", "gap", "given",
                 "left out on matched pairs: their own gaps are penalised");
  require_option(!options.at.lambda, "debias", "at", to_string(options.at),
                 "gamma=X,mu=Y on matched pairs");
  return true;
}

Candidates match_candidates(const CandidateInput& input, const DebiasOptions& options,
                            const Exec& exec) {
  require_cells(input);
  const Model& model = input.model;
  const std::vector<PairSet> rows = {balanced_rows(input.edit)};
  Candidates candidates;
  candidates.solve = {.converged = true, .solver = "levenberg-marquardt"};
  candidates.hessian_source = "none";
  const std::vector<Weights> all = grid(options);
  Vector start = model.theta;
  for (const Weights& weights : all) {
    exec.report("repairing", std::ssize(candidates.all), std::ssize(all));
    if (weights.gamma == 0) start = model.theta;
    const SolveResult solved = solve(*model.head, model.theta, input.edit.view(), rows,
                                     {.anchor = 0,
                                      .fit = options.fit > 0 ? options.fit : 1,
                                      .lambda = 0,
                                      .mu = weights.mu,
                                      .gaps = odds_penalties(input, weights.gamma)},
                                     exec, start);
    start = solved.theta;
    Candidate candidate;
    candidate.gamma = weights.gamma;
    candidate.mu = weights.mu;
    candidate.kind = "solve";
    candidate.theta = solved.theta;
    candidates.all.push_back(std::move(candidate));
    InverseSummary& s = candidates.solve;
    s.residual = std::max(s.residual, solved.summary.gradient);
    s.iterations += solved.summary.iterations;
    if (solved.summary.status == SolveStatus::stopped) s.converged = false;
  }
  candidates.status = candidates.solve.converged ? "converged" : "not converged";
  return candidates;
}

}  // namespace fmd::internal
