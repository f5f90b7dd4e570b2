#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "fmd/core/exec.h"
#include "fmd/data/arrow.h"
#include "fmd/data/csv.h"
#include "fmd/data/table_stream.h"

namespace fmd {

// A second file with attribute columns, joined by the column `key`.
struct GroupsFile {
  std::string file, key;
};

// Where rows come from: a file, a data set by name, a file of features, a table in memory,
// an Arrow stream. Everything that looks at data takes one. A table in memory, a data set
// by name and rows with joined groups come as one block, all others block by block.
class DataSource {
 public:
  // A file that TableStream opens, a file of features (see FeaturesFile), or a data set by
  // name ("data:adult", "data:adult/test") from `folder`. Nothing is opened yet.
  [[nodiscard]] static DataSource file(std::string name, std::filesystem::path folder = {});
  // sha256: of the file that the table was read from; empty where there is none.
  [[nodiscard]] static DataSource table(Table table, std::string sha256 = {});
  // Takes the stream over and reads it to its end: an Arrow stream can be read once, and
  // rows are often looked at twice. Throws what ArrowBatches throws.
  [[nodiscard]] static DataSource arrow(ArrowArrayStream* stream, std::string name);
  // The same rows with the columns of a second file. Nothing changes for an empty name.
  // Throws Error(bad_option) for a file without a key.
  [[nodiscard]] DataSource joined(GroupsFile groups) const;

  [[nodiscard]] const std::string& name() const { return name_; }  // as it was given
  [[nodiscard]] const GroupsFile& groups() const { return groups_; }
  [[nodiscard]] std::string sha256() const;    // of the file; empty where there is none
  [[nodiscard]] std::uintmax_t bytes() const;  // of the file; 0 where there is none
  [[nodiscard]] bool is_features() const;      // a file of features
  [[nodiscard]] bool in_blocks() const;        // false: all rows come as one block

  // The rows. `options` has the kinds of columns that are known, and the columns to keep.
  // Throws what reading throws; Error(unsupported) for a file of features.
  [[nodiscard]] TableStream open(const CsvOptions& options, const Exec& exec) const;
  [[nodiscard]] Table read(const CsvOptions& options, const Exec& exec) const;  // all rows
  // This where rows come in blocks, otherwise a table in memory: to open it again costs
  // nothing.
  [[nodiscard]] DataSource loaded(const CsvOptions& options, const Exec& exec) const;

 private:
  [[nodiscard]] bool is_file() const;

  std::string name_;
  std::filesystem::path folder_;
  GroupsFile groups_;
  std::string sha256_;  // of a table in memory
  std::shared_ptr<const Table> table_;
  std::shared_ptr<const ArrowBatches> arrow_;
};

}  // namespace fmd
