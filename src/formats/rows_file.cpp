#include "fmd/formats/rows_file.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/core/hash.h"
#include "fmd/formats/safetensors.h"

namespace fmd {
namespace {

const std::string kRowHashes = "training.row_hashes", kRowsKey = "fmd.rows";

[[noreturn]] void damaged_rows(const std::string& source, const std::string& what) {
  throw Error(ErrorKind::bad_model, fmt::format("{}: {}", source, what),
              "take the file that fmd train wrote beside the model");
}

}  // namespace

std::filesystem::path rows_file_of(const std::filesystem::path& model) {
  std::filesystem::path path = model;
  path += ".rows";
  return path;
}

Bytes rows_bytes(std::span<const std::uint64_t> hashes) {
  std::vector<std::int64_t> values;
  values.reserve(hashes.size());
  for (const std::uint64_t hash : hashes) values.push_back(static_cast<std::int64_t>(hash));
  Safetensors file;
  file.metadata = {{kRowsKey, "1"}};
  file.tensors = {{kRowHashes, tensor_view(values, {std::ssize(values)})}};
  return file.write();
}

std::vector<std::uint64_t> parse_rows(std::span<const std::uint8_t> bytes,
                                      const std::string& source) {
  const Safetensors file = Safetensors::parse(bytes, source);
  const auto found = file.tensors.find(kRowHashes);
  if (!file.metadata.contains(kRowsKey) || found == file.tensors.end())
    damaged_rows(source, "this is no file of training rows");
  const Tensor& t = found->second;
  if (t.dtype != "I64" || t.shape.size() != 1)
    damaged_rows(source, fmt::format("tensor '{}' must be a list of I64", kRowHashes));
  std::vector<std::uint64_t> hashes(t.bytes.size() / sizeof(std::uint64_t));
  if (!hashes.empty()) std::memcpy(hashes.data(), t.bytes.data(), t.bytes.size());
  if (!std::is_sorted(hashes.begin(), hashes.end()))
    damaged_rows(source, fmt::format("tensor '{}' is not sorted", kRowHashes));
  return hashes;
}

std::vector<std::uint64_t> read_rows(const std::filesystem::path& path,
                                     const std::string& sha256) {
  const FileView file = FileView::open(path);
  std::vector<std::uint64_t> hashes = parse_rows(file.bytes(), path.filename().string());
  if (hex(fmd::sha256(file.bytes())) != sha256)
    throw Error(
        ErrorKind::wrong_model,
        fmt::format("{}: these are the training rows of another model",
                    path.filename().string()),
        "take the file that fmd train wrote beside the model, or move this one away: "
        "rows that were used in training are not counted then");
  return hashes;
}

}  // namespace fmd
