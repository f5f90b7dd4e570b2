#include "fmd/metrics/gap_bins.h"

#include <algorithm>
#include <cmath>

#include "fmd/core/rng.h"
#include "fmd/metrics/bca.h"
#include "metrics/tally/saved_state.h"

namespace fmd {
namespace {

constexpr int kGapUnit = 60;

std::size_t bin_of(double gap) {
  if (gap <= 0) return 0;
  const int exponent = std::ilogb(gap);  // 0 for 1, -1 for [1/2, 1)
  return static_cast<std::size_t>(
      std::clamp(static_cast<int>(GapBins::kBins) + exponent - 1, 0,
                 static_cast<int>(GapBins::kBins) - 1));
}

}  // namespace

void GapBins::add(double gap) {
  if (count_.empty()) {
    count_.resize(kBins);
    sum_.resize(kBins);
    squares_.resize(kBins);
  }
  const std::size_t bin = bin_of(gap);
  ++count_[bin];
  sum_[bin].add(gap, kGapUnit);
  squares_[bin].add(gap * gap, kGapUnit);
}

void GapBins::merge(const GapBins& other) {
  if (other.count_.empty()) return;
  if (count_.empty()) {
    *this = other;
    return;
  }
  for (std::size_t b = 0; b < kBins; ++b) {
    count_[b] += other.count_[b];
    sum_[b].add(other.sum_[b]);
    squares_[b].add(other.squares_[b]);
  }
}

void GapBins::save(ByteWriter& out) const {
  out.put_array(std::span<const Index>(count_));
  out.put_array(std::span<const ExactSum>(sum_));
  out.put_array(std::span<const ExactSum>(squares_));
}

void GapBins::load(ByteReader& in) {
  count_ = in.get_array<Index>();
  sum_ = in.get_array<ExactSum>();
  squares_ = in.get_array<ExactSum>();
  const bool sized = count_.empty() || count_.size() == kBins;
  const bool negative =
      std::any_of(count_.begin(), count_.end(), [](Index n) { return n < 0; });
  if (!sized || negative || sum_.size() != count_.size() ||
      squares_.size() != count_.size())
    damaged_state("flips");
}

Index GapBins::count() const {
  Index sum = 0;
  for (const Index n : count_) sum += n;
  return sum;
}

double GapBins::mean() const {
  ExactSum sum;
  for (const ExactSum& s : sum_) sum.add(s);
  return count_.empty() ? kUndefined : sum.value(kGapUnit) / static_cast<double>(count());
}

double GapBins::variance() const {
  ExactSum squares;
  for (const ExactSum& s : squares_) squares.add(s);
  const double m = mean();
  return std::max(0.0, squares.value(kGapUnit) / static_cast<double>(count()) - m * m);
}

Interval GapBins::interval(Index others, double confidence, Index replicates,
                           const Exec& exec, Bootstrap intervals) const {
  if (count_.empty()) return {};
  std::vector<double> share, bin_mean, bin_sd;
  const double middle = mean();
  double squares = 0, cubes = 0;
  const Index total = count() + others;
  for (std::size_t b = 0; b < kBins; ++b) {
    if (count_[b] == 0) continue;
    const auto n = static_cast<double>(count_[b]);
    const double m = sum_[b].value(kGapUnit) / n;
    share.push_back(n / static_cast<double>(total));
    bin_mean.push_back(m);
    const double variance = std::max(0.0, squares_[b].value(kGapUnit) / n - m * m);
    bin_sd.push_back(std::sqrt(variance));
    // Of n gaps with mean m and this variance, assumed to be symmetric.
    const double off = m - middle;
    squares += n * (off * off + variance);
    cubes += n * off * (off * off + 3 * variance);
  }
  share.push_back(static_cast<double>(others) / static_cast<double>(total));
  std::vector<double> means(static_cast<std::size_t>(replicates));
  exec.for_each(replicates, [&](Index r) {
    Rng rng(exec.seed, "bootstrap", static_cast<std::uint64_t>(r));
    std::vector<Index> drawn;
    rng.multinomial(total, share, drawn);
    double sum = 0, rows = 0;
    for (std::size_t b = 0; b < bin_mean.size(); ++b) {
      const auto n = static_cast<double>(drawn[b]);
      sum += n * bin_mean[b] + std::sqrt(n) * bin_sd[b] * rng.normal();
      rows += n;
    }
    means[static_cast<std::size_t>(r)] = rows == 0 ? kUndefined : std::max(0.0, sum / rows);
  });
  return bootstrap_interval(middle, std::move(means), mean_acceleration(squares, cubes),
                            confidence, intervals);
}

}  // namespace fmd
