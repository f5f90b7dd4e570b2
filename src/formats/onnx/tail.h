#pragma once

#include <string>
#include <vector>

#include "core/internal.h"
#include "fmd/model/head.h"
#include "fmd/model/mlp_head.h"
#include "formats/onnx/graph.h"

namespace fmd::internal {

// Where the numbers of one row of weights or intercepts stand: element e of the tensor, or
// of a list of numbers in a node. `sign` 1 or -1: what is stored is sign * factor^-1 * the
// parameter.
struct OnnxNumbers {
  const OnnxTensor* tensor = nullptr;  // null: the attribute
  const OnnxAttribute* attribute = nullptr;
  [[nodiscard]] bool present() const { return tensor != nullptr || attribute != nullptr; }
};

// z = factor * W x + bias_factor * b.
struct OnnxLayer {
  Index inputs = 0, outputs = 0;
  OnnxNumbers weight, bias;
  bool by_input = false;  // stored [inputs, outputs]
  // Two classes of a LinearClassifier: the first row is stored too, as minus the second.
  bool mirrored = false;
  double factor = 1, bias_factor = 1;
  std::string input, output;  // names of the tensors
  std::string node;           // name or operator, for people
};

// The dense layers at the end of a graph, the lowest first.
struct OnnxTail {
  std::vector<OnnxLayer> layers;
  Activation activation = Activation::relu;
  Link link = Link::softmax;
  std::string output;                // the graph's output that was followed
  std::string end;                   // what stands above the last layer: "Softmax", "" ...
  std::string stop;                  // why no further layer belongs to it
  std::vector<std::string> classes;  // where the model names them
  const OnnxTensor* one = nullptr;   // must be 1: the outputs are [one - p, p]
};

// Throws Error(unsupported) with the reason: no dense layer at the end, a quantised one,
// numbers of another type, weights that are shared.
[[nodiscard]] OnnxTail find_tail(const OnnxGraph& graph);

}  // namespace fmd::internal
