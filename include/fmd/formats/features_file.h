#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fmd/core/file.h"
#include "fmd/data/attribute.h"
#include "fmd/data/pair_plan.h"
#include "fmd/model/features.h"

namespace fmd {

class OutputFiles;

// What a file of features says about itself.
struct FeaturesNote {
  Index rows = 0, cols = 0;
  Index places = 0;                   // sparse: entries a row has at most; 0 = dense
  bool ones = false;                  // sparse: every entry is 1
  std::string encoder;                // Backbone::hash() of what made them
  std::string source, source_sha256;  // the table
  std::string label;                  // its column; empty = no labels
  std::vector<std::string> classes;
  std::string weight;                 // column of the weights; empty = none
  std::vector<Attribute> attributes;  // without a value for each row
  Index seen = -1;                    // this and the next two: the same as in Study
  double seen_by_chance = 0;
  Index missing_numbers = 0;
  Index outputs = 0;               // of the offset for the logits; 0 = there is none
  std::vector<std::string> flips;  // attributes whose flipped features are in the file

  [[nodiscard]] bool has_flips(std::size_t attribute) const;
};

// The features of a table with labels, weights and attributes, made once by `fmd features`
// and read by later commands in place of the table. A safetensors file:
//
//   x             F32 [rows, cols]     dense; or, where most entries are 0,
//   column        I32 [rows, places]   columns that are not 0, ascending, then -1
//   value         F32 [rows, places]   absent: ones
//   label         I32 [rows]           class, -1 = missing; absent without labels
//   weight        F32 [rows]           absent: 1
//   attribute.K   I32 [rows]           group of attribute K, -1 = none
//   offset        F64 [rows, outputs]  absent: 0
//   flip.K.x, flip.K.column, flip.K.value, flip.K.offset
//                 The same for each row with attribute K set to each other value, in the
//                 order of values: V - 1 rows for a row, empty ones where its value is not
//                 known. Only where features cannot be flipped by themselves.
//
// and metadata fmd.features with the note as JSON: schema 1, or 2 with an offset or flips.
class FeaturesFile {
 public:
  // Throws Error(cannot_read), and Error(bad_model) for anything that a FeaturesWriter
  // cannot have written. Features, labels and groups themselves are checked when they are
  // read.
  [[nodiscard]] static FeaturesFile open(const std::filesystem::path& path);
  [[nodiscard]] static FeaturesFile parse(std::shared_ptr<const InputFile> input);

  [[nodiscard]] const FeaturesNote& note() const { return *note_; }
  [[nodiscard]] const std::string& source() const { return source_; }  // path as given

  // Rows [first, first + count), read from the file block by block whenever they are used.
  [[nodiscard]] std::unique_ptr<Features> features(Index first, Index count) const;
  [[nodiscard]] std::vector<std::int32_t> labels(Index first, Index count) const;
  [[nodiscard]] std::vector<float> weights(Index first, Index count) const;
  // Flipped features of attribute k, V - 1 rows for each row: see flip_row(). Null where
  // the file has none.
  [[nodiscard]] std::unique_ptr<Features> flips(std::size_t k, Index first,
                                                Index count) const;
  // The attribute with its codes and groups.
  [[nodiscard]] Attribute attribute(std::size_t k, Index first, Index count) const;

 private:
  FeaturesFile() = default;
  // Rows of the tensors whose names begin like this.
  [[nodiscard]] std::unique_ptr<Features> kept(const std::string& prefix, Index first,
                                               Index count) const;
  template <typename T>
  [[nodiscard]] std::vector<T> numbers(const std::string& name, Index first,
                                       Index count) const;
  [[nodiscard]] std::vector<std::int32_t> codes(const std::string& name, Index first,
                                                Index count, std::size_t below) const;
  std::string source_;
  std::shared_ptr<const InputFile> file_;
  std::shared_ptr<const FeaturesNote> note_;
  std::map<std::string, Index> offset_;  // of each tensor, in the file
};

// Which row of flips() is row `row` with the value `to` in place of `from`, of an attribute
// with so many values.
[[nodiscard]] Index flip_row(Index row, std::int32_t from, std::int32_t to, Index values);

// Whether the bytes begin like a file of features.
[[nodiscard]] bool is_features_file(std::span<const std::uint8_t> bytes);

// Writes such a file block after block. note.rows must be known from the start.
class FeaturesWriter {
 public:
  FeaturesWriter(OutputFiles& files, std::filesystem::path target, FeaturesNote note);

  // The next rows: features of the note's kind, and per attribute the group of each row.
  // flips: per attribute that the note lists, in the order of attributes. Throws
  // Error(bad_shape).
  struct Flips {
    std::size_t attribute = 0;
    PairPlan plan;  // of these rows, from 0
    std::unique_ptr<Features> X;
  };
  void add(const Features& X, std::span<const std::int32_t> y,
           std::span<const float> weight, const std::vector<Attribute>& attributes,
           const std::vector<Flips>& flips = {});
  // Writes the head with the figures that are known only at the end (seen,
  // missing_numbers). Throws Error(bad_shape) when rows are missing.
  void finish(Index seen, double seen_by_chance, Index missing_numbers);

 private:
  // Values for rows of a tensor from `row` on.
  template <typename T>
  void put(const std::string& tensor, Index row, Index per_row, std::span<const T> values);
  // A block's rows as rows place[i] >= first of the tensors `prefix`, `count` of them in
  // all; the others are empty.
  void put_rows(const std::string& prefix, Index first, Index count,
                const FeatureBlock& block, std::span<const Index> place);
  void put_flips(const Flips& flips, Index values, Index rows);

  OutputFiles& files_;
  std::filesystem::path target_;
  FeaturesNote note_;
  Index head_size_ = 0;
  std::map<std::string, Index> offset_;
  Index row_ = 0;
};

}  // namespace fmd
