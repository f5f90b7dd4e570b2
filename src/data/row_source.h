#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/internal.h"
#include "fmd/core/exec.h"
#include "fmd/core/file.h"
#include "fmd/data/csv.h"
#include "fmd/data/table.h"

namespace fmd::internal {

// A file whose rows are read in order, some at a time: one kind of file each.
class RowSource {
 public:
  virtual ~RowSource() = default;

  // The next `rows` rows, or those that are left; false when there are none. The block is
  // one that this source has filled before, or any other, which is then made anew.
  virtual bool next(Table& block, Index rows) = 0;
  virtual void rewind() = 0;
  [[nodiscard]] virtual const std::vector<std::string>& names() const = 0;
  [[nodiscard]] virtual double share() const = 0;
};

// A file that is open already: one that is no file but a pipe can be read only once.
struct OpenFile {
  std::string source;  // its path as given
  std::span<const std::uint8_t> bytes;
  std::shared_ptr<const FileView> view;  // where the bytes are; none: the caller keeps them
};

[[nodiscard]] OpenFile open_file(const std::filesystem::path& path);

// All rows of a source at its start.
[[nodiscard]] Table read_rows(RowSource& source);

// Makes `block` an empty one with these columns; memory and levels that fit are kept.
void begin_block(Table& block, const std::string& source,
                 const std::vector<std::string>& names,
                 const std::vector<ColumnKind>& kinds);

// Brings the levels of a block's column up to those known by now, of which it has the
// first.
void add_levels(Column& column, const std::vector<std::string>& known);

}  // namespace fmd::internal
