#pragma once

#include <span>
#include <vector>

#include "core/internal.h"
#include "fmd/model/tree_ensemble.h"

namespace fmd::internal {

// A table's columns as trees read them: numbers, or numbers of levels. Refers to both
// arguments. Throws Error(missing_column), and Error(bad_value) for a column of the wrong
// kind. Columns that no split reads need not be there.
class TreeColumns {
 public:
  TreeColumns(const TreeEnsemble& ensemble, const InputSchema& inputs, const Table& table);

  // The values of the given rows; NaN = missing. Throws Error(unknown_category), and
  // Error(bad_value) for an empty cell where it is not known what that counts as.
  void read(std::size_t input, std::span<const Index> rows, double* into) const;

 private:
  struct Source {
    const Column* column = nullptr;
    // Category: the model's code of each level of the table, and the hash where categories
    // have one. Those of an empty cell come last, where it is known what it counts as.
    std::vector<double> of_level;
    std::vector<std::int32_t> hash_of_level;
  };
  void hash_levels(std::size_t input);
  void read_statistic(const TreeStatistic& statistic, std::span<const Index> rows,
                      double* into) const;
  // Place of a cell in the lists of its source.
  [[nodiscard]] std::size_t hashed_level(std::size_t input, Index row) const;
  [[noreturn]] void fail_missing(std::size_t input, Index row) const;
  [[noreturn]] void fail_unknown(std::size_t input, Index row) const;

  const TreeEnsemble& ensemble_;
  const Table& table_;
  std::vector<Source> sources_;
};

// Finds the leaf of each tree that a row falls into. Numbers are first replaced by their
// place among the thresholds of their input, once for all trees: a split is then one
// comparison of whole numbers, exact for any library's rule.
class TreeRunner {
 public:
  explicit TreeRunner(const TreeEnsemble& ensemble);

  // into[i stride + k] = the leaf, numbered among all leaves, of rows[i] in tree trees[k].
  void run(const TreeColumns& columns, std::span<const Index> rows,
           std::span<const std::int32_t> trees, std::int32_t* into, Index stride) const;

 private:
  // What a split sees of an input: splits that treat missing values alike share it.
  struct Slot {
    std::size_t input = 0;
    bool category = false;
    TreeMissing missing = TreeMissing::nan;
    bool missing_left = false;

    bool operator==(const Slot&) const = default;
  };
  struct Step {
    std::int32_t slot = 0;
    std::int32_t limit = 0;  // left when the code is smaller; of a category: its rule
    std::int32_t next[2] = {0, 0};  // left, right
  };
  struct Rule {
    std::int32_t set = 0;
    bool missing_left = false, set_left = true;
  };

  [[nodiscard]] std::int32_t slot_of(const Slot& slot);
  void add(const TreeEnsemble& ensemble, const Tree& tree, Index first_leaf);
  [[nodiscard]] Step step_of(const TreeNode& node);
  void encode(const TreeColumns& columns, std::span<const Index> rows,
              std::vector<std::int32_t>& codes) const;
  [[nodiscard]] bool goes_left(const Rule& rule, std::int32_t code) const;
  template <bool kCategories>
  void walk(std::span<const std::int32_t> codes, std::size_t rows, std::size_t tree,
            std::int32_t* into, Index stride) const;

  bool single_ = false, whole_codes_ = false;
  std::vector<std::vector<double>> thresholds_;  // of each input, ascending
  std::vector<std::vector<std::uint32_t>> sets_;
  std::vector<Slot> slots_;
  std::vector<Rule> rules_;
  std::vector<Step> steps_;         // of all trees; a leaf leads to itself
  std::vector<std::int32_t> leaf_;  // of each step: the leaf; -1: a split
  std::vector<std::size_t> root_;   // of each tree
  std::vector<bool> categories_;    // of each tree: it has a split on a category
  // Of each tree: how much its leaves' numbers are above those of the tree before it, whose
  // splits are the same (the next class of the same tree of the file); 0: another tree.
  std::vector<std::int32_t> above_before_;
};

}  // namespace fmd::internal
