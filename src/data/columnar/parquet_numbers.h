#pragma once

#include <memory>
#include <vector>

#include "core/internal.h"
#include "data/columnar/column_source.h"
#include "data/columnar/parquet_abi.h"

namespace fmd::internal {

// A column of numbers, decoded by the plug-in without batches in between: an Arrow array
// would cost a second pass through memory. Texts come in Arrow's batches (ArrowColumn):
// they need the dictionaries that Arrow makes.
class ParquetNumbers final : public ColumnSource {
 public:
  // Takes ownership of `handle`, the result of library.numbers().
  ParquetNumbers(const FmdParquet& library, void* handle, std::string source,
                 std::string name, const MissingTexts& missing);
  [[nodiscard]] ColumnKind kind(const std::string&) const override {
    return ColumnKind::number;
  }
  Index read(Column& to, Index rows) override;

 private:
  const FmdParquet& library_;
  std::unique_ptr<void, void (*)(void*)> handle_;
  std::vector<double> part_;  // small, so that it is still in the cache when it is appended
  Index row_ = 0;             // cells read so far
};

}  // namespace fmd::internal
