#include "formats/catboost/catboost_binary.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/check.h"
#include "core/index.h"
#include "data/words.h"
#include "fmd/core/safe_text.h"
#include "formats/catboost/flat_buffer.h"

namespace fmd::internal {
namespace {

using FlatTable = FlatBuffer::Table;
using FlatList = FlatBuffer::List;

// Numbers of the fields, in the order of CatBoost's schema.
namespace core_field {
enum : std::size_t { version, trees, information, parts };
}
namespace trees_field {
enum : std::size_t {
  outputs,
  splits,
  sizes,
  starts,
  categories,
  numbers,
  one_hot,
  ctrs,
  values,
  weights,
  steps,
  leaf_of_step,
  texts,
  derived,
  scale,
  bias,
  biases,
  repacked,
  embeddings
};
}
namespace column_field {
enum : std::size_t { category_index, category_flat, category_name };
enum : std::size_t { has_missing, index, flat, borders, name, missing };
}  // namespace column_field
namespace ctr_field {
enum : std::size_t { base, border, prior, prior_weight, shift, scale };
}
namespace base_field {
enum : std::size_t { combination, kind, classifier };
}
namespace table_field {
enum : std::size_t { base, keys, counts, denominator, classes };
}

constexpr std::size_t kBucket = 12;  // bytes: a key and the number of its counts

// A file of several parts, each of which has its length before it.
class CatboostParts {
 public:
  CatboostParts(std::span<const std::uint8_t> bytes, const std::string& source)
      : bytes_(bytes), source_(source) {}

  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] std::size_t left() const { return bytes_.size() - at_; }
  // A count or a length: 32 bits, or 64 after the largest of 32.
  std::size_t size() {
    const auto small = number<std::uint32_t>();
    if (small != std::numeric_limits<std::uint32_t>::max()) return small;
    return number<std::uint64_t>();
  }
  std::span<const std::uint8_t> take(std::size_t size) {
    if (size > left()) fail(fmt::format("a part of {} bytes, {} are left", size, left()));
    const auto part = bytes_.subspan(at_, size);
    at_ += size;
    return part;
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::bad_model, fmt::format("{}: byte {}: {}", source_, at_, what),
                "the file is damaged: save the model again");
  }

 private:
  template <typename T>
  T number() {
    const auto bytes = take(sizeof(T));
    T value;
    std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }
  std::span<const std::uint8_t> bytes_;
  const std::string& source_;
  std::size_t at_ = 0;
};

CatboostBase read_base(FlatBuffer& file, const FlatTable& table) {
  CatboostBase base;
  const auto kind = file.number<std::int8_t>(table, base_field::kind, 0);
  if (kind < 0 || kind > static_cast<int>(CatboostCtrKind::frequency))
    file.fail(table.place, fmt::format("a statistic of kind {}", kind));
  base.kind = static_cast<CatboostCtrKind>(kind);
  base.classifier = file.number<std::int32_t>(table, base_field::classifier, 0);
  const FlatTable parts = file.table(table, base_field::combination);
  const FlatList categories = file.list(parts, 0, 4), above = file.list(parts, 1, 8),
                 equal = file.list(parts, 2, 8);
  for (std::size_t i = 0; i < categories.count; ++i)
    base.categories.push_back(file.element<std::int32_t>(categories, i));
  for (std::size_t i = 0; i < above.count; ++i)
    base.above.emplace_back(file.element<std::int32_t>(above, 2 * i),
                            file.element<float>(above, 2 * i + 1));
  for (std::size_t i = 0; i < equal.count; ++i)
    base.equal.emplace_back(file.element<std::int32_t>(equal, 2 * i),
                            file.element<std::int32_t>(equal, 2 * i + 1));
  return base;
}

class CatboostBinary {
 public:
  CatboostBinary(std::span<const std::uint8_t> bytes, const std::string& source)
      : source_(source), parts_(bytes, source) {}

  CatboostModel run() {
    (void)parts_.take(4);  // CBM1
    const std::size_t size = parts_.size(), begin = parts_.at();
    FlatBuffer file(parts_.take(size), begin, source_);
    const FlatTable root = file.root();
    const std::string_view version = file.text(root, core_field::version);
    if (version != "FlabuffersModel_v1")
      throw Error(ErrorKind::unsupported,
                  fmt::format("{}: version {} of the format", source_, shorten(version)),
                  "save the model again with CatBoost 1.0 or later");
    const FlatTable trees = file.table(root, core_field::trees);
    read_columns(file, trees);
    read_ctrs(file, trees);
    read_trees(file, trees);
    read_scale(file, trees);
    read_information(file, root);
    read_parts(file, root);
    return std::move(made_);
  }

 private:
  static std::string name_of(std::string_view text) { return valid_utf8(text); }

  std::vector<float> read_borders(FlatBuffer& file, const FlatTable& table,
                                  std::size_t field) {
    std::vector<float> all;
    const FlatList list = file.list(table, field, 4);
    for (std::size_t i = 0; i < list.count; ++i)
      all.push_back(file.element<float>(list, i));
    return all;
  }

  void read_columns(FlatBuffer& file, const FlatTable& trees) {
    const FlatList numbers = file.list(trees, trees_field::numbers, 4);
    for (std::size_t i = 0; i < numbers.count; ++i) {
      const FlatTable one = file.table_in(numbers, i);
      CatboostNumber& column = made_.numbers.emplace_back();
      column.index = file.number<std::int32_t>(one, column_field::index, -1);
      column.flat = file.number<std::int32_t>(one, column_field::flat, -1);
      column.name = name_of(file.text(one, column_field::name));
      column.borders = read_borders(file, one, column_field::borders);
      const auto missing = file.number<std::int8_t>(one, column_field::missing, 0);
      if (missing < 0 || missing > 2) file.fail(one.place, "a rule for missing values");
      column.missing_above = missing == 2;
    }
    const FlatList categories = file.list(trees, trees_field::categories, 4);
    for (std::size_t i = 0; i < categories.count; ++i) {
      const FlatTable one = file.table_in(categories, i);
      CatboostColumn& column = made_.categories.emplace_back();
      column.index = file.number<std::int32_t>(one, column_field::category_index, -1);
      column.flat = file.number<std::int32_t>(one, column_field::category_flat, -1);
      column.name = name_of(file.text(one, column_field::category_name));
    }
    const FlatList one_hot = file.list(trees, trees_field::one_hot, 4);
    for (std::size_t i = 0; i < one_hot.count; ++i) {
      const FlatTable one = file.table_in(one_hot, i);
      CatboostOneHot& column = made_.one_hot.emplace_back();
      column.category = file.number<std::int32_t>(one, 0, -1);
      const FlatList hashes = file.list(one, 1, 4);
      for (std::size_t k = 0; k < hashes.count; ++k)
        column.hashes.push_back(file.element<std::int32_t>(hashes, k));
    }
    made_.derived = file.list(trees, trees_field::texts, 4).count > 0 ||
                    file.list(trees, trees_field::derived, 4).count > 0 ||
                    file.list(trees, trees_field::embeddings, 4).count > 0;
  }

  void read_ctrs(FlatBuffer& file, const FlatTable& trees) {
    const FlatList ctrs = file.list(trees, trees_field::ctrs, 4);
    for (std::size_t i = 0; i < ctrs.count; ++i) {
      const FlatTable one = file.table_in(ctrs, i), ctr = file.table(one, 0);
      CatboostCtr& made = made_.ctrs.emplace_back();
      made.base = read_base(file, file.table(ctr, ctr_field::base));
      made.border = file.number<std::int32_t>(ctr, ctr_field::border, 0);
      made.prior = file.number<float>(ctr, ctr_field::prior, 0);
      made.prior_weight = file.number<float>(ctr, ctr_field::prior_weight, 1);
      made.shift = file.number<float>(ctr, ctr_field::shift, 0);
      made.scale = file.number<float>(ctr, ctr_field::scale, 1);
      made.borders = read_borders(file, one, 1);
    }
  }

  void read_trees(FlatBuffer& file, const FlatTable& trees) {
    const auto outputs = file.number<std::int32_t>(trees, trees_field::outputs, 0);
    if (outputs < 1 || outputs > 100000)
      file.fail(trees.place, fmt::format("leaves of {} values", outputs));
    made_.outputs = outputs;
    values_ = file.list(trees, trees_field::values, 8);
    for (std::size_t i = 0; i < values_.count; ++i) {
      made_.values.push_back(file.element<double>(values_, i));
      const std::size_t place = file.in_file(values_.begin + 8 * i);
      made_.places.push_back({place, place + 8});
    }
    splits_ = file.list(trees, trees_field::splits, 4);
    steps_ = file.list(trees, trees_field::steps, 4);
    leaf_of_step_ = file.list(trees, trees_field::leaf_of_step, 4);
    if (steps_.count > 0 &&
        (steps_.count != splits_.count || steps_.count != leaf_of_step_.count))
      file.fail(trees.place, fmt::format("{} splits, {} steps and {} leaves of steps",
                                         splits_.count, steps_.count, leaf_of_step_.count));
    const FlatList sizes = file.list(trees, trees_field::sizes, 4),
                   starts = file.list(trees, trees_field::starts, 4);
    if (sizes.count != starts.count)
      file.fail(trees.place,
                fmt::format("{} sizes of trees and {} places", sizes.count, starts.count));
    for (std::size_t t = 0; t < sizes.count; ++t) {
      const auto size = file.element<std::int32_t>(sizes, t),
                 start = file.element<std::int32_t>(starts, t);
      if (size < 0 || start < 0 || at(start) > splits_.count ||
          at(size) > splits_.count - at(start))
        file.fail(sizes.begin, fmt::format("tree {}: {} splits at {}, there are {}", t,
                                           size, start, splits_.count));
      if (steps_.count > 0)
        read_steps(file, t, at(start), at(size));
      else
        read_symmetric(file, t, at(start), at(size));
    }
    if (steps_.count == 0 && next_ != values_.count)
      file.fail(values_.begin,
                fmt::format("{} values for {} leaves", values_.count, next_));
  }

  void read_symmetric(FlatBuffer& file, std::size_t number, std::size_t start,
                      std::size_t size) {
    const std::size_t leaves = size < 31 ? std::size_t{1} << size : 0;
    if (leaves == 0 || leaves > (values_.count - next_) / at(made_.outputs))
      file.fail(values_.begin, fmt::format("tree {}: {} splits need more values than {}",
                                           number, size, values_.count));
    CatboostTree tree;
    for (std::size_t i = 0; i < size; ++i)
      tree.splits.push_back(file.element<std::int32_t>(splits_, start + i));
    for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
      tree.first.push_back(next_);
      next_ += at(made_.outputs);
    }
    made_.trees.push_back(std::move(tree));
  }

  // Steps lead forward: to a step that stands so many further on, or, with 0, to the leaf
  // of the step itself. A step without a way is a leaf.
  void read_steps(FlatBuffer& file, std::size_t number, std::size_t start,
                  std::size_t size) {
    const auto fail = [&](const char* what) {
      file.fail(steps_.begin, fmt::format("tree {}: {}", number, what));
    };
    if (size == 0) fail("has no steps");
    taken_.resize(values_.count);
    CatboostTree tree;
    tree.symmetric = false;
    const auto way = [&](std::size_t step, bool right) {
      return std::size_t{file.element<std::uint16_t>(steps_, 2 * step + (right ? 1 : 0))};
    };
    const auto leaf_at = [&](std::size_t step) {
      const auto first = std::size_t{file.element<std::uint32_t>(leaf_of_step_, step)};
      if (first >= values_.count || at(made_.outputs) > values_.count - first)
        fail("a leaf has no value");
      if (taken_[first]) fail("two leaves share a value");
      for (std::size_t k = 0; k < at(made_.outputs); ++k) taken_[first + k] = true;
      tree.first.push_back(first);
      return -static_cast<std::int32_t>(tree.first.size());
    };
    std::vector<bool> seen(size);
    struct Open {
      std::size_t step;
      bool end;  // the leaf of the step itself
      std::int32_t parent;
      bool right;
    };
    std::vector<Open> open = {{start, false, -1, false}};
    while (!open.empty()) {
      const auto [step, end, parent, is_right] = open.back();
      open.pop_back();
      if (step >= start + size) fail("a step leads out of the tree");
      if (!end && seen[step - start]) fail("two steps lead to one");
      seen[step - start] = true;
      const std::size_t left = end ? 0 : way(step, false),
                        right = end ? 0 : way(step, true);
      std::int32_t own = 0;
      if (left == 0 && right == 0) {
        own = leaf_at(step);
      } else {
        own = static_cast<std::int32_t>(tree.nodes.size());
        tree.nodes.push_back({.split = file.element<std::int32_t>(splits_, step)});
        open.push_back({step + right, right == 0, own, true});
        open.push_back({step + left, left == 0, own, false});
      }
      if (parent >= 0)
        (is_right ? tree.nodes[at(parent)].right : tree.nodes[at(parent)].left) = own;
    }
    made_.trees.push_back(std::move(tree));
  }

  void read_scale(FlatBuffer& file, const FlatTable& trees) {
    made_.scale = file.number<double>(trees, trees_field::scale, 1);
    made_.bias.assign(at(made_.outputs), file.number<double>(trees, trees_field::bias, 0));
    const FlatList biases = file.list(trees, trees_field::biases, 8);
    if (biases.count == 0) return;
    if (biases.count != made_.bias.size())
      file.fail(biases.begin,
                fmt::format("{} biases for {} outputs", biases.count, made_.outputs));
    for (std::size_t k = 0; k < biases.count; ++k)
      made_.bias[k] = file.element<double>(biases, k);
  }

  void read_information(FlatBuffer& file, const FlatTable& root) {
    const FlatList pairs = file.list(root, core_field::information, 4);
    std::string parameters, classes;
    for (std::size_t i = 0; i < pairs.count; ++i) {
      const FlatTable pair = file.table_in(pairs, i);
      const std::string_view key = file.text(pair, 0);
      if (key == "params") parameters = file.text(pair, 1);
      if (key == "class_params") classes = file.text(pair, 1);
    }
    read_catboost_parameters(parameters, classes, source_, made_);
  }

  void read_parts(FlatBuffer& file, const FlatTable& root) {
    const FlatList names = file.list(root, core_field::parts, 4);
    for (std::size_t i = 0; i < names.count; ++i) {
      const std::string_view name = file.text_in(names, i);
      if (name != "static_provider_v1") {
        made_.derived = true;
        return;
      }
      const std::size_t count = parts_.size();
      for (std::size_t k = 0; k < count; ++k) read_table();
    }
    if (parts_.left() > 0)
      parts_.fail(fmt::format("{} bytes after the end of the model", parts_.left()));
  }

  void read_table() {
    const std::size_t size = parts_.size(), begin = parts_.at();
    FlatBuffer file(parts_.take(size), begin, source_);
    const FlatTable root = file.root();
    const CatboostBase base = read_base(file, file.table(root, table_field::base));
    CatboostTable table;
    table.denominator = file.number<std::int32_t>(root, table_field::denominator, 0);
    const FlatList keys = file.list(root, table_field::keys, 1),
                   counts = file.list(root, table_field::counts, 1);
    const bool mean = base.kind == CatboostCtrKind::binary_mean ||
                      base.kind == CatboostCtrKind::float_mean;
    const bool counter =
        base.kind == CatboostCtrKind::counter || base.kind == CatboostCtrKind::frequency;
    const auto classes = file.number<std::int32_t>(root, table_field::classes, 0);
    if (keys.count % kBucket != 0 || (!mean && !counter && classes < 1))
      file.fail(keys.begin, "a table of counts has another size");
    table.stride = mean ? 2 : counter ? 1 : at(classes);
    const std::size_t numbers = counts.count / 4;  // the list is one of bytes
    for (std::size_t i = 0; i < numbers; ++i)
      table.counts.push_back(
          mean && i % 2 == 0 ? static_cast<double>(file.element<float>(counts, i))
                             : static_cast<double>(file.element<std::int32_t>(counts, i)));
    for (std::size_t i = 0; i + kBucket <= keys.count; i += kBucket) {
      std::uint64_t key = 0;
      std::uint32_t number = 0;
      for (std::size_t b = 8; b-- > 0;)
        key = key << 8 | file.element<std::uint8_t>(keys, i + b);
      for (std::size_t b = 4; b-- > 0;)
        number = number << 8 | file.element<std::uint8_t>(keys, i + 8 + b);
      // A bucket that stands for no category.
      if (key == std::numeric_limits<std::uint64_t>::max()) continue;
      if (number >= numbers / table.stride)
        file.fail(keys.begin, fmt::format("a category has counts number {}, there are {}",
                                          number, numbers / table.stride));
      table.keys.emplace_back(key, number * table.stride);
    }
    std::sort(table.keys.begin(), table.keys.end());
    if (!made_.tables.emplace(base, std::move(table)).second)
      file.fail(0, "two tables of counts belong to the same categories");
  }

  const std::string& source_;
  CatboostParts parts_;
  CatboostModel made_;
  FlatList values_, splits_, steps_, leaf_of_step_;
  std::size_t next_ = 0;     // value of the next symmetric tree
  std::vector<bool> taken_;  // values that a leaf has
};

}  // namespace

CatboostModel read_catboost_binary(std::span<const std::uint8_t> bytes,
                                   const std::string& source) {
  return CatboostBinary(bytes, source).run();
}

}  // namespace fmd::internal
