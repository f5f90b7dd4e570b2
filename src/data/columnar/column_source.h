#pragma once

#include <string>
#include <string_view>

#include "core/internal.h"
#include "data/missing_texts.h"
#include "fmd/core/error.h"
#include "fmd/data/table.h"

namespace fmd::internal {

// One column of a Parquet file, from its first row to its last.
class ColumnSource {
 public:
  // `missing` must outlive this.
  ColumnSource(std::string source, std::string name, const MissingTexts& missing)
      : missing_(&missing), source_(std::move(source)), name_(std::move(name)) {}
  virtual ~ColumnSource() = default;
  ColumnSource(const ColumnSource&) = delete;
  ColumnSource& operator=(const ColumnSource&) = delete;

  // The kind that the column would have in a CSV file. Throws Error(unsupported) for types
  // that are not read.
  [[nodiscard]] virtual ColumnKind kind(const std::string& type_name) const = 0;
  // Appends the next cells, at most `rows`, and returns how many it appended. Throws
  // Error(bad_value) for a cell that is not a number where numbers are asked for, and
  // Error(bad_data) for damage.
  virtual Index read(Column& to, Index rows) = 0;

 protected:
  // `row` counts from 0.
  [[nodiscard]] double number(std::string_view text, Index row) const;
  [[nodiscard]] std::string where(Index row) const;
  [[noreturn]] void fail_damaged(const std::string& what) const;

  const MissingTexts* missing_;
  std::string source_, name_;
};

}  // namespace fmd::internal
