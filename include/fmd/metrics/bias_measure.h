#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/model/head.h"
#include "fmd/model/pairs.h"
#include "fmd/model/rows.h"

namespace fmd {

// One row, or one pair, as a bias measure sees it.
struct MeasureRow {
  std::span<const double> z;     // logits
  std::span<const double> zbar;  // of the counterfactual side; empty for measures on rows
  std::int32_t y = -1;
  std::int32_t group = -1;  // for measures on rows
  double weight = 1;
};

// A differentiable bias B = F(s), s = sum over rows of weighted statistics. This form can
// be streamed, merged and bootstrapped. Its gradient needs a second pass: dB/dz = (dF/ds) .
// (ds/dz).
class BiasMeasure {
 public:
  virtual ~BiasMeasure() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual bool on_pairs() const = 0;
  [[nodiscard]] virtual Index statistics() const = 0;
  virtual void add(const MeasureRow& row, std::span<double> s) const = 0;
  // B from the sums; writes dF/ds.
  virtual double value(std::span<const double> s, std::span<double> dF) const = 0;
  // Adds dB/dz and, for pairs, dB/dzbar of one row.
  virtual void dlogits(const MeasureRow& row, std::span<const double> dF,
                       std::span<double> dz, std::span<double> dzbar) const = 0;
};

struct MeasureOptions {
  int favorable = 1;   // class whose score the group measures average
  Index groups = 2;    // number of groups
  double sharpen = 1;  // group measures use sigma(sharpen z): 4 is near a decision
};

// On pairs: "co", "co_tv", "consistency" (mean |p - pbar|^2 over all classes). On rows:
// "demographic_parity_soft" (Eq. 10), "equal_opportunity_soft" (Eq. 11: favourable labels
// only), "false_positive_soft" (unfavourable labels only), "loss". The soft measures of two
// groups: mean score of group 0 minus that of group 1 (signed). Of more groups:
// sqrt(sum_g share_g (m_g - m)^2), whose square is the penalty of solve(). Throws
// Error(bad_option) that lists the names.
[[nodiscard]] std::unique_ptr<BiasMeasure> make_measure(const std::string& name,
                                                        const MeasureOptions& options = {});

// Pairs that come in parts. Each part is made when it is asked for.
class PairParts {
 public:
  virtual ~PairParts() = default;
  [[nodiscard]] virtual Index count() const = 0;
  [[nodiscard]] virtual std::shared_ptr<const PairSet> part(Index number) const = 0;
};

// What a measure is computed on: pairs, or rows with a group for each entry of rows.X (-1 =
// none).
struct MeasureData {
  const PairSet* pairs = nullptr;
  Rows rows = {};
  std::span<const std::int32_t> group = {};
  const PairParts* parts = nullptr;  // in place of pairs
};

struct MeasureValue {
  double value = 0;
  Vector gradient;  // dB/dtheta; empty when not asked for
};

// Throws Error (bad_option, bad_shape; bad_data where there is nothing to measure).
[[nodiscard]] MeasureValue evaluate(const BiasMeasure& measure, const MeasureData& data,
                                    const Head& head, const Vector& theta, bool gradient,
                                    const Exec& exec);

}  // namespace fmd
