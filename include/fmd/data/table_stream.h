#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/data/csv.h"
#include "fmd/data/table.h"

namespace fmd {

// Rows that a stream hands out at a time: whole blocks, so that sums over a stream are
// those over the table.
inline constexpr Index kStreamRows = 16 * kBlockRows;

// A table read block by block, in order, in memory that does not grow with the number of
// rows.
class TableStream {
 public:
  // CSV (also gzipped), NPY or Parquet, found by content. Kinds that options.types does not
  // name are inferred by a pass of their own over the whole file. Throws what the readers
  // throw (csv.h, npy.h), here or in next(). The pool of `exec` must outlive the stream.
  [[nodiscard]] static TableStream open(const std::filesystem::path& path,
                                        const CsvOptions& options, const Exec& exec);
  TableStream(TableStream&&) noexcept;
  TableStream& operator=(TableStream&&) noexcept;
  ~TableStream();

  // The next kStreamRows rows, the last time fewer; false at the end. Levels of a later
  // block begin with those of the blocks before it (codes stay valid); a block may know
  // levels that come only behind it. Hand the same table again: its memory is used again.
  bool next(Table& block);
  void rewind();  // to the first row; levels are kept

  [[nodiscard]] const std::vector<std::string>& names()
      const;  // of all columns of the file
  [[nodiscard]] const std::string& source() const;
  [[nodiscard]] double share() const;  // of the file that has been read, 0 .. 1
  [[nodiscard]] Index row() const;     // number of the next row

 private:
  struct State;
  explicit TableStream(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

enum class TableFormat { csv, npy, parquet };

// By the first bytes; what is nothing else is taken for CSV, gzipped or not.
[[nodiscard]] TableFormat table_format(std::span<const std::uint8_t> bytes);

// The whole table at once, of any kind of file that a stream reads.
[[nodiscard]] Table read_table(const std::filesystem::path& path,
                               const CsvOptions& options = {}, const Exec& exec = {});

}  // namespace fmd
