#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/internal.h"
#include "data/columnar/arrow_cells.h"
#include "data/columnar/column_source.h"
#include "data/level_index.h"

namespace fmd::internal {

// A column that comes in Arrow batches: texts, dates, truth values, and numbers that
// ParquetNumbers does not read.
class ArrowColumn final : public ColumnSource {
 public:
  // Takes the stream over. `levels` and `missing` must outlive this.
  ArrowColumn(ArrowArrayStream stream, std::string source, std::string name,
              KnownLevels& levels, const MissingTexts& missing);
  ~ArrowColumn() override;

  [[nodiscard]] ColumnKind kind(const std::string& type_name) const override;
  Index read(Column& to, Index rows) override;

 private:
  bool next_batch();
  void release_batch();
  void add(Column& to, Index from, Index count);
  void add_numbers(Column& to, const ArrowCells& cells, Index from, Index count);
  void add_dictionary(Column& to, Index from, Index count);
  [[nodiscard]] std::int32_t code(std::string_view text, Index at);

  ArrowArrayStream stream_;
  ArrowSchema schema_ = {};
  ArrowArray batch_ = {};
  ArrowType type_;        // of the values; of the dictionary where there is one
  ArrowType index_type_;  // into the dictionary
  bool dictionary_ = false;
  KnownLevels* levels_;
  std::vector<std::int32_t> codes_;  // of the dictionary's entries, as far as they are used
  Index at_ = 0;                     // next cell in the batch
  Index row_ = 0;                    // cells before the batch
};

}  // namespace fmd::internal
