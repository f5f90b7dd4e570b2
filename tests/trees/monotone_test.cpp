#include "fmd/model/monotone.h"

#include <gtest/gtest.h>

#include "fmd/core/rng.h"

namespace fmd {
namespace {

// A random tree on inputs 0, 1 and 2, cut at halves, down to `depth`.
void grow(Tree& tree, Rng& rng, int depth, std::int32_t place) {
  const auto child = [&](bool left) {
    const bool leaf = depth == 0 || rng.below(4) == 0;
    std::int32_t to = 0;
    if (leaf) {
      to = -1 - static_cast<std::int32_t>(tree.leaf_names.size());
      tree.leaf_names.push_back(0);
    } else {
      to = static_cast<std::int32_t>(tree.nodes.size());
      tree.nodes.emplace_back();
      grow(tree, rng, depth - 1, to);
    }
    TreeNode& node = tree.nodes[static_cast<std::size_t>(place)];
    (left ? node.left : node.right) = to;
  };
  tree.nodes[static_cast<std::size_t>(place)].input =
      static_cast<std::int32_t>(rng.below(3));
  tree.nodes[static_cast<std::size_t>(place)].below =
      static_cast<double>(rng.below(3)) + 0.5;
  child(true);
  child(false);
}

TreeEnsemble one_tree(std::uint64_t seed) {
  Rng rng(seed, "monotone");
  TreeEnsemble trees;
  trees.inputs = {{.name = "a", .levels = {}},
                  {.name = "b", .levels = {}},
                  {.name = "c", .levels = {}}};
  Tree tree;
  tree.leaf_names.clear();
  tree.nodes.emplace_back();
  grow(tree, rng, 4, 0);
  trees.trees = {tree};
  return trees;
}

Index leaf_at(const Tree& tree, const int (&x)[3]) {
  std::int32_t place = 0;
  while (place >= 0) {
    const TreeNode& node = tree.nodes[static_cast<std::size_t>(place)];
    place = x[node.input] < node.below ? node.left : node.right;
  }
  return -1 - Index{place};
}

// The pairs by trying all rows of whole numbers.
LeafOrder by_rows(const Tree& tree, int direction) {
  LeafOrder order;
  for (int b = 0; b <= 3; ++b)
    for (int c = 0; c <= 3; ++c)
      for (int low = 0; low <= 3; ++low)
        for (int high = low + 1; high <= 3; ++high) {
          const Index first = leaf_at(tree, {low, b, c}),
                      second = leaf_at(tree, {high, b, c});
          if (first == second) continue;
          order.emplace_back(direction > 0 ? first : second,
                             direction > 0 ? second : first);
        }
  std::sort(order.begin(), order.end());
  order.erase(std::unique(order.begin(), order.end()), order.end());
  return order;
}

TEST(Monotone, ThePairsAreThoseOfAllRowsThatDifferInTheInput) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    TreeEnsemble trees = one_tree(seed);
    for (TreeNode& node : trees.trees[0].nodes) node.missing = TreeMissing::none;
    for (const int direction : {1, -1}) {
      const LeafOrder want = by_rows(trees.trees[0], direction);
      LeafOrder found = leaf_order(trees, {{0, direction}});
      // Leaves that no row reaches, because a split is repeated below itself, count too.
      std::erase_if(found, [&](const auto& pair) {
        bool first = false, second = false;
        for (int a = 0; a <= 3; ++a)
          for (int b = 0; b <= 3; ++b)
            for (int c = 0; c <= 3; ++c) {
              first = first || leaf_at(trees.trees[0], {a, b, c}) == pair.first;
              second = second || leaf_at(trees.trees[0], {a, b, c}) == pair.second;
            }
        return !first || !second;
      });
      EXPECT_EQ(found, want) << seed;
    }
  }
}

TEST(Monotone, ATreeThatDoesNotReadTheInputHasNoPairs) {
  TreeEnsemble trees = one_tree(1);
  for (TreeNode& node : trees.trees[0].nodes) node.input = 1;
  EXPECT_TRUE(leaf_order(trees, {{0, 1}}).empty());
  EXPECT_FALSE(leaf_order(trees, {{1, -1}}).empty());
}

}  // namespace
}  // namespace fmd
