#include "fit/quasi_newton.h"

#include <limits>
#include <vector>

namespace fmd::internal {

void QuasiNewton::add(Vector step, Vector change) {
  const double curvature = step.dot(change);
  const double noise = std::numeric_limits<double>::epsilon() * step.norm() * change.norm();
  if (!(curvature > noise)) return;
  constexpr std::size_t kMost = 12;
  if (pairs_.size() == kMost) pairs_.pop_front();
  pairs_.push_back({std::move(step), std::move(change), 1 / curvature});
}

Vector QuasiNewton::apply(Vector g) const {
  std::vector<double> along(pairs_.size());
  for (std::size_t k = pairs_.size(); k-- > 0;) {
    along[k] = pairs_[k].inverse_curvature * pairs_[k].step.dot(g);
    g -= along[k] * pairs_[k].change;
  }
  Vector x = solve_(g);
  for (std::size_t k = 0; k < pairs_.size(); ++k) {
    const double back = pairs_[k].inverse_curvature * pairs_[k].change.dot(x);
    x += (along[k] - back) * pairs_[k].step;
  }
  return x;
}

}  // namespace fmd::internal
