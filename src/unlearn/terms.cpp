#include "unlearn/terms.h"

#include <algorithm>
#include <cmath>

#include "fmd/model/head.h"
#include "fmd/model/loss.h"
#include "unlearn/pair_slopes.h"
#include "unlearn/spans.h"

namespace fmd::internal {
namespace {

using Map = Eigen::Map<Vector>;
using ConstMap = Eigen::Map<const Vector>;

Map map_of(std::span<double> values) {
  return {values.data(), static_cast<Index>(values.size())};
}
ConstMap map_of(std::span<const double> values) {
  return {values.data(), static_cast<Index>(values.size())};
}

// exp(e) - 1 - e, given exp(e) - 1.
double exp_excess(double e, double expm1) {
  return std::abs(e) < 1e-5 ? e * e * (0.5 + e / 6) : expm1 - e;
}

// KL(old || p) where p's logits are old's plus dz; writes p and p - old. dz is overwritten.
double divergence(std::span<const double> old, std::span<double> dz, std::span<double> p,
                  std::span<double> change) {
  double mean = 0, widest = 0;
  for (std::size_t k = 0; k < old.size(); ++k) mean += old[k] * dz[k];
  for (double& e : dz) {
    e -= mean;
    widest = std::max(widest, std::abs(e));
  }
  if (widest < 30) {
    double excess = 0;
    for (std::size_t k = 0; k < old.size(); ++k) {
      change[k] = std::expm1(dz[k]);
      excess += old[k] * exp_excess(dz[k], change[k]);
    }
    for (std::size_t k = 0; k < old.size(); ++k) {
      change[k] = old[k] * (change[k] - excess) / (1 + excess);
      p[k] = old[k] + change[k];
    }
    return std::log1p(excess);
  }
  const double top = *std::max_element(dz.begin(), dz.end());
  double sum = 0;
  for (std::size_t k = 0; k < old.size(); ++k) sum += old[k] * std::exp(dz[k] - top);
  const double kl = top + std::log(sum);
  for (std::size_t k = 0; k < old.size(); ++k) {
    p[k] = old[k] == 0 ? 0 : old[k] * std::exp(dz[k] - kl);
    change[k] = p[k] - old[k];
  }
  return kl;
}

}  // namespace

AnchorTerm::AnchorTerm(Index outputs)
    : e_(classes_of(outputs)), p_(classes_of(outputs)), change_(classes_of(outputs)) {}

double AnchorTerm::operator()(std::span<const double> old, double w, std::span<double> dz,
                              std::span<double> p) {
  const auto outputs = static_cast<Index>(dz.size());
  e_[0] = 0;
  e_.tail(outputs) = map_of(dz);  // a sigmoid's class 0 has logit 0
  const double kl = divergence(old, all_of(e_), all_of(p_), all_of(change_));
  map_of(p) = p_.tail(outputs);
  map_of(dz) = w * change_.tail(outputs);
  return w * kl;
}

PairTerm::PairTerm(Index outputs)
    : pbar_(outputs),
      zbar_(outputs),
      c_(outputs),
      bar_(outputs),
      r_(outputs),
      rbar_(outputs) {}

double PairTerm::operator()(const PairScale& scale, std::int32_t y, std::span<double> z,
                            std::span<double> dz, std::span<double> p,
                            std::span<double> dp) {
  pair_scores(z, dz, p, dp);
  const ConstMap p_row(p.data(), pbar_.size()), dp_row(dp.data(), pbar_.size());
  pbar_ = p_row - dp_row;
  zbar_ = map_of(z) - map_of(dz);
  double value = scale.pull * dp_row.squaredNorm();
  apply_slope(p, dp, all_of(c_));
  apply_slope(all_of(pbar_), dp, all_of(bar_));
  c_ *= 2 * scale.pull;
  bar_ *= -2 * scale.pull;
  if (scale.fit > 0) {
    value += scale.fit * (log_loss(z, y) + log_loss(all_of(zbar_), y));
    c_ += scale.fit * p_row;
    bar_ += scale.fit * pbar_;
    const Index own = pbar_.size() == 1 ? 0 : y;
    const double hit = pbar_.size() == 1 ? scale.fit * y : scale.fit;
    c_[own] -= hit;
    bar_[own] -= hit;
  }
  map_of(z) = c_ + bar_;
  map_of(dz) = bar_;
  return value;
}

void PairTerm::curvature(const PairScale& scale, bool exact, std::span<const double> p,
                         std::span<const double> dp, std::span<double> u,
                         std::span<double> du) {
  pbar_ = map_of(p) - map_of(dp);
  zbar_ = map_of(u) - map_of(du);
  apply_slope(p, u, all_of(r_));
  apply_slope(all_of(pbar_), all_of(zbar_), all_of(rbar_));
  map_of(u) = scale.fit * (r_ + rbar_);
  map_of(du) = scale.fit * rbar_;
  if (exact) {
    apply_slope_change(p, all_of(r_), dp, all_of(c_));
    apply_slope_change(all_of(pbar_), all_of(rbar_), dp, all_of(bar_));
    map_of(u) += scale.pull * (c_ - bar_);
    map_of(du) -= scale.pull * bar_;
  }
  r_ -= rbar_;
  apply_slope(p, all_of(r_), all_of(c_));
  apply_slope(all_of(pbar_), all_of(r_), all_of(bar_));
  map_of(u) += scale.pull * (c_ - bar_);
  map_of(du) -= scale.pull * bar_;
}

}  // namespace fmd::internal
