#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/internal.h"
#include "fmd/core/exec.h"
#include "fmd/core/rng.h"
#include "fmd/data/attribute.h"
#include "fmd/data/table.h"
#include "fmd/report/proxy_report.h"

namespace fmd::internal {

// A sample of the rows of a table that comes block after block. Which rows are drawn
// depends on the seed and on the order of rows alone.
class RowSample {
 public:
  // Only these columns are kept, where the table has them.
  RowSample(std::vector<std::string> columns, std::uint64_t seed, Index most = 20'000);
  void add(const Table& block);
  [[nodiscard]] Table table() const;

 private:
  struct Kept {
    std::string name;
    ColumnKind kind = ColumnKind::number;
    std::vector<double> numbers;
    std::vector<std::string> texts;  // "" = missing
  };
  void put(const Table& block, Index row, Index place);

  std::vector<std::string> names_;
  Index most_, seen_ = 0;
  Rng rng_;
  std::string source_;
  std::vector<Kept> columns_;
};

// How well these columns of the table tell the attribute, whose own columns are left out.
// Half of the rows is told from what the other half shows, and the other way round.
[[nodiscard]] ProxyReport find_proxies(const Table& table, const Attribute& attribute,
                                       const std::vector<std::string>& columns,
                                       double confidence, const Exec& exec);

}  // namespace fmd::internal
