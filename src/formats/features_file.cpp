#include "fmd/formats/features_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

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

std::string flip_prefix(std::size_t k) { return fmt::format("flip.{}.", k); }

// The tensors that a file with this note has, without their data.
Safetensors features_tensors(const FeaturesNote& note) {
  Safetensors file;
  const auto add = [&](const std::string& name, const char* dtype,
                       std::vector<Index> shape) {
    file.tensors[name] = {dtype, std::move(shape), {}};
  };
  const auto add_features = [&](const std::string& prefix, Index rows) {
    if (note.places == 0) add(prefix + "x", "F32", {rows, note.cols});
    if (note.places > 0) add(prefix + "column", "I32", {rows, note.places});
    if (note.places > 0 && !note.ones) add(prefix + "value", "F32", {rows, note.places});
    if (note.outputs > 0) add(prefix + "offset", "F64", {rows, note.outputs});
  };
  add_features("", note.rows);
  for (std::size_t k = 0; k < note.attributes.size(); ++k)
    if (note.has_flips(k))
      add_features(flip_prefix(k),
                   flip_row(note.rows, 0, 1, std::ssize(note.attributes[k].values)));
  if (!note.label.empty()) add("label", "I32", {note.rows});
  if (!note.weight.empty()) add("weight", "F32", {note.rows});
  for (std::size_t k = 0; k < note.attributes.size(); ++k)
    add(fmt::format("attribute.{}", k), "I32", {note.rows});
  file.metadata[kFeaturesKey] = to_json(note);
  return file;
}

}  // namespace

bool FeaturesNote::has_flips(std::size_t attribute) const {
  return std::find(flips.begin(), flips.end(), attributes[attribute].name) != flips.end();
}

Index flip_row(Index row, std::int32_t from, std::int32_t to, Index values) {
  return row * (values - 1) + (to < from ? to : to - 1);
}

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
  return kept("", first, count);
}

std::unique_ptr<Features> FeaturesFile::flips(std::size_t k, Index first,
                                              Index count) const {
  if (!note().has_flips(k)) return nullptr;
  const Index values = std::ssize(note().attributes[k].values);
  return kept(flip_prefix(k), flip_row(first, 0, 1, values), flip_row(count, 0, 1, values));
}

std::unique_ptr<Features> FeaturesFile::kept(const std::string& prefix, Index first,
                                             Index count) const {
  const FeaturesNote& n = note();
  StoredRows rows{.file = file_, .rows = count, .cols = n.cols};
  std::unique_ptr<Features> X;
  if (n.places == 0) {
    rows.x = offset_.at(prefix + "x") + 4 * first * n.cols;
    X = make_stored_dense(std::move(rows));
  } else {
    rows.places = n.places;
    rows.column = offset_.at(prefix + "column") + 4 * first * n.places;
    if (!n.ones) rows.value = offset_.at(prefix + "value") + 4 * first * n.places;
    X = make_stored_sparse(std::move(rows));
  }
  if (n.outputs == 0) return X;
  std::vector<double> offset =
      numbers<double>(prefix + "offset", first * n.outputs, count * n.outputs);
  for (const double value : offset)
    if (!std::isfinite(value)) damaged_features(source_, "an offset is not finite");
  return make_offset(std::move(X), std::move(offset), n.outputs);
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
void FeaturesWriter::put(const std::string& tensor, Index row, Index per_row,
                         std::span<const T> values) {
  files_.write_at(
      target_, offset_.at(tensor) + row * per_row * Index{sizeof(T)},
      {reinterpret_cast<const std::uint8_t*>(values.data()), values.size_bytes()});
}

void FeaturesWriter::put_rows(const std::string& prefix, Index first, Index count,
                              const FeatureBlock& block, std::span<const Index> place) {
  const Index places = note_.places, cols = note_.cols;
  require_size("features file", "the offset of a row",
               block.offset == nullptr ? 0 : block.outputs, note_.outputs);
  std::vector<double> offset(at(count * note_.outputs), 0);
  std::vector<float> value(at(count * (places == 0 ? cols : places)), 0);
  std::vector<std::int32_t> column(at(count * places), -1);
  for (Index i = 0; i < block.rows; ++i) {
    const Index to = place[at(i)] - first;
    for (Index k = 0; k < note_.outputs; ++k)
      offset[at(to * note_.outputs + k)] = block.offset[i * note_.outputs + k];
    if (!block.sparse()) {
      std::copy_n(block.dense + i * cols, cols, value.begin() + to * cols);
      continue;
    }
    const Index from = block.start[at(i)], entries = block.start[at(i) + 1] - from;
    require_option(entries <= places, "features file", "places", places,
                   fmt::format(">= {}", entries));
    for (Index e = 0; e < entries; ++e) {
      column[at(to * places + e)] = block.column[at(from + e)];
      if (!block.value.empty()) value[at(to * places + e)] = block.value[at(from + e)];
    }
  }
  if (places == 0) put(prefix + "x", first, cols, std::span<const float>(value));
  if (places > 0)
    put(prefix + "column", first, places, std::span<const std::int32_t>(column));
  if (places > 0 && !note_.ones)
    put(prefix + "value", first, places, std::span<const float>(value));
  if (note_.outputs > 0)
    put(prefix + "offset", first, note_.outputs, std::span<const double>(offset));
}

// Pairs of a row are adjacent, so the pairs of some rows are some pairs in a row.
void FeaturesWriter::put_flips(const Flips& flips, Index values, Index rows) {
  require_size("features file", "flipped features", flips.X->rows(), flips.plan.size());
  Scratch scratch;
  std::size_t next = 0;
  for (Index first = 0; first < rows; first += kBlockRows) {
    const Index last = std::min(first + kBlockRows, rows);
    std::vector<Index> pairs, place;
    for (; next < flips.plan.row.size() && flips.plan.row[next] < last; ++next) {
      pairs.push_back(static_cast<Index>(next));
      place.push_back(flip_row(row_ + flips.plan.row[next], flips.plan.from[next],
                               flips.plan.to[next], values));
    }
    put_rows(flip_prefix(flips.attribute), flip_row(row_ + first, 0, 1, values),
             flip_row(last - first, 0, 1, values), flips.X->gather(pairs, scratch), place);
  }
}

void FeaturesWriter::add(const Features& X, std::span<const std::int32_t> y,
                         std::span<const float> weight,
                         const std::vector<Attribute>& attributes,
                         const std::vector<Flips>& flips) {
  const Index rows = X.rows();
  require_size("features file", "a row", X.cols(), note_.cols);
  require_size("features file", "attributes", std::ssize(attributes),
               std::ssize(note_.attributes));
  require_size("features file", "flips", std::ssize(flips), std::ssize(note_.flips));
  if (row_ + rows > note_.rows)
    require_size("features file", "the table", row_ + rows, note_.rows);
  if (!note_.label.empty()) {
    require_size("features file", "y", std::ssize(y), rows);
    put("label", row_, 1, y);
  }
  if (!note_.weight.empty()) {
    require_size("features file", "weight", std::ssize(weight), rows);
    put("weight", row_, 1, weight);
  }
  for (std::size_t k = 0; k < attributes.size(); ++k) {
    require_size("features file", "group", std::ssize(attributes[k].group), rows);
    put(fmt::format("attribute.{}", k), row_, 1,
        std::span<const std::int32_t>(attributes[k].group));
  }
  for (const Flips& one : flips)
    put_flips(one, std::ssize(note_.attributes[one.attribute].values), rows);
  Scratch scratch;
  std::vector<Index> place;
  for (Index b = 0; b < block_count(rows); ++b) {
    const FeatureBlock block = X.block(b, scratch);
    place.resize(at(block.rows));
    std::iota(place.begin(), place.end(), row_);
    put_rows("", row_, block.rows, block, place);
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
