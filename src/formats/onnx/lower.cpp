#include "formats/onnx/lower.h"

#include <algorithm>
#include <set>

#include "core/check.h"
#include "fmd/core/safe_text.h"
#include "formats/onnx/wire.h"

namespace fmd::internal {
namespace {

void put_span(Bytes& to, std::span<const std::uint8_t> bytes, const FileSpan& span) {
  const auto part = bytes.subspan(span.begin, span.size());
  to.insert(to.end(), part.begin(), part.end());
}

// The model with another graph in the place of its own.
Bytes with_graph(const OnnxGraph& graph, std::span<const std::uint8_t> bytes,
                 const Bytes& contents) {
  Bytes made;
  put_span(made, bytes, {0, graph.graph.begin});
  put_bytes(made, 7, contents);
  put_span(made, bytes, {graph.graph.end, bytes.size()});
  return made;
}

// All that the tensor is made of. Nodes stand in order, so one pass backwards finds it.
std::set<std::string> names_below(const OnnxGraph& graph, const std::string& tensor,
                                  std::vector<bool>& kept) {
  std::set<std::string> needed = {tensor};
  kept.assign(graph.nodes.size(), false);
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const OnnxNode& node = graph.nodes[n];
    if (std::none_of(node.outputs.begin(), node.outputs.end(),
                     [&](const std::string& name) { return needed.contains(name); }))
      continue;
    kept[n] = true;
    needed.insert(node.inputs.begin(), node.inputs.end());
    needed.insert(node.inner.begin(), node.inner.end());
  }
  return needed;
}

}  // namespace

OnnxLower lower_part(const OnnxGraph& graph, std::span<const std::uint8_t> bytes,
                     const std::string& tensor) {
  std::vector<bool> kept;
  const std::set<std::string> needed = names_below(graph, tensor, kept);
  OnnxLower lower;
  for (const OnnxValue& input : graph.inputs)
    if (needed.contains(input.name)) lower.inputs.push_back(input);
  if (std::find(kept.begin(), kept.end(), true) == kept.end()) return lower;

  Bytes contents;
  std::set<ExternalData> outside;
  const auto add = [&](const OnnxTensor& t) {
    if (t.external)
      outside.insert({t.location, static_cast<Index>(t.offset),
                      t.whole ? Index{-1} : static_cast<Index>(t.length)});
  };
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!kept[n]) continue;
    put_span(contents, bytes, graph.nodes[n].field);
    for (const OnnxAttribute& a : graph.nodes[n].attributes)
      for (const OnnxTensor& t : a.tensors) add(t);
  }
  put_text(contents, 2, "lower");
  for (const auto& [name, t] : graph.tensors) {
    if (!needed.contains(name)) continue;
    put_span(contents, bytes, t.field);
    add(t);
  }
  for (const OnnxValue& input : lower.inputs) put_span(contents, bytes, input.field);
  Bytes output;
  put_text(output, 1, tensor);
  put_bytes(contents, 12, output);
  for (const FileSpan& other : graph.others)
    if (bytes[other.begin] != (2 << 3 | 2)) put_span(contents, bytes, other);  // its name
  lower.bytes = with_graph(graph, bytes, contents);
  lower.outside.assign(outside.begin(), outside.end());
  return lower;
}

Bytes with_inline(const OnnxGraph& graph, std::span<const std::uint8_t> bytes,
                  std::vector<OnnxInline> tensors) {
  std::sort(tensors.begin(), tensors.end(), [](const OnnxInline& a, const OnnxInline& b) {
    return a.tensor->field.begin < b.tensor->field.begin;
  });
  Bytes contents;
  std::size_t at = graph.graph_payload;
  for (const OnnxInline& one : tensors) {
    const OnnxTensor& t = *one.tensor;
    const auto found = graph.tensors.find(t.name);
    if (found == graph.tensors.end() || &found->second != &t)
      throw Error(ErrorKind::unsupported,
                  fmt::format("{}: tensor \"{}\" is external data of an operation",
                              graph.source, safe_text(t.name)),
                  "export the model without external data");
    put_span(contents, bytes, {at, t.field.begin});
    at = t.field.end;
    Bytes tensor;
    WireReader field(bytes.subspan(t.field.begin, t.field.size()), t.field.begin,
                     graph.source);
    WireField whole;
    static_cast<void>(field.next(whole));
    WireReader reader(whole.bytes, whole.payload, graph.source);
    for (WireField f; reader.next(f);)
      if (f.number != 9 && f.number != 13 && f.number != 14)
        put_span(tensor, bytes, {f.begin, f.end});
    put_bytes(tensor, 9, one.numbers);
    put_bytes(contents, 5, tensor);
  }
  put_span(contents, bytes, {at, graph.graph.end});
  return with_graph(graph, bytes, contents);
}

}  // namespace fmd::internal
