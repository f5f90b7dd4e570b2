#include "fmd/formats/features_file.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/check.h"
#include "core/index.h"
#include "fmd/core/output_files.h"
#include "fmd/formats/safetensors.h"
#include "formats/features_note.h"
#include "formats/stored_features.h"

namespace fmd {
namespace {

[[noreturn]] void damaged_features(const std::string& source, const std::string& what) {
  throw Error(ErrorKind::bad_model, fmt::format("{}: {}", source, what),
              "the file is damaged: make it again with fmd features");
}

// The tensors that a file with this note has, without their data.
Safetensors features_tensors(const FeaturesNote& note) {
  Safetensors file;
  const auto add = [&](const std::string& name, const char* dtype,
                       std::vector<Index> shape) {
    file.tensors[name] = {dtype, std::move(shape), {}};
  };
  if (note.places == 0) add("x", "F32", {note.rows, note.cols});
  if (note.places > 0) add("column", "I32", {note.rows, note.places});
  if (note.places > 0 && !note.ones) add("value", "F32", {note.rows, note.places});
  if (!note.label.empty()) add("label", "I32", {note.rows});
  if (!note.weight.empty()) add("weight", "F32", {note.rows});
  for (std::size_t k = 0; k < note.attributes.size(); ++k)
    add(fmt::format("attribute.{}", k), "I32", {note.rows});
  file.metadata[kFeaturesKey] = to_json(note);
  return file;
}

}  // namespace

bool is_features_file(std::span<const std::uint8_t> bytes) {
  const std::string_view head(reinterpret_cast<const char*>(bytes.data()),
                              std::min<std::size_t>(bytes.size(), 64));
  return head.size() > 8 && head[8] == '{' &&
         head.find(kFeaturesKey) != std::string_view::npos;
}

FeaturesFile FeaturesFile::open(const std::filesystem::path& path) {
  return parse(InputFile::open(path));
}

FeaturesFile FeaturesFile::parse(std::shared_ptr<const InputFile> input) {
  FeaturesFile result;
  result.source_ = input->name();
  const SafetensorsHead file = SafetensorsHead::read(*input);
  result.file_ = std::move(input);
  const auto text = file.metadata.find(kFeaturesKey);
  if (text == file.metadata.end())
    damaged_features(result.source_, fmt::format("metadata '{}' is missing", kFeaturesKey));
  result.note_ = std::make_shared<const FeaturesNote>(
      features_note_from_json(text->second, result.source_));
  const Safetensors expected = features_tensors(result.note());
  for (const auto& [name, wanted] : expected.tensors) {
    const auto found = file.tensors.find(name);
    if (found == file.tensors.end())
      damaged_features(result.source_, fmt::format("tensor '{}' is missing", name));
    if (found->second.dtype != wanted.dtype || found->second.shape != wanted.shape)
      damaged_features(
          result.source_,
          fmt::format("tensor '{}' does not have the shape that its note says", name));
    result.offset_[name] = found->second.offset;
  }
  return result;
}

std::unique_ptr<Features> FeaturesFile::features(Index first, Index count) const {
  const FeaturesNote& n = note();
  StoredRows rows{.file = file_, .rows = count, .cols = n.cols};
  if (n.places == 0) {
    rows.x = offset_.at("x") + 4 * first * n.cols;
    return make_stored_dense(std::move(rows));
  }
  rows.places = n.places;
  rows.column = offset_.at("column") + 4 * first * n.places;
  if (!n.ones) rows.value = offset_.at("value") + 4 * first * n.places;
  return make_stored_sparse(std::move(rows));
}

template <typename T>
std::vector<T> FeaturesFile::numbers(const std::string& name, Index first,
                                     Index count) const {
  std::vector<T> values(at(count));
  file_->read(offset_.at(name) + first * Index{sizeof(T)},
              {reinterpret_cast<std::uint8_t*>(values.data()), values.size() * sizeof(T)});
  return values;
}

std::vector<std::int32_t> FeaturesFile::codes(const std::string& name, Index first,
                                              Index count, std::size_t below) const {
  std::vector<std::int32_t> part = numbers<std::int32_t>(name, first, count);
  for (std::size_t i = 0; i < part.size(); ++i)
    if (part[i] < -1 || part[i] >= static_cast<Index>(below))
      damaged_features(source_,
                       fmt::format("row {}, tensor '{}': {} is not one of {} values",
                                   first + static_cast<Index>(i), name, part[i], below));
  return part;
}

std::vector<std::int32_t> FeaturesFile::labels(Index first, Index count) const {
  if (note().label.empty()) return {};
  return codes("label", first, count, note().classes.size());
}

std::vector<float> FeaturesFile::weights(Index first, Index count) const {
  if (note().weight.empty()) return {};
  std::vector<float> part = numbers<float>("weight", first, count);
  for (const float w : part)
    if (!(w >= 0 && std::isfinite(w)))
      damaged_features(source_, "a weight is not a number >= 0");
  return part;
}

Attribute FeaturesFile::attribute(std::size_t k, Index first, Index count) const {
  Attribute attribute = note().attributes[k];
  attribute.group =
      codes(fmt::format("attribute.{}", k), first, count, attribute.groups.size());
  attribute.code = attribute.group;
  for (std::int32_t& code : attribute.code)
    if (code >= static_cast<Index>(attribute.values.size())) code = -1;
  return attribute;
}

FeaturesWriter::FeaturesWriter(OutputFiles& files, std::filesystem::path target,
                               FeaturesNote note)
    : files_(files), target_(std::move(target)), note_(std::move(note)) {
  // Room for the figures that are known at the end.
  FeaturesNote longest = note_;
  longest.seen = longest.missing_numbers = Index{1} << 53;
  longest.seen_by_chance = -1.7976931348623157e-308;
  const SafetensorsLayout places = layout(features_tensors(longest));
  head_size_ = static_cast<Index>(places.head.size());
  offset_ = places.offset;
}

template <typename T>
void FeaturesWriter::put(const std::string& tensor, Index per_row,
                         std::span<const T> values) {
  files_.write_at(
      target_, offset_.at(tensor) + row_ * per_row * Index{sizeof(T)},
      {reinterpret_cast<const std::uint8_t*>(values.data()), values.size_bytes()});
}

void FeaturesWriter::add(const Features& X, std::span<const std::int32_t> y,
                         std::span<const float> weight,
                         const std::vector<Attribute>& attributes) {
  const Index rows = X.rows();
  require_size("features file", "a row", X.cols(), note_.cols);
  require_size("features file", "attributes", std::ssize(attributes),
               std::ssize(note_.attributes));
  if (row_ + rows > note_.rows)
    require_size("features file", "the table", row_ + rows, note_.rows);
  if (!note_.label.empty()) {
    require_size("features file", "y", std::ssize(y), rows);
    put("label", 1, y);
  }
  if (!note_.weight.empty()) {
    require_size("features file", "weight", std::ssize(weight), rows);
    put("weight", 1, weight);
  }
  for (std::size_t k = 0; k < attributes.size(); ++k) {
    require_size("features file", "group", std::ssize(attributes[k].group), rows);
    put(fmt::format("attribute.{}", k), 1,
        std::span<const std::int32_t>(attributes[k].group));
  }
  Scratch scratch;
  std::vector<std::int32_t> column;
  std::vector<float> value;
  for (Index b = 0; b < block_count(rows); ++b) {
    const FeatureBlock block = X.block(b, scratch);
    if (!block.sparse()) {
      put("x", note_.cols, std::span(block.dense, at(block.rows * block.cols)));
      row_ += block.rows;
      continue;
    }
    column.assign(at(block.rows * note_.places), -1);
    value.assign(column.size(), 0);
    for (Index i = 0; i < block.rows; ++i) {
      const Index from = block.start[at(i)], count = block.start[at(i) + 1] - from;
      require_option(count <= note_.places, "features file", "places", note_.places,
                     fmt::format(">= {}", count));
      for (Index e = 0; e < count; ++e) {
        column[at(i * note_.places + e)] = block.column[at(from + e)];
        if (!block.value.empty())
          value[at(i * note_.places + e)] = block.value[at(from + e)];
      }
    }
    put("column", note_.places, std::span<const std::int32_t>(column));
    if (!note_.ones) put("value", note_.places, std::span<const float>(value));
    row_ += block.rows;
  }
}

void FeaturesWriter::finish(Index seen, double seen_by_chance, Index missing_numbers) {
  require_size("features file", "the table", row_, note_.rows);
  note_.seen = seen;
  note_.seen_by_chance = seen_by_chance;
  note_.missing_numbers = missing_numbers;
  files_.write_at(target_, 0, layout(features_tensors(note_), head_size_).head);
}

}  // namespace fmd
