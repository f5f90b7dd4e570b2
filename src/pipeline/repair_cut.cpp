#include "pipeline/repair_cut.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "fmd/core/error.h"
#include "fmd/model/cut.h"
#include "fmd/model/tree_backbone.h"

namespace fmd::internal {

Model cut_for_repair(const Model& model, const DebiasOptions& options, Index rows) {
  if (trees_of(*model.backbone) == nullptr) return cut_layers(model, options.layers);
  if (options.method == RepairMethod::remove || options.method == RepairMethod::replace)
    throw Error(ErrorKind::unsupported,
                fmt::format("debias: method {} ranks training rows by a Hessian, which "
                            "boosted trees do not have: their leaf values are no optimum",
                            to_string(options.method)),
                "use --method solve, or see the rows with fmd explain");
  Model trees = model;
  if (rows > 0) trees.note.l2 = 1 / static_cast<double>(rows);
  return trees;
}

std::vector<Index> touched_leaves(const Model& model, const Study& study,
                                  const std::vector<std::size_t>& repaired) {
  const TreeEnsemble* trees = trees_of(*model.backbone);
  if (trees == nullptr) return {};
  std::vector<std::string> columns;
  for (const std::size_t a : repaired) {
    if (pairs_of(model.task.attributes[a]).kind != PairKind::flip) return {};
    const std::vector<std::string>& own = study.attributes[a].columns;
    columns.insert(columns.end(), own.begin(), own.end());
  }
  const std::vector<bool> below = leaves_below(*trees, columns);
  std::vector<Index> touched;
  for (std::size_t leaf = 0; leaf < below.size(); ++leaf)
    if (below[leaf]) touched.push_back(static_cast<Index>(leaf));
  return touched;
}

Model with_repaired(const Model& whole, const Vector& theta) {
  if (trees_of(*whole.backbone) == nullptr) return with_top(whole, theta);
  return with_theta(whole, theta);
}

std::optional<LeafEdit> leaf_edit(const Model& before, const Model& after) {
  const TreeEnsemble* trees = trees_of(*before.backbone);
  if (trees == nullptr) return std::nullopt;
  const std::vector<Index> first = trees->first_leaves();
  LeafEdit edit;
  edit.leaves = before.theta.size();
  edit.all_trees = std::ssize(trees->trees);
  for (std::size_t t = 0; t < trees->trees.size(); ++t) {
    const Index before_tree = edit.changed;
    for (Index leaf = first[t]; leaf < first[t + 1]; ++leaf) {
      const double change = std::abs(after.theta[leaf] - before.theta[leaf]);
      edit.changed += change > 0 ? 1 : 0;
      edit.largest = std::max(edit.largest, change);
    }
    if (edit.changed > before_tree) edit.trees.push_back(static_cast<Index>(t));
  }
  return edit;
}

}  // namespace fmd::internal
