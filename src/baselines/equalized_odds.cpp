#include <array>
#include <cmath>

#include "baselines/post_rows.h"
#include "core/check.h"

namespace fmd {
namespace {

constexpr double kFeasible = 1e-11;

// keep_0, grant_0, keep_1, grant_1.
using Point = std::array<double, 4>;

struct Program {
  Point cost{};
  Point tpr{}, fpr{};  // the two equations: their products with a point are 0
  Point moved{};       // share of all rows that a unit of change in each unknown moves
};

struct Rates {
  double positives = 0, negatives = 0, tp = 0, fp = 0;
};

Program make_program(const PostRows& rows, const std::vector<std::uint8_t>& decided) {
  Rates groups[2];
  for (Index i = 0; i < rows.size(); ++i) {
    const std::int32_t g = rows.group[at(i)];
    if (g < 0) continue;
    Rates& r = groups[g];
    (rows.favorable[at(i)] ? r.positives : r.negatives) += 1;
    if (decided[at(i)]) (rows.favorable[at(i)] ? r.tp : r.fp) += 1;
  }
  Program p;
  for (std::size_t g = 0; g < 2; ++g) {
    const Rates& r = groups[g];
    const auto number = static_cast<Index>(g);
    if (r.positives == 0) throw_empty("equalized odds", number, "a favourable label");
    if (r.negatives == 0) throw_empty("equalized odds", number, "an unfavourable label");
    const double tpr = r.tp / r.positives, fpr = r.fp / r.negatives;
    const double fnr = (r.positives - r.tp) / r.positives;
    const double tnr = (r.negatives - r.fp) / r.negatives;
    const double sign = g == 0 ? 1 : -1;
    p.cost[2 * g] = fpr - tpr;
    p.cost[2 * g + 1] = tnr - fnr;
    p.tpr[2 * g] = sign * tpr;
    p.tpr[2 * g + 1] = sign * fnr;
    p.fpr[2 * g] = sign * fpr;
    p.fpr[2 * g + 1] = sign * tnr;
    p.moved[2 * g] = r.tp + r.fp;
    p.moved[2 * g + 1] = r.positives + r.negatives - r.tp - r.fp;
  }
  return p;
}

double dot(const Point& a, const Point& b) {
  double sum = 0;
  for (std::size_t j = 0; j < 4; ++j) sum += a[j] * b[j];
  return sum;
}

// Fills the unknowns i and j (i == j: one of them) so that the equations hold, given the
// others. False where they are not determined.
bool complete(const Program& p, std::size_t i, std::size_t j, Point& x) {
  x[i] = x[j] = 0;
  const double a = -dot(p.tpr, x), b = -dot(p.fpr, x);
  if (i == j) {
    const double size = p.tpr[i] * p.tpr[i] + p.fpr[i] * p.fpr[i];
    if (size == 0) return false;
    x[i] = (a * p.tpr[i] + b * p.fpr[i]) / size;
    return true;
  }
  const double determinant = p.tpr[i] * p.fpr[j] - p.tpr[j] * p.fpr[i];
  if (std::abs(determinant) < 1e-14) return false;
  x[i] = (a * p.fpr[j] - b * p.tpr[j]) / determinant;
  x[j] = (b * p.tpr[i] - a * p.fpr[i]) / determinant;
  return true;
}

bool feasible(const Program& p, Point& x) {
  for (double& value : x) {
    if (value < -kFeasible || value > 1 + kFeasible) return false;
    value = std::min(1.0, std::max(0.0, value));
  }
  return std::abs(dot(p.tpr, x)) <= kFeasible && std::abs(dot(p.fpr, x)) <= kFeasible;
}

// Every vertex of the feasible set: two, one or none of the unknowns inside their range, as
// many as the equations determine, and the others at 0 or 1.
std::vector<Point> vertices(const Program& p) {
  std::vector<Point> found;
  for (unsigned corner = 0; corner < 16; ++corner) {
    Point bounds{};
    for (std::size_t k = 0; k < 4; ++k) bounds[k] = corner >> k & 1U;
    Point x = bounds;
    if (feasible(p, x)) found.push_back(x);
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t j = i; j < 4; ++j) {
        x = bounds;
        if (complete(p, i, j, x) && feasible(p, x)) found.push_back(x);
      }
  }
  return found;
}

double changed(const Program& p, const Point& x) {
  double sum = 0;
  for (std::size_t j = 0; j < 4; ++j) sum += p.moved[j] * (j % 2 == 0 ? 1 - x[j] : x[j]);
  return sum;
}

bool apart(const Point& a, const Point& b) {
  for (std::size_t j = 0; j < 4; ++j)
    if (std::abs(a[j] - b[j]) > 1e-9) return true;
  return false;
}

}  // namespace

double EqualizedOdds::yes(bool decided, std::int32_t group) const {
  if (group < 0) return decided ? 1 : 0;
  return decided ? keep[group] : grant[group];
}

EqualizedOdds fit_equalized_odds(const PostRows& rows,
                                 const std::vector<std::uint8_t>& decided) {
  require_post_rows("equalized odds", rows, 2);
  require_size("equalized odds", "decided", std::ssize(decided), rows.size());
  const Program p = make_program(rows, decided);
  const std::vector<Point> all = vertices(p);  // never empty: all 0 is one of them
  double least = dot(p.cost, all[0]);
  for (const Point& x : all) least = std::min(least, dot(p.cost, x));
  EqualizedOdds result;
  result.objective = least;
  const Point* best = nullptr;
  for (const Point& x : all) {
    if (dot(p.cost, x) > least + kFeasible) continue;
    if (best != nullptr && apart(*best, x)) result.unique = false;
    if (best == nullptr || changed(p, x) < changed(p, *best)) best = &x;
  }
  for (std::size_t g = 0; g < 2; ++g) {
    result.keep[g] = (*best)[2 * g];
    result.grant[g] = (*best)[2 * g + 1];
  }
  return result;
}

}  // namespace fmd
