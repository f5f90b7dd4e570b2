#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/internal.h"
#include "formats/tree_leaves.h"

namespace fmd::internal {

// What a CatBoost file says, whatever its form.

struct CatboostColumn {
  std::int32_t index = -1;  // among columns of its kind: splits name it by this
  std::int32_t flat = -1;   // among all columns
  std::string name;
};
struct CatboostNumber : CatboostColumn {
  std::vector<float> borders;
  bool missing_above = false;
};
struct CatboostOneHot {
  std::int32_t category = -1;        // index of the column
  std::vector<std::int32_t> hashes;  // of the values that splits ask for
};

enum class CatboostCtrKind : std::uint8_t {
  borders,
  buckets,
  binary_mean,
  float_mean,
  counter,
  frequency,
};
// What a table of counts belongs to.
struct CatboostBase {
  CatboostCtrKind kind = CatboostCtrKind::borders;
  std::int32_t classifier = 0;  // how the label was cut; the binary form alone has it
  std::vector<std::int32_t> categories;
  std::vector<std::pair<std::int32_t, float>> above;
  std::vector<std::pair<std::int32_t, std::int32_t>> equal;

  auto operator<=>(const CatboostBase&) const = default;
};
struct CatboostCtr {
  CatboostBase base;
  std::int32_t border = 0;  // of the label
  float prior = 0, prior_weight = 1, shift = 0, scale = 1;
  std::vector<float> borders;
};
struct CatboostTable {
  std::vector<std::pair<std::uint64_t, std::size_t>> keys;  // first of the key's counts
  std::vector<double> counts;                               // `stride` of each key
  std::size_t stride = 0;
  std::int32_t denominator = 0;
};

struct CatboostNode {
  std::int32_t split = 0;
  std::int32_t left = -1, right = -1;  // a node, or -1 - leaf
};
// Leaf l has `outputs` values from values[first[l]] on. Symmetric: one split of each level
// in `splits`, the lowest bit of a leaf's number first. Otherwise nodes, the root first.
struct CatboostTree {
  bool symmetric = true;
  std::vector<std::int32_t> splits;
  std::vector<CatboostNode> nodes;
  std::vector<std::size_t> first;
};

struct CatboostModel {
  std::string loss;
  std::vector<std::string> classes;  // where they are texts
  Index outputs = 1;
  double scale = 1;
  std::vector<double> bias;
  std::vector<CatboostNumber> numbers;
  std::vector<CatboostColumn> categories;
  std::vector<CatboostOneHot> one_hot;
  std::vector<CatboostCtr> ctrs;
  std::map<CatboostBase, CatboostTable> tables;
  std::vector<CatboostTree> trees;
  std::vector<double> values;
  std::vector<LeafPlace> places;  // of each value; scale and shift are not set
  bool derived = false;           // features made of texts or embeddings
};

struct CatboostTrees {
  TreeFile trees;
  std::vector<std::pair<std::string, std::string>> details;  // for people
};

// file_size: what is made of the file may be a few times as large. Throws Error(bad_model),
// and Error(unsupported) for what cannot be read exactly.
[[nodiscard]] CatboostTrees catboost_trees(const CatboostModel& model,
                                           const std::string& source,
                                           std::size_t file_size);

// The loss and the classes of the texts `params` and `class_params`, as the binary form has
// them, or of the same objects written as text.
void read_catboost_parameters(const std::string& parameters, const std::string& classes,
                              const std::string& source, CatboostModel& into);

}  // namespace fmd::internal
