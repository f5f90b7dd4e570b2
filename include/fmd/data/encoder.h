#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fmd/data/attribute.h"
#include "fmd/data/csr_rows.h"
#include "fmd/data/table.h"
#include "fmd/data/task.h"

namespace fmd {

// How one column becomes features, fitted on training rows only.
//   number    (x - mean) / scale, where scale is the standard deviation (1 when that is 0).
//             A missing number counts as the mean (0). When the training rows had missing
//             numbers, a second feature is 1 where the number is missing.
//   category  Two levels (no missing value, no bucket): one feature, 1 for levels[1].
//             Otherwise one feature per level, 1 where the row has it. When the training
//             rows had missing values, the level "" is one of the levels. Two levels as
//             one feature give Adult 98 features, as others count them. One feature per
//             level and the intercept are linearly dependent; the ridge of the training
//             makes the optimum unique all the same.
struct EncodedColumn {
  std::string name;
  ColumnKind kind = ColumnKind::number;
  double mean = 0, scale = 1;           // number
  Index missing = 0;                    // training cells that were missing
  std::vector<std::string> levels;      // category, sorted by text
  bool bucket = false;                  // category: one more feature for unseen levels
  Notation notation = Notation::plain;  // how the training file writes it
  bool counted = false;  // category: unseen levels set no level (two levels: their mean)
  Index first = 0;       // first feature
  Index features = 1;

  bool operator==(const EncodedColumn&) const = default;
};

class Encoder {
 public:
  Encoder() = default;
  // Fits on the given rows of the table (empty = all) and the given columns, in this order.
  // Throws Error(missing_column), Error(bad_data) for a column that has no value or is
  // named twice, and Error(bad_value) for numbers that are not finite or too large to
  // standardise.
  Encoder(const Table& table, std::span<const std::string> columns,
          std::span<const Index> rows, Unseen unseen);

  [[nodiscard]] Index features() const;
  [[nodiscard]] const std::vector<EncodedColumn>& columns() const { return columns_; }
  // No row can have an entry other than 1.
  [[nodiscard]] bool only_ones() const;
  // Null when the encoder does not read it.
  [[nodiscard]] const EncodedColumn* find(const std::string& column) const;
  [[nodiscard]] bool reads(const Attribute& attribute) const;  // any of its columns
  // "sex=Male", "age", "age is missing", "job=(unseen)"
  [[nodiscard]] std::vector<std::string> feature_names() const;
  [[nodiscard]] std::map<std::string, ColumnKind> types() const;

  // Features of the given rows (empty = all), ascending within each row. A category of two
  // levels has no entry at its first level. A column of the other kind is read by its
  // texts: "3" is a number. A missing category is treated like an unknown one when training
  // had none missing. Throws Error(missing_column), Error(bad_value: not a number, or one
  // too far from the training rows for a float), and, unless there is a bucket or
  // unseen levels are counted,
  // Error(unknown_category) that names file, line, column and value.
  [[nodiscard]] CsrRows encode(const Table& table, std::span<const Index> rows = {}) const;

  // How many cells are missing in the number columns that it reads. Each counts as the
  // mean.
  [[nodiscard]] Index missing_numbers(const Table& table) const;

  // What setting the attribute to a value does to a row's features. Only the values in `to`
  // are computed. Columns of the attribute that the encoder does not read are ignored.
  // Throws Error(unknown_category, bad_value) for a value that cannot be encoded, and
  // Error(bad_shape) for one that the attribute does not have.
  [[nodiscard]] FeaturePatch patch(const Attribute& attribute,
                                   std::span<const std::int32_t> to) const;

  // Doubles are restored exactly. from_json checks everything: it throws Error(bad_model)
  // that names the source for text that to_json could not have written.
  [[nodiscard]] std::string to_json() const;
  [[nodiscard]] static Encoder from_json(const std::string& text,
                                         const std::string& source);

  bool operator==(const Encoder&) const = default;

 private:
  void place_features();  // first and features of every column

  std::vector<EncodedColumn> columns_;
};

}  // namespace fmd
