#include "fmd/metrics/tally.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/check.h"
#include "core/index.h"
#include "metrics/tally_kernel.h"

namespace fmd {
namespace {

using kernels::kCalibrationCopies;
using kernels::kCoarseBins;
using kernels::kLossUnit;
using kernels::kScoreUnit;
using kernels::kWeightSums;
using kernels::kWeightUnit;

constexpr Index kFewCells = 640;     // so many have score histograms: 8 MB
constexpr Index kFewSums = 1 << 16;  // cells x labels of a table of all attributes
constexpr Index kMostSums = 1 << 26;
constexpr Index kUnsettledBins = Index{1} << 31;
enum Sum {
  kP,
  kSquares,
  kLoss,
  kOutcomes
};  // of a cell; the exact ones end before outcomes
enum Weight { kWeightSquares = 4, kWeightP = 8, kWeightPSquares, kWeightLoss };

Index cells_of(const TallyPlan& plan, const std::vector<Index>& attributes) {
  Index cells = 1;
  for (const Index a : attributes)
    cells = std::min(cells * (plan.values[at(a)] + 1), kMostSums + 1);
  return cells;
}

template <typename T>
void add_all(std::vector<T>& to, const std::vector<T>& from) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    if constexpr (std::is_same_v<T, ExactSum>)
      to[i].add(from[i]);
    else
      to[i] += from[i];
  }
}

// The group of these attributes that cell g of a table belongs to; -1 = none.
template <typename Table>
Index group_of(const Table& table, const TallyPlan& plan, std::span<const Index> attributes,
               Index g) {
  Index group = 0;
  for (const Index a : attributes) {
    const auto k = std::find(table.attributes.begin(), table.attributes.end(), a) -
                   table.attributes.begin();
    const Index code = g / table.stride[at(k)] % (plan.values[at(a)] + 1) - 1;
    group = code < 0 || group < 0 ? -1 : group * plan.values[at(a)] + code;
  }
  return group;
}

}  // namespace

void LabelTally::add(const LabelTally& o) {
  rows += o.rows, chosen += o.chosen, right += o.right;
  weight += o.weight, weight_chosen += o.weight_chosen, weight_right += o.weight_right;
  weight_squares += o.weight_squares;
  weight_squares_chosen += o.weight_squares_chosen;
  score += o.score, score_squares += o.score_squares;
  loss += o.loss, brier += o.brier;
}

LabelTally GroupTally::known() const {
  LabelTally sum;
  for (const LabelTally& l : label) sum.add(l);
  return sum;
}

LabelTally GroupTally::all() const {
  LabelTally sum = known();
  sum.add(unknown);
  return sum;
}

Tally::Tally(TallyPlan plan) : plan_(std::move(plan)) {
  require_option(plan_.classes >= 2, "tally", "classes", plan_.classes, ">= 2");
  require_option(plan_.favorable >= -1 && plan_.favorable < plan_.classes, "tally",
                 "favorable", plan_.favorable,
                 fmt::format("a class below {}, or -1", plan_.classes));
  for (const Index values : plan_.values)
    require_option(values >= 0, "tally", "values", values, ">= 0");
  for (auto& attributes : tables_of(plan_)) add_table(std::move(attributes));
  recent_calibration_.resize(at(kCalibrationCopies * (kCoarseBins + 1) * 2));
  calibration_.resize(at(kCoarseBins * 2));
  keeping_ = plan_.favorable >= 0;
  kept_.code.resize(plan_.values.size());
}

std::vector<std::vector<Index>> Tally::tables_of(const TallyPlan& plan) {
  const auto count = static_cast<Index>(plan.values.size());
  std::vector<Index> all;
  for (Index a = 0; a < count; ++a) all.push_back(a);
  const Index joint = cells_of(plan, all);
  if (joint <= kFewCells && joint * (plan.classes + 1) <= kFewSums) return {all};
  std::vector<std::vector<Index>> tables;
  std::vector<bool> binned(at(count), false);
  for (Index a = 0; a < count && plan.crossed; ++a) {
    for (Index b = a + 1; b < count; ++b) {
      tables.push_back({a, b});
      if (cells_of(plan, {a, b}) <= kFewCells) binned[at(a)] = binned[at(b)] = true;
    }
  }
  for (Index a = 0; a < count; ++a)
    if (!binned[at(a)]) tables.push_back({a});
  return tables;
}

Index Tally::sums_of(const TallyPlan& plan, const std::vector<Index>& attributes) {
  const Index groups = cells_of(plan, attributes);
  if (groups <= kMostSums / (plan.classes + 1)) return groups * (plan.classes + 1);
  throw Error(
      ErrorKind::bad_option,
      fmt::format("tally: {} groups with {} classes are too many", groups, plan.classes),
      "compare fewer values, or leave out the intersections");
}

void Tally::add_table(std::vector<Index> attributes) {
  Table table;
  const Index sums = sums_of(plan_, attributes);
  table.groups = cells_of(plan_, attributes);
  table.stride.resize(attributes.size());
  Index stride = 1;
  for (std::size_t a = attributes.size(); a-- > 0;) {
    table.stride[a] = stride;
    stride *= plan_.values[at(attributes[a])] + 1;
  }
  const bool bins = table.groups <= kFewCells || attributes.size() == 1;
  table.attributes = std::move(attributes);
  table.recent.resize(at(sums * 4));
  table.sum.resize(at(sums * 3));
  table.count.resize(at(sums * 4));
  if (plan_.weighted) table.weight.resize(at(sums * kWeightSums));
  if (bins && plan_.favorable >= 0)
    table.recent_bin.resize(at(table.groups * 3 * kScoreBins));
  tables_.push_back(std::move(table));
}

void Tally::settle() {
  for (Table& table : tables_) {
    for (std::size_t cell = 0; cell < table.recent.size() / 4; ++cell) {
      std::uint64_t* recent = table.recent.data() + cell * 4;
      if (recent[kOutcomes] == 0) continue;
      for (std::size_t k = 0; k < 3; ++k) table.sum[cell * 3 + k].add(recent[k]);
      for (std::size_t k = 0; k < 4; ++k)
        table.count[cell * 4 + k] +=
            static_cast<Index>((recent[kOutcomes] >> (16 * k)) & 0xffff);
      std::fill_n(recent, 4, std::uint64_t{0});
    }
  }
  for (std::size_t copy = 0; copy < kCalibrationCopies; ++copy)
    for (std::size_t k = 0; k < kCoarseBins * 2; ++k)
      calibration_[k].add(recent_calibration_[copy * (kCoarseBins + 1) * 2 + k]);
  std::fill(recent_calibration_.begin(), recent_calibration_.end(), 0);
  unsettled_ = 0;
}

void Tally::settle_bins() {
  for (Table& table : tables_) {
    table.bin.resize(table.recent_bin.size());
    for (std::size_t k = 0; k < table.bin.size(); ++k) table.bin[k] += table.recent_bin[k];
    std::fill(table.recent_bin.begin(), table.recent_bin.end(), 0);
  }
  unsettled_bins_ = 0;
}

void Tally::merge(const Tally& other) {
  if (!(plan_ == other.plan_))
    throw Error(ErrorKind::bad_shape, "tally: two tallies of different plans",
                "merge tallies that were made from the same plan");
  settle();
  Tally settled;
  const Tally* from = &other;
  if (other.unsettled_ > 0) {
    settled = other;
    settled.settle();
    from = &settled;
  }
  // Bins stay narrow while their numbers are small.
  const bool wide = unsettled_bins_ + from->unsettled_bins_ > kUnsettledBins;
  if (wide) settle_bins();
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    Table& to = tables_[t];
    const Table& own = from->tables_[t];
    add_all(to.sum, own.sum);
    add_all(to.count, own.count);
    add_all(to.weight, own.weight);
    add_all(to.recent_bin, own.recent_bin);
    if (own.bin.empty()) continue;
    to.bin.resize(own.bin.size());
    add_all(to.bin, own.bin);
  }
  unsettled_bins_ += from->unsettled_bins_;
  add_all(calibration_, from->calibration_);
  rows_ += other.rows_;
  keeping_ = keeping_ && other.keeping_ && rows_ <= plan_.keep_rows;
  if (!keeping_) {
    kept_ = {};
    return;
  }
  const auto append = [](auto& to, const auto& own) {
    to.insert(to.end(), own.begin(), own.end());
  };
  append(kept_.score, other.kept_.score);
  append(kept_.y, other.kept_.y);
  for (std::size_t a = 0; a < kept_.code.size(); ++a)
    append(kept_.code[a], other.kept_.code[a]);
}

const Tally::Table* Tally::table_of(std::span<const Index> attributes, bool bins) const {
  for (const Index a : attributes)
    require_option(a >= 0 && a < static_cast<Index>(plan_.values.size()), "tally",
                   "attribute", a, "one of the plan");
  for (const Table& table : tables_) {
    if (bins && table.recent_bin.empty()) continue;
    const bool has = std::all_of(attributes.begin(), attributes.end(), [&](Index a) {
      return std::find(table.attributes.begin(), table.attributes.end(), a) !=
             table.attributes.end();
    });
    if (has) return &table;
  }
  return nullptr;
}

LabelTally Tally::label_tally(const Table& table, Index cell) const {
  LabelTally l;
  const std::uint64_t* recent = table.recent.data() + cell * 4;
  double sum[3];
  for (std::size_t k = 0; k < 3; ++k) {
    ExactSum s = table.sum[at(cell) * 3 + k];
    s.add(recent[k]);
    sum[k] = s.value(k == kLoss ? kLossUnit : kScoreUnit);
  }
  double weight[kWeightSums] = {};
  for (std::size_t k = 0; k < 4; ++k) {
    const Index rows = table.count[at(cell) * 4 + k] +
                       static_cast<Index>((recent[kOutcomes] >> (16 * k)) & 0xffff);
    l.rows += rows;
    if (k & 1) l.chosen += rows;
    if (k & 2) l.right += rows;
    weight[k] = static_cast<double>(rows);
    weight[kWeightSquares + k] = static_cast<double>(rows);
  }
  std::copy_n(sum, 3, weight + kWeightP);
  if (plan_.weighted)
    for (std::size_t k = 0; k < kWeightSums; ++k)
      weight[k] = table.weight[at(cell) * kWeightSums + k].value(kWeightUnit);
  l.weight = weight[0] + weight[1] + weight[2] + weight[3];
  l.weight_chosen = weight[1] + weight[3];
  l.weight_right = weight[2] + weight[3];
  l.weight_squares_chosen = weight[kWeightSquares + 1] + weight[kWeightSquares + 3];
  l.weight_squares =
      weight[kWeightSquares] + weight[kWeightSquares + 2] + l.weight_squares_chosen;
  l.score = weight[kWeightP];
  l.score_squares = weight[kWeightPSquares];
  l.loss = weight[kWeightLoss];
  const Index label = cell % (plan_.classes + 1) - 1;
  if (label >= 0 && plan_.favorable >= 0)
    l.brier = label == plan_.favorable ? l.weight - 2 * l.score + l.score_squares
                                       : l.score_squares;
  return l;
}

std::vector<GroupTally> Tally::groups(std::span<const Index> attributes,
                                      Index* without) const {
  const Table* table = table_of(attributes, false);
  if (table == nullptr)
    throw Error(ErrorKind::bad_option, "tally: these attributes were not counted together",
                "ask for a plan with crossed = true");
  Index wanted = 1;
  for (const Index a : attributes) wanted *= plan_.values[at(a)];
  GroupTally none;
  none.label.resize(at(plan_.classes));
  std::vector<GroupTally> groups(at(wanted), none);
  if (without != nullptr) *without = 0;
  for (Index g = 0; g < table->groups; ++g) {
    const Index to = group_of(*table, plan_, attributes, g);
    for (Index label = 0; label <= plan_.classes; ++label) {
      const LabelTally found = label_tally(*table, g * (plan_.classes + 1) + label);
      if (to < 0) {
        if (without != nullptr) *without += found.rows;
        continue;
      }
      GroupTally& group = groups[at(to)];
      (label == 0 ? group.unknown : group.label[at(label - 1)]).add(found);
    }
  }
  return groups;
}

GroupTally Tally::total() const { return groups({})[0]; }

std::vector<ScoreHistogram> Tally::histograms(std::span<const Index> attributes) const {
  const Table* table = table_of(attributes, true);
  if (table == nullptr) return {};
  Index wanted = 1;
  for (const Index a : attributes) wanted *= plan_.values[at(a)];
  std::vector<ScoreHistogram> found(at(wanted), ScoreHistogram(kScoreBins));
  for (Index g = 0; g < table->groups; ++g) {
    const Index to = group_of(*table, plan_, attributes, g);
    if (to < 0) continue;
    for (const int kind : {1, 2}) {
      std::vector<Index>& bins =
          kind == 2 ? found[at(to)].positive : found[at(to)].negative;
      const std::size_t first = at((g * 3 + kind) * kScoreBins);
      for (std::size_t b = 0; b < at(kScoreBins); ++b)
        bins[b] +=
            table->recent_bin[first + b] + (table->bin.empty() ? 0 : table->bin[first + b]);
    }
  }
  return found;
}

ScoreHistogram Tally::total_histogram() const {
  auto all = histograms({});
  return all.empty() ? ScoreHistogram(kScoreBins) : std::move(all[0]);
}

std::vector<Tally::Bin> Tally::calibration() const {
  const int unit = plan_.weighted ? kWeightUnit : kScoreUnit;
  std::vector<Bin> bins(at(kCoarseBins));
  for (std::size_t b = 0; b < bins.size(); ++b) {
    ExactSum score = calibration_[2 * b], hits = calibration_[2 * b + 1];
    for (std::size_t copy = 0; copy < kCalibrationCopies; ++copy) {
      const std::uint64_t* recent =
          recent_calibration_.data() + copy * (kCoarseBins + 1) * 2 + 2 * b;
      score.add(recent[0]);
      hits.add(recent[1]);
    }
    bins[b] = {score.value(unit), hits.value(plan_.weighted ? kWeightUnit : 0)};
  }
  return bins;
}

}  // namespace fmd
