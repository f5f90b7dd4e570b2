#include "unlearn/pair_slopes.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/index.h"
#include "fmd/model/head.h"
#include "fmd/model/loss.h"

namespace fmd::internal {
namespace {

// Gauss-Legendre on [-1, 1], 8 nodes: the positive ones and their weights.
constexpr std::array<double, 4> kNode = {0.1834346424956498, 0.5255324099163290,
                                         0.7966664774136267, 0.9602898564975363};
constexpr std::array<double, 4> kWeight = {0.3626837833783620, 0.3137066458778873,
                                           0.2223810344533745, 0.1012285362903763};

// Where logits differ less than this, differences of scores are formed through expm1.
constexpr double kNear = 1.0;

double sigmoid(double z) {
  if (z >= 0) return 1 / (1 + std::exp(-z));
  const double e = std::exp(z);
  return e / (1 + e);
}

void sigmoid_scores(double z, double dz, double& p, double& dp) {
  const double e = std::exp(-std::abs(z)), other = e / (1 + e);  // the less probable class
  p = z >= 0 ? 1 / (1 + e) : other;
  const double pbar = sigmoid(z - dz);
  dp = std::abs(dz) < kNear ? std::expm1(dz) * pbar * (z >= 0 ? other : 1 - other)
                            : p - pbar;
}

}  // namespace

void pair_scores(std::span<const double> z, std::span<const double> dz, std::span<double> p,
                 std::span<double> dp) {
  if (z.size() == 1) return sigmoid_scores(z[0], dz[0], p[0], dp[0]);
  // p / pbar - 1 = exp(dz - dz_mean) / sum_l pbar_l exp(dz_l - dz_mean) - 1; dp holds pbar
  // first.
  for (std::size_t k = 0; k < z.size(); ++k) p[k] = z[k] - dz[k];
  probabilities(p, dp);
  probabilities(z, p);
  double mean = 0, widest = 0;
  for (std::size_t k = 0; k < z.size(); ++k) mean += dp[k] * dz[k];
  for (std::size_t k = 0; k < z.size(); ++k)
    widest = std::max(widest, std::abs(dz[k] - mean));
  if (!(widest < kNear)) {
    for (std::size_t k = 0; k < z.size(); ++k) dp[k] = p[k] - dp[k];
    return;
  }
  double sum = 0;
  for (std::size_t k = 0; k < z.size(); ++k) sum += dp[k] * std::expm1(dz[k] - mean);
  const double log_sum = std::log1p(sum);
  for (std::size_t k = 0; k < z.size(); ++k) dp[k] *= std::expm1(dz[k] - mean - log_sum);
}

void apply_slope(std::span<const double> p, std::span<const double> u,
                 std::span<double> r) {
  if (p.size() == 1) {
    r[0] = p[0] * (1 - p[0]) * u[0];
    return;
  }
  double mean = 0;
  for (std::size_t k = 0; k < p.size(); ++k) mean += p[k] * u[k];
  for (std::size_t k = 0; k < p.size(); ++k) r[k] = p[k] * (u[k] - mean);
}

void apply_slope_change(std::span<const double> p, std::span<const double> dp,
                        std::span<const double> u, std::span<double> r) {
  if (p.size() == 1) {
    r[0] = dp[0] * (1 - 2 * p[0]) * u[0];
    return;
  }
  double mean = 0, change = 0;
  for (std::size_t k = 0; k < p.size(); ++k) {
    mean += p[k] * u[k];
    change += dp[k] * u[k];
  }
  for (std::size_t k = 0; k < p.size(); ++k) r[k] = dp[k] * (u[k] - mean) - p[k] * change;
}

void slope(std::span<const double> p, Matrix& S) {
  const auto n = static_cast<Index>(p.size());
  S.resize(n, n);
  for (Index k = 0; k < n; ++k) {
    for (Index l = 0; l < n; ++l) S(k, l) = -p[at(k)] * p[at(l)];
    S(k, k) = p[at(k)] * (1 - p[at(k)]);
  }
}

void slope_difference(std::span<const double> p, std::span<const double> dp, Matrix& D) {
  const auto n = static_cast<Index>(p.size());
  D.resize(n, n);
  for (Index k = 0; k < n; ++k) {
    const double pbar = p[at(k)] - dp[at(k)];
    for (Index l = 0; l < n; ++l) D(k, l) = -(dp[at(k)] * p[at(l)] + pbar * dp[at(l)]);
    D(k, k) = dp[at(k)] * (1 - p[at(k)] - pbar);
  }
}

void secant_slope(std::span<const double> z, std::span<const double> dz, Matrix& Sbar) {
  const auto n = static_cast<Index>(z.size());
  if (n == 1) {
    Sbar.resize(1, 1);
    double p = 0, dp = 0;
    sigmoid_scores(z[0], dz[0], p, dp);
    Sbar(0, 0) = dz[0] == 0 ? p * (1 - p) : dp / dz[0];
    return;
  }
  // S has poles where the logits' spread turns by pi: with a spread of 2 a panel, 8 nodes
  // leave an error near 1e-13.
  const auto [low, high] = std::minmax_element(dz.begin(), dz.end());
  const int panels = std::clamp(static_cast<int>(std::ceil((*high - *low) / 2)), 1, 400);
  Sbar.setZero(n, n);
  Vector line(n), p(n);
  for (int panel = 0; panel < panels; ++panel) {
    for (std::size_t node = 0; node < 2 * kNode.size(); ++node) {
      const double x = node < kNode.size() ? kNode[node] : -kNode[node - kNode.size()];
      const double weight = kWeight[node % kNode.size()] / (2 * panels);
      const double back = (panel + (x + 1) / 2) / panels;
      for (Index k = 0; k < n; ++k) line[k] = z[at(k)] - back * dz[at(k)];
      probabilities({line.data(), z.size()}, {p.data(), z.size()});
      Sbar.noalias() -= weight * p * p.transpose();
      Sbar.diagonal() += weight * p;
    }
  }
}

}  // namespace fmd::internal
