#pragma once

#include <filesystem>
#include <memory>
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

  // The next `rows` rows, or those that are left; false when there are none. A block that
  // this source has filled before is reused; any other is replaced.
  virtual bool next(Table& block, Index rows) = 0;
  virtual void rewind() = 0;
  [[nodiscard]] virtual const std::vector<std::string>& names() const = 0;
  [[nodiscard]] virtual double share() const = 0;
};

// A file that is open already. (A pipe can be read only once.)
using OpenFile = std::shared_ptr<const InputFile>;

// The first bytes, which tell what kind of file it is.
[[nodiscard]] Bytes start_of(const OpenFile& file);

// All rows of a source that is at its start.
[[nodiscard]] Table read_rows(RowSource& source);

// Makes `block` an empty block with these columns. Memory and levels that fit are kept.
void begin_block(Table& block, const std::string& source,
                 const std::vector<std::string>& names,
                 const std::vector<ColumnKind>& kinds);

// Adds the levels that are known by now to a block's column, which has the first of them.
void add_levels(Column& column, const std::vector<std::string>& known);

}  // namespace fmd::internal
