#include "metrics/scores/row_measures.h"

#include <cmath>

#include "core/check.h"
#include "fmd/metrics/interval.h"
#include "fmd/model/loss.h"
#include "metrics/scores/class_buffer.h"

namespace fmd::internal {
namespace {

// s = (S_g, W_g) for each group g: sum of weight x score, and of weight.
class SoftMeasure final : public BiasMeasure {
 public:
  SoftMeasure(std::string name, SoftRows rows, const MeasureOptions& options)
      : name_(std::move(name)), rows_(rows), options_(options) {}
  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] bool on_pairs() const override { return false; }
  [[nodiscard]] Index statistics() const override { return 2 * options_.groups; }

  void add(const MeasureRow& row, std::span<double> s) const override {
    if (!counts(row)) return;
    ClassBuffer p(classes(row));
    score(row, p);
    s[column(row)] += row.weight * p[favorable()];
    s[column(row) + 1] += row.weight;
  }

  double value(std::span<const double> s, std::span<double> dF) const override {
    for (double& d : dF) d = 0;
    return options_.groups == 2 ? difference(s, dF) : spread(s, dF);
  }

  void dlogits(const MeasureRow& row, std::span<const double> dF, std::span<double> dz,
               std::span<double> /*dzbar*/) const override {
    if (!counts(row)) return;
    ClassBuffer p(classes(row));
    score(row, p);
    const double own = p[favorable()];
    const double factor = options_.sharpen * row.weight * dF[column(row)] * own;
    if (dz.size() == 1) {
      dz[0] += factor * (1 - own) * (options_.favorable == 1 ? 1 : -1);
      return;
    }
    for (std::size_t k = 0; k < dz.size(); ++k)
      dz[k] += factor * ((k == favorable() ? 1.0 : 0.0) - p[k]);
  }

 private:
  static std::size_t classes(const MeasureRow& row) {
    return static_cast<std::size_t>(classes_of(static_cast<Index>(row.z.size())));
  }
  std::size_t favorable() const { return static_cast<std::size_t>(options_.favorable); }
  static std::size_t column(const MeasureRow& row) {
    return 2 * static_cast<std::size_t>(row.group);
  }

  bool counts(const MeasureRow& row) const {
    if (row.group >= options_.groups || favorable() >= classes(row)) {
      throw Error(ErrorKind::bad_shape,
                  fmt::format("{}: group {} of {}, class {} of {}", name_, row.group,
                              options_.groups, favorable(), classes(row)),
                  "number groups and classes from 0");
    }
    if (row.group < 0) return false;
    if (rows_ == SoftRows::all) return true;
    return row.y >= 0 && (row.y == options_.favorable) == (rows_ == SoftRows::favorable);
  }

  void score(const MeasureRow& row, std::span<double> p) const {
    ClassBuffer z(row.z.size());
    for (std::size_t k = 0; k < row.z.size(); ++k) z[k] = options_.sharpen * row.z[k];
    probabilities(static_cast<std::span<double>>(z), p);
  }

  // m_0 - m_1 with m = S / W.
  static double difference(std::span<const double> s, std::span<double> dF) {
    if (s[1] == 0 || s[3] == 0) return kUndefined;
    const double m0 = s[0] / s[1], m1 = s[2] / s[3];
    dF[0] = 1 / s[1];
    dF[1] = -m0 / s[1];
    dF[2] = -1 / s[3];
    dF[3] = m1 / s[3];
    return m0 - m1;
  }

  // sqrt(sum_g share_g (m_g - m)^2) over the groups that have rows. Its slope at 0 is
  // set to 0.
  static double spread(std::span<const double> s, std::span<double> dF) {
    double S = 0, W = 0;
    int groups = 0;
    for (std::size_t g = 0; g < s.size(); g += 2)
      S += s[g], W += s[g + 1], groups += s[g + 1] > 0;
    if (groups < 2) return kUndefined;
    const double m = S / W;
    double sum = 0;
    for (std::size_t g = 0; g < s.size(); g += 2) {
      if (s[g + 1] == 0) continue;
      const double apart = s[g] / s[g + 1] - m;
      sum += s[g + 1] / W * apart * apart;
      dF[g] = 2 * apart / W;
    }
    for (std::size_t g = 0; g < s.size(); g += 2) {
      if (s[g + 1] == 0) continue;
      const double mean = s[g] / s[g + 1];
      dF[g + 1] = (m * m - mean * mean - sum) / W;
    }
    const double root = std::sqrt(sum);
    for (double& slope : dF) slope = root > 0 ? slope / (2 * root) : 0;
    return root;
  }

  std::string name_;
  SoftRows rows_;
  MeasureOptions options_;
};

class Loss final : public BiasMeasure {
 public:
  [[nodiscard]] std::string name() const override { return "loss"; }
  [[nodiscard]] bool on_pairs() const override { return false; }
  [[nodiscard]] Index statistics() const override { return 2; }

  void add(const MeasureRow& row, std::span<double> s) const override {
    if (row.y < 0) return;
    s[0] += row.weight * log_loss(row.z, row.y);
    s[1] += row.weight;
  }

  double value(std::span<const double> s, std::span<double> dF) const override {
    dF[0] = dF[1] = 0;
    if (s[1] == 0) return kUndefined;
    dF[0] = 1 / s[1];
    dF[1] = -s[0] / (s[1] * s[1]);
    return s[0] / s[1];
  }

  void dlogits(const MeasureRow& row, std::span<const double> dF, std::span<double> dz,
               std::span<double> /*dzbar*/) const override {
    if (row.y < 0) return;
    ClassBuffer d(dz.size());
    log_loss_gradient(row.z, row.y, d);
    for (std::size_t k = 0; k < dz.size(); ++k) dz[k] += dF[0] * row.weight * d[k];
  }
};

}  // namespace

std::unique_ptr<BiasMeasure> make_soft(const std::string& name, SoftRows rows,
                                       const MeasureOptions& options) {
  return std::make_unique<SoftMeasure>(name, rows, options);
}
std::unique_ptr<BiasMeasure> make_loss() { return std::make_unique<Loss>(); }

}  // namespace fmd::internal
