#include "fmd/metrics/tally.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/check.h"
#include "core/index.h"
#include "metrics/statistics/rate_count.h"
#include "metrics/tally/saved_state.h"
#include "metrics/tally/tally_kernel.h"

namespace fmd {
namespace {

using kernels::kCalibrationCopies;
using kernels::kCoarseBins;
using kernels::kLossUnit;
using kernels::kScoreUnit;
using kernels::kWeightSums;
using kernels::kWeightUnit;

constexpr Index kFewCells = 640;     // up to here a table has score histograms: 8 MB
constexpr Index kFewSums = 1 << 16;  // cells x labels of a table of all attributes
constexpr Index kMostSums = 1 << 26;
constexpr float kLeastWeight = 0x1p-20F, kMostWeight = 0x1p20F;
constexpr std::uint32_t kTallyFormat = 1;
constexpr Index kUnsettledBins = Index{1} << 31;
// Sums of a cell; the exact ones end before kOutcomes.
enum CellSum { kP, kSquares, kLoss, kOutcomes };
enum WeightSum { kWeightSquares = 4, kWeightP = 8, kWeightPSquares, kWeightLoss };

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

void require_fit(const TallyPlan& plan, const ScoredBlock& block) {
  require_size("tally", "a row of p", block.classes, plan.classes);
  require_size("tally", "decision", static_cast<Index>(block.decision.size()), block.rows);
  if (!block.y.empty() || block.rows == 0)
    require_size("tally", "y", static_cast<Index>(block.y.size()), block.rows);
  require_size("tally", "code of a row", static_cast<Index>(block.code.size()),
               static_cast<Index>(plan.values.size()));
  for (const auto& code : block.code)
    require_size("tally", "code", static_cast<Index>(code.size()), block.rows);
  if (plan.weighted || !block.weight.empty())
    require_size("tally", "weight", static_cast<Index>(block.weight.size()),
                 plan.weighted ? block.rows : 0);
  if (!plan.labelled) require_size("tally", "y", static_cast<Index>(block.y.size()), 0);
}

// The kernel found an error in some rows: throws the error of the first of them.
[[noreturn]] void explain(const TallyPlan& plan, const ScoredBlock& block, Index first,
                          Index rows) {
  for (Index i = first; i < first + rows; ++i) {
    if (!block.y.empty())
      require_option(block.y[at(i)] >= -1 && block.y[at(i)] < plan.classes, "tally", "y",
                     block.y[at(i)], fmt::format("a class below {}, or -1", plan.classes));
    for (std::size_t a = 0; a < block.code.size(); ++a) {
      const std::int32_t code = block.code[a][at(i)];
      if (code >= -1 && code < plan.values[a]) continue;
      throw Error(
          ErrorKind::bad_shape,
          fmt::format("tally: a row has the group {}, there are {}", code, plan.values[a]),
          "number groups from 0; rows without a group have -1");
    }
    for (Index k = 0; k < plan.classes; ++k) {
      const double p = block.p[i * plan.classes + k];
      if (p >= 0 && p <= 1) continue;
      throw Error(ErrorKind::bad_value,
                  fmt::format("tally: row {} has the score {}, which is not a probability",
                              i + 1, p),
                  "scores are numbers from 0 to 1");
    }
  }
  throw Error(ErrorKind::bad_value, "tally: a row cannot be counted");
}

// An array that must have the size that the plan gives it.
template <typename T>
void get(ByteReader& in, std::vector<T>& into) {
  std::vector<T> values = in.get_array<T>();
  if (values.size() != into.size()) damaged_state("tally");
  into = std::move(values);
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

struct Tally::Scratch : kernels::TallyRows {};

void Tally::count_rows(const ScoredBlock& block, Index first, Index rows,
                       Scratch& scratch) {
  const kernels::TallyInput in{.rows = rows,
                               .classes = plan_.classes,
                               .p = block.p + first * plan_.classes,
                               .y = block.y.empty() ? nullptr : block.y.data() + first,
                               .decision = block.decision.data() + first,
                               .favorable = plan_.favorable};
  if (!kernels::prepare(in, scratch)) explain(plan_, block, first, rows);
  for (Table& table : tables_) {
    if (table.attributes.empty()) std::fill_n(scratch.group, rows, 0);
    for (std::size_t a = 0; a < table.attributes.size(); ++a) {
      const std::size_t which = at(table.attributes[a]);
      if (!kernels::add_codes(block.code[which].data() + first, rows, plan_.values[which],
                              table.stride[a], a == 0, scratch))
        explain(plan_, block, first, rows);
    }
    kernels::scatter_sums(scratch, rows, plan_.classes + 1, table.recent.data());
    if (!table.recent_bin.empty())
      kernels::scatter_bins(scratch, rows, table.recent_bin.data());
    if (!plan_.weighted) continue;
    for (Index i = 0; i < rows; ++i) {
      const auto w = static_cast<double>(block.weight[at(first + i)]);
      const std::size_t cell =
          std::size_t{scratch.group[i]} * at(plan_.classes + 1) + scratch.label[i];
      const double loss =
          std::ldexp(static_cast<double>(scratch.loss[i]), -kernels::kLossUnit);
      const int outcome = std::countr_zero(scratch.outcome[i]) / 16;
      ExactSum* to = table.weight.data() + cell * at(kernels::kWeightSums);
      to[outcome].add(w, kWeightUnit);
      to[4 + outcome].add(w * w, kWeightUnit);
      to[8].add(w * scratch.score[i], kWeightUnit);
      to[9].add(w * scratch.score[i] * scratch.score[i], kWeightUnit);
      to[10].add(w * loss, kWeightUnit);
    }
  }
  if (plan_.weighted)
    add_weights(block, first, rows, scratch);
  else
    kernels::scatter_calibration(scratch, rows, recent_calibration_.data());
}

void Tally::add_weights(const ScoredBlock& block, Index first, Index rows,
                        Scratch& scratch) {
  for (Index i = 0; i < rows; ++i) {
    if (scratch.coarse[i] == kernels::kCoarseBins) continue;
    const auto w = static_cast<double>(block.weight[at(first + i)]);
    ExactSum* to = calibration_.data() + 2 * std::size_t{scratch.coarse[i]};
    to[0].add(w * scratch.top[i], kWeightUnit);
    to[1].add(scratch.hit[i] == 0 ? 0.0 : w, kWeightUnit);
  }
}

void Tally::keep(const ScoredBlock& block) {
  if (!keeping_) return;
  if (rows_ > plan_.keep_rows) {
    keeping_ = false;
    kept_ = {};
    return;
  }
  for (Index i = 0; i < block.rows; ++i)
    kept_.score.push_back(block.p[i * plan_.classes + plan_.favorable]);
  if (plan_.labelled) {
    if (block.y.empty())
      kept_.y.insert(kept_.y.end(), at(block.rows), -1);
    else
      kept_.y.insert(kept_.y.end(), block.y.begin(), block.y.end());
  }
  for (std::size_t a = 0; a < block.code.size(); ++a)
    kept_.code[a].insert(kept_.code[a].end(), block.code[a].begin(), block.code[a].end());
}

void Tally::add(const ScoredBlock& block) {
  require_fit(plan_, block);
  for (const float w : block.weight) {
    if (w == 0 || (w >= kLeastWeight && w <= kMostWeight)) continue;
    throw Error(ErrorKind::bad_value, fmt::format("tally: a row has the weight {}", w),
                "weights are 0, or from a millionth to a million: multiply all of them by "
                "the same number");
  }
  Scratch scratch;
  for (Index first = 0; first < block.rows; first += kernels::kTallyRows) {
    const Index rows = std::min(kernels::kTallyRows, block.rows - first);
    if (unsettled_ + rows > kernels::kUnsettledRows) settle();
    if (unsettled_bins_ + rows > kUnsettledBins) settle_bins();
    count_rows(block, first, rows, scratch);
    unsettled_ += rows;
    unsettled_bins_ += rows;
  }
  rows_ += block.rows;
  keep(block);
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
  // Bins keep 32 bits while their counts are small.
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

void Tally::save(ByteWriter& out) const {
  if (unsettled_ > 0 || unsettled_bins_ > 0) {
    Tally settled = *this;
    settled.settle();
    settled.settle_bins();
    return settled.save(out);
  }
  out.put(kTallyFormat);
  out.put(plan_.classes);
  out.put(static_cast<std::int32_t>(plan_.favorable));
  put_all(out, plan_.values);
  for (const bool flag : {plan_.crossed, plan_.labelled, plan_.weighted, keeping_})
    out.put(static_cast<std::uint8_t>(flag));
  out.put(plan_.keep_rows);
  out.put(rows_);
  for (const Table& table : tables_) {
    put_all(out, table.sum);
    put_all(out, table.count);
    put_all(out, table.weight);
    put_all(out, table.bin);
  }
  put_all(out, calibration_);
  if (!keeping_) return;
  put_all(out, kept_.score);
  put_all(out, kept_.y);
  for (const auto& code : kept_.code) put_all(out, code);
}

Tally Tally::load(ByteReader& in) {
  if (in.get<std::uint32_t>() != kTallyFormat) damaged_state("tally");
  TallyPlan plan;
  plan.classes = in.get<Index>();
  plan.favorable = in.get<std::int32_t>();
  plan.values = in.get_array<Index>();
  const auto flag = [&] { return in.get<std::uint8_t>() != 0; };
  plan.crossed = flag();
  plan.labelled = flag();
  plan.weighted = flag();
  const bool keeping = flag();
  plan.keep_rows = in.get<Index>();
  // Before memory is allocated: the file must hold as much as the plan says.
  Tally tally;
  try {
    Index sums = 0;
    for (const auto& attributes : tables_of(plan)) sums += sums_of(plan, attributes);
    if (static_cast<std::size_t>(sums) * 80 > in.left()) damaged_state("tally");
    tally = Tally(plan);
  } catch (const Error&) {
    damaged_state("tally");
  }
  tally.rows_ = in.get<Index>();
  for (Table& table : tally.tables_) {
    get(in, table.sum);
    get(in, table.count);
    get(in, table.weight);
    table.bin = in.get_array<Index>();
    if (!table.bin.empty() && table.bin.size() != table.recent_bin.size())
      damaged_state("tally");
  }
  get(in, tally.calibration_);
  tally.keeping_ = keeping;
  if (!keeping) return tally;
  tally.kept_.score = in.get_array<double>();
  tally.kept_.y = in.get_array<std::int32_t>();
  const std::size_t kept = tally.kept_.score.size();
  if (static_cast<Index>(kept) != tally.rows_ || plan.favorable < 0) damaged_state("tally");
  if (tally.kept_.y.size() != (plan.labelled ? kept : 0)) damaged_state("tally");
  for (const std::int32_t y : tally.kept_.y)
    if (y < -1 || y >= plan.classes) damaged_state("tally");
  for (std::size_t a = 0; a < plan.values.size(); ++a) {
    auto& code = tally.kept_.code[a];
    code = in.get_array<std::int32_t>();
    if (code.size() != kept) damaged_state("tally");
    for (const std::int32_t c : code)
      if (c < -1 || c >= plan.values[a]) damaged_state("tally");
  }
  return tally;
}

Tally tally(const TallyPlan& plan, const ScoredBlock& all, const Exec& exec) {
  require_fit(plan, all);
  const int threads = exec.pool == nullptr ? 1 : exec.pool->threads();
  constexpr Index kLeastRows = 1 << 18;  // fewer rows are not worth a separate tally
  const Index parts = std::max<Index>(
      1, std::min<Index>(all.rows / kLeastRows, threads == 1 ? 1 : 4 * threads));
  std::vector<Tally> done(at(parts), Tally(plan));
  exec.for_each(parts, [&](Index k) {
    const Index first = all.rows * k / parts, last = all.rows * (k + 1) / parts;
    const auto piece = [&](auto span) {
      return span.empty() ? span : span.subspan(at(first), at(last - first));
    };
    ScoredBlock part{.rows = last - first,
                     .classes = all.classes,
                     .p = all.p + first * all.classes,
                     .y = piece(all.y),
                     .decision = piece(all.decision),
                     .code = {},
                     .weight = piece(all.weight)};
    for (const auto& code : all.code) part.code.push_back(piece(code));
    done[at(k)].add(part);
  });
  for (std::size_t k = 1; k < done.size(); ++k) {
    done[0].merge(done[k]);
    done[k] = Tally();
  }
  return std::move(done[0]);
}

ScoredBlock block_of(const Scored& scored) {
  return {.rows = scored.rows(),
          .classes = std::max<Index>(2, scored.p.cols()),
          .p = scored.p.data(),
          .y = scored.y,
          .decision = scored.decision,
          .code = {},
          .weight = scored.weight};
}

Interval accuracy(const Tally& tally, double confidence) {
  const LabelTally known = tally.total().known();
  const RateCount count = effective(known.weight_right, known.weight, known.weight_squares);
  return effective_wilson(count.hits, count.of, confidence);
}

double log_loss(const Tally& tally) {
  const LabelTally known = tally.total().known();
  return known.weight == 0 ? kUndefined : known.loss / known.weight;
}

double calibration_error(const Tally& tally) {
  double sum = 0;
  for (const Tally::Bin& bin : tally.calibration()) sum += std::abs(bin.score - bin.hits);
  const LabelTally known = tally.total().known();
  return known.weight == 0 ? kUndefined : sum / known.weight;
}

}  // namespace fmd
