#include "metrics/scores/pair_measures.h"

#include <cmath>

#include "fmd/metrics/interval.h"
#include "fmd/model/loss.h"
#include "metrics/scores/class_buffer.h"

namespace fmd::internal {
namespace {

double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }

// The common part of all measures on pairs: s = (sum w gap, sum w) and B = s0 / s1. A
// derived class gives the gap of d = p - q over the classes, and its derivative with
// respect to d.
class PairMeasure : public BiasMeasure {
 public:
  explicit PairMeasure(std::string name) : name_(std::move(name)) {}
  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] bool on_pairs() const override { return true; }
  [[nodiscard]] Index statistics() const override { return 2; }

  void add(const MeasureRow& row, std::span<double> s) const override {
    if (!counts(row)) return;
    ClassBuffer d(classes(row)), unused(classes(row));
    difference(row, d, unused, unused);
    s[0] += row.weight * gap(static_cast<std::span<double>>(d), row.y);
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
               std::span<double> dzbar) const override {
    if (!counts(row)) return;
    ClassBuffer d(classes(row)), p(classes(row)), q(classes(row));
    difference(row, d, p, q);
    slope(d, row.y);
    add_slope(p, d, dF[0] * row.weight, dz);
    add_slope(q, d, -dF[0] * row.weight, dzbar);
  }

 protected:
  [[nodiscard]] virtual bool needs_label() const { return false; }
  [[nodiscard]] virtual double gap(std::span<const double> d, std::int32_t y) const = 0;
  virtual void slope(std::span<double> d, std::int32_t y) const = 0;  // d becomes dgap/dd

 private:
  static std::size_t classes(const MeasureRow& row) {
    return static_cast<std::size_t>(classes_of(static_cast<Index>(row.z.size())));
  }
  bool counts(const MeasureRow& row) const {
    return !needs_label() || row.y >= 0 || classes(row) == 2;
  }
  static void difference(const MeasureRow& row, std::span<double> d, std::span<double> p,
                         std::span<double> q) {
    // p and q may be one buffer when only the difference is wanted.
    probabilities(row.z, p);
    for (std::size_t k = 0; k < d.size(); ++k) d[k] = p[k];
    probabilities(row.zbar, q);
    for (std::size_t k = 0; k < d.size(); ++k) d[k] -= q[k];
  }
  // into += factor dp/dz^T g. One output: p1 (1 - p1) (g1 - g0), since p0 = 1 - p1.
  static void add_slope(std::span<double> p, std::span<double> g, double factor,
                        std::span<double> into) {
    if (into.size() == 1) {
      into[0] += factor * p[1] * p[0] * (g[1] - g[0]);
      return;
    }
    ClassBuffer r(p.size());
    apply_softmax_slope(p, g, r);
    for (std::size_t k = 0; k < into.size(); ++k) into[k] += factor * r[k];
  }

  std::string name_;
};

class Co final : public PairMeasure {
 public:
  Co() : PairMeasure("co") {}

 private:
  // Both of two classes have the same gap, so the label need not be known.
  static std::size_t of(std::int32_t y) { return y < 0 ? 1 : static_cast<std::size_t>(y); }
  bool needs_label() const override { return true; }
  double gap(std::span<const double> d, std::int32_t y) const override {
    return std::abs(d[of(y)]);
  }
  void slope(std::span<double> d, std::int32_t y) const override {
    const double s = sign(d[of(y)]);
    for (double& x : d) x = 0;
    d[of(y)] = s;
  }
};

class CoTv final : public PairMeasure {
 public:
  CoTv() : PairMeasure("co_tv") {}

 private:
  double gap(std::span<const double> d, std::int32_t /*y*/) const override {
    double sum = 0;
    for (const double x : d) sum += std::abs(x);
    return sum / 2;
  }
  void slope(std::span<double> d, std::int32_t /*y*/) const override {
    for (double& x : d) x = sign(x) / 2;
  }
};

class Consistency final : public PairMeasure {
 public:
  Consistency() : PairMeasure("consistency") {}

 private:
  double gap(std::span<const double> d, std::int32_t /*y*/) const override {
    double sum = 0;
    for (const double x : d) sum += x * x;
    return sum;
  }
  void slope(std::span<double> d, std::int32_t /*y*/) const override {
    for (double& x : d) x *= 2;
  }
};

}  // namespace

std::unique_ptr<BiasMeasure> make_co() { return std::make_unique<Co>(); }
std::unique_ptr<BiasMeasure> make_co_tv() { return std::make_unique<CoTv>(); }
std::unique_ptr<BiasMeasure> make_consistency() { return std::make_unique<Consistency>(); }

}  // namespace fmd::internal
