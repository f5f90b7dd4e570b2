#include "formats/onnx/graph.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>

#include "core/beside.h"
#include "core/check.h"
#include "fmd/core/safe_text.h"
#include "formats/onnx/wire.h"

namespace fmd::internal {
namespace {

constexpr std::size_t kMostNodes = 1'000'000;
constexpr std::size_t kLongestName = 4096;
constexpr std::size_t kMostDims = 16;
constexpr int kDeepest = 16;  // graphs within graphs

[[noreturn]] void damaged_graph(const std::string& source, const std::string& what) {
  throw Error(ErrorKind::bad_model, fmt::format("{}: {}", source, what),
              "the file is damaged or is not an ONNX model: export it again");
}

// What reading needs beside the bytes.
struct GraphReading {
  std::string source;
  OnnxGraph graph;
  std::size_t nodes = 0;  // with those of inner graphs

  [[nodiscard]] std::string name(const WireField& field) const {
    require_kind(field, 2, source);
    if (field.bytes.size() > kLongestName)
      damaged_graph(source, fmt::format("byte {}: a name of {} bytes, at most {} are read",
                                        field.begin, field.bytes.size(), kLongestName));
    return std::string(field.text());
  }
  [[nodiscard]] WireReader fields(const WireField& field) const {
    require_kind(field, 2, source);
    return {field.bytes, field.payload, source};
  }
  [[nodiscard]] std::int64_t number(const WireField& field) const {
    require_kind(field, 0, source);
    return static_cast<std::int64_t>(field.value);
  }
  // A repeated number may be packed or not.
  void numbers(const WireField& field, std::vector<std::int64_t>& into,
               std::size_t most) const {
    if (field.kind == 0) {
      into.push_back(number(field));
    } else {
      require_kind(field, 2, source);
      std::uint64_t value = 0;
      int shift = 0;
      for (const std::uint8_t byte : field.bytes) {
        if (shift > 63) damaged_graph(source, "a number has more than ten bytes");
        value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
        shift += 7;
        if (byte >= 0x80) continue;
        into.push_back(static_cast<std::int64_t>(value));
        value = 0, shift = 0;
      }
      if (shift != 0) damaged_graph(source, "the file ends within a number");
    }
    if (into.size() > most)
      damaged_graph(source, fmt::format("byte {}: a list of more than {} numbers",
                                        field.begin, most));
  }
};

std::size_t size_of(const std::string& text, const std::string& source,
                    const std::string& tensor, const char* what) {
  std::size_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || read != end ||
      value > static_cast<std::size_t>(std::numeric_limits<Index>::max()))
    damaged_graph(source, fmt::format("tensor \"{}\": its {} is \"{}\", not a number of "
                                      "bytes",
                                      safe_text(tensor), what, safe_text(text)));
  return value;
}

// Throws unless the numbers that a tensor says it has can be there.
void check_size(const OnnxTensor& t, const std::string& source) {
  Index elements = 1;
  for (const Index dim : t.dims) {
    if (dim < 0 || (dim > 0 && elements > std::numeric_limits<Index>::max() / 16 / dim))
      damaged_graph(source,
                    fmt::format("tensor \"{}\": its shape cannot be", safe_text(t.name)));
    elements *= dim;
  }
  // Numbers of 16 bits may also stand in a list of whole numbers.
  const bool listed = t.type == kOnnxHalf && !t.external && t.raw.size() == 0;
  if (onnx_number_bytes(t.type) == 0 || (t.external && t.whole) || listed) return;
  std::size_t stored = t.external ? t.length : t.raw.size();
  for (const FileSpan& part : t.listed) stored += part.size();
  if (stored != t.bytes())
    damaged_graph(source,
                  fmt::format("tensor \"{}\" has {} numbers by its shape, but {} bytes",
                              safe_text(t.name), elements, stored));
}

OnnxTensor read_tensor(GraphReading& in, const WireField& field) {
  OnnxTensor t;
  t.field = {field.begin, field.end};
  std::vector<std::int64_t> dims;
  std::map<std::string, std::string> outside;
  WireReader reader = in.fields(field);
  for (WireField f; reader.next(f);) {
    if (f.number == 1) in.numbers(f, dims, kMostDims);
    if (f.number == 2) t.type = static_cast<std::int32_t>(in.number(f));
    if (f.number == 8) t.name = in.name(f);
    if (f.number == 9) {
      require_kind(f, 2, in.source);
      t.raw = {f.payload, f.end};
    }
    if (f.number == 4 || f.number == 10) t.listed.push_back({f.payload, f.end});
    if (f.number == 14) t.external = in.number(f) == 1;
    if (f.number == 13) {
      std::string key, value;
      WireReader entry = in.fields(f);
      for (WireField e; entry.next(e);) {
        if (e.number == 1) key = in.name(e);
        if (e.number == 2) value = in.name(e);
      }
      outside[key] = value;
    }
  }
  t.dims.assign(dims.begin(), dims.end());
  if (t.external) {
    t.location = outside["location"];
    if (t.location.starts_with("./")) t.location.erase(0, 2);
    if (!is_plain_name(t.location))
      throw Error(ErrorKind::bad_model,
                  fmt::format("{}: tensor \"{}\" is in a file \"{}\", which is not a plain "
                              "name",
                              in.source, safe_text(t.name), safe_text(t.location)),
                  "external data must be in a file beside the model");
    if (outside.contains("offset"))
      t.offset = size_of(outside["offset"], in.source, t.name, "offset");
    t.whole = !outside.contains("length");
    if (!t.whole) t.length = size_of(outside["length"], in.source, t.name, "length");
    in.graph.files.insert(t.location);
  }
  check_size(t, in.source);
  return t;
}

void read_node(GraphReading& in, const WireField& field, int depth, OnnxNode& node);

// A graph inside a node: only the names that it takes from outside matter.
void read_inner(GraphReading& in, const WireField& field, int depth, OnnxNode& into) {
  if (depth > kDeepest) damaged_graph(in.source, "graphs are nested too deep");
  WireReader reader = in.fields(field);
  for (WireField f; reader.next(f);) {
    if (f.number == 1) {
      OnnxNode node;
      read_node(in, f, depth, node);
      into.inner.insert(into.inner.end(), node.inputs.begin(), node.inputs.end());
      into.inner.insert(into.inner.end(), node.inner.begin(), node.inner.end());
    }
    if (f.number == 5) static_cast<void>(read_tensor(in, f));
    if (f.number == 12) {  // an output may be a name from outside
      WireReader value = in.fields(f);
      for (WireField v; value.next(v);)
        if (v.number == 1) into.inner.push_back(in.name(v));
    }
  }
}

OnnxAttribute read_attribute_of(GraphReading& in, const WireField& field, int depth,
                                OnnxNode& node) {
  OnnxAttribute a;
  WireReader reader = in.fields(field);
  for (WireField f; reader.next(f);) {
    switch (f.number) {
      case 1:
        a.name = in.name(f);
        break;
      case 2:
        require_kind(f, 5, in.source);
        a.f = std::bit_cast<float>(static_cast<std::uint32_t>(f.value));
        break;
      case 3:
        a.i = in.number(f);
        break;
      case 4:
        require_kind(f, 2, in.source);
        if (f.bytes.size() <= kLongestName) a.s = std::string(f.text());
        break;
      case 5:
      case 10:
        a.tensors.push_back(read_tensor(in, f));
        break;
      case 6:
      case 11:
        read_inner(in, f, depth + 1, node);
        break;
      case 7:  // packed or not
        if (f.kind != 2) require_kind(f, 5, in.source);
        a.floats.push_back({f.payload, f.end});
        break;
      case 8:
        in.numbers(f, a.ints, std::numeric_limits<std::size_t>::max());
        break;
      case 9:
        a.strings.push_back(in.name(f));
        break;
      case 22: {  // a sparse tensor: values and indices
        WireReader sparse = in.fields(f);
        for (WireField s; sparse.next(s);)
          if (s.number == 1 || s.number == 2) static_cast<void>(read_tensor(in, s));
        break;
      }
      default:
        break;
    }
  }
  return a;
}

void read_node(GraphReading& in, const WireField& field, int depth, OnnxNode& node) {
  if (++in.nodes > kMostNodes)
    damaged_graph(in.source, fmt::format("more than {} operations", kMostNodes));
  node.field = {field.begin, field.end};
  WireReader reader = in.fields(field);
  for (WireField f; reader.next(f);) {
    if (f.number == 1) node.inputs.push_back(in.name(f));
    if (f.number == 2) node.outputs.push_back(in.name(f));
    if (f.number == 3) node.name = in.name(f);
    if (f.number == 4) node.op = in.name(f);
    if (f.number == 5) node.attributes.push_back(read_attribute_of(in, f, depth, node));
    if (f.number == 7) node.domain = in.name(f);
  }
}

void read_tensor_type(GraphReading& in, const WireField& field, OnnxValue& value) {
  WireReader type = in.fields(field);
  for (WireField t; type.next(t);) {
    if (t.number == 1) value.type = static_cast<std::int32_t>(in.number(t));
    if (t.number != 2) continue;
    WireReader shape = in.fields(t);
    for (WireField s; shape.next(s);) {
      if (s.number != 1) continue;
      Index size = -1;
      WireReader dim = in.fields(s);
      for (WireField d; dim.next(d);)
        if (d.number == 1) size = in.number(d);
      value.dims.push_back(size > 0 ? size : -1);
      if (value.dims.size() > kMostDims)
        damaged_graph(in.source, fmt::format("\"{}\" has more than {} dimensions",
                                             safe_text(value.name), kMostDims));
    }
  }
}

OnnxValue read_value(GraphReading& in, const WireField& field) {
  OnnxValue value;
  value.field = {field.begin, field.end};
  WireReader reader = in.fields(field);
  for (WireField f; reader.next(f);) {
    if (f.number == 1) value.name = in.name(f);
    if (f.number != 2) continue;
    WireReader type = in.fields(f);
    for (WireField t; type.next(t);)
      if (t.number == 1) read_tensor_type(in, t, value);
  }
  return value;
}

void read_graph(GraphReading& in, const WireField& field) {
  OnnxGraph& g = in.graph;
  g.graph = {field.begin, field.end};
  g.graph_payload = field.payload;
  WireReader reader = in.fields(field);
  for (WireField f; reader.next(f);) {
    switch (f.number) {
      case 1:
        read_node(in, f, 0, g.nodes.emplace_back());
        break;
      case 5: {
        OnnxTensor t = read_tensor(in, f);
        const std::string name = t.name;
        if (!g.tensors.emplace(name, std::move(t)).second)
          damaged_graph(in.source,
                        fmt::format("two tensors have the name \"{}\"", safe_text(name)));
        break;
      }
      case 11:
        g.inputs.push_back(read_value(in, f));
        break;
      case 12:
        g.outputs.push_back(read_value(in, f));
        break;
      case 13:
        break;  // shapes within: none of them is needed
      case 15: {
        WireReader sparse = in.fields(f);
        for (WireField s; sparse.next(s);)
          if (s.number == 1 || s.number == 2) static_cast<void>(read_tensor(in, s));
        g.others.push_back({f.begin, f.end});
        break;
      }
      default:
        g.others.push_back({f.begin, f.end});
    }
  }
  std::erase_if(g.inputs, [&](const OnnxValue& v) { return g.tensors.contains(v.name); });
}

void read_opset(GraphReading& in, const WireField& field) {
  std::string domain;
  std::int64_t version = 0;
  WireReader reader = in.fields(field);
  for (WireField f; reader.next(f);) {
    if (f.number == 1) domain = in.name(f);
    if (f.number == 2) version = in.number(f);
  }
  if (domain.empty() || domain == "ai.onnx") in.graph.opset = version;
}

// A node may read only what stands before it; so there are no circles.
void check_order(const OnnxGraph& g) {
  std::set<std::string> known;
  for (const auto& [name, tensor] : g.tensors) known.insert(name);
  for (const OnnxValue& value : g.inputs) known.insert(value.name);
  std::set<std::string> made;
  for (const OnnxNode& node : g.nodes)
    for (const std::string& name : node.outputs)
      if (!name.empty() && (known.contains(name) || !made.insert(name).second))
        damaged_graph(g.source, fmt::format("two operations give \"{}\"", safe_text(name)));
  for (const OnnxNode& node : g.nodes) {
    for (const std::string& name : node.inputs) {
      if (name.empty() || known.contains(name)) continue;
      damaged_graph(
          g.source,
          fmt::format("operation {} reads \"{}\", which {}", safe_text(node.full_op()),
                      safe_text(name),
                      made.contains(name)
                          ? "comes later: the operations form a circle or are not "
                            "in order"
                          : "nothing gives"));
    }
    known.insert(node.outputs.begin(), node.outputs.end());
  }
  for (const OnnxValue& value : g.outputs)
    if (!known.contains(value.name))
      damaged_graph(g.source,
                    fmt::format("nothing gives its output \"{}\"", safe_text(value.name)));
}

}  // namespace

std::string onnx_type_name(std::int32_t type) {
  static const std::vector<std::string> names = {
      "undefined", "float32", "uint8",     "int8",       "uint16",  "int16",
      "int32",     "int64",   "text",      "boolean",    "float16", "float64",
      "uint32",    "uint64",  "complex64", "complex128", "bfloat16"};
  if (type >= 0 && type < std::ssize(names)) return names[static_cast<std::size_t>(type)];
  return fmt::format("type {}", type);
}

std::size_t onnx_number_bytes(std::int32_t type) {
  return type == kOnnxHalf ? 2 : type == kOnnxFloat ? 4 : type == kOnnxDouble ? 8 : 0;
}

std::size_t OnnxTensor::bytes() const {
  return onnx_number_bytes(type) * static_cast<std::size_t>(elements());
}

Index OnnxTensor::elements() const {
  Index product = 1;
  for (const Index dim : dims) product *= dim;
  return product;
}

const OnnxAttribute* OnnxNode::find(const std::string& attribute) const {
  const auto found =
      std::find_if(attributes.begin(), attributes.end(),
                   [&](const OnnxAttribute& a) { return a.name == attribute; });
  return found == attributes.end() ? nullptr : &*found;
}

std::string OnnxNode::full_op() const {
  return domain.empty() || domain == "ai.onnx" ? op : domain + "." + op;
}

OnnxGraph parse_onnx(std::span<const std::uint8_t> bytes, const std::string& source) {
  GraphReading in{.source = source, .graph = {}};
  in.graph.source = source;
  bool found = false;
  WireReader reader(bytes, 0, in.source);
  for (WireField f; reader.next(f);) {
    if (f.number == 1) in.graph.ir_version = in.number(f);
    if (f.number == 2) in.graph.producer = in.name(f);
    if (f.number == 8) read_opset(in, f);
    if (f.number == 20)
      throw Error(ErrorKind::unsupported,
                  fmt::format("{}: an ONNX file with training information", source),
                  "export the model for inference");
    if (f.number == 7) {
      if (found) damaged_graph(source, "there are two graphs");
      found = true;
      read_graph(in, f);
    }
    if (f.number == 25) {  // functions: their bodies may hold tensors too
      WireReader function = in.fields(f);
      for (WireField n; function.next(n);) {
        OnnxNode node;
        if (n.number == 7) read_node(in, n, 0, node);
      }
    }
  }
  if (!found) damaged_graph(source, "there is no graph in it");
  check_order(in.graph);
  return std::move(in.graph);
}

}  // namespace fmd::internal
