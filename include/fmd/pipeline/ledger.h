#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/pipeline/source.h"
#include "fmd/report/ledger_count.h"

namespace fmd {

// A ledger counts how often rows were looked at. Who tries many models or seeds on the same
// test rows, and shows the best, leaves a line for each try. Lines are only ever added.
// Each holds the sha256 of the line before it, so a line that was changed, removed or moved
// breaks the chain. Lines taken from the end are missed only by those who noted the last
// sha256, as reports do.

// One look at a set of rows.
struct LedgerEntry {
  std::string date;     // UTC, ISO 8601
  std::string command;  // "audit"
  std::string set;      // see set_name()
  Index rows = 0;
  std::uint64_t seed = 0;
  std::string model;  // sha256; empty: scores
};

// The name of a set of rows: a hash over the sorted fingerprints of its rows, of all
// columns. A file that was saved again, in another order or format, has the same name; so
// does one whose columns are in another order. Rows come block by block: 8 bytes of memory
// per row.
struct RowSet {
  std::string name;
  Index rows = 0;
};
[[nodiscard]] std::string set_name(std::span<const std::uint64_t> sorted_hashes);
[[nodiscard]] RowSet row_set(const DataSource& data, const Exec& exec);

// Adds a line at the end, after all others were checked, and counts. The file is locked
// meanwhile: writers wait for each other. It is created where there is none. Throws
// Error(wrong_checksum) that names the first line that breaks the chain, and
// Error(cannot_read, cannot_write, bad_data: not a ledger).
LedgerCount add_to_ledger(const std::filesystem::path& path, const LedgerEntry& entry);

// Every line, checked. Throws the same.
[[nodiscard]] std::vector<LedgerEntry> read_ledger(const std::filesystem::path& path);

}  // namespace fmd
