#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/internal.h"
#include "fmd/core/types.h"

namespace fmd::internal {

// Types of numbers, as ONNX counts them.
enum OnnxType : std::int32_t {
  kOnnxFloat = 1,
  kOnnxInt32 = 6,
  kOnnxInt64 = 7,
  kOnnxString = 8,
  kOnnxBool = 9,
  kOnnxHalf = 10,
  kOnnxDouble = 11,
};
[[nodiscard]] std::string onnx_type_name(std::int32_t type);
// Of one number of float16, float32 or float64; otherwise 0.
[[nodiscard]] std::size_t onnx_number_bytes(std::int32_t type);

// A stretch of a file.
struct FileSpan {
  std::size_t begin = 0, end = 0;
  [[nodiscard]] std::size_t size() const { return end - begin; }
};

// Numbers that are stored in a model, and where.
struct OnnxTensor {
  std::string name;
  std::int32_t type = 0;
  std::vector<Index> dims;
  FileSpan field;                // the whole field, with its tag
  FileSpan raw;                  // raw_data
  std::vector<FileSpan> listed;  // float_data or double_data
  bool external = false;
  std::string location;  // plain name of the file that holds an external tensor
  std::size_t offset = 0, length = 0;
  bool whole = false;  // external: length is that of the rest of the file

  [[nodiscard]] Index elements() const;
  [[nodiscard]] std::size_t bytes() const;  // of float16, float32 and float64; else 0
};

struct OnnxAttribute {
  std::string name;
  float f = 0;
  std::int64_t i = 0;
  std::string s;
  std::vector<FileSpan> floats;  // each 4 bytes a number
  std::vector<std::int64_t> ints;
  std::vector<std::string> strings;
  std::vector<OnnxTensor> tensors;
};

struct OnnxNode {
  std::string name, op, domain;
  std::vector<std::string> inputs, outputs;
  std::vector<OnnxAttribute> attributes;
  std::vector<std::string> inner;  // names that graphs inside it take from outside
  FileSpan field;

  [[nodiscard]] const OnnxAttribute* find(const std::string& attribute) const;
  // "Gemm", or "ai.onnx.ml.Scaler" of another set of operators.
  [[nodiscard]] std::string full_op() const;
};

// An input or output. dims: -1 = any size.
struct OnnxValue {
  std::string name;
  std::int32_t type = 0;  // 0: not a tensor
  std::vector<Index> dims;
  FileSpan field;
};

// What an ONNX model says of itself; numbers stay in the file.
struct OnnxGraph {
  std::string source, producer;
  std::int64_t ir_version = 0, opset = 0;
  std::vector<OnnxNode> nodes;
  std::map<std::string, OnnxTensor> tensors;  // initialisers by name
  std::vector<OnnxValue> inputs, outputs;     // inputs: those that are not initialisers
  std::set<std::string> files;                // external data, of any part of the model
  FileSpan graph;                             // the field with its tag
  std::size_t graph_payload = 0;
  std::vector<FileSpan> others;  // the graph's fields that are not listed above
};

// Reads a model. Nothing in it is run. Throws Error(bad_model): lengths, kinds and counts
// that cannot be, no graph, a name that two nodes give, nodes in a circle; and names of
// external files that are not plain.
[[nodiscard]] OnnxGraph parse_onnx(std::span<const std::uint8_t> bytes,
                                   const std::string& source);

}  // namespace fmd::internal
