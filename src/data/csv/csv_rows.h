#pragma once

#include "core/internal.h"
#include "data/csv/reader.h"
#include "data/row_source.h"

namespace fmd::internal {

// The rows of a CSV text, block by block. Kinds that are not given are found by a separate
// pass.
class CsvRows : public RowSource {
 public:
  CsvRows(std::unique_ptr<TextFeed> feed, const std::string& source,
          const CsvOptions& options, const Exec& exec, std::size_t chunk = kCsvChunk);

  bool next(Table& block, Index rows) override;
  void rewind() override;
  [[nodiscard]] const std::vector<std::string>& names() const override;
  [[nodiscard]] double share() const override { return reader_.share(); }

 private:
  // Rows of one piece that go into the block.
  struct Span {
    std::size_t piece;
    Index from, count;
  };
  void infer_kinds();
  void fill(Table& block, const std::vector<Span>& spans);

  CsvReader reader_;
  Exec exec_;
  std::vector<std::string> kept_;
  std::vector<ColumnKind> kinds_;
  std::size_t piece_ = 0;  // what comes next
  Index from_ = 0;
  bool begun_ = false;
};

[[nodiscard]] std::unique_ptr<RowSource> open_csv_rows(const OpenFile& file,
                                                       const CsvOptions& options,
                                                       const Exec& exec);

}  // namespace fmd::internal
