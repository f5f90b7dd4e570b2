#include "data/keys.h"

#include <fmt/format.h>

#include "data/number.h"
#include "data/words.h"
#include "fmd/core/error.h"

namespace fmd::internal {
namespace {

std::vector<std::string> key_texts(const Table& table, const Column& column,
                                   bool canonical) {
  std::vector<std::string> keys;
  keys.reserve(to_size(column.rows()));
  for (Index row = 0; row < column.rows(); ++row) {
    std::string text = column.text(row);
    if (text.empty()) {
      throw Error(ErrorKind::bad_data,
                  fmt::format("{}, column \"{}\": is missing; every row needs its key",
                              table.where(row), column.name));
    }
    keys.push_back(canonical ? canonical_text(text) : std::move(text));
  }
  return keys;
}

}  // namespace

Keys read_keys(const Table& left, const Table& right, const std::string& column) {
  const Column& a = left.column(column);
  const Column& b = right.column(column);
  const bool canonical = a.kind == ColumnKind::number || b.kind == ColumnKind::number;
  return {.left = key_texts(left, a, canonical), .right = key_texts(right, b, canonical)};
}

std::unordered_map<std::string, Index> index_keys(const std::vector<std::string>& keys,
                                                  const Table& table,
                                                  const std::string& column) {
  std::unordered_map<std::string, Index> rows;
  rows.reserve(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto row = static_cast<Index>(i);
    const auto [at, fresh] = rows.emplace(keys[i], row);
    if (fresh) continue;
    throw Error(ErrorKind::bad_data,
                fmt::format("{}, column \"{}\": \"{}\" is already in {}", table.where(row),
                            column, shorten(keys[i]), table.where(at->second)),
                "a key must name one row");
  }
  return rows;
}

}  // namespace fmd::internal
