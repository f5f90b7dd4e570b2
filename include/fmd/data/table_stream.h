#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/data/arrow.h"
#include "fmd/data/csv.h"
#include "fmd/data/table.h"

namespace fmd {

// Rows that a stream gives at a time. They are whole blocks, so that sums over a stream
// equal sums over the table.
inline constexpr Index kStreamRows = 16 * kBlockRows;

// A table read block by block, in order, in memory that does not grow with the number of
// rows.
class TableStream {
 public:
  // CSV (also gzipped), NPY or Parquet, found by content. Kinds that options.types does not
  // name are inferred by a separate pass over the whole file. Throws what the readers throw
  // (csv.h, npy.h), here or in next(). The pool of `exec` must outlive the stream.
  [[nodiscard]] static TableStream open(const std::filesystem::path& path,
                                        const CsvOptions& options, const Exec& exec);
  // A table in memory: a stream of one block. Of the options only `keep` counts: columns
  // have the kinds that they have.
  [[nodiscard]] static TableStream of(std::shared_ptr<const Table> table,
                                      const CsvOptions& options = {});
  // What an Arrow stream gave. Throws Error(unsupported) for a type that is not read.
  [[nodiscard]] static TableStream of(std::shared_ptr<const ArrowBatches> batches,
                                      const CsvOptions& options, const Exec& exec);
  TableStream(TableStream&&) noexcept;
  TableStream& operator=(TableStream&&) noexcept;
  ~TableStream();

  // The next kStreamRows rows, fewer in the last block; false at the end. A table in memory
  // comes whole. Levels of a later
  // block begin with those of the blocks before it, so codes stay valid. A block may have
  // levels that only later rows use. Pass the same table each time: its memory is reused.
  bool next(Table& block);
  void rewind();  // to the first row; levels are kept

  // Names of all columns of the file.
  [[nodiscard]] const std::vector<std::string>& names() const;
  [[nodiscard]] const std::string& source() const;
  [[nodiscard]] double share() const;  // of the file that has been read, 0 .. 1
  [[nodiscard]] Index row() const;     // number of the next row

 private:
  struct State;
  explicit TableStream(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

enum class TableFormat { csv, npy, parquet };

// The format, by the first bytes. Everything that is neither NPY nor Parquet is taken for
// CSV, gzipped or not.
[[nodiscard]] TableFormat table_format(std::span<const std::uint8_t> bytes);

// The whole table at once, from any kind of file that a stream reads.
[[nodiscard]] Table read_table(const std::filesystem::path& path,
                               const CsvOptions& options = {}, const Exec& exec = {});

}  // namespace fmd
