#include "fmd/repro/coverage.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/index.h"
#include "data/json_reader.h"
#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "fmd/metrics/counterfactual.h"
#include "fmd/metrics/group.h"

namespace fmd {
namespace {

// A population is a list of rows that samples are drawn from, so the figures of the
// population are those of the list, by the same functions.
struct Population {
  Scored scored;
  std::vector<std::int32_t> code;
  std::vector<std::string> values;
  Matrix flipped;  // rows x values: p with the attribute set to each value
};

// One kind of rows: the group, its share, its favourable labels, and what its scores add.
struct GroupShape {
  const char* name;
  Index rows;
  double base_rate, shift;
};

constexpr Index kLevels = 20;  // different scores
constexpr Index kFew = 50;     // replicates where only values are needed

// Scores of label y lie around .35 and .65, moved by the shift of the group.
std::vector<double> score_shares(int label, double shift) {
  std::vector<double> shares;
  for (Index k = 0; k < kLevels; ++k) {
    const double p = (static_cast<double>(k) + .5) / static_cast<double>(kLevels);
    const double from = (p - (label == 1 ? .62 : .38) - shift) / .18;
    shares.push_back(std::exp(-from * from / 2));
  }
  return shares;
}

void add_rows(Population& population, std::int32_t group, int label, double p, Index rows,
              const std::vector<GroupShape>& shapes) {
  const Index first = static_cast<Index>(population.code.size());
  for (Index i = 0; i < rows; ++i) {
    population.code.push_back(group);
    population.scored.y.push_back(label);
    population.scored.decision.push_back(p >= .5 ? 1 : 0);
  }
  population.scored.p.conservativeResize(first + rows, 2);
  population.flipped.conservativeResize(first + rows, static_cast<Index>(shapes.size()));
  for (Index i = first; i < first + rows; ++i) {
    population.scored.p.row(i) << 1 - p, p;
    for (std::size_t v = 0; v < shapes.size(); ++v) {
      const double moved = p + (shapes[v].shift - shapes[at(group)].shift) * (.5 + p);
      population.flipped(i, static_cast<Index>(v)) = std::clamp(moved, .001, .999);
    }
  }
}

Population make_population(const std::vector<GroupShape>& shapes) {
  Population population;
  population.scored.favorable = 1;
  for (std::size_t g = 0; g < shapes.size(); ++g) {
    const GroupShape& shape = shapes[g];
    population.values.emplace_back(shape.name);
    for (const int label : {0, 1}) {
      const std::vector<double> shares = score_shares(label, shape.shift);
      double sum = 0;
      for (const double share : shares) sum += share;
      const double rows = static_cast<double>(shape.rows) *
                          (label == 1 ? shape.base_rate : 1 - shape.base_rate);
      for (Index k = 0; k < kLevels; ++k)
        add_rows(population, static_cast<std::int32_t>(g), label,
                 (static_cast<double>(k) + .5) / static_cast<double>(kLevels),
                 std::lround(rows * shares[at(k)] / sum), shapes);
    }
  }
  return population;
}

const std::map<std::string, std::vector<GroupShape>>& shapes() {
  static const std::map<std::string, std::vector<GroupShape>> all = {
      {"alike", {{"a", 20000, .4, 0}, {"b", 20000, .4, 0}, {"c", 20000, .4, 0}}},
      {"two", {{"a", 30000, .45, .04}, {"b", 30000, .3, -.04}}},
      {"five",
       {{"a", 24000, .45, .03},
        {"b", 12000, .35, 0},
        {"c", 9000, .3, -.03},
        {"d", 8000, .4, .06},
        {"e", 7000, .25, -.06}}}};
  return all;
}

struct Drawn {
  Scored scored;
  std::vector<std::int32_t> code;
  PairScores pairs;
};

Drawn draw(const Population& from, std::span<const Index> rows) {
  Drawn drawn;
  const auto n = static_cast<Index>(rows.size());
  const auto values = static_cast<Index>(from.values.size());
  drawn.scored.favorable = 1;
  drawn.scored.p.resize(n, 2);
  drawn.pairs.p.resize(n * (values - 1), 2);
  drawn.pairs.pbar.resize(n * (values - 1), 2);
  Index pair = 0;
  for (Index i = 0; i < n; ++i) {
    const Index row = rows[at(i)];
    drawn.scored.p.row(i) = from.scored.p.row(row);
    drawn.scored.y.push_back(from.scored.y[at(row)]);
    drawn.scored.decision.push_back(from.scored.decision[at(row)]);
    drawn.code.push_back(from.code[at(row)]);
    for (Index v = 0; v < values; ++v) {
      if (v == from.code[at(row)]) continue;
      const double p = from.flipped(row, v);
      drawn.pairs.p.row(pair) = from.scored.p.row(row);
      drawn.pairs.pbar.row(pair) << 1 - p, p;
      drawn.pairs.y.push_back(from.scored.y[at(row)]);
      drawn.pairs.decision.push_back(from.scored.decision[at(row)]);
      drawn.pairs.decision_bar.push_back(p >= .5 ? 1 : 0);
      drawn.pairs.unit.push_back(i);
      drawn.pairs.from.push_back(from.code[at(row)]);
      drawn.pairs.to.push_back(static_cast<std::int32_t>(v));
      ++pair;
    }
  }
  return drawn;
}

using PairKey = std::tuple<std::string, std::string, int, int>;

struct Truth {
  GroupReport groups;
  FlipReport flips;
  std::map<PairKey, double> pairs;  // measure, rate, first, second
};

GroupOptions group_options(Index replicates, int reference) {
  return {
      .replicates = replicates, .min_rows = 50, .min_label = 10, .reference = reference};
}

Truth truth_of(const Population& population, const Exec& exec) {
  std::vector<Index> all(population.code.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Index>(i);
  const Drawn whole = draw(population, all);
  Truth truth;
  const auto report = [&](int reference) {
    return group_report(whole.scored, "group", population.values, whole.code,
                        group_options(kFew, reference), exec);
  };
  truth.groups = report(-1);
  for (int first = 0; first < static_cast<int>(population.values.size()); ++first) {
    const GroupReport named = report(first);
    for (const GroupMeasure& measure : named.measures)
      for (const Comparison& c : measure.comparisons)
        truth.pairs[{measure.name, c.rate, c.first, c.second}] = c.difference.value;
  }
  truth.flips = flip_report(whole.pairs, static_cast<Index>(population.values.size()),
                            {.replicates = kFew}, exec);
  return truth;
}

const Population& population_of(const std::string& name) {
  static const std::map<std::string, Population> all = [] {
    std::map<std::string, Population> made;
    for (const auto& [key, shape] : shapes()) made.emplace(key, make_population(shape));
    return made;
  }();
  const auto found = all.find(name);
  if (found == all.end()) {
    throw Error(ErrorKind::bad_option, fmt::format("coverage: no population {}", name),
                fmt::format("populations: {}", fmt::join(coverage_populations(), ", ")));
  }
  return found->second;
}

bool holds(const Interval& interval, double truth) {
  constexpr double kRounding = 1e-9;
  return interval.low <= truth + kRounding && truth - kRounding <= interval.high;
}

bool has_interval(const Interval& interval) {
  return interval.defined() && !std::isnan(interval.low) && !std::isnan(interval.high);
}

// Sizes of something that is never below 0: the sample shows more of it than there is.
bool is_size(const std::string& name) {
  static const std::set<std::string> sizes = {"ks",
                                              "ece",
                                              "mce",
                                              "differential_fairness",
                                              "bias_amplification",
                                              "subgroup_selection",
                                              "subgroup_fpr",
                                              "between_group_entropy",
                                              "worst_cell_accuracy"};
  return sizes.contains(name);
}

class Counter {
 public:
  explicit Counter(CoverageSetting& setting) : setting_(setting) {}

  void add(const std::string& name, CoverageKind kind, const Interval& interval,
           double truth) {
    if (!has_interval(interval) || std::isnan(truth)) return;
    count(name, kind, holds(interval, truth));
  }

  void count(const std::string& name, CoverageKind kind, bool inside) {
    CoveredFigure& figure = setting_.figures[name];
    figure.kind = kind;
    figure.inside += inside;
    ++figure.intervals;
  }

 private:
  CoverageSetting& setting_;
};

void count_measure(const GroupMeasure& measure, const Truth& truth, Counter& counter) {
  const GroupMeasure* population = truth.groups.find(measure.name);
  if (population == nullptr || !population->reason.empty()) return;
  const bool pairs = !measure.comparisons.empty();
  const bool largest = pairs || is_size(measure.name);
  counter.add(measure.name, largest ? CoverageKind::largest : CoverageKind::mean,
              measure.value, population->value.value);
  if (!pairs) return;
  bool inside = true, known = true;
  for (const Comparison& c : measure.comparisons) {
    const auto found = truth.pairs.find({measure.name, c.rate, c.first, c.second});
    known = known && found != truth.pairs.end() && has_interval(c.difference);
    if (known) inside = inside && holds(c.difference, found->second);
  }
  if (known)
    counter.count(measure.name + ", each against the largest group", CoverageKind::together,
                  inside);
}

void count_groups(const GroupReport& report, const Truth& truth, Counter& counter) {
  for (std::size_t g = 0; g < report.groups.size(); ++g) {
    const Group &group = report.groups[g], &population = truth.groups.groups[g];
    if (!group.compared) continue;
    for (std::size_t r = 0; r < group.rates.size(); ++r) {
      const std::string& name = group.rates[r].name;
      counter.add(name + " of a group",
                  is_size(name) ? CoverageKind::largest : CoverageKind::mean,
                  group.rates[r].value, population.rates[r].value.value);
    }
  }
  counter.add("selection_ratio", CoverageKind::largest, report.selection_ratio,
              truth.groups.selection_ratio.value);
  counter.add("worst_group_accuracy", CoverageKind::largest, report.worst_group_accuracy,
              truth.groups.worst_group_accuracy.value);
  for (const GroupMeasure& measure : report.measures)
    if (measure.reason.empty()) count_measure(measure, truth, counter);
}

void count_flips(const FlipReport& report, const FlipReport& truth, Counter& counter) {
  if (truth.share_still == 1) return;  // no row changes: there is nothing to estimate
  counter.add("co", CoverageKind::mean, report.co, truth.co.value);
  counter.add("flip_rate", CoverageKind::mean, report.flip_rate, truth.flip_rate.value);
  counter.add("co_large", CoverageKind::mean, report.co_large, truth.co_large.value);
  counter.add("co_worst", CoverageKind::largest, report.co_worst, truth.co_worst.value);
  for (std::size_t f = 0; f < std::min(report.figures.size(), truth.figures.size()); ++f)
    if (report.figures[f].label < 0)
      counter.add(report.figures[f].name,
                  report.figures[f].name.starts_with("gap_q") ? CoverageKind::quantile
                                                              : CoverageKind::mean,
                  report.figures[f].value, truth.figures[f].value.value);
}

const char* kind_key(CoverageKind kind) {
  return kind == CoverageKind::mean       ? "mean"
         : kind == CoverageKind::largest  ? "largest"
         : kind == CoverageKind::quantile ? "quantile"
                                          : "together";
}

CoverageKind kind_of_key(const std::string& key) {
  return key == "mean"       ? CoverageKind::mean
         : key == "largest"  ? CoverageKind::largest
         : key == "quantile" ? CoverageKind::quantile
                             : CoverageKind::together;
}

}  // namespace

const std::vector<std::string>& coverage_populations() {
  static const std::vector<std::string> all = {"alike", "two", "five"};
  return all;
}

void add_draws(CoverageSetting& setting, Index until, const CoverageOptions& options,
               const Exec& exec) {
  const Population& population = population_of(setting.population);
  const Truth truth = truth_of(population, exec);
  const auto rows = static_cast<Index>(population.code.size());
  Counter counter(setting);
  for (; setting.draws < until; ++setting.draws) {
    Rng rng(exec.seed, fmt::format("coverage {} {}", setting.population, setting.rows),
            static_cast<std::uint64_t>(setting.draws));
    std::vector<Index> sample;
    for (Index i = 0; i < setting.rows; ++i) sample.push_back(rng.below(rows));
    Exec own = exec;
    own.seed = rng.next();
    const Drawn drawn = draw(population, sample);
    count_groups(group_report(drawn.scored, "group", population.values, drawn.code,
                              group_options(options.replicates, -1), own),
                 truth, counter);
    count_flips(flip_report(drawn.pairs, static_cast<Index>(population.values.size()),
                            {.replicates = options.replicates, .min_rows = 50}, own),
                truth.flips, counter);
    exec.report(fmt::format("drawing {} rows of {}", setting.rows, setting.population),
                setting.draws + 1, until);
  }
}

bool covers(const CoveredFigure& figure) {
  const double n = static_cast<double>(figure.intervals);
  const double share = static_cast<double>(figure.inside) / n;
  const double error = 2 * std::sqrt(.93 * .07 / n);
  return share >= .93 - error &&
         (figure.kind != CoverageKind::mean || share <= .97 + error);
}

std::string to_json(const std::vector<CoverageSetting>& settings, std::uint64_t seed) {
  nlohmann::ordered_json json = {{"schema", 1}, {"command", "coverage"}, {"seed", seed}};
  json["settings"] = nlohmann::ordered_json::array();
  for (const CoverageSetting& setting : settings) {
    nlohmann::ordered_json one = {{"population", setting.population},
                                  {"rows", setting.rows},
                                  {"draws", setting.draws}};
    one["figures"] = nlohmann::ordered_json::array();
    for (const auto& [name, figure] : setting.figures)
      one["figures"].push_back({{"name", name},
                                {"kind", kind_key(figure.kind)},
                                {"inside", figure.inside},
                                {"intervals", figure.intervals}});
    json["settings"].push_back(one);
  }
  return json.dump(1) + "\n";
}

std::vector<CoverageSetting> parse_coverage(const std::string& json,
                                            const std::string& source, std::uint64_t seed) {
  const nlohmann::json parsed = JsonReader::parse(json, source);
  const JsonReader object(parsed, source);
  if (object.text("command") != "coverage" ||
      object.count("seed") != static_cast<Index>(seed))
    object.fail("is not the state of this simulation with this seed");
  std::vector<CoverageSetting> settings;
  for (const JsonReader& one : object.objects("settings")) {
    CoverageSetting setting{
        one.text("population"), one.count("rows"), one.count("draws"), {}};
    for (const JsonReader& figure : one.objects("figures"))
      setting.figures[figure.text("name")] = {kind_of_key(figure.text("kind")),
                                              figure.count("inside"),
                                              figure.count("intervals")};
    settings.push_back(std::move(setting));
  }
  return settings;
}

}  // namespace fmd
