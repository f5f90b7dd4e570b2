#include <fmt/format.h>

#include "data/keys.h"
#include "data/words.h"
#include "fmd/core/error.h"
#include "fmd/data/attribute.h"

namespace fmd {

Table join_groups(const Table& table, const Table& groups, const std::string& key) {
  const Keys keys = read_keys(table, groups, key);
  const auto rows = index_keys(keys.right, groups, key);
  std::vector<Index> partner;
  partner.reserve(keys.left.size());
  for (std::size_t i = 0; i < keys.left.size(); ++i) {
    const auto found = rows.find(keys.left[i]);
    if (found == rows.end()) {
      throw Error(ErrorKind::bad_data,
                  fmt::format("{}, column \"{}\": no row of {} has \"{}\"",
                              table.where(static_cast<Index>(i)), key, groups.source,
                              shorten(keys.left[i])),
                  "every row needs its group");
    }
    partner.push_back(found->second);
  }
  Table result = table;
  for (Column& column : select(groups, partner).columns)
    if (table.find(column.name) == nullptr) result.columns.push_back(std::move(column));
  return result;
}

}  // namespace fmd
