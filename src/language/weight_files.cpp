#include "language/weight_files.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/beside.h"
#include "core/json.h"
#include "fmd/core/error.h"
#include "fmd/core/safe_text.h"

namespace fs = std::filesystem;

namespace fmd::internal {
namespace {

constexpr const char* kIndexFile = "model.safetensors.index.json";
constexpr Index kPieceBytes = Index{8} << 20;

float half_number(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  const float sign = (bits & 0x8000u) != 0 ? -1.0f : 1.0f;
  if (exponent == 31) return mantissa != 0 ? std::nanf("") : sign * HUGE_VALF;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -24);
  return sign * std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
}

float number_at(const std::string& dtype, const std::uint8_t* at) {
  if (dtype == "F32") {
    float value = 0;
    std::memcpy(&value, at, 4);
    return value;
  }
  if (dtype == "F64") {
    double value = 0;
    std::memcpy(&value, at, 8);
    return static_cast<float>(value);
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, 2);
  if (dtype == "BF16") return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  return half_number(bits);
}

Index bytes_of(const std::string& dtype) {
  if (dtype == "F32") return 4;
  if (dtype == "F64") return 8;
  return dtype == "F16" || dtype == "BF16" ? 2 : 0;
}

std::string words_of_shape(const std::vector<Index>& shape) {
  return fmt::format("{}", fmt::join(shape, " x "));
}

}  // namespace

void WeightFiles::add_shard(const fs::path& path, const std::string& shard) {
  const auto file = InputFile::open(path);
  for (const auto& [name, place] : SafetensorsHead::read(*file).tensors)
    if (!tensors_.emplace(name, Place{file, shard, place}).second)
      throw Error(ErrorKind::bad_model, fmt::format("{}: the tensor {} is in two shards",
                                                    path.string(), safe_text(name)));
}

WeightFiles WeightFiles::open(const fs::path& folder) {
  WeightFiles files;
  files.folder_ = folder.string();
  const fs::path one = folder / "model.safetensors", index = folder / kIndexFile;
  if (!fs::exists(index)) {
    if (!fs::exists(one))
      throw Error(ErrorKind::bad_model,
                  fmt::format("{}: there is no model.safetensors", folder.string()),
                  "pickled weights are never read: save the model as safetensors "
                  "(tools/export_lm.py MODEL -o FOLDER does)");
    files.add_shard(one, "model.safetensors");
    return files;
  }
  const FileView view = FileView::open(index, kMostJson);
  const auto json = parse_json(view.text(), index.string());
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (!json.is_object() || map == json.end() || !map->is_object() || map->empty())
    throw Error(ErrorKind::bad_model,
                fmt::format("{}: \"weight_map\" is missing", index.string()));
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : map->items()) {
    if (!shard.is_string())
      throw Error(ErrorKind::bad_model, fmt::format("{}: the shard of {} is no name",
                                                    index.string(), safe_text(tensor)));
    shards.insert(shard.get<std::string>());
  }
  for (const std::string& shard : shards) {
    const fs::path path = beside(index, shard, ErrorKind::bad_model,
                                 "keep all shards in the folder of the index");
    if (!fs::exists(path))
      throw Error(ErrorKind::bad_model,
                  fmt::format("{} names the shard {}, which is not there", index.string(),
                              safe_text(shard)),
                  "copy all shards of the model");
    files.add_shard(path, shard);
  }
  for (const auto& [tensor, shard] : map->items()) {
    const Place* place = files.find(tensor);
    if (place == nullptr || place->shard != shard.get<std::string>())
      throw Error(ErrorKind::bad_model,
                  fmt::format("{}: the tensor {} is not in {}", index.string(),
                              safe_text(tensor), safe_text(shard.get<std::string>())),
                  "copy the shards and the index of one model");
  }
  return files;
}

const WeightFiles::Place* WeightFiles::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

void WeightFiles::read_numbers(const std::string& name, const std::vector<Index>& shape,
                               float* into) const {
  const Place* place = find(name);
  const auto refuse = [&](const std::string& why, const char* hint) {
    throw Error(ErrorKind::bad_model,
                fmt::format("{}: the tensor {} {}", folder_, safe_text(name), why), hint);
  };
  const char* const same = "config.json and the weights must be of one model";
  if (place == nullptr) {
    refuse("is missing", same);
    return;
  }
  if (place->at.shape != shape)
    refuse(fmt::format("has the shape {}, needs {}", words_of_shape(place->at.shape),
                       words_of_shape(shape)),
           same);
  const Index width = bytes_of(place->at.dtype);
  if (width == 0)
    refuse(fmt::format("holds {}; F32, F16, BF16 and F64 are read",
                       safe_text(place->at.dtype)),
           "a quantised model must be written with plain numbers first");
  Bytes piece;
  for (Index done = 0; done < place->at.length;) {
    const Index size = std::min(kPieceBytes, place->at.length - done);
    piece.resize(static_cast<std::size_t>(size));
    place->file->read(place->at.offset + done, piece);
    for (Index i = 0; i < size / width; ++i) {
      const float value = number_at(place->at.dtype, piece.data() + i * width);
      if (!std::isfinite(value)) refuse("holds numbers that are not finite", "");
      *into++ = value;
    }
    done += size;
  }
}

FloatMatrix WeightFiles::matrix(const std::string& name, Index rows, Index cols) const {
  // The size is checked before memory is taken: it comes from another file.
  const Place* place = find(name);
  const bool fits = place != nullptr && place->at.shape == std::vector<Index>{rows, cols};
  FloatMatrix result(fits ? rows : 0, fits ? cols : 0);
  read_numbers(name, {rows, cols}, result.data());
  return result;
}

std::vector<float> WeightFiles::vector(const std::string& name, Index size) const {
  const Place* place = find(name);
  const bool fits = place != nullptr && place->at.shape == std::vector<Index>{size};
  std::vector<float> result(fits ? static_cast<std::size_t>(size) : 0);
  read_numbers(name, {size}, result.data());
  return result;
}

Hash WeightFiles::hash_without(const std::vector<std::string>& names) const {
  Sha256 hash;
  Bytes piece;
  for (const auto& [name, place] : tensors_) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string head =
        fmt::format("{} {} {}\n", name, place.at.dtype, words_of_shape(place.at.shape));
    hash.add({reinterpret_cast<const std::uint8_t*>(head.data()), head.size()});
    for (Index done = 0; done < place.at.length; done += std::ssize(piece)) {
      piece.resize(static_cast<std::size_t>(std::min(kPieceBytes, place.at.length - done)));
      place.file->read(place.at.offset + done, piece);
      hash.add(piece);
    }
  }
  return hash.finish();
}

}  // namespace fmd::internal
