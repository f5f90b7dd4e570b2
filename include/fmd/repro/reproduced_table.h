#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fmd/core/types.h"

namespace fmd {

// A table of the paper, measured again: plain data, as JSON and as Markdown.

// Mean over seeds with the 95 % interval of Student's t; low = high = NaN for one seed.
struct SeedMean {
  Index seeds = 0;
  double mean = 0, low = 0, high = 0;
};
[[nodiscard]] SeedMean seed_mean(const std::vector<double>& values);

struct ReproducedRow {
  std::string id, title;
  std::map<std::string, double> paper, bar;  // by column; absent: not printed, no bar
  std::map<std::string, SeedMean> ours;      // accuracy in %, bias, seconds, choosing, ...
  bool labels = false;                       // labels of the external rows were used
  std::string chosen;                        // the setting chosen with the first seed
};

struct ReproducedCase {
  std::string name, title;
  std::vector<ReproducedRow> rows;
  std::map<std::string, SeedMean> facts;
  std::string pictures;  // JSON of the first seed; "" = none
};

struct ReproducedTable {
  std::string name, title, source;
  std::vector<std::string> columns;
  std::vector<ReproducedCase> cases;
  std::vector<std::string> notes;
  std::vector<std::uint64_t> seeds;
  bool quick = false;
  std::string machine, version;
};

// The table with the rows and notes of another one below its own. Of cases that both have;
// rows that the table has itself are left out.
[[nodiscard]] ReproducedTable joined(ReproducedTable table, const ReproducedTable& more);

[[nodiscard]] std::string to_json(const ReproducedTable& table);
// The table that to_json() wrote. `source` is named in errors: Error(bad_data).
[[nodiscard]] ReproducedTable read_reproduced_table(std::string_view json,
                                                    const std::string& source);
[[nodiscard]] std::string to_markdown(const ReproducedTable& table);

}  // namespace fmd
