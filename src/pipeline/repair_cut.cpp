#include "pipeline/repair_cut.h"

#include <algorithm>

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
  Model cut = cut_leaves(model, repaired_columns(model.task, options));
  if (rows > 0) cut.note.l2 = 1 / static_cast<double>(rows);
  return cut;
}

Model with_repaired(const Model& whole, const DebiasOptions& options, const Vector& theta) {
  if (trees_of(*whole.backbone) == nullptr) return with_top(whole, theta);
  return with_leaves(whole, repaired_columns(whole.task, options), theta);
}

}  // namespace fmd::internal
