#include "fmd/model/tree_ensemble.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/index.h"

namespace fmd {
namespace {

class TreeCheck {
 public:
  TreeCheck(const TreeEnsemble& ensemble, std::size_t number, const std::string& source)
      : ensemble_(ensemble),
        tree_(ensemble.trees[number]),
        number_(number),
        source_(source),
        node_seen_(tree_.nodes.size()),
        leaf_seen_(tree_.leaf_names.size()) {}

  void run() {
    if (tree_.output < 0 || tree_.output >= std::ssize(ensemble_.base))
      fail(fmt::format("counts for output {}, there are {}", tree_.output,
                       ensemble_.base.size()));
    if (tree_.nodes.empty()) {
      if (tree_.leaves() != 1)
        fail(fmt::format("has no split and {} leaves", tree_.leaves()));
      return;
    }
    node_seen_[0] = true;
    for (const TreeNode& node : tree_.nodes) check(node);
    // Every node has one parent, and there are as many as the root can reach: a cycle
    // would leave others without a parent.
    if (std::find(node_seen_.begin(), node_seen_.end(), false) != node_seen_.end() ||
        std::find(leaf_seen_.begin(), leaf_seen_.end(), false) != leaf_seen_.end())
      fail("has a node or a leaf that no split leads to");
    if (reached() != tree_.nodes.size()) fail("has splits that lead back to themselves");
  }

 private:
  void check(const TreeNode& node) {
    if (node.input < 0 || node.input >= std::ssize(ensemble_.inputs))
      fail(fmt::format("splits on input {}, there are {}", node.input,
                       ensemble_.inputs.size()));
    if (node.set < 0 && std::isnan(node.below))
      fail("has a threshold that is not a number");
    if (node.set >= std::ssize(ensemble_.sets)) fail("names a set that is not there");
    visit(node.left);
    visit(node.right);
  }

  void visit(std::int32_t child) {
    std::vector<bool>& seen = child >= 0 ? node_seen_ : leaf_seen_;
    const std::size_t place = at(child >= 0 ? child : -1 - Index{child});
    if (place >= seen.size())
      fail(fmt::format("leads to {} {}, there are {}", child >= 0 ? "split" : "leaf", place,
                       seen.size()));
    if (seen[place])
      fail(fmt::format("leads to {} {} twice", child >= 0 ? "split" : "leaf", place));
    seen[place] = true;
  }

  [[nodiscard]] std::size_t reached() const {
    std::vector<std::int32_t> open = {0};
    std::size_t count = 0;
    while (!open.empty()) {
      const TreeNode& node = tree_.nodes[at(open.back())];
      open.pop_back();
      ++count;
      if (node.left >= 0) open.push_back(node.left);
      if (node.right >= 0) open.push_back(node.right);
    }
    return count;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::bad_model, fmt::format("{}: tree {} {}", source_, number_, what),
                "the file is damaged: save the model again");
  }

  const TreeEnsemble& ensemble_;
  const Tree& tree_;
  std::size_t number_;
  const std::string& source_;
  std::vector<bool> node_seen_, leaf_seen_;
};

void check_statistics(const TreeEnsemble& ensemble, const std::string& source) {
  const auto fail = [&](const char* what) {
    throw Error(ErrorKind::bad_model, fmt::format("{}: {}", source, what),
                "the file is damaged: save the model again");
  };
  if (ensemble.statistics.size() > ensemble.inputs.size())
    fail("there are more statistics than inputs");
  if (!ensemble.hashes.empty() && ensemble.hashes.size() != ensemble.columns())
    fail("there are hashes of other columns");
  const auto require_kind = [&](std::int32_t input, ColumnKind kind) {
    if (input < 0 || at(input) >= ensemble.columns() || ensemble.hashes.empty() ||
        ensemble.inputs[at(input)].kind != kind)
      fail("a statistic is made of a column that is not there or of another kind");
  };
  for (const TreeStatistic& statistic : ensemble.statistics) {
    for (const std::int32_t input : statistic.categories)
      require_kind(input, ColumnKind::category);
    for (const TreeStatistic::Equal& part : statistic.equal)
      require_kind(part.input, ColumnKind::category);
    for (const TreeStatistic::Above& part : statistic.above)
      require_kind(part.input, ColumnKind::number);
    if (statistic.keys < 0 || statistic.keys >= std::ssize(ensemble.keys) ||
        statistic.values.size() != ensemble.keys[at(statistic.keys)].size())
      fail("a statistic has no value for some of its keys");
  }
}

}  // namespace

std::vector<std::int32_t> TreeStatistic::inputs() const {
  std::vector<std::int32_t> all = categories;
  for (const Above& part : above) all.push_back(part.input);
  for (const Equal& part : equal) all.push_back(part.input);
  return all;
}

Index TreeEnsemble::leaves() const { return first_leaves().back(); }

std::vector<Index> TreeEnsemble::first_leaves() const {
  std::vector<Index> first = {0};
  for (const Tree& tree : trees) first.push_back(first.back() + tree.leaves());
  return first;
}

void check_trees(const TreeEnsemble& ensemble, const std::string& source) {
  if (ensemble.leaves() > std::numeric_limits<std::int32_t>::max())
    throw Error(ErrorKind::bad_model,
                fmt::format("{}: {} leaves are too many", source, ensemble.leaves()));
  check_statistics(ensemble, source);
  for (std::size_t t = 0; t < ensemble.trees.size(); ++t)
    TreeCheck(ensemble, t, source).run();
}

std::vector<bool> leaves_below(const TreeEnsemble& ensemble,
                               const std::vector<std::string>& columns) {
  std::vector<bool> named;
  for (const InputColumn& input : ensemble.inputs)
    named.push_back(std::find(columns.begin(), columns.end(), input.name) != columns.end());
  for (std::size_t s = 0; s < ensemble.statistics.size(); ++s) {
    const std::vector<std::int32_t> parts = ensemble.statistics[s].inputs();
    named[ensemble.columns() + s] = std::any_of(
        parts.begin(), parts.end(), [&](std::int32_t input) { return named[at(input)]; });
  }
  std::vector<bool> below(at(ensemble.leaves()));
  const std::vector<Index> first = ensemble.first_leaves();
  for (std::size_t t = 0; t < ensemble.trees.size(); ++t) {
    const Tree& tree = ensemble.trees[t];
    if (tree.nodes.empty()) continue;
    std::vector<std::pair<std::int32_t, bool>> open = {{0, false}};
    while (!open.empty()) {
      const auto [number, above] = open.back();
      open.pop_back();
      const TreeNode& node = tree.nodes[at(number)];
      const bool here = above || named[at(node.input)];
      for (const std::int32_t child : {node.left, node.right}) {
        if (child >= 0)
          open.emplace_back(child, here);
        else
          below[at(first[t] - 1 - child)] = here;
      }
    }
  }
  return below;
}

}  // namespace fmd
