#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/internal.h"
#include "fmd/data/encoder.h"

namespace fmd::internal {

// True for two levels without missing values and bucket: one feature, for levels[1].
[[nodiscard]] inline bool one_feature(const EncodedColumn& column) {
  return !column.bucket && column.levels.size() == 2 && !column.levels[0].empty();
}

template <typename Body>
void for_rows(std::span<const Index> rows, Index all, const Body& body) {
  if (rows.empty()) {
    for (Index row = 0; row < all; ++row) body(row);
  } else {
    for (const Index row : rows) body(row);
  }
}

// What a cell adds to its row: at most one entry.
struct FeatureEntry {
  static constexpr std::int32_t kNone = -1;     // nothing
  static constexpr std::int32_t kUnknown = -2;  // an error if a row has it
  std::int32_t column = kNone;
  float value = 0;
};

// Turns the values of one column into entries.
class ColumnCoder {
 public:
  explicit ColumnCoder(const EncodedColumn& fitted) : fitted_(fitted) {}

  // The entry of a cell that is in no row: a value to flip to.
  [[nodiscard]] FeatureEntry read(const Cell& cell, const std::string& attribute) const;
  [[nodiscard]] FeatureEntry of_number(double number) const;
  [[nodiscard]] FeatureEntry of_level(std::string_view text) const;
  [[noreturn]] void fail_unknown(const std::string& where, const std::string& text) const;
  [[noreturn]] void fail_number(const std::string& where, const std::string& text,
                                bool is_number) const;

 protected:
  const EncodedColumn& fitted_;
};

// Reads one column of a table as the encoder sees it. The entry of a category is computed
// once, so that a cell costs one look-up.
class ColumnReader : public ColumnCoder {
 public:
  ColumnReader(const EncodedColumn& fitted, const Table& table);

  [[nodiscard]] FeatureEntry read(Index row) const;

 private:
  [[nodiscard]] FeatureEntry read_as_number(Index row) const;

  const Table& table_;
  const Column& column_;
  std::vector<FeatureEntry> of_code_;  // category by category; the last one is "missing"
};

}  // namespace fmd::internal
