#include "fmd/model/monotone.h"

#include <algorithm>
#include <limits>
#include <map>

#include "core/index.h"
#include "fmd/core/error.h"

namespace fmd {
namespace {

constexpr std::size_t kMostPairs = 20'000'000;

// Numbers that both rows may have in an input.
struct Range {
  double low = -std::numeric_limits<double>::infinity();  // at or above
  double below = std::numeric_limits<double>::infinity();
  bool missing = true;
};
using Box = std::map<std::int32_t, Range>;

class TreeOrder {
 public:
  TreeOrder(const Tree& tree, Index first_leaf, const MonotoneRule& rule, LeafOrder& order)
      : tree_(tree), first_leaf_(first_leaf), rule_(rule), order_(order) {}

  void run() {
    std::vector<std::pair<std::int32_t, Box>> open;
    if (!tree_.nodes.empty()) open.emplace_back(0, Box());
    while (!open.empty()) {
      auto [place, box] = std::move(open.back());
      open.pop_back();
      const TreeNode& node = tree_.nodes[at(place)];
      const bool own = node.input == rule_.input && node.set < 0;
      if (own) {
        if (rule_.direction > 0)
          compare(node.left, node.right, box);
        else
          compare(node.right, node.left, box);
      }
      for (const bool left : {false, true}) {
        const std::int32_t child = left ? node.left : node.right;
        Box below = box;
        if (child >= 0 && (own || narrow(node, left, below)))
          open.emplace_back(child, std::move(below));
      }
    }
  }

 private:
  // False: no row gets there.
  [[nodiscard]] static bool narrow(const TreeNode& node, bool left, Box& box) {
    if (node.set >= 0) return true;
    Range& range = box[node.input];
    if (left)
      range.below = std::min(range.below, node.below);
    else
      range.low = std::max(range.low, node.below);
    if (node.missing_left != left) range.missing = false;
    return range.low < range.below || range.missing;
  }

  // Leaves below `a` with those below `b`, for rows that agree in all other inputs.
  void compare(std::int32_t a, std::int32_t b, const Box& box) {
    if (a < 0 && b < 0) {
      if (order_.size() >= kMostPairs)
        throw Error(ErrorKind::unsupported,
                    "monotone: these trees have too many leaves to compare",
                    "leave the rule out, or train smaller trees");
      order_.emplace_back(first_leaf_ - 1 - a, first_leaf_ - 1 - b);
      return;
    }
    const bool first = a >= 0;
    const TreeNode& node = tree_.nodes[at(first ? a : b)];
    for (const bool left : {false, true}) {
      const std::int32_t child = left ? node.left : node.right;
      Box below = box;
      if (node.input != rule_.input && !narrow(node, left, below)) continue;
      compare(first ? child : a, first ? b : child, below);
    }
  }

  const Tree& tree_;
  Index first_leaf_;
  const MonotoneRule& rule_;
  LeafOrder& order_;
};

}  // namespace

LeafOrder leaf_order(const TreeEnsemble& ensemble, const std::vector<MonotoneRule>& rules) {
  LeafOrder order;
  const std::vector<Index> first = ensemble.first_leaves();
  for (const MonotoneRule& rule : rules)
    for (std::size_t t = 0; t < ensemble.trees.size(); ++t)
      TreeOrder(ensemble.trees[t], first[t], rule, order).run();
  std::sort(order.begin(), order.end());
  order.erase(std::unique(order.begin(), order.end()), order.end());
  return order;
}

}  // namespace fmd
