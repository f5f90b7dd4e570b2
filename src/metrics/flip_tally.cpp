#include "fmd/metrics/flip_tally.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/index.h"
#include "metrics/pair_values.h"

namespace fmd {
namespace {

constexpr double kStill = 1e-6;  // a smaller change of the probability counts as none
constexpr int kChangeUnit = 60;
constexpr std::uint32_t kFormat = 2;

void require_values(const PairScores& s, Index values) {
  for (const auto* side : {&s.from, &s.to})
    for (const std::int32_t v : *side)
      if (v < 0 || v >= values)
        require_option(false, "flip_report", "value", v,
                       fmt::format("between 0 and {}", values - 1));
}

[[noreturn]] void damaged() {
  throw Error(ErrorKind::bad_model, "flips: the saved state contradicts itself",
              "the file is damaged: make it again");
}

template <typename T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

template <typename T>
void put(ByteWriter& out, const std::vector<T>& values) {
  out.put_array(std::span<const T>(values));
}

}  // namespace

FlipTally::FlipTally(FlipPlan plan) : plan_(plan), gaps_(std::max<Index>(0, plan.classes)) {
  require_option(plan.classes >= 2, "flips", "classes", plan.classes, ">= 2");
  require_option(plan.values >= 0 && plan.values < 1 << 14, "flips", "values", plan.values,
                 "between 0 and 16383");
  rows_.resize(at(plan.values), 0);
  if (plan.by_value) cells_.resize(at(plan.values * plan.values));
}

void FlipTally::add(const PairScores& s) {
  require_pairs(s);
  require_values(s, plan_.values);
  require_size("flip_report", "a row of p", s.p.cols(), plan_.classes);
  if (s.p.rows() > 0 && plan_.by_value == s.from.empty())
    throw Error(ErrorKind::bad_shape, "flips: pairs with and without values are mixed",
                "make one tally for each kind of pairs");
  Kept block;
  const std::vector<Index> starts = unit_starts(s);
  for (std::size_t u = 0; u + 1 < starts.size(); ++u)
    block.unit_pairs.push_back(starts[u + 1] - starts[u]);
  for (Index i = 0; i < s.p.rows(); ++i) {
    const PairValue pair = pair_value(s, i);
    if (!(pair.tv >= 0 && pair.tv <= 1 + 1e-9))
      throw Error(ErrorKind::bad_value,
                  fmt::format("flips: pair {} has scores that are no probabilities", i + 1),
                  "scores are numbers from 0 to 1");
    block.change.push_back(pair.change);
    block.tv.push_back(pair.tv);
    block.weight.push_back(static_cast<float>(pair_weight(s, i)));
    block.flipped.push_back(pair.flipped ? 1 : 0);
    still_ += pair.tv < kStill ? 1 : 0;
  }
  block.from = s.from;
  block.to = s.to;
  for (std::size_t u = 0; u + 1 < starts.size(); ++u)
    add_unit(block, at(starts[u]), at(starts[u + 1]));
  add_cells(block);
  if (plan_.figures) gaps_.add(s);
  units_ += static_cast<Index>(starts.size()) - 1;
  pairs_ += s.p.rows();
  drop_or_keep(block);
}

void FlipTally::add_unit(const Kept& block, std::size_t first, std::size_t last) {
  double co = 0, known = 0, tv = 0, flip = 0, all = 0;
  for (std::size_t i = first; i < last; ++i) {
    const auto w = static_cast<double>(block.weight[i]);
    all += w;
    tv += w * block.tv[i];
    flip += block.flipped[i] != 0 ? w : 0;
    if (std::isnan(block.change[i])) continue;
    co += w * std::abs(block.change[i]);
    known += w;
  }
  if (known > 0) co_.add(co / known);
  tv_.add(tv / all);
  flip_.add(flip / all);
  if (plan_.by_value) ++rows_[at(block.from[first])];
}

void FlipTally::add_cells(const Kept& block) {
  if (!plan_.by_value) return;
  for (std::size_t i = 0; i < block.change.size(); ++i) {
    Cell& cell = cells_[at(block.from[i] * plan_.values + block.to[i])];
    ++cell.pairs;
    cell.flipped += block.flipped[i];
    const double change = block.change[i];
    if (std::isnan(change)) continue;
    cell.gap.add(std::abs(change));
    (change < 0 ? cell.falls : cell.rises).add(std::abs(change), kChangeUnit);
  }
}

void FlipTally::drop_or_keep(const Kept& block) {
  keeping_ = keeping_ && units_ <= plan_.keep_units && pairs_ <= plan_.keep_pairs;
  if (!keeping_) {
    kept_ = {};
    return;
  }
  append(kept_.unit_pairs, block.unit_pairs);
  append(kept_.change, block.change);
  append(kept_.tv, block.tv);
  append(kept_.weight, block.weight);
  append(kept_.from, block.from);
  append(kept_.to, block.to);
  append(kept_.flipped, block.flipped);
}

void FlipTally::merge(const FlipTally& other) {
  if (!(plan_ == other.plan_))
    throw Error(ErrorKind::bad_shape, "flips: two tallies of different plans",
                "merge tallies that were made from the same plan");
  units_ += other.units_, pairs_ += other.pairs_, still_ += other.still_;
  co_.merge(other.co_);
  tv_.merge(other.tv_);
  flip_.merge(other.flip_);
  gaps_.merge(other.gaps_);
  for (std::size_t v = 0; v < rows_.size(); ++v) rows_[v] += other.rows_[v];
  for (std::size_t c = 0; c < cells_.size(); ++c) {
    Cell& to = cells_[c];
    const Cell& from = other.cells_[c];
    to.gap.merge(from.gap);
    to.rises.add(from.rises);
    to.falls.add(from.falls);
    to.pairs += from.pairs;
    to.flipped += from.flipped;
  }
  keeping_ = keeping_ && other.keeping_;
  drop_or_keep(other.kept_);
}

void FlipTally::save(ByteWriter& out) const {
  out.put(kFormat);
  for (const Index n : {plan_.classes, plan_.values, plan_.keep_units, plan_.keep_pairs,
                        units_, pairs_, still_})
    out.put(n);
  for (const bool flag : {plan_.by_value, plan_.figures, keeping_})
    out.put(static_cast<std::uint8_t>(flag));
  for (const GapBins* bins : {&co_, &tv_, &flip_}) bins->save(out);
  gaps_.save(out);
  put(out, rows_);
  for (const Cell& cell : cells_) {
    cell.gap.save(out);
    out.put(cell.rises);
    out.put(cell.falls);
    out.put(cell.pairs);
    out.put(cell.flipped);
  }
  put(out, kept_.unit_pairs);
  put(out, kept_.change);
  put(out, kept_.tv);
  put(out, kept_.weight);
  put(out, kept_.from);
  put(out, kept_.to);
  put(out, kept_.flipped);
}

FlipTally FlipTally::load(ByteReader& in) {
  if (in.get<std::uint32_t>() != kFormat) damaged();
  FlipPlan plan;
  plan.classes = in.get<Index>();
  plan.values = in.get<Index>();
  plan.keep_units = in.get<Index>();
  plan.keep_pairs = in.get<Index>();
  const auto units = in.get<Index>(), pairs = in.get<Index>(), still = in.get<Index>();
  plan.by_value = in.get<std::uint8_t>() != 0;
  plan.figures = in.get<std::uint8_t>() != 0;
  const bool keeping = in.get<std::uint8_t>() != 0;
  const bool possible = plan.classes >= 2 && plan.values >= 0 && plan.values < 1 << 14;
  if (!possible || at(plan.classes) > in.left() / 56 || at(plan.values) * 8 > in.left() ||
      (plan.by_value && at(plan.values * plan.values) * 72 > in.left()))
    damaged();
  FlipTally tally(plan);
  tally.units_ = units, tally.pairs_ = pairs, tally.still_ = still;
  tally.keeping_ = keeping;
  for (GapBins* bins : {&tally.co_, &tally.tv_, &tally.flip_}) bins->load(in);
  tally.gaps_.load(in);
  tally.rows_ = in.get_array<Index>();
  if (tally.rows_.size() != at(plan.values)) damaged();
  for (Cell& cell : tally.cells_) {
    cell.gap.load(in);
    cell.rises = in.get<ExactSum>();
    cell.falls = in.get<ExactSum>();
    cell.pairs = in.get<Index>();
    cell.flipped = in.get<Index>();
  }
  Kept& kept = tally.kept_;
  kept.unit_pairs = in.get_array<Index>();
  kept.change = in.get_array<double>();
  kept.tv = in.get_array<double>();
  kept.weight = in.get_array<float>();
  kept.from = in.get_array<std::int32_t>();
  kept.to = in.get_array<std::int32_t>();
  kept.flipped = in.get_array<std::uint8_t>();
  const std::size_t count = keeping ? at(pairs) : 0, valued = plan.by_value ? count : 0;
  Index sum = 0;
  for (const Index n : kept.unit_pairs) {
    if (n < 1 || n > pairs - sum) damaged();
    sum += n;
  }
  const bool sized = at(sum) == count && kept.change.size() == count &&
                     kept.tv.size() == count && kept.weight.size() == count &&
                     kept.flipped.size() == count && kept.from.size() == valued &&
                     kept.to.size() == valued &&
                     static_cast<Index>(kept.unit_pairs.size()) == (keeping ? units : 0);
  if (!sized) damaged();
  for (const auto* side : {&kept.from, &kept.to})
    for (const std::int32_t v : *side)
      if (v < 0 || v >= plan.values) damaged();
  return tally;
}

}  // namespace fmd
