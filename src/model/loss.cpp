#include "fmd/model/loss.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace fmd {
namespace {

double log1p_exp(double z) { return std::max(z, 0.0) + std::log1p(std::exp(-std::abs(z))); }

// {1 - s, s} without cancellation at either end.
std::pair<double, double> sigmoid_pair(double z) {
  const double e = std::exp(-std::abs(z));
  const double large = 1 / (1 + e), small = e / (1 + e);
  return z < 0 ? std::pair{large, small} : std::pair{small, large};
}

}  // namespace

void probabilities(std::span<const double> z, std::span<double> p) {
  if (z.size() == 1) {
    const auto [p0, p1] = sigmoid_pair(z[0]);
    p[0] = p0;
    p[1] = p1;
    return;
  }
  const double top = *std::max_element(z.begin(), z.end());
  double sum = 0;
  for (std::size_t k = 0; k < z.size(); ++k) sum += p[k] = std::exp(z[k] - top);
  for (double& value : p) value /= sum;
}

double log_loss(std::span<const double> z, std::int32_t y) {
  if (z.size() == 1) return log1p_exp(y == 1 ? -z[0] : z[0]);
  const auto top = std::max_element(z.begin(), z.end());
  double others = 0;
  for (auto k = z.begin(); k != z.end(); ++k)
    if (k != top) others += std::exp(*k - *top);
  return std::log1p(others) + (*top - z[static_cast<std::size_t>(y)]);
}

void log_loss_gradient(std::span<const double> z, std::int32_t y, std::span<double> dz) {
  if (z.size() == 1) {
    const auto [p0, p1] = sigmoid_pair(z[0]);
    dz[0] = y == 1 ? -p0 : p1;
    return;
  }
  probabilities(z, dz);
  double others = 0;  // p_y - 1 without cancellation
  for (std::size_t k = 0; k < z.size(); ++k)
    if (k != static_cast<std::size_t>(y)) others += dz[k];
  dz[static_cast<std::size_t>(y)] = -others;
}

void apply_softmax_slope(std::span<const double> p, std::span<const double> u,
                         std::span<double> r) {
  if (u.size() == 1) {
    r[0] = p[0] * p[1] * u[0];
    return;
  }
  double mean = 0;
  for (std::size_t k = 0; k < p.size(); ++k) mean += p[k] * u[k];
  for (std::size_t k = 0; k < p.size(); ++k) r[k] = p[k] * (u[k] - mean);
}

}  // namespace fmd
