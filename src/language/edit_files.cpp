#include "fmd/language/edit_files.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/check.h"
#include "core/json.h"
#include "fmd/core/safe_text.h"
#include "fmd/formats/safetensors.h"

namespace fmd {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfig = "config.json";
constexpr const char* kShardIndex = "model.safetensors.index.json";
constexpr const char* kHeadShard = "model-head.safetensors";

// Other files with weights: they would still hold the old head.
constexpr std::array<std::string_view, 9> kOtherWeights = {
    ".bin", ".pt", ".pth", ".ckpt", ".h5", ".msgpack", ".gguf", ".ot", ".pkl"};

using OrderedJson = nlohmann::ordered_json;

Bytes json_bytes(const OrderedJson& json) {
  const std::string text = json_lines(json);
  return {text.begin(), text.end()};
}

OrderedJson object_of(FileSet& set, const std::string& name, const fs::path& folder) {
  const std::span<const std::uint8_t> bytes = set.bytes(name == kConfig ? "" : name);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  OrderedJson json = parse_json<OrderedJson>(text, (folder / name).string());
  if (!json.is_object())
    throw Error(ErrorKind::bad_model,
                fmt::format("{}: this is no JSON object", (folder / name).string()));
  return json;
}

// The whole file is replaced.
FilePatch replaced(FileSet& set, const std::string& name, const OrderedJson& json) {
  const std::string own = name == kConfig ? "" : name;
  return {own, 0, static_cast<Index>(set.bytes(own).size()), json_bytes(json)};
}

std::uint16_t bfloat(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

// To the nearest number of 11 bits, ties to even; tiny ones have fewer bits.
std::uint16_t half(float value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const double size = std::abs(static_cast<double>(value));
  if (size < std::ldexp(1.0, -14))
    return static_cast<std::uint16_t>(
        sign | static_cast<int>(std::nearbyint(std::ldexp(size, 24))));
  int exponent = 0;
  const double fraction = std::frexp(size, &exponent);  // in [.5, 1)
  auto mantissa = static_cast<int>(std::nearbyint(std::ldexp(fraction, 11)));
  if (mantissa == 2048) {
    mantissa = 1024;
    ++exponent;
  }
  if (exponent > 16)
    throw Error(ErrorKind::bad_value,
                fmt::format("language: {} is too large for F16", value),
                "save the model with dtype float32 or bfloat16 first");
  return static_cast<std::uint16_t>(sign | ((exponent + 14) << 10) | (mantissa - 1024));
}

template <typename T, typename Convert>
Bytes converted(const FloatMatrix& numbers, const Convert& convert) {
  Bytes bytes(static_cast<std::size_t>(numbers.size()) * sizeof(T));
  for (Index i = 0; i < numbers.size(); ++i) {
    const T value = convert(numbers.data()[i]);
    std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

struct NewTensor {
  std::string name, dtype;
  std::vector<Index> shape;
  Bytes bytes;
};

// The header of a file with these tensors after all others, and their bytes.
std::vector<FilePatch> appended(FileSet& set, const std::string& name,
                                const std::vector<NewTensor>& tensors,
                                const std::string& source) {
  const std::span<const std::uint8_t> bytes = set.bytes(name);
  std::uint64_t length = 0;
  if (bytes.size() >= 8) std::memcpy(&length, bytes.data(), 8);
  if (bytes.size() < 8 || length > bytes.size() - 8)
    throw Error(ErrorKind::bad_model, fmt::format("{}: the header is cut off", source));
  auto header = parse_json<OrderedJson>(
      {reinterpret_cast<const char*>(bytes.data()) + 8, static_cast<std::size_t>(length)},
      source);
  const std::uint64_t data = bytes.size() - 8 - length;
  FilePatch tail{name, static_cast<Index>(bytes.size()), 0, {}};
  for (const NewTensor& tensor : tensors) {
    const std::uint64_t from = data + tail.bytes.size();
    header[tensor.name] = {{"dtype", tensor.dtype},
                           {"shape", tensor.shape},
                           {"data_offsets", {from, from + tensor.bytes.size()}}};
    tail.bytes.insert(tail.bytes.end(), tensor.bytes.begin(), tensor.bytes.end());
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t size = text.size();
  FilePatch head{name, 0, static_cast<Index>(8 + length), Bytes(8 + text.size())};
  std::memcpy(head.bytes.data(), &size, 8);
  std::memcpy(head.bytes.data() + 8, text.data(), text.size());
  return {std::move(head), std::move(tail)};
}

SafetensorsHead::Place place_of(const fs::path& file, const std::string& name) {
  const SafetensorsHead head = SafetensorsHead::read(*InputFile::open(file));
  const auto found = head.tensors.find(name);
  if (found == head.tensors.end())
    throw Error(ErrorKind::bad_model,
                fmt::format("{}: there is no tensor {}", file.string(), safe_text(name)));
  return found->second;
}

// The bias of a head that is tied together with the weights must get a name of its own too.
std::vector<NewTensor> untied_tensors(const VocabularyHead& original,
                                      const FloatMatrix& weight, const std::string& dtype) {
  std::vector<NewTensor> tensors;
  tensors.push_back({original.head_name,
                     dtype,
                     {weight.rows(), weight.cols()},
                     tensor_bytes(weight, dtype)});
  if (original.bias.empty() || !original.head_name.ends_with(".weight")) return tensors;
  const std::string own =
      original.head_name.substr(0, original.head_name.size() - 6) + "bias";
  if (own == original.bias_name) return tensors;
  const Eigen::Map<const FloatMatrix> bias(original.bias.data(), 1, weight.rows());
  tensors.push_back({own, dtype, {weight.rows()}, tensor_bytes(bias, dtype)});
  return tensors;
}

void untie_config(FileSet& set, const fs::path& folder, Patch& patch) {
  OrderedJson config = object_of(set, kConfig, folder);
  config["tie_word_embeddings"] = false;
  patch.ranges.push_back(replaced(set, kConfig, config));
}

void add_head_shard(FileSet& set, const fs::path& folder,
                    const std::vector<NewTensor>& tensors, Patch& patch) {
  OrderedJson index = object_of(set, kShardIndex, folder);
  Safetensors shard;
  shard.metadata["format"] = "pt";
  std::uint64_t size = 0;
  for (const NewTensor& tensor : tensors) {
    shard.tensors[tensor.name] = {tensor.dtype, tensor.shape, tensor.bytes};
    index["weight_map"][tensor.name] = kHeadShard;
    size += tensor.bytes.size();
  }
  auto& metadata = index["metadata"];
  if (metadata.is_object() && metadata.contains("total_size") &&
      metadata["total_size"].is_number_unsigned())
    metadata["total_size"] = metadata["total_size"].get<std::uint64_t>() + size;
  patch.ranges.push_back(replaced(set, kShardIndex, index));
  patch.added.emplace_back(kHeadShard, shard.write());
}

Patch head_patch(FileSet& set, const fs::path& folder, const VocabularyHead& original,
                 const FloatMatrix& weight) {
  Patch patch;
  const SafetensorsHead::Place old = place_of(folder / original.file, original.weight_name);
  if (!original.tied) {
    patch.ranges.push_back(
        {original.file, old.offset, old.length, tensor_bytes(weight, old.dtype)});
    return patch;
  }
  untie_config(set, folder, patch);
  const std::vector<NewTensor> tensors = untied_tensors(original, weight, old.dtype);
  if (fs::exists(folder / kShardIndex)) {
    add_head_shard(set, folder, tensors, patch);
    return patch;
  }
  for (FilePatch& range :
       appended(set, original.file, tensors, (folder / original.file).string()))
    patch.ranges.push_back(std::move(range));
  return patch;
}

}  // namespace

Bytes tensor_bytes(const FloatMatrix& numbers, const std::string& dtype) {
  if (!numbers.allFinite())
    throw Error(ErrorKind::bad_value,
                "language: the new head has numbers that are not finite",
                "give more neutral text, or a larger --damping");
  if (dtype == "F32") return converted<float>(numbers, [](float x) { return x; });
  if (dtype == "F64")
    return converted<double>(numbers, [](float x) { return static_cast<double>(x); });
  if (dtype == "F16") return converted<std::uint16_t>(numbers, half);
  if (dtype == "BF16") return converted<std::uint16_t>(numbers, bfloat);
  throw Error(
      ErrorKind::unsupported,
      fmt::format("language: a head of dtype {} cannot be written", safe_text(dtype)),
      "a quantised head cannot hold the edit: save the model with plain numbers");
}

LanguageFolder language_folder(const fs::path& folder) {
  if (!fs::is_directory(folder))
    throw Error(
        ErrorKind::unsupported,
        fmt::format("{}: only a model that is a folder can be written", folder.string()),
        "tools/export_lm.py writes such a folder");
  LanguageFolder found;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string();
    const std::string ending = entry.path().extension().string();
    if (name.starts_with(".")) continue;
    if (!fs::is_regular_file(entry.symlink_status()))
      found.left_out.push_back(name + ": not an ordinary file");
    else if (std::find(kOtherWeights.begin(), kOtherWeights.end(), ending) !=
             kOtherWeights.end())
      found.left_out.push_back(name + ": it may hold the old head");
    else
      found.kept.push_back(name);
  }
  if (failed)
    throw Error(ErrorKind::cannot_read,
                fmt::format("{}: {}", folder.string(), failed.message()));
  std::sort(found.kept.begin(), found.kept.end());
  std::sort(found.left_out.begin(), found.left_out.end());
  const auto config = std::find(found.kept.begin(), found.kept.end(), kConfig);
  if (config == found.kept.end())
    throw Error(ErrorKind::bad_model,
                fmt::format("{}: there is no config.json", folder.string()),
                "name the folder of a model that is a plain copy, without links");
  std::rotate(found.kept.begin(), config, config + 1);
  return found;
}

WrittenModel write_language_model(const fs::path& folder, const VocabularyHead& original,
                                  const FloatMatrix& weight, OutputFiles& files,
                                  const fs::path& out) {
  require_size("language", "the new head", weight.rows(), original.vocabulary());
  require_size("language", "a row of the new head", weight.cols(), original.cols());
  const LanguageFolder content = language_folder(folder);
  FileSet set = FileSet::open(folder / kConfig);
  for (std::size_t k = 1; k < content.kept.size(); ++k)
    static_cast<void>(set.bytes(content.kept[k]));
  const Patch patch = head_patch(set, folder, original, weight);
  return write_files(set, patch, files, out);
}

}  // namespace fmd
