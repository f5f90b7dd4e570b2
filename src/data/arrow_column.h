#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/arrow_cells.h"
#include "data/csv_plan.h"
#include "fmd/data/table.h"

namespace fmd {

// One column that comes in Arrow batches.
class ArrowColumn {
 public:
  // Takes the stream over. `levels` and `missing` must outlive this.
  ArrowColumn(ArrowArrayStream stream, std::string source, std::string name,
              KnownLevels& levels, const MissingTexts& missing);
  ~ArrowColumn();
  ArrowColumn(const ArrowColumn&) = delete;
  ArrowColumn& operator=(const ArrowColumn&) = delete;

  // As a CSV file's column would be. Throws Error(unsupported) for types that are not read.
  [[nodiscard]] ColumnKind kind(const std::string& type_name) const;
  // Appends the next cells, at most `rows`; how many came. Throws Error(bad_value) for a
  // cell that is no number where numbers are asked for, Error(bad_data) for damage.
  Index read(Column& to, Index rows);

 private:
  bool next_batch();
  void release_batch();
  void add(Column& to, Index from, Index count);
  void add_numbers(Column& to, const ArrowCells& cells, Index from, Index count);
  template <typename T>
  void add_values(Column& to, const ArrowCells& cells, Index from, Index count);
  void add_dictionary(Column& to, Index from, Index count);
  [[nodiscard]] double number(std::string_view text, Index at) const;
  [[nodiscard]] std::int32_t code(std::string_view text, Index at);
  [[nodiscard]] std::string where(Index at) const;
  [[noreturn]] void fail_damaged(const std::string& what) const;

  ArrowArrayStream stream_;
  ArrowSchema schema_ = {};
  ArrowArray batch_ = {};
  ArrowType type_;        // of the values; of the dictionary where there is one
  ArrowType index_type_;  // into the dictionary
  bool dictionary_ = false;
  std::string source_, name_;
  KnownLevels* levels_;
  const MissingTexts* missing_;
  std::vector<std::int32_t> codes_;  // of the dictionary's entries, as far as they are used
  Index at_ = 0;                     // next cell in the batch
  Index row_ = 0;                    // cells before the batch
};

}  // namespace fmd
