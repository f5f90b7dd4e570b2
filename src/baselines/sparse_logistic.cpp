#include "fmd/baselines/sparse_logistic.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/index.h"
#include "fmd/model/head.h"
#include "fmd/model/loss.h"

namespace fmd {
namespace {

constexpr int kMostNewtonSteps = 200;
constexpr int kMostSweeps = 1000;

struct NewtonState {
  const Matrix& X;
  std::span<const std::int32_t> y;
  double penalty;
  Vector w, p, gradient;  // p: of label 1; gradient: of the loss by w
  double b = 0, intercept_gradient = 0, objective = 0;

  void evaluate() {
    const Index n = X.rows();
    const Vector z = (X * w).array() + b;
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
    gradient = X.transpose() * miss / static_cast<double>(n);
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

// The minimum of the quadratic model with the l1 term: w, then b as the last entry.
Vector model_minimum(const NewtonState& s, double tolerance) {
  const Index n = s.X.rows(), d = s.X.cols();
  const Vector slope = (s.p.array() * (1 - s.p.array())).max(1e-9) / static_cast<double>(n);
  Eigen::MatrixXd H(d + 1, d + 1);
  const Eigen::MatrixXd scaled = slope.asDiagonal() * s.X;
  H.topLeftCorner(d, d).noalias() = s.X.transpose() * scaled;
  H.col(d).head(d) = scaled.colwise().sum().transpose();
  H.row(d).head(d) = H.col(d).head(d).transpose();
  H(d, d) = slope.sum();
  Vector at(d + 1), now(d + 1), g(d + 1);
  at << s.w, s.b;
  now = at;
  g << s.gradient, s.intercept_gradient;  // of the model at `now`
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    double moved = 0;
    for (Index j = 0; j <= d; ++j) {
      const double curvature = std::max(H(j, j), 1e-12);
      const double target = now[j] - g[j] / curvature;
      const double next = j == d ? target : shrink(target, s.penalty / curvature);
      const double change = next - now[j];
      if (change == 0) continue;
      g += change * H.col(j);
      now[j] = next;
      moved = std::max(moved, std::abs(change) * curvature);
    }
    if (moved < 0.1 * tolerance) break;
  }
  return now;
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
  NewtonState s{X, y, penalty, start.w, {}, {}, start.b};
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
