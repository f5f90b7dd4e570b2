#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fmd/core/types.h"
#include "fmd/model/inputs.h"

namespace fmd {

// When a number counts as missing.
enum class TreeMissing : std::uint8_t {
  none,  // never: NaN is read as 0
  zero,  // NaN, and numbers within 1e-35 of 0
  nan,   // NaN alone
};

// A split of a tree. A number x goes left when x < below. A category goes left when it is
// in the set, or with set_left = false when it is not. A child >= 0 is a node of the same
// tree; otherwise it is leaf -1 - child of the tree.
struct TreeNode {
  std::int32_t input = 0;  // into TreeEnsemble::inputs
  std::int32_t left = -1, right = -1;
  std::int32_t set = -1;  // into TreeEnsemble::sets; -1: the input is a number here
  double below = 0;
  TreeMissing missing = TreeMissing::nan;
  bool missing_left = false;
  bool set_left = true;

  bool operator==(const TreeNode&) const = default;
};

struct Tree {
  std::vector<TreeNode> nodes;  // the root is the first; none: one leaf answers all rows
  std::vector<std::int32_t> leaf_names = {0};  // what the file calls each leaf
  std::int32_t output = 0;                     // that its leaves count for

  [[nodiscard]] Index leaves() const { return std::ssize(leaf_names); }
};

// How categories of a column are told apart by a hash of their text, as CatBoost does.
struct TreeHashes {
  std::vector<std::int32_t> known;  // category c of a set has this hash
  // What an empty cell counts as. None: it is an error.
  std::optional<std::string> missing = {};
};

// A number that no column holds: what was counted in training for a combination of
// categories, yes-or-no questions and thresholds (CatBoost's CTR). Each part is a number,
// and a key is made of all of them in order.
struct TreeStatistic {
  struct Above {
    std::int32_t input = 0;
    double border = 0;           // 1 when the number is larger
    bool missing_above = false;  // what a missing number gives
  };
  struct Equal {
    std::int32_t input = 0;
    std::int32_t hash = 0;  // 1 when the category has it
  };
  std::vector<std::int32_t> categories;  // inputs: their hashes
  std::vector<Above> above;
  std::vector<Equal> equal;
  std::int32_t keys = 0;      // into TreeEnsemble::keys
  std::vector<float> values;  // of each key
  float otherwise = 0;        // of every other key

  [[nodiscard]] std::vector<std::int32_t> inputs() const;  // that it is made of
};

// Decision trees whose leaf values are added up. The values are no part of it: they are the
// head.
struct TreeEnsemble {
  std::vector<InputColumn> inputs;  // columns, then a number for each of `statistics`
  std::vector<Tree> trees;
  std::vector<std::vector<std::uint32_t>> sets;  // of categories: bit c of word c / 32
  std::vector<double> base = {0};  // what stands in each output before the first tree
  std::vector<int> monotone = {};  // of each input: 1, -1, or 0 = any; empty: not stated
  bool single = false;           // numbers are rounded to float32 before they are compared
  bool unknown_missing = false;  // a text that is no level counts as missing; otherwise it
                                 // is an error
  bool whole_codes = false;  // a number with a fraction is no category; otherwise it is cut
                             // off
  bool unnamed = false;      // names of inputs are places: a task may name the columns
  std::vector<TreeHashes> hashes;  // of each column; empty: categories are levels
  std::vector<TreeStatistic> statistics;
  std::vector<std::vector<std::uint64_t>> keys;  // ascending

  [[nodiscard]] Index leaves() const;  // of all trees
  [[nodiscard]] std::size_t columns() const { return inputs.size() - statistics.size(); }
  // The first leaf of each tree among all leaves, then the number of leaves.
  [[nodiscard]] std::vector<Index> first_leaves() const;
};

// Throws Error(bad_model) that names the source and the tree: a number out of range, a node
// or a leaf that is not reached once from the root, a threshold that is not a number, a
// statistic that is not whole.
void check_trees(const TreeEnsemble& ensemble, const std::string& source);

// Which leaves stand below a split on one of the columns: only these can differ between a
// row and the same row with other values of the columns. Entry for each leaf.
[[nodiscard]] std::vector<bool> leaves_below(const TreeEnsemble& ensemble,
                                             const std::vector<std::string>& columns);

}  // namespace fmd
