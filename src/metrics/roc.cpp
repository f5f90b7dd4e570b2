#include <algorithm>
#include <cmath>

#include "fmd/metrics/score_curve.h"

namespace fmd {
namespace {

struct Point {
  double x = 0, y = 0;
};

// Vertices of the ROC curve from (0, 0) to (1, 1); empty where a class has no rows.
std::vector<Point> roc(const ScoreRuns& runs) {
  double positives = 0, negatives = 0;
  for (const ScoreRun& run : runs) {
    positives += static_cast<double>(run.positive);
    negatives += static_cast<double>(run.negative);
  }
  if (positives == 0 || negatives == 0) return {};
  std::vector<Point> curve{{0, 0}};
  double tp = 0, fp = 0;
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    tp += static_cast<double>(run->positive);
    fp += static_cast<double>(run->negative);
    curve.push_back({fp / negatives, tp / positives});
  }
  return curve;
}

// Walks along a curve: the height just right of x and just left of a later x. Where the
// curve rises straight up at x, these are its two ends.
class Walk {
 public:
  explicit Walk(const std::vector<Point>& curve) : curve_(curve) {}

  double right_of(double x) {
    while (at_ + 2 < curve_.size() && curve_[at_ + 1].x <= x) ++at_;
    return height(x);
  }
  // x lies on the segment that right_of() found.
  [[nodiscard]] double left_of(double x) const { return height(x); }

 private:
  [[nodiscard]] double height(double x) const {
    const Point& a = curve_[at_];
    const Point& b = curve_[at_ + 1];
    return b.x == a.x ? b.y : a.y + (b.y - a.y) * ((x - a.x) / (b.x - a.x));
  }

  const std::vector<Point>& curve_;
  std::size_t at_ = 0;  // segment from vertex at_ to at_ + 1
};

// Integral of |d| over a stretch where d runs straight from `from` to `to`.
double area(double from, double to, double width) {
  if ((from < 0) == (to < 0) || from == 0 || to == 0)
    return (std::abs(from) + std::abs(to)) / 2 * width;
  return (from * from + to * to) / (2 * (std::abs(from) + std::abs(to))) * width;
}

}  // namespace

double abroca(const ScoreRuns& u, const ScoreRuns& p) {
  const std::vector<Point> first = roc(u), second = roc(p);
  if (first.empty() || second.empty()) return kUndefined;
  std::vector<double> grid;
  for (const auto* curve : {&first, &second})
    for (const Point& point : *curve) grid.push_back(point.x);
  std::sort(grid.begin(), grid.end());
  grid.erase(std::unique(grid.begin(), grid.end()), grid.end());

  Walk along_u(first), along_p(second);
  double sum = 0;
  for (std::size_t i = 0; i + 1 < grid.size(); ++i) {
    const double from = along_u.right_of(grid[i]) - along_p.right_of(grid[i]);
    const double to = along_u.left_of(grid[i + 1]) - along_p.left_of(grid[i + 1]);
    sum += area(from, to, grid[i + 1] - grid[i]);
  }
  return sum;
}

double ks_distance(const ScoreRuns& u, const ScoreRuns& p) {
  const auto rows = [](const ScoreRuns& runs) {
    Index all = 0;
    for (const ScoreRun& run : runs) all += run.positive + run.negative;
    return static_cast<double>(all);
  };
  const double all_u = rows(u), all_p = rows(p);
  if (all_u == 0 || all_p == 0) return kUndefined;
  Index below_u = 0, below_p = 0;
  double widest = 0;
  for (std::size_t i = 0, j = 0; i < u.size() && j < p.size();) {
    const double score = std::min(u[i].score, p[j].score);
    if (u[i].score == score) below_u += u[i].positive + u[i].negative, ++i;
    if (p[j].score == score) below_p += p[j].positive + p[j].negative, ++j;
    widest = std::max(widest, std::abs(static_cast<double>(below_u) / all_u -
                                       static_cast<double>(below_p) / all_p));
  }
  return widest;
}

}  // namespace fmd
