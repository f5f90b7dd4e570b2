#include <cmath>

#include <fmt/format.h>

#include "data/number.h"
#include "fmd/core/error.h"
#include "fmd/pipeline/scan.h"

namespace fmd {
namespace {

constexpr double kMostCounts = 2e7;  // of all suspects and pairs: 160 MB

}  // namespace

ScanCounts::ScanCounts(std::vector<Index> groups) : groups_(std::move(groups)) {
  double cells = 0, ones = 0;
  for (const Index g : groups_) {
    if (g < 1) throw Error(ErrorKind::bad_option, "scan: a suspect has no groups");
    cells += static_cast<double>(g) * (1 + ones);
    ones += static_cast<double>(g);
  }
  if (!(cells * static_cast<double>(kOutcomes) <= kMostCounts)) {
    throw Error(ErrorKind::bad_option,
                fmt::format("scan: {} columns have {:.3g} cells with all intersections",
                            groups_.size(), cells),
                "name fewer columns: --scan-columns a,b,c");
  }
  std::size_t at = 0;
  const auto next = [&](Index cell_count) {
    start_.push_back(at);
    at += to_size(cell_count) * kOutcomes;
  };
  for (const Index g : groups_) next(g);
  for (std::size_t a = 0; a < groups_.size(); ++a)
    for (std::size_t b = a + 1; b < groups_.size(); ++b) next(groups_[a] * groups_[b]);
  start_.push_back(at);
  counts_.assign(at, 0);
}

std::size_t ScanCounts::place(std::size_t a, std::size_t b) const {
  const std::size_t n = groups_.size();
  return n + a * n - a * (a + 1) / 2 + (b - a - 1);
}

std::span<const Index> ScanCounts::one(std::size_t a) const {
  return {counts_.data() + start_[a], start_[a + 1] - start_[a]};
}

std::span<const Index> ScanCounts::two(std::size_t a, std::size_t b) const {
  const std::size_t p = place(a, b);
  return {counts_.data() + start_[p], start_[p + 1] - start_[p]};
}

void ScanCounts::add(const std::vector<std::vector<std::int32_t>>& group,
                     std::span<const std::uint8_t> outcome, const Exec& exec) {
  if (group.size() != groups_.size())
    throw Error(ErrorKind::bad_shape, "scan: one list of groups for each suspect");
  for (const auto& codes : group)
    if (codes.size() != outcome.size())
      throw Error(ErrorKind::bad_shape, "scan: one group and one outcome for each row");
  // Every task has its own suspect's tables, so that no two count in one place.
  exec.for_each(static_cast<Index>(groups_.size()), [&](Index task) {
    const std::size_t a = to_size(task);
    const std::vector<std::int32_t>& first = group[a];
    Index* own = counts_.data() + start_[a];
    for (std::size_t i = 0; i < outcome.size(); ++i)
      if (first[i] >= 0) ++own[to_size(first[i]) * kOutcomes + outcome[i]];
    for (std::size_t b = a + 1; b < groups_.size(); ++b) {
      const std::vector<std::int32_t>& second = group[b];
      Index* cells = counts_.data() + start_[place(a, b)];
      const std::size_t width = to_size(groups_[b]);
      for (std::size_t i = 0; i < outcome.size(); ++i) {
        if (first[i] < 0 || second[i] < 0) continue;
        ++cells[(to_size(first[i]) * width + to_size(second[i])) * kOutcomes + outcome[i]];
      }
    }
  });
}

void ScanCounts::merge(const ScanCounts& other) {
  if (groups_ != other.groups_)
    throw Error(ErrorKind::bad_shape, "scan: counts of other columns cannot be merged");
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
}

void ScanCounts::save(ByteWriter& out) const {
  out.put_array<Index>(groups_);
  out.put_array<Index>(counts_);
}

ScanCounts ScanCounts::load(ByteReader& in) {
  const auto fail = [] {
    throw Error(ErrorKind::bad_model, "state: damaged counts of a scan",
                "the file is damaged: make it again");
  };
  std::vector<Index> groups = in.get_array<Index>();
  for (const Index g : groups)
    if (g < 1 || g > 1000000) fail();
  ScanCounts result(std::move(groups));
  const std::vector<Index> counts = in.get_array<Index>();
  if (counts.size() != result.counts_.size()) fail();
  for (const Index count : counts)
    if (count < 0) fail();
  result.counts_ = counts;
  return result;
}

std::vector<std::uint8_t> scan_outcomes(const Scored& scored) {
  std::vector<std::uint8_t> result(to_size(scored.rows()));
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::int32_t y = scored.labelled() ? scored.y[i] : -1;
    const int label = y < 0 ? 0 : y == scored.favorable ? 2 : 1;
    result[i] = static_cast<std::uint8_t>(2 * label +
                                          (scored.decision[i] == scored.favorable ? 1 : 0));
  }
  return result;
}

void ScanFlips::merge(const ScanFlips& other) {
  if (of.size() != other.of.size())
    throw Error(ErrorKind::bad_shape, "scan: flips of other columns cannot be merged");
  for (std::size_t s = 0; s < of.size(); ++s) {
    of[s].rows += other.of[s].rows;
    of[s].change += other.of[s].change;
    of[s].square += other.of[s].square;
    of[s].flipped += other.of[s].flipped;
  }
}

void ScanFlips::save(ByteWriter& out) const { out.put_array<FlipSums>(of); }

ScanFlips ScanFlips::load(ByteReader& in) { return {in.get_array<FlipSums>()}; }

Interval FlipSums::mean_change(double confidence) const {
  if (rows == 0) return {};
  const double mean = change / rows;
  if (rows < 2) return {mean, kUndefined, kUndefined};
  const double variance = std::max(0.0, square - rows * mean * mean) / (rows - 1);
  const double half = normal_quantile(confidence) * std::sqrt(variance / rows);
  return {mean, std::max(0.0, mean - half), mean + half, IntervalKind::normal};
}

}  // namespace fmd
