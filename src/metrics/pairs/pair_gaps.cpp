#include "fmd/metrics/pair_gaps.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "core/index.h"
#include "metrics/pairs/pair_values.h"
#include "metrics/tally/saved_state.h"

namespace fmd {
namespace {

constexpr int kMomentUnit = 48;  // leaves room for 2^36 squares of 2^20
constexpr double kMostRatio = 0x1p20;
constexpr double kLeastP = 0x1p-52;

// Bins of sizes: the exponent and the next six binary digits, from 2^-32 to 1. Bin 0 holds
// smaller sizes.
constexpr Index kSteps = 64, kOctaves = 32, kSizes = kOctaves * kSteps + 2;

Index size_bin(double gap) {
  const auto digits = static_cast<Index>(std::bit_cast<std::uint64_t>(gap) >> 46);
  return std::clamp<Index>(digits - ((1023 - kOctaves) * kSteps) + 1, 0, kSizes - 1);
}

double bin_start(Index bin) {
  if (bin == 0) return 0;
  const auto digits = static_cast<std::uint64_t>(bin - 1 + (1023 - kOctaves) * kSteps);
  return std::bit_cast<double>(digits << 46);
}

double kept(double p) { return std::clamp(p, kLeastP, 1 - kLeastP); }

double log_odds(double p) { return std::log(kept(p)) - std::log1p(-kept(p)); }

}  // namespace

void ExactMoments::add(double x) {
  ++count_;
  (x < 0 ? falls_ : rises_).add(std::abs(x), kMomentUnit);
  squares_.add(x * x, kMomentUnit);
}

void ExactMoments::merge(const ExactMoments& other) {
  count_ += other.count_;
  rises_.add(other.rises_);
  falls_.add(other.falls_);
  squares_.add(other.squares_);
}

void ExactMoments::save(ByteWriter& out) const {
  out.put(count_);
  for (const ExactSum* sum : {&rises_, &falls_, &squares_}) out.put(*sum);
}

void ExactMoments::load(ByteReader& in) {
  count_ = in.get<Index>();
  for (ExactSum* sum : {&rises_, &falls_, &squares_}) *sum = in.get<ExactSum>();
}

Interval ExactMoments::mean(double confidence) const {
  if (count_ == 0) return {};
  const auto n = static_cast<double>(count_);
  const double mean = (rises_.value(kMomentUnit) - falls_.value(kMomentUnit)) / n;
  if (count_ == 1) return {mean, kUndefined, kUndefined};
  const double variance =
      std::max(0.0, squares_.value(kMomentUnit) - n * mean * mean) / (n - 1);
  const double half = normal_quantile(confidence) * std::sqrt(variance / n);
  return {mean, mean - half, mean + half, IntervalKind::normal};
}

PairGaps::PairGaps(Index classes) : by_label_(at(classes)), sizes_(at(kSizes)) {}

void PairGaps::add(const PairScores& s) {
  const Index classes = s.p.cols();
  const std::vector<Index> starts = unit_starts(s);
  for (std::size_t u = 0; u + 1 < starts.size(); ++u) {
    const Index first = starts[u];
    const std::int32_t y = s.y.empty() ? -1 : s.y[at(first)];
    if (classes > 2 && y < 0) continue;  // no class is given
    const Index own = classes == 2 ? 1 : y;
    double p = kUndefined, odds = 0,
           loss = 0;  // of the first side: most often the same row
    double change = 0, gap = 0, on_odds = 0, ratio = 0, all = 0;
    for (Index i = first; i < starts[u + 1]; ++i) {
      if (s.p(i, own) != p) {
        p = s.p(i, own);
        odds = log_odds(p);
        loss = y < 0 ? kUndefined : -std::log(kept(s.p(i, y)));
      }
      const double w = pair_weight(s, i), pbar = s.pbar(i, own);
      const double size = std::abs(pbar - p);
      all += w;
      change += w * (pbar - p);
      gap += w * size;
      on_odds += w * std::abs(log_odds(pbar) - odds);
      if (y >= 0) ratio += w * std::min(kMostRatio, -std::log(kept(s.pbar(i, y))) / loss);
      ++sizes_[at(size_bin(size))];
      ++pairs_;
      if (!(largest_ >= size)) largest_ = size;
    }
    change_.add(change / all);
    log_odds_.add(on_odds / all);
    if (y < 0) continue;
    loss_ratio_.add(ratio / all);
    by_label_[at(y)].add(gap / all);
  }
}

void PairGaps::merge(const PairGaps& other) {
  change_.merge(other.change_);
  log_odds_.merge(other.log_odds_);
  loss_ratio_.merge(other.loss_ratio_);
  for (std::size_t y = 0; y < by_label_.size(); ++y) by_label_[y].merge(other.by_label_[y]);
  for (std::size_t b = 0; b < sizes_.size(); ++b) sizes_[b] += other.sizes_[b];
  pairs_ += other.pairs_;
  if (!(largest_ >= other.largest_) && !std::isnan(other.largest_))
    largest_ = other.largest_;
}

void PairGaps::save(ByteWriter& out) const {
  for (const ExactMoments* m : {&change_, &log_odds_, &loss_ratio_}) m->save(out);
  for (const ExactMoments& m : by_label_) m.save(out);
  out.put_array(std::span<const Index>(sizes_));
  out.put(largest_);
}

void PairGaps::load(ByteReader& in) {
  for (ExactMoments* m : {&change_, &log_odds_, &loss_ratio_}) m->load(in);
  for (ExactMoments& m : by_label_) m.load(in);
  sizes_ = in.get_array<Index>();
  largest_ = in.get<double>();
  pairs_ = 0;
  const bool right = std::ssize(sizes_) == kSizes &&
                     std::all_of(sizes_.begin(), sizes_.end(), [&](Index n) {
                       pairs_ += std::clamp<Index>(n, 0, Index{1} << 50);
                       return n >= 0;
                     });
  if (!right) damaged_state("flips");
}

// The upper end of the bin of the pair that has the share `share` of all pairs before it.
double PairGaps::quantile(double share) const {
  const auto wanted = static_cast<Index>(std::ceil(share * static_cast<double>(pairs_)));
  Index seen = 0, bin = 0;
  for (; bin < kSizes - 1; ++bin) {
    seen += sizes_[at(bin)];
    if (seen >= std::max<Index>(1, wanted)) break;
  }
  return std::min(largest_, bin + 1 < kSizes ? bin_start(bin + 1) : 1.0);
}

const std::vector<std::string>& PairGaps::names() {
  static const std::vector<std::string> all{"signed_change", "log_odds_gap", "loss_ratio",
                                            "gap_q50",       "gap_q90",      "gap_q95",
                                            "gap_q99",       "largest_gap",  "co_label"};
  return all;
}

std::vector<FlipFigure> PairGaps::figures(double confidence) const {
  std::vector<FlipFigure> all;
  const auto add = [&](std::string name, Interval value, const char* reason) {
    all.push_back(
        {std::move(name), -1, change_.count(), "", value, value.defined() ? "" : reason});
  };
  add("signed_change", change_.mean(confidence), "no labels");
  add("log_odds_gap", log_odds_.mean(confidence), "no labels");
  add("loss_ratio", loss_ratio_.mean(confidence), "no labels");
  const double z = normal_quantile(confidence),
               units = static_cast<double>(change_.count());
  for (const int percent : {50, 90, 95, 99}) {
    const double share = 0.01 * percent, half = z * std::sqrt(share * (1 - share) / units);
    Interval value;
    if (pairs_ > 0)
      value = {quantile(share), quantile(std::max(0.0, share - half)),
               quantile(std::min(1.0, share + half)), IntervalKind::order};
    add(fmt::format("gap_q{}", percent), value, "no labels");
  }
  add("largest_gap", {largest_, kUndefined, kUndefined}, "no labels");
  for (std::size_t y = 0; y < by_label_.size(); ++y)
    all.push_back({"co_label", static_cast<Index>(y), by_label_[y].count(), "",
                   by_label_[y].mean(confidence),
                   by_label_[y].count() > 0 ? "" : "no rows of this label"});
  return all;
}

}  // namespace fmd
