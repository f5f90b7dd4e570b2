#include "repro/faces.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "core/index.h"
#include "fmd/baselines/dfr.h"
#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "fmd/curvature/inverse_hessian.h"
#include "fmd/data/csv.h"
#include "fmd/data/datasets.h"
#include "fmd/data/table_stream.h"
#include "fmd/formats/model_file.h"
#include "fmd/metrics/head_scores.h"
#include "fmd/metrics/scored.h"
#include "fmd/model/passes.h"
#include "fmd/pipeline/match_plan.h"
#include "fmd/repair/controls.h"
#include "fmd/unlearn/newton.h"
#include "repair/match_candidates.h"

namespace fmd::repro {
namespace {

const Dataset& faces_data() {
  static const Dataset kSet = {
      .name = "celeba",
      .title = "faces of CelebA's test split at 64 x 64, and two networks that saw 11,000",
      .source =
          "CelebA (research use only); the networks and the split were made for this "
          "table and are not public",
      .rows = 17476,
      .files = {{"celeba/celeba_test17476_64x64_jpeg.tar",
                 "6adff5771e483178a8a016adf12b55c71d42713b1de0fff316f056bdd3ba78d1"},
                {"celeba/celeba_test17476_attr.csv",
                 "5daf87c353099450529296820ea6a573777ef918f27fe59c2671ffb36839f6a9"},
                {"models/celeba_split.csv",
                 "610a4e53a28dfbeea4d4db8de64902f1bad18289174c58b5ec49348e3654a001"},
                {"models/celeba_blond.onnx",
                 "326587ddd423d6bb81b36744855f2919881ca9f8d604077b0466913313b87f2f"},
                {"models/celeba_attractive.onnx",
                 "b47aa1e47c5b29bb4347b5bb472cdf1ea9df7814b4b631de9b246bc4c5df2711"}},
      .task = {}};
  return kSet;
}

constexpr const char* kGender = "Male";
constexpr int kFolds = 5;

// Some faces with their features, and their matched pairs.
struct FacePart {
  std::vector<Index> rows;  // of the set
  OwnedRows own;
  std::vector<std::int32_t> male;
  std::vector<Index> c, cbar;  // pairs, the most alike first: places in `rows`
};

std::vector<float> values_of(const FaceSet& set, std::span<const Index> rows) {
  std::vector<float> values;
  values.reserve(rows.size() * at(set.cols));
  for (const Index row : rows)
    values.insert(values.end(), set.features.begin() + row * set.cols,
                  set.features.begin() + (row + 1) * set.cols);
  return values;
}

AttributeSpec overlap_of_the_others(const FaceSet& set) {
  AttributeSpec spec;
  spec.name = kGender;
  spec.pairs = "match:overlap";
  for (const Column& column : set.table.columns)
    if (column.kind == ColumnKind::number && column.name != kGender &&
        column.name != set.label)
      spec.match_columns.push_back(column.name);
  return spec;
}

// The matched pairs of some faces: same label, other gender, by overlap of the 38 others.
struct FaceMatches {
  Table table;
  std::vector<std::int32_t> y;
  Attribute attribute;
  AttributeSpec spec;
  MatchInput input;
  MatchPlan plan;

  FaceMatches(const FaceSet& set, std::span<const Index> rows, const Exec& exec)
      : table(select(set.table, rows)), spec(overlap_of_the_others(set)) {
    attribute.name = kGender;
    attribute.columns = {kGender};
    attribute.values = attribute.groups = {"female", "male"};
    for (const Index row : rows) {
      y.push_back(set.y[at(row)]);
      attribute.code.push_back(set.male[at(row)]);
    }
    attribute.group = attribute.code;
    input.table = &table;
    input.y = y;
    input.attribute = &attribute;
    input.spec = &spec;
    input.min_rows = 2;
    plan = match_plan(input, exec);
  }
  FaceMatches(const FaceMatches&) = delete;
  FaceMatches& operator=(const FaceMatches&) = delete;
};

// c is a face that goes with the bias: of the gender that has the larger share of its
// label.
FacePart make_part(const FaceSet& set, std::vector<Index> rows, bool pairs,
                   const Exec& exec) {
  FacePart part;
  std::vector<std::int32_t> y;
  double count[2][2] = {{0, 0}, {0, 0}};
  for (const Index row : rows) {
    y.push_back(set.y[at(row)]);
    part.male.push_back(set.male[at(row)]);
    count[set.male[at(row)]][set.y[at(row)]] += 1;
  }
  const Index size = std::ssize(rows);
  part.own = {make_dense(values_of(set, rows), size, set.cols), std::move(y)};
  part.rows = std::move(rows);
  if (!pairs) return part;
  const bool men_more = count[1][1] * count[0][0] > count[0][1] * count[1][0];
  const FaceMatches matches(set, part.rows, exec);
  const MatchPlan& plan = matches.plan;
  std::vector<std::size_t> order(plan.row.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
    return plan.distance[i] < plan.distance[j];
  });
  for (const std::size_t i : order) {
    const auto c = at(plan.row[i]);
    if ((part.male[c] == 1) != ((part.own.y[c] == 1) == men_more)) continue;
    part.c.push_back(plan.row[i]);
    part.cbar.push_back(plan.partner[i]);
  }
  return part;
}

// The accuracies of Table 3, in %.
struct FaceScore {
  double unbiased = 0, worst = 0, average = 0;
  double unbiased_error = 0, worst_error = 0;  // standard errors over the rows
};

FaceScore face_score(std::span<const std::int32_t> decision,
                     std::span<const std::int32_t> y, std::span<const std::int32_t> male) {
  double right[4] = {0, 0, 0, 0}, rows[4] = {0, 0, 0, 0};
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto cell = static_cast<std::size_t>(2 * y[i] + male[i]);
    rows[cell] += 1;
    if (decision[i] == y[i]) right[cell] += 1;
  }
  FaceScore score{.worst = 200};
  double variance = 0;
  for (std::size_t cell = 0; cell < 4; ++cell) {
    const double share = right[cell] / rows[cell];
    const double own = share * (1 - share) / rows[cell];
    score.unbiased += 25 * share;
    score.average += 100 * right[cell] / static_cast<double>(y.size());
    variance += own / 16;
    if (100 * share >= score.worst) continue;
    score.worst = 100 * share;
    score.worst_error = 100 * std::sqrt(own);
  }
  score.unbiased_error = 100 * std::sqrt(variance);
  return score;
}

// A method with all its settings.
struct FaceMethod {
  std::vector<std::string> settings;
  // The head of every setting, in their order; each may start where the one before ended.
  std::function<std::vector<Vector>(const FacePart&)> all;
  std::function<Vector(const FacePart&, std::size_t setting)> one;  // for the time it takes
  std::function<Index(const FacePart&)> used;  // faces or pairs that it learns from
};

class Faces {
 public:
  Faces(const FaceSet& set, const Unit& unit, const Exec& exec)
      : set_(set), exec_(exec), head_(set.cols, 1) {
    std::vector<Index> dex, train;
    for (std::size_t i = 0; i < set.part.size(); ++i) {
      const auto row = static_cast<Index>(i);
      if (set.part[i] == 0) train.push_back(row);
      if (set.part[i] == 1) dex.push_back(row);
      if (set.part[i] == 2) report_rows_.push_back(row);
    }
    Rng rng(unit.seed, "D_ex");
    const std::vector<Index> order = permutation(std::ssize(dex), rng);
    const Index rows = std::min(unit.settings.count("external_rows"), std::ssize(dex));
    for (Index i = 0; i < std::ssize(dex); ++i)
      (i < rows ? dex_ : left_).push_back(dex[at(order[at(i)])]);
    Rng more(unit.seed, "training faces");
    for (const Index i : permutation(std::ssize(train), more))
      train_order_.push_back(train[at(i)]);
    train.resize(std::min(train.size(), at(unit.settings.count("train_rows"))));
    train_ = make_part(set, std::move(train), false, exec);
    if (unit.settings.count("report_rows") < std::ssize(report_rows_))
      report_rows_.resize(at(unit.settings.count("report_rows")));
    report_ = make_part(set, report_rows_, false, exec);
    Exec same = exec;
    same.seed = 1;  // the pairs that report are the same for every draw
    matches_.emplace(set, report_rows_, same);
  }

  [[nodiscard]] Measured run(const SpecRow& row, const Settings& settings);
  [[nodiscard]] std::map<std::string, double> facts() const {
    return {{"report_rows", static_cast<double>(report_.rows.size())},
            {"external_rows", static_cast<double>(dex_.size())},
            {"rarest_cell_of_D_ex", static_cast<double>(rare_rows(dex_).size())},
            {"rarest_cell_of_report", static_cast<double>(rare_rows(report_rows_).size())}};
  }

 private:
  [[nodiscard]] std::vector<Index> rare_rows(const std::vector<Index>& rows) const;
  [[nodiscard]] std::vector<Index> with_rare(Index wanted) const;
  [[nodiscard]] FaceMethod method(const SpecRow& row, const Settings& settings);
  [[nodiscard]] FaceMethod steps(const Settings& settings);
  [[nodiscard]] FaceMethod parts_of_steps(const Settings& settings);
  [[nodiscard]] FaceMethod shifts() const;
  [[nodiscard]] FaceMethod reweighted(const Settings& settings) const;
  [[nodiscard]] FaceMethod matched(const Settings& settings) const;
  [[nodiscard]] Vector tempered_theta(const FacePart& part) const;
  [[nodiscard]] std::vector<std::int32_t> decisions(const FacePart& part,
                                                    const Vector& theta) const {
    return decide(all_probabilities(head_, part.own.rows(), theta, exec_), 0.5);
  }
  [[nodiscard]] OwnedPairs pairs(const FacePart& part, std::size_t first,
                                 std::size_t count) const;
  [[nodiscard]] const InverseHessian& trained_curvature();
  [[nodiscard]] std::size_t choose(const FaceMethod& method, const FacePart& dex,
                                   const std::vector<Index>& rows, double budget);
  [[nodiscard]] Measured measured(const SpecRow& row, const Vector& theta) const;

  const FaceSet& set_;
  Exec exec_;
  LinearHead head_;
  std::vector<Index> dex_, left_, report_rows_, train_order_;
  FacePart train_, report_;
  std::optional<FaceMatches> matches_;
  std::unique_ptr<InverseHessian> curvature_;
  double curvature_seconds_ = 0, curvature_cpu_ = 0;
};

// The rarest cell of label x gender among the training faces' kinds: of label 1 and men.
std::vector<Index> Faces::rare_rows(const std::vector<Index>& rows) const {
  std::vector<Index> found;
  for (const Index row : rows)
    if (set_.y[at(row)] == 1 && set_.male[at(row)] == 1) found.push_back(row);
  return found;
}

// D_ex with this many faces of the rare cell: some are left out, or taken from the unseen
// faces that the draw left, then from the training faces.
std::vector<Index> Faces::with_rare(Index wanted) const {
  std::vector<Index> rare = rare_rows(dex_), rows;
  for (const auto* more : {&left_, &train_order_})
    for (const Index row : rare_rows(*more)) rare.push_back(row);
  rare.resize(std::min(rare.size(), at(wanted)));
  for (const Index row : dex_)
    if (set_.y[at(row)] != 1 || set_.male[at(row)] != 1) rows.push_back(row);
  rows.insert(rows.end(), rare.begin(), rare.end());
  return rows;
}

OwnedPairs Faces::pairs(const FacePart& part, std::size_t first, std::size_t count) const {
  std::vector<Index> c, cbar;
  std::vector<std::int32_t> y;
  for (std::size_t i = first; i < std::min(first + count, part.c.size()); ++i) {
    c.push_back(part.rows[at(part.c[i])]);
    cbar.push_back(part.rows[at(part.cbar[i])]);
    y.push_back(part.own.y[at(part.c[i])]);
  }
  const Index n = std::ssize(c);
  return {make_dense(values_of(set_, c), n, set_.cols),
          make_dense(values_of(set_, cbar), n, set_.cols), std::move(y)};
}

const InverseHessian& Faces::trained_curvature() {
  if (curvature_ == nullptr) {
    const Stopwatch start;
    curvature_ = make_inverse_hessian(head_, train_.own.rows(), set_.theta, {}, exec_);
    curvature_seconds_ = start.seconds();
    curvature_cpu_ = start.cpu();
  }
  return *curvature_;
}

// Eq. 9 on the most similar pairs.
FaceMethod Faces::steps(const Settings& settings) {
  const auto most = static_cast<std::size_t>(settings.count("pairs"));
  const bool printed = settings.word("scale") == "printed";
  FaceMethod found;
  std::vector<double> scales;
  for (int power = -20; power <= 6 && !printed; ++power) {
    scales.push_back(std::ldexp(1 / static_cast<double>(train_.rows.size()), power));
    found.settings.push_back(fmt::format("s = 2^{}/n", power));
  }
  if (printed) scales = {1}, found.settings = {"s = 1"};
  const auto direction = [this, most](const FacePart& part) {
    const OwnedPairs own = pairs(part, 0, most);
    const Vector g = unlearn_gradient(head_, set_.theta, own.sets, exec_);
    return unlearn_direction(g, trained_curvature());
  };
  found.all = [this, direction, scales](const FacePart& part) {
    const UnlearnDirection way = direction(part);
    std::vector<Vector> all;
    for (const double s : scales) all.push_back(way.step(set_.theta, s));
    return all;
  };
  found.one = [this, direction, scales](const FacePart& part, std::size_t k) {
    return direction(part).step(set_.theta, scales[k]);
  };
  found.used = [most](const FacePart& part) {
    return static_cast<Index>(std::min(most, part.c.size()));
  };
  return found;
}

// Eq. 9, part after part; H over the rows of the part's pairs at the parameters reached.
FaceMethod Faces::parts_of_steps(const Settings& settings) {
  const auto parts = static_cast<std::size_t>(settings.count("parts"));
  FaceMethod found;
  for (const double power : settings.list("powers"))
    found.settings.push_back(fmt::format("s = 2^{:.0f}/n of the part", power));
  const std::vector<double> powers = settings.list("powers");
  found.one = [this, parts, powers](const FacePart& part, std::size_t k) {
    Vector theta = set_.theta;
    const std::size_t size = (part.c.size() + parts - 1) / parts;
    for (std::size_t first = 0; first < part.c.size(); first += size) {
      const OwnedPairs own = pairs(part, first, size);
      const OwnedRows both = both_sides(own.sets.front());
      CurvatureOptions curvature;
      curvature.damping.external = true;
      const auto inverse =
          make_inverse_hessian(head_, both.rows(), theta, curvature, exec_);
      const Vector g = unlearn_gradient(head_, theta, own.sets, exec_);
      const Vector next =
          newton_step(theta, g, *inverse,
                      {.step_scale = std::ldexp(1 / static_cast<double>(both.y.size()),
                                                static_cast<int>(powers[k]))})
              .theta;
      if (!next.allFinite()) break;
      theta = next;
    }
    return theta;
  };
  found.all = [one = found.one, count = powers.size()](const FacePart& part) {
    std::vector<Vector> all;
    for (std::size_t k = 0; k < count; ++k) all.push_back(one(part, k));
    return all;
  };
  found.used = [](const FacePart& part) { return std::ssize(part.c); };
  return found;
}

FaceMethod Faces::shifts() const {
  FaceMethod found;
  std::vector<double> by;
  for (int step = -24; step <= 24; ++step) {
    by.push_back(0.25 * step);
    found.settings.push_back(fmt::format("intercept {:+.2f}", by.back()));
  }
  found.one = [this, by](const FacePart&, std::size_t k) {
    Vector theta = set_.theta;
    theta[head_.intercept(0)] += by[k];
    return theta;
  };
  found.all = [one = found.one, count = by.size()](const FacePart& part) {
    std::vector<Vector> all;
    for (std::size_t k = 0; k < count; ++k) all.push_back(one(part, k));
    return all;
  };
  found.used = [](const FacePart& part) { return std::ssize(part.rows); };
  return found;
}

FaceMethod Faces::reweighted(const Settings& settings) const {
  FaceMethod found;
  const std::vector<double> C = settings.list("dfr_C");
  for (const double c : C) found.settings.push_back(fmt::format("C = {:.3g}", c));
  const Index draws = settings.count("dfr_draws");
  found.all = [this, C, draws](const FacePart& part) {
    return fit_dfr(head_, part.own.rows(), part.male, C, draws, exec_);
  };
  found.one = [this, C, draws](const FacePart& part, std::size_t k) {
    return fit_dfr(head_, part.own.rows(), part.male, {.C = C[k], .draws = draws}, exec_);
  };
  found.used = [](const FacePart& part) { return std::ssize(part.rows); };
  return found;
}

// What fmd debias does on matched pairs, with a smaller grid.
FaceMethod Faces::matched(const Settings& settings) const {
  FaceMethod found;
  std::vector<std::pair<double, double>> grid;
  for (const double gamma : settings.list("gamma"))
    for (const double mu : settings.list("mu")) {
      grid.emplace_back(mu, gamma);
      found.settings.push_back(fmt::format("mu = {:.3g}, gamma = {:.3g}", mu, gamma));
    }
  const auto problem_of = [this](const FacePart& part) {
    HeadProblem problem;
    problem.head = &head_;
    problem.theta = set_.theta;
    problem.favorable = 1;
    problem.min_group = 1;
    problem.repaired = {{0, PairKind::match}};
    problem.edit.rows = part.own.rows();
    problem.edit.attributes = {{kGender, part.male, 2}};
    return problem;
  };
  found.all = [this, grid, problem_of](const FacePart& part) {
    const HeadProblem problem = problem_of(part);
    const MatchFit fit(problem, 1);
    std::vector<Vector> all;
    Vector start;
    for (const auto& [mu, gamma] : grid) {
      start = fit.solve(mu, gamma, start, exec_).theta;
      all.push_back(start);
    }
    return all;
  };
  found.one = [this, grid, problem_of](const FacePart& part, std::size_t k) {
    const HeadProblem problem = problem_of(part);
    return MatchFit(problem, 1).solve(grid[k].first, grid[k].second, {}, exec_).theta;
  };
  found.used = [](const FacePart& part) { return std::ssize(part.rows); };
  return found;
}

Vector Faces::tempered_theta(const FacePart& part) const {
  HeadProblem problem;
  problem.head = &head_;
  problem.theta = set_.theta;
  HeadPart rows;
  rows.rows = part.own.rows();
  return tempered(problem, rows, exec_).theta;
}

std::size_t Faces::choose(const FaceMethod& method, const FacePart& dex,
                          const std::vector<Index>& rows, double budget) {
  const std::size_t count = method.settings.size();
  if (count == 1) return 0;
  std::vector<std::vector<std::int32_t>> decided(count);
  std::vector<std::int32_t> y, male;
  std::vector<std::int32_t> plain;
  // Each fold has the same share of every cell of label x gender.
  std::vector<std::int32_t> fold(rows.size());
  Index next[4] = {0, 0, 0, 0};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto cell = static_cast<std::size_t>(2 * dex.own.y[i] + dex.male[i]);
    fold[i] = static_cast<std::int32_t>(next[cell]++ % kFolds);
  }
  for (int k = 0; k < kFolds; ++k) {
    std::vector<Index> in, out;
    for (std::size_t i = 0; i < rows.size(); ++i)
      (fold[i] == k ? out : in).push_back(rows[i]);
    const FacePart edit = make_part(set_, std::move(in), true, exec_);
    const FacePart held = make_part(set_, std::move(out), false, exec_);
    y.insert(y.end(), held.own.y.begin(), held.own.y.end());
    male.insert(male.end(), held.male.begin(), held.male.end());
    const std::vector<std::int32_t> before = decisions(held, set_.theta);
    plain.insert(plain.end(), before.begin(), before.end());
    const std::vector<Vector> thetas = method.all(edit);
    for (std::size_t s = 0; s < count; ++s) {
      const Vector& theta = thetas[s].allFinite() ? thetas[s] : set_.theta;
      const std::vector<std::int32_t> d = decisions(held, theta);
      decided[s].insert(decided[s].end(), d.begin(), d.end());
    }
  }
  const double floor = face_score(plain, y, male).average - budget;
  std::size_t best = 0;
  double highest = -1;
  for (std::size_t s = 0; s < count; ++s) {
    const FaceScore score = face_score(decided[s], y, male);
    // Where all lose more than the budget, the one that loses least.
    const double value =
        score.average >= floor ? 100 + score.unbiased : score.average - floor;
    if (s > 0 && value <= highest) continue;
    highest = value;
    best = s;
  }
  return best;
}

Measured Faces::measured(const SpecRow& row, const Vector& theta) const {
  Scored scored = score_rows(head_, theta, report_.own.rows(), 0.5, 1, exec_);
  const FaceScore score = face_score(scored.decision, report_.own.y, report_.male);
  const FaceScore vanilla =
      face_score(decisions(report_, set_.theta), report_.own.y, report_.male);
  const MatchReport match = match_report(matches_->plan, matches_->input, scored, 0.95);
  Measured found;
  found.id = row.id;
  found.value = {{"unb", score.unbiased},
                 {"wor", score.worst},
                 {"avg", score.average},
                 {"co", match.co.value},
                 {"floor", match.floor.value},
                 {"excess", match.excess.value},
                 {"unb_gain", score.unbiased - vanilla.unbiased},
                 {"wor_gain", score.worst - vanilla.worst},
                 {"avg_gain", score.average - vanilla.average},
                 {"unb_rows", 1.96 * score.unbiased_error},
                 {"wor_rows", 1.96 * score.worst_error},
                 {"excess_rows", (match.excess.high - match.excess.low) / 2},
                 {"seconds", 0},
                 {"cpu", 0},
                 {"choosing", 0},
                 {"rows", 0}};
  return found;
}

FaceMethod Faces::method(const SpecRow& row, const Settings& settings) {
  if (row.method == "newton") return steps(settings);
  if (row.method == "parts") return parts_of_steps(settings);
  if (row.method == "shift") return shifts();
  if (row.method == "dfr") return reweighted(settings);
  if (row.method == "solve") return matched(settings);
  throw Error(ErrorKind::bad_task,
              fmt::format("reproduce: no method \"{}\" for faces", row.method));
}

Measured Faces::run(const SpecRow& row, const Settings& settings) {
  if (row.method == "vanilla") return measured(row, set_.theta);
  const std::vector<Index> rows =
      settings.has("rare") ? with_rare(settings.count("rare")) : dex_;
  const FacePart dex = make_part(set_, rows, true, exec_);
  if (row.method == "tempered") {
    const Stopwatch start;
    const Vector theta = tempered_theta(dex);
    Measured found = measured(row, theta);
    found.value["choosing"] = start.seconds();
    found.value["rows"] = static_cast<double>(rows.size());
    return found;
  }
  const FaceMethod how = method(row, settings);
  if (row.method == "newton") (void)trained_curvature();
  const Stopwatch choosing;
  const std::size_t best = choose(how, dex, rows, settings.number("budget"));
  const double chosen_in = choosing.seconds();
  const Stopwatch start;
  const Vector theta = how.one(dex, best);
  const double seconds = start.seconds(), cpu = start.cpu();
  Measured found = measured(row, theta.allFinite() ? theta : set_.theta);
  const bool newton = row.method == "newton";
  found.value["seconds"] = seconds + (newton ? curvature_seconds_ : 0);
  found.value["cpu"] = cpu + (newton ? curvature_cpu_ : 0);
  found.value["choosing"] = how.settings.size() > 1 ? chosen_in : 0;
  found.value["rows"] = static_cast<double>(how.used(dex));
  found.chosen = how.settings[best];
  found.labels = true;
  return found;
}

}  // namespace

FaceJudge::FaceJudge(const FaceSet& set, std::vector<Index> rows, const Exec& exec)
    : rows_(std::move(rows)) {
  Exec same = exec;
  same.seed = 1;
  const auto matches = std::make_shared<FaceMatches>(set, rows_, same);
  judge_ = [matches](const std::vector<double>& p1) {
    Scored scored;
    scored.p = Matrix(std::ssize(p1), 2);
    scored.y = matches->y;
    scored.favorable = 1;
    for (std::size_t i = 0; i < p1.size(); ++i) {
      scored.p(static_cast<Index>(i), 0) = 1 - p1[i];
      scored.p(static_cast<Index>(i), 1) = p1[i];
    }
    scored.decision = decide(scored.p, 0.5);
    const FaceScore score = face_score(scored.decision, scored.y, matches->attribute.code);
    const MatchReport match = match_report(matches->plan, matches->input, scored, 0.95);
    return std::map<std::string, double>{
        {"unb", score.unbiased},
        {"wor", score.worst},
        {"avg", score.average},
        {"co", match.co.value},
        {"floor", match.floor.value},
        {"excess", match.excess.value},
        {"unb_rows", 1.96 * score.unbiased_error},
        {"wor_rows", 1.96 * score.worst_error},
        {"excess_rows", (match.excess.high - match.excess.low) / 2}};
  };
}

FaceSet read_face_table(const std::filesystem::path& data_folder, const std::string& label,
                        const Exec& exec) {
  for (const DatasetFile& file : faces_data().files)  // each is checked
    (void)read_image_file(faces_data(), file, data_folder);
  FaceSet set;
  set.label = label;
  set.table = read_table(data_folder / "celeba/celeba_test17476_attr.csv", {}, exec);
  const Table split = read_table(data_folder / "models/celeba_split.csv", {}, exec);
  std::map<std::string, std::string> part_of;
  for (Index i = 0; i < split.rows(); ++i)
    part_of[split.column("image").text(i)] = split.column("part").text(i);
  const Column& name = set.table.columns.front();
  for (Index i = 0; i < set.table.rows(); ++i) {
    const std::string& part = part_of[name.text(i)];
    set.part.push_back(part == "train" ? 0 : part == "dex" ? 1 : 2);
    set.y.push_back(set.table.column(label).numbers[at(i)] > 0 ? 1 : 0);
    set.male.push_back(set.table.column(kGender).numbers[at(i)] > 0 ? 1 : 0);
  }
  return set;
}

FaceSet read_faces(const std::filesystem::path& data_folder, const std::string& network,
                   const std::string& label, const std::filesystem::path& cache,
                   const Exec& exec) {
  FaceSet set = read_face_table(data_folder, label, exec);
  const Column& name = set.table.columns.front();
  Model model = open_model_file(data_folder / "models" / network)->model();
  Task task = model.task;
  InputSpec image;
  image.image = name.name;
  task.inputs = {image};
  set_task(
      model, task,
      {.images = data_folder / "celeba/celeba_test17476_64x64_jpeg.tar", .cache = cache});
  const auto X = model.backbone->features(set.table, {}, exec);
  set.cols = X->cols();
  Scratch scratch;
  for (Index b = 0; b < block_count(X->rows()); ++b) {
    const FeatureBlock block = X->block(b, scratch);
    set.features.insert(set.features.end(), block.dense,
                        block.dense + block.rows * block.cols);
  }
  const LinearHead& head = linear_head(model);
  const Matrix W = head.W(model.theta);
  const Vector b = head.b(model.theta);
  const LinearHead one(set.cols, 1);
  set.theta = one.from(W.row(1) - W.row(0), b.segment(1, 1) - b.segment(0, 1));
  return set;
}

UnitResult run_faces(World& world, const Unit& unit, const Exec& exec) {
  const FaceSet& set =
      world.faces(unit.settings.word("network"), unit.settings.word("label"), exec);
  Faces faces(set, unit, exec);
  UnitResult result;
  for (const SpecRow& row : unit.spec->rows) {
    const Settings settings = unit.of(row);
    // How much the rare faces matter is shown where they are rare.
    if (settings.has("rare") && unit.settings.word("grow") != "yes") continue;
    exec.report(fmt::format("{}, draw {}: {}", unit.c->name, unit.seed, row.title), 0, 0);
    result.rows.push_back(faces.run(row, settings));
  }
  result.facts = faces.facts();
  return result;
}

}  // namespace fmd::repro
