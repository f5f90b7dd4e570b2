#include "model/trees/tree_runner.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/index.h"
#include "data/level_index.h"
#include "data/number.h"
#include "data/words.h"
#include "model/trees/city_hash.h"

namespace fmd::internal {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kUnknown = -std::numeric_limits<double>::infinity();
constexpr double kZero = 1e-35F;        // numbers nearer to 0 count as 0
constexpr std::size_t kTogether = 256;  // rows whose codes stay in the cache
constexpr std::size_t kWalkers = 8;     // rows that walk side by side: one waits for memory
constexpr std::int32_t kMissing = -2, kNoCategory = -1;  // codes of a category
constexpr std::int32_t kLast = std::numeric_limits<std::int32_t>::max();

const char* column_content(ColumnKind kind) {
  return kind == ColumnKind::number ? "numbers" : "categories";
}

// The model's code of each level of a table's column.
std::vector<double> codes_of(const Column& column, const InputColumn& input,
                             bool unknown_missing) {
  std::vector<std::string> known;
  LevelIndex index(known);
  for (const std::string& level : input.levels) index.code(canonical_text(level));
  std::vector<double> codes;
  for (const std::string& level : column.levels) {
    const std::int32_t code = index.find(canonical_text(level));
    codes.push_back(code >= 0 ? code : unknown_missing ? kNaN : kUnknown);
  }
  return codes;
}

// The code of a category: its number, kMissing, or kNoCategory for what cannot be one.
// single: a negative number is cut off as none. whole: a number with a fraction is none.
std::int32_t category_code(double x, bool single, bool whole_only) {
  if (std::isnan(x)) return kMissing;
  if (whole_only && x != std::trunc(x)) return kNoCategory;
  if (single && x < 0) return kNoCategory;
  const double whole = std::trunc(x);
  return whole < 0 || whole >= 16777216 ? kNoCategory : static_cast<std::int32_t>(whole);
}

}  // namespace

TreeColumns::TreeColumns(const TreeEnsemble& ensemble, const InputSchema& inputs,
                         const Table& table)
    : ensemble_(ensemble), table_(table), sources_(inputs.columns.size()) {
  for (std::size_t j = 0; j < sources_.size(); ++j) {
    const InputColumn& input = inputs.columns[j];
    if (!input.read) continue;
    const Column& column = table.column(input.name);
    if (column.kind != input.kind) {
      throw Error(
          ErrorKind::bad_value,
          fmt::format("{}: column \"{}\" has {}, the model reads {}", table.source,
                      input.name, column_content(column.kind), column_content(input.kind)),
          input.kind == ColumnKind::number
              ? "give the numbers that the model was trained on"
              : "give the texts that the model was trained on");
    }
    sources_[j].column = &column;
    if (column.kind != ColumnKind::category) continue;
    if (!ensemble.hashes.empty())
      hash_levels(j);
    else
      sources_[j].of_level = codes_of(column, input, ensemble.unknown_missing);
  }
}

void TreeColumns::hash_levels(std::size_t input) {
  Source& source = sources_[input];
  const TreeHashes& hashes = ensemble_.hashes[input];
  const auto add = [&](const std::string& text) {
    const std::int32_t hash = category_hash(text);
    const auto found = std::find(hashes.known.begin(), hashes.known.end(), hash);
    source.hash_of_level.push_back(hash);
    source.of_level.push_back(found == hashes.known.end()
                                  ? -1
                                  : static_cast<double>(found - hashes.known.begin()));
  };
  for (const std::string& level : source.column->levels) add(level);
  if (hashes.missing) add(*hashes.missing);
}

std::size_t TreeColumns::hashed_level(std::size_t input, Index row) const {
  const Source& source = sources_[input];
  const std::int32_t code = source.column->codes[at(row)];
  const std::size_t level = code < 0 ? source.column->levels.size() : at(code);
  if (level >= source.hash_of_level.size()) fail_missing(input, row);
  return level;
}

void TreeColumns::read_statistic(const TreeStatistic& statistic,
                                 std::span<const Index> rows, double* into) const {
  const std::vector<std::uint64_t>& keys = ensemble_.keys[at(statistic.keys)];
  const auto hash_at = [&](std::int32_t input, Index row) {
    return sources_[at(input)].hash_of_level[hashed_level(at(input), row)];
  };
  for (const Index row : rows) {
    std::uint64_t key = 0;
    // Every part is widened with its sign.
    const auto add = [&](std::int32_t part) {
      constexpr std::uint64_t kFactor = 0x4906ba494954cb65U;
      key = kFactor * (key + kFactor * static_cast<std::uint64_t>(std::int64_t{part}));
    };
    for (const std::int32_t input : statistic.categories) add(hash_at(input, row));
    for (const TreeStatistic::Above& part : statistic.above) {
      const double x =
          static_cast<float>(sources_[at(part.input)].column->numbers[at(row)]);
      add((std::isnan(x) ? part.missing_above : x > part.border) ? 1 : 0);
    }
    for (const TreeStatistic::Equal& part : statistic.equal)
      add(hash_at(part.input, row) == part.hash ? 1 : 0);
    const auto found = std::lower_bound(keys.begin(), keys.end(), key);
    const bool known = found != keys.end() && *found == key;
    *into++ = static_cast<double>(known ? statistic.values[at(found - keys.begin())]
                                        : statistic.otherwise);
  }
}

void TreeColumns::fail_missing(std::size_t input, Index row) const {
  throw Error(ErrorKind::bad_value,
              fmt::format("{}, column \"{}\": the cell is empty, and the model does not "
                          "show which text an empty cell was in training",
                          table_.where(row), ensemble_.inputs[input].name),
              "write the text that the model was trained on into such cells");
}

void TreeColumns::read(std::size_t input, std::span<const Index> rows, double* into) const {
  if (input >= sources_.size())
    return read_statistic(ensemble_.statistics[input - sources_.size()], rows, into);
  const Source& source = sources_[input];
  const Column& column = *source.column;
  if (column.kind == ColumnKind::number) {
    for (const Index row : rows) *into++ = column.numbers[at(row)];
    return;
  }
  for (const Index row : rows) {
    if (!ensemble_.hashes.empty()) {
      *into++ = source.of_level[hashed_level(input, row)];
      continue;
    }
    const std::int32_t code = column.codes[at(row)];
    const double value = code < 0 ? kNaN : source.of_level[at(code)];
    if (value == kUnknown) fail_unknown(input, row);
    *into++ = value;
  }
}

void TreeColumns::fail_unknown(std::size_t input, Index row) const {
  const InputColumn& known = ensemble_.inputs[input];
  throw Error(
      ErrorKind::unknown_category,
      fmt::format("{}, column \"{}\": \"{}\" is not one of the values that the "
                  "model has seen ({})",
                  table_.where(row), known.name, shorten(sources_[input].column->text(row)),
                  list_words(known.levels)),
      "correct the value or leave these rows out");
}

TreeRunner::TreeRunner(const TreeEnsemble& ensemble)
    : single_(ensemble.single),
      whole_codes_(ensemble.whole_codes),
      thresholds_(ensemble.inputs.size()),
      sets_(ensemble.sets) {
  for (const Tree& tree : ensemble.trees)
    for (const TreeNode& node : tree.nodes)
      if (node.set < 0) thresholds_[at(node.input)].push_back(node.below);
  for (std::vector<double>& all : thresholds_) {
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
  }
  Index first_leaf = 0;
  const Tree* before = nullptr;
  for (const Tree& tree : ensemble.trees) {
    const bool same = before != nullptr && before->nodes == tree.nodes;
    above_before_.push_back(same ? static_cast<std::int32_t>(before->leaves()) : 0);
    before = &tree;
    add(ensemble, tree, first_leaf);
    first_leaf += tree.leaves();
  }
}

std::int32_t TreeRunner::slot_of(const Slot& slot) {
  const auto found = std::find(slots_.begin(), slots_.end(), slot);
  if (found != slots_.end()) return static_cast<std::int32_t>(found - slots_.begin());
  slots_.push_back(slot);
  return static_cast<std::int32_t>(slots_.size()) - 1;
}

TreeRunner::Step TreeRunner::step_of(const TreeNode& node) {
  const std::size_t input = at(node.input);
  Step step;
  if (node.set >= 0) {
    step.slot = slot_of({.input = input, .category = true});
    step.limit = static_cast<std::int32_t>(rules_.size());
    rules_.push_back({node.set, node.missing_left, node.set_left});
    return step;
  }
  step.slot = slot_of({input, false, node.missing, node.missing_left});
  const std::vector<double>& all = thresholds_[input];
  const auto place = std::lower_bound(all.begin(), all.end(), node.below) - all.begin();
  step.limit = static_cast<std::int32_t>(place) + 1;
  return step;
}

void TreeRunner::add(const TreeEnsemble&, const Tree& tree, Index first_leaf) {
  const std::size_t first = steps_.size(), nodes = tree.nodes.size();
  root_.push_back(first);
  categories_.push_back(false);
  const auto place = [&](std::int32_t child) {
    const std::size_t own = child >= 0 ? at(child) : nodes + at(-1 - Index{child});
    return static_cast<std::int32_t>(first + own);
  };
  for (const TreeNode& node : tree.nodes) {
    if (node.set >= 0) categories_.back() = true;
    Step step = step_of(node);
    step.next[0] = place(node.left);
    step.next[1] = place(node.right);
    steps_.push_back(step);
    leaf_.push_back(-1);
  }
  for (Index leaf = 0; leaf < tree.leaves(); ++leaf) {
    const auto own = static_cast<std::int32_t>(steps_.size());
    steps_.push_back({.slot = 0, .limit = kLast, .next = {own, own}});
    leaf_.push_back(static_cast<std::int32_t>(first_leaf + leaf));
  }
}

void TreeRunner::encode(const TreeColumns& columns, std::span<const Index> rows,
                        std::vector<std::int32_t>& codes) const {
  const std::size_t stride = slots_.size();
  double values[kTogether];
  std::size_t read = std::numeric_limits<std::size_t>::max();
  for (std::size_t s = 0; s < stride; ++s) {
    const Slot& slot = slots_[s];
    if (slot.input != read) {
      columns.read(slot.input, rows, values);
      read = slot.input;
      if (single_)
        for (std::size_t i = 0; i < rows.size(); ++i)
          values[i] = static_cast<double>(static_cast<float>(values[i]));
    }
    const std::vector<double>& all = thresholds_[slot.input];
    const std::int32_t missing = slot.missing_left ? -1 : kLast;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::int32_t& code = codes[i * stride + s];
      double x = values[i];
      if (slot.category) {
        code = category_code(x, single_, whole_codes_);
        continue;
      }
      const bool none = slot.missing != TreeMissing::nan && std::isnan(x);
      if (none) x = 0;
      if (std::isnan(x) || (slot.missing == TreeMissing::zero && std::abs(x) <= kZero))
        code = missing;
      else
        code = static_cast<std::int32_t>(std::upper_bound(all.begin(), all.end(), x) -
                                         all.begin());
    }
  }
}

bool TreeRunner::goes_left(const Rule& rule, std::int32_t code) const {
  if (code == kMissing) return rule.missing_left;
  const std::vector<std::uint32_t>& bits = sets_[at(rule.set)];
  const std::size_t word = code < 0 ? bits.size() : at(code) / 32;
  const bool in = word < bits.size() && (bits[word] >> (at(code) % 32) & 1U) != 0;
  return in == rule.set_left;
}

template <bool kCategories>
void TreeRunner::walk(std::span<const std::int32_t> codes, std::size_t rows,
                      std::size_t tree, std::int32_t* into, Index stride) const {
  const Step* const steps = steps_.data();
  const std::size_t width = slots_.size();
  for (std::size_t first = 0; first < rows; first += kWalkers) {
    const std::size_t count = std::min(kWalkers, rows - first);
    std::int32_t now[kWalkers];
    std::fill_n(now, kWalkers, static_cast<std::int32_t>(root_[tree]));
    std::int32_t moved = 1;
    while (moved != 0) {
      moved = 0;
      for (std::size_t w = 0; w < kWalkers; ++w) {
        const Step& step = steps[now[w]];
        // The last group walks with rows that are there already.
        const std::size_t row = first + (w < count ? w : 0);
        const std::int32_t code = width == 0 ? 0 : codes[row * width + at(step.slot)];
        bool right = !(code < step.limit);
        if constexpr (kCategories) {
          if (step.limit != kLast && slots_[at(step.slot)].category)
            right = !goes_left(rules_[at(step.limit)], code);
        }
        const std::int32_t next = step.next[right ? 1 : 0];
        moved |= next ^ now[w];
        now[w] = next;
      }
    }
    for (std::size_t w = 0; w < count; ++w)
      into[static_cast<Index>(first + w) * stride] = leaf_[at(now[w])];
  }
}

void TreeRunner::run(const TreeColumns& columns, std::span<const Index> rows,
                     std::span<const std::int32_t> trees, std::int32_t* into,
                     Index stride) const {
  std::vector<std::int32_t> codes(kTogether * slots_.size());
  for (std::size_t first = 0; first < rows.size(); first += kTogether) {
    const auto part = rows.subspan(first, std::min(kTogether, rows.size() - first));
    encode(columns, part, codes);
    std::int32_t* const to = into + static_cast<Index>(first) * stride;
    for (std::size_t k = 0; k < trees.size(); ++k) {
      const std::size_t tree = at(trees[k]);
      if (above_before_[tree] > 0 && k > 0 && trees[k - 1] + 1 == trees[k]) {
        for (Index i = 0; i < std::ssize(part); ++i)
          to[i * stride + static_cast<Index>(k)] =
              to[i * stride + static_cast<Index>(k) - 1] + above_before_[tree];
        continue;
      }
      if (categories_[tree])
        walk<true>(codes, part.size(), tree, to + k, stride);
      else
        walk<false>(codes, part.size(), tree, to + k, stride);
    }
  }
}

}  // namespace fmd::internal
