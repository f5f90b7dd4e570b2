#include "fmd/baselines/sparse_logistic.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/index.h"
#include "core/lapack.h"
#include "fmd/model/head.h"
#include "fmd/model/loss.h"

namespace fmd {
namespace {

constexpr int kMostNewtonSteps = 200;
constexpr int kMostSweeps = 1000;
constexpr int kSweepsPerFactor = 8;

using Square = Eigen::MatrixXd;

// Standardised one-hot columns are a constant in most rows: X = 1 c^T + Z,
// where Z has few entries. Products with X and its curvature then cost as much
// as Z has entries.
class Columns {
 public:
  explicit Columns(const Matrix& X) : X_(X), c_(Vector::Zero(X.cols())) {
    const Index n = X.rows(), d = X.cols();
    // The value that most rows of a column share, if there is one.
    std::vector<Index> lead(at(d), 0);
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < d; ++j) {
        if (lead[at(j)] == 0) c_[j] = X(i, j);
        lead[at(j)] += X(i, j) == c_[j] ? 1 : -1;
      }
    const auto most = static_cast<std::size_t>(static_cast<double>(n * d) * kFew);
    start_.push_back(0);
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < d; ++j)
        if (X(i, j) != c_[j]) entry_.push_back({j, X(i, j) - c_[j]});
      start_.push_back(entry_.size());
      if (entry_.size() > most) {  // dense after all
        entry_.clear();
        start_.clear();
        return;
      }
    }
  }

  [[nodiscard]] Index rows() const { return X_.rows(); }
  [[nodiscard]] Index cols() const { return X_.cols(); }

  [[nodiscard]] Vector times(const Vector& w) const {
    if (!sparse()) return X_ * w;
    Vector z = Vector::Constant(rows(), c_.dot(w));
    for (Index i = 0; i < rows(); ++i)
      for (std::size_t e = start_[at(i)]; e < start_[at(i + 1)]; ++e)
        z[i] += entry_[e].value * w[entry_[e].column];
    return z;
  }
  [[nodiscard]] Vector transposed_times(const Vector& h) const {
    if (!sparse()) return X_.transpose() * h;
    Vector sum = h.sum() * c_;
    for (Index i = 0; i < rows(); ++i)
      for (std::size_t e = start_[at(i)]; e < start_[at(i + 1)]; ++e)
        sum[entry_[e].column] += entry_[e].value * h[i];
    return sum;
  }

  // sum_i slope_i x_i x_i^T for x = (these columns, 1).
  [[nodiscard]] Square curvature(const std::vector<Index>& columns,
                                 const Vector& slope) const {
    return sparse() ? of_entries(columns, slope) : of_all(columns, slope);
  }

 private:
  static constexpr double kFew = 0.2;
  struct Entry {
    Index column;
    double value;
  };
  [[nodiscard]] bool sparse() const { return !start_.empty(); }

  [[nodiscard]] Square of_all(const std::vector<Index>& columns,
                              const Vector& slope) const {
    const auto d = std::ssize(columns);
    Square scaled(rows(), d + 1);
    for (Index j = 0; j < d; ++j) scaled.col(j) = X_.col(columns[at(j)]);
    scaled.col(d).setOnes();
    scaled.array().colwise() *= slope.array().sqrt();
    Square H = Square::Zero(d + 1, d + 1);
    const int size = static_cast<int>(d + 1), n = static_cast<int>(rows());
    const double one = 1, none = 0;
    dsyrk_("L", "T", &size, &n, &one, scaled.data(), &n, &none, H.data(), &size);
    H.triangularView<Eigen::StrictlyUpper>() = H.transpose();
    return H;
  }

  // With x = c + z: sum z z^T + c (sum z)^T + (sum z) c^T + (sum 1) c c^T.
  [[nodiscard]] Square of_entries(const std::vector<Index>& columns,
                                  const Vector& slope) const {
    const auto d = std::ssize(columns);
    std::vector<Index> place(at(cols()), -1);
    Vector c(d + 1), sums = Vector::Zero(d + 1);
    for (Index j = 0; j < d; ++j) {
      place[at(columns[at(j)])] = j;
      c[j] = c_[columns[at(j)]];
    }
    c[d] = 1;
    Square H = Square::Zero(d + 1, d + 1);
    std::vector<Entry> row;
    for (Index i = 0; i < rows(); ++i) {
      row.clear();
      for (std::size_t e = start_[at(i)]; e < start_[at(i + 1)]; ++e)
        if (const Index j = place[at(entry_[e].column)]; j >= 0)
          row.push_back({j, entry_[e].value});
      for (const Entry& a : row) {
        const double scaled = slope[i] * a.value;
        sums[a.column] += scaled;
        for (const Entry& b : row) H(b.column, a.column) += scaled * b.value;
      }
    }
    H.noalias() += c * sums.transpose();
    H.noalias() += (sums + slope.sum() * c) * c.transpose();
    return H;
  }

  const Matrix& X_;
  Vector c_;
  std::vector<std::size_t> start_;  // of each row's entries of Z; empty: X is dense
  std::vector<Entry> entry_;
};

struct NewtonState {
  const Columns& X;
  std::span<const std::int32_t> y;
  double penalty;
  Vector w, p, gradient;  // p: of label 1; gradient: of the loss by w
  double b = 0, intercept_gradient = 0, objective = 0;

  void evaluate() {
    const Index n = X.rows();
    const Vector z = X.times(w).array() + b;
    p.resize(n);
    Vector miss(n);
    double loss = 0;
    for (Index i = 0; i < n; ++i) {
      const std::int32_t label = y[at(i)];
      const double row[] = {z[i]};
      loss += log_loss(row, label);
      p[i] = 1 / (1 + std::exp(-z[i]));
      miss[i] = p[i] - label;
    }
    gradient = X.transposed_times(miss) / static_cast<double>(n);
    intercept_gradient = miss.mean();
    objective = loss / static_cast<double>(n) + penalty * w.lpNorm<1>();
  }

  [[nodiscard]] double violation() const {
    double worst = std::abs(intercept_gradient);
    for (Index j = 0; j < w.size(); ++j) {
      const double g = gradient[j];
      const double out = w[j] > 0   ? std::abs(g + penalty)
                         : w[j] < 0 ? std::abs(g - penalty)
                                    : std::max(0.0, std::abs(g) - penalty);
      worst = std::max(worst, out);
    }
    return worst;
  }
};

double shrink(double x, double by) { return x > by ? x - by : x < -by ? x + by : 0; }

// The weights that the model of one step may change: those that are not 0, and
// those that the gradient pulls away from it. All others stay 0 until a later
// step.
std::vector<Index> moving_weights(const NewtonState& s) {
  std::vector<Index> moving;
  for (Index j = 0; j < s.w.size(); ++j)
    if (s.w[j] != 0 || std::abs(s.gradient[j]) > s.penalty) moving.push_back(j);
  return moving;
}

// The quadratic model of the loss in the moving weights, and b as the last
// entry.
struct QuadraticModel {
  Square H;
  Vector now, g;  // g: its gradient at `now`, without the l1 term
  double penalty;
  bool settled = false;  // the last sweep left the same weights at 0

  QuadraticModel(const NewtonState& s, const std::vector<Index>& moving)
      : penalty(s.penalty) {
    const Index n = s.X.rows(), d = std::ssize(moving);
    now.resize(d + 1);
    g.resize(d + 1);
    for (Index j = 0; j < d; ++j) {
      now[j] = s.w[moving[at(j)]];
      g[j] = s.gradient[moving[at(j)]];
    }
    now[d] = s.b;
    g[d] = s.intercept_gradient;
    const Vector slope =
        (s.p.array() * (1 - s.p.array())).max(1e-9) / static_cast<double>(n);
    H = s.X.curvature(moving, slope);
  }

  // One pass of coordinate descent; the largest change of a slope by one
  // coordinate.
  double sweep() {
    const Index d = now.size() - 1;
    double moved = 0;
    settled = true;
    for (Index j = 0; j <= d; ++j) {
      const double curvature = std::max(H(j, j), 1e-12);
      const double target = now[j] - g[j] / curvature;
      const double next = j == d ? target : shrink(target, penalty / curvature);
      const double change = next - now[j];
      if (change == 0) continue;
      g += change * H.col(j);
      if (j < d && (next == 0) != (now[j] == 0)) settled = false;
      now[j] = next;
      moved = std::max(moved, std::abs(change) * curvature);
    }
    return moved;
  }

  // v = H^-1 v on the support. All columns of a category beside b do not tell
  // their weights apart: a ridge then makes a long step along what J hardly
  // sees, which ends where the first weight becomes 0.
  bool solve(const std::vector<Index>& support, Vector& v) const {
    const Square own(H(support, support));
    const double mean = own.diagonal().mean();
    const int size = static_cast<int>(v.size()), one = 1;
    for (const double ridge : {0.0, 1e-10, 1e-8, 1e-6}) {
      Square factor = own;
      factor.diagonal().array() += ridge * mean;
      int info = 0;
      dpotrf_("L", &size, factor.data(), &size, &info);
      if (info != 0) continue;
      dpotrs_("L", &size, &one, factor.data(), &size, v.data(), &size, &info);
      return true;
    }
    return false;
  }

  // To the minimum over the weights that are not 0, or up to the first that
  // becomes 0.
  void solve_support() {
    const Index d = now.size() - 1;
    std::vector<Index> support;
    for (Index j = 0; j < d; ++j)
      if (now[j] != 0) support.push_back(j);
    support.push_back(d);
    const auto size = std::ssize(support);
    Vector slope(size);
    for (Index k = 0; k < size; ++k) {
      const Index j = support[at(k)];
      slope[k] = g[j] + (j == d ? 0 : std::copysign(penalty, now[j]));
    }
    Vector step = -slope;
    if (!solve(support, step) || !step.allFinite()) return;
    double part = 1;
    Index first_zero = -1;
    for (Index k = 0; k + 1 < size; ++k) {
      const double x = now[support[at(k)]];
      if (x * (x + part * step[k]) > 0) continue;
      part = -x / step[k];
      first_zero = k;
    }
    for (Index k = 0; k < size; ++k) {
      const Index j = support[at(k)];
      const double next = k == first_zero ? 0 : now[j] + part * step[k];
      g += (next - now[j]) * H.col(j);
      now[j] = next;
    }
  }
};

// The minimum of the quadratic model with the l1 term: w, then b as the last
// entry.
Vector model_minimum(const NewtonState& s, double tolerance) {
  const std::vector<Index> moving = moving_weights(s);
  QuadraticModel model(s, moving);
  int unsolved = 0;
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    if (model.sweep() < 0.1 * tolerance) break;
    // A factor costs as much as many sweeps, and serves for one support only.
    if (!model.settled && ++unsolved < kSweepsPerFactor) continue;
    model.solve_support();
    unsolved = 0;
  }
  Vector to = Vector::Zero(s.w.size() + 1);
  for (std::size_t k = 0; k < moving.size(); ++k)
    to[moving[k]] = model.now[static_cast<Index>(k)];
  to[s.w.size()] = model.now[std::ssize(moving)];
  return to;
}

}  // namespace

SparseLogistic fit_sparse_logistic(const Matrix& X, std::span<const std::int32_t> y,
                                   double penalty, const SparseLogistic& start,
                                   double tolerance) {
  require_size("sparse logistic", "y", std::ssize(y), X.rows());
  require_option(penalty >= 0, "sparse logistic", "penalty", penalty, ">= 0");
  require_option(tolerance > 0, "sparse logistic", "tolerance", tolerance, "> 0");
  for (const std::int32_t label : y)
    require_option(label == 0 || label == 1, "sparse logistic", "label", label, "0 or 1");
  if (X.rows() == 0) throw Error(ErrorKind::bad_data, "sparse logistic: no rows");
  const Columns columns(X);
  NewtonState s{columns, y, penalty, start.w, {}, {}, start.b};
  if (s.w.size() == 0) s.w = Vector::Zero(X.cols());
  require_size("sparse logistic", "start", s.w.size(), X.cols());
  s.evaluate();
  SparseLogistic result;
  for (; result.steps < kMostNewtonSteps && s.violation() > tolerance; ++result.steps) {
    const Vector to = model_minimum(s, tolerance);
    const Vector dw = to.head(X.cols()) - s.w;
    const double db = to[X.cols()] - s.b;
    NewtonState next = s;
    bool better = false;
    for (double t = 1; t > 1e-10 && !better; t /= 2) {
      next.w = t == 1 ? Vector(to.head(X.cols())) : Vector(s.w + t * dw);
      next.b = s.b + t * db;
      next.evaluate();
      const double slack = 1e-14 * std::abs(s.objective);
      better = next.objective < s.objective - slack ||
               (next.objective <= s.objective + slack && next.violation() < s.violation());
    }
    if (!better) break;  // flat to rounding
    s.w = next.w;
    s.b = next.b;
    s.evaluate();
  }
  result.w = s.w;
  result.b = s.b;
  result.violation = s.violation();
  return result;
}

}  // namespace fmd
