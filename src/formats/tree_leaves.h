#pragma once

#include <cstdint>
#include <vector>

#include "core/internal.h"
#include "fmd/formats/patch.h"
#include "fmd/model/model.h"
#include "fmd/model/tree_ensemble.h"

namespace fmd::internal {

// Where the value of a leaf, or another parameter, stands in its file.
struct LeafPlace {
  std::size_t begin = 0, end = 0;
  double scale = 1;  // theta = scale x the number in the file + shift
  double shift = 0;
};

// What a reader of a tree file finds.
struct TreeFile {
  TreeEnsemble ensemble;
  std::vector<double> theta;      // of each leaf
  std::vector<LeafPlace> leaves;  // of each leaf
  Link link = Link::sigmoid;
};

// A model with leaf values as its head: no intercept, one class for each leaf. Throws
// Error(bad_model) for trees that are damaged and values that are not finite.
[[nodiscard]] Model tree_model(TreeFile file, const std::string& source);

// A leaf whose value changes, and its new value as a number of the file.
struct LeafChange {
  std::size_t leaf = 0;
  double value = 0;
};
// In the order of their bytes. Throws Error(bad_shape), and Error(numerical) for a value
// that is not finite.
[[nodiscard]] std::vector<LeafChange> leaf_changes(const std::vector<LeafPlace>& leaves,
                                                   const Vector& before,
                                                   const Vector& after);

}  // namespace fmd::internal
