#pragma once

#include <span>
#include <string>
#include <vector>

#include "fmd/data/attribute.h"
#include "fmd/data/table.h"
#include "fmd/data/task.h"

namespace fmd {

// How one column becomes features, fitted on training rows only.
//   number    (x - mean) / scale; a missing one counts as the mean (0), and when the training rows
//             had missing ones a second feature is 1 there
//   category  two levels (no missing, no bucket): one feature, 1 for levels[1]; else one feature per
//             level, 1 where the row has it. Missing in training: the level "" is one of the levels.
struct EncodedColumn {
  std::string name;
  ColumnKind kind = ColumnKind::number;
  double mean = 0, scale = 1;        // number
  Index missing = 0;                 // training cells that were missing
  std::vector<std::string> levels;   // category, sorted by text
  bool bucket = false;               // category: one more feature for unseen levels
  Index first = 0;                   // first feature
  Index features = 1;

  bool operator==(const EncodedColumn&) const = default;
};

// Sparse rows: row r has entries start[r] .. start[r+1]-1; `value` empty means all ones.
struct CsrRows {
  Index cols = 0;
  std::vector<Index> start = {0};
  std::vector<std::int32_t> column;
  std::vector<float> value;

  [[nodiscard]] Index rows() const { return static_cast<Index>(start.size()) - 1; }
};

class Encoder {
 public:
  Encoder() = default;
  // Fits on the given rows of the table (all when empty) and the given columns, in this order.
  // Throws Error(bad_data) for a column without any value, Error(bad_value) for a number that is
  // not finite.
  Encoder(const Table& table, std::span<const std::string> columns, std::span<const Index> rows,
          Unseen unseen);

  [[nodiscard]] Index features() const;
  [[nodiscard]] const std::vector<EncodedColumn>& columns() const { return columns_; }
  [[nodiscard]] const EncodedColumn* find(const std::string& column) const;  // null: not read
  [[nodiscard]] bool reads(const Attribute& attribute) const;   // any of its columns
  [[nodiscard]] std::vector<std::string> feature_names() const; // "sex=Male", "age", "age is missing"
  [[nodiscard]] std::map<std::string, ColumnKind> types() const;

  // Features of the given rows (all when empty). Throws Error(missing_column), Error(bad_value), and
  // Error(unknown_category) that names file, line, column and value, unless there is a bucket.
  [[nodiscard]] CsrRows encode(const Table& table, std::span<const Index> rows = {}) const;

  // Features of rows[i] with the attribute set to value to[i]; columns of the attribute that the
  // encoder does not read are left alone.
  [[nodiscard]] CsrRows encode_flipped(const Table& table, const Attribute& attribute,
                                       std::span<const Index> rows,
                                       std::span<const std::int32_t> to) const;

  [[nodiscard]] std::string to_json() const;
  [[nodiscard]] static Encoder from_json(const std::string& text, const std::string& source);

  bool operator==(const Encoder&) const = default;

 private:
  std::vector<EncodedColumn> columns_;
};

}  // namespace fmd
