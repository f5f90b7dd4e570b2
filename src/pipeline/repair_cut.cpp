#include "pipeline/repair_cut.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "fmd/core/error.h"
#include "fmd/model/cut.h"
#include "fmd/model/cut_leaves.h"
#include "fmd/model/tree_backbone.h"

namespace fmd::internal {
namespace {

// The columns that pairs of the repaired attributes differ in; none: they may differ in
// any.
std::vector<std::string> repaired_columns(const Task& task, const DebiasOptions& options) {
  std::vector<std::string> columns;
  for (const AttributeSpec& spec : task.attributes) {
    const bool asked = std::find(options.repair.begin(), options.repair.end(), spec.name) !=
                       options.repair.end();
    if (!options.repair.empty() && !asked) continue;
    if (spec.pairs != "flip") return {};
    if (spec.columns.empty()) columns.push_back(spec.name);
    columns.insert(columns.end(), spec.columns.begin(), spec.columns.end());
  }
  return columns;
}

}  // namespace

Model cut_for_repair(const Model& model, const DebiasOptions& options, Index rows) {
  if (trees_of(*model.backbone) == nullptr) return cut_layers(model, options.layers);
  if (options.method == RepairMethod::remove || options.method == RepairMethod::replace)
    throw Error(ErrorKind::unsupported,
                fmt::format("debias: method {} ranks training rows by a Hessian, which "
                            "boosted trees do not have: their leaf values are no optimum",
                            to_string(options.method)),
                "use --method solve, or see the rows with fmd explain");
  Model cut = cut_leaves(model, repaired_columns(model.task, options));
  if (rows > 0) cut.note.l2 = 1 / static_cast<double>(rows);
  return cut;
}

Model with_repaired(const Model& whole, const DebiasOptions& options, const Vector& theta) {
  if (trees_of(*whole.backbone) == nullptr) return with_top(whole, theta);
  return with_leaves(whole, repaired_columns(whole.task, options), theta);
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
