#include "formats/tree_leaves.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/index.h"
#include "fmd/model/tree_backbone.h"

namespace fmd::internal {

Model tree_model(TreeFile file, const std::string& source) {
  const auto outputs = std::ssize(file.ensemble.base);
  std::vector<std::int32_t> output_of;
  for (const Tree& tree : file.ensemble.trees)
    output_of.insert(output_of.end(), at(tree.leaves()), tree.output);
  for (const double value : file.theta)
    if (!std::isfinite(value))
      throw Error(ErrorKind::bad_model,
                  fmt::format("{}: the value of a leaf is not finite", source),
                  "the file is damaged: save the model again");
  Model model;
  model.backbone = std::make_shared<const TreeBackbone>(std::move(file.ensemble), source);
  model.head = std::make_shared<const LinearHead>(
      std::ssize(output_of), outputs,
      LinearHeadOptions{.intercept = false, .output_of = output_of, .link = file.link});
  model.theta =
      Eigen::Map<const Vector>(file.theta.data(), static_cast<Index>(file.theta.size()));
  return model;
}

std::vector<LeafChange> leaf_changes(const std::vector<LeafPlace>& leaves,
                                     const Vector& before, const Vector& after) {
  require_size("model", "theta", after.size(), before.size());
  std::vector<LeafChange> changes;
  for (std::size_t j = 0; j < leaves.size(); ++j) {
    const auto k = static_cast<Index>(j);
    if (after[k] == before[k]) continue;
    if (!std::isfinite(after[k]))
      throw Error(ErrorKind::numerical, "the value of a leaf is not finite",
                  "nothing was written: try another method or candidate");
    changes.push_back({j, (after[k] - leaves[j].shift) / leaves[j].scale});
  }
  std::sort(changes.begin(), changes.end(), [&](const LeafChange& a, const LeafChange& b) {
    return leaves[a.leaf].begin < leaves[b.leaf].begin;
  });
  return changes;
}

}  // namespace fmd::internal
