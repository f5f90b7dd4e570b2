#pragma once

#include <cstring>
#include <string>

#include "fmd/data/table.h"

namespace fmd::test {

// Equal to the bit: NaN equals NaN, 0 is not -0.
inline bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

// "" when the tables are equal in everything but their source, else what differs.
inline std::string difference(const Table& a, const Table& b) {
  if (a.columns.size() != b.columns.size()) return "number of columns";
  if (a.line != b.line) return "lines";
  for (std::size_t c = 0; c < a.columns.size(); ++c) {
    const Column& x = a.columns[c];
    const Column& y = b.columns[c];
    if (x.name != y.name) return "name " + x.name + " and " + y.name;
    if (x.kind != y.kind) return "kind of " + x.name;
    if (!same_bits(x.numbers, y.numbers)) return "numbers of " + x.name;
    if (x.codes != y.codes) return "codes of " + x.name;
    if (x.levels != y.levels) return "levels of " + x.name;
    if (x.missing != y.missing) return "missing cells of " + x.name;
  }
  return "";
}

// Appends a block of a stream to a table.
inline void append_block(Table& table, const Table& block) {
  if (table.line.empty()) {
    table = block;
    return;
  }
  table.line.append(block.line, 0, block.rows(), 0);
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    Column& to = table.columns[c];
    const Column& from = block.columns[c];
    to.numbers.insert(to.numbers.end(), from.numbers.begin(), from.numbers.end());
    to.codes.insert(to.codes.end(), from.codes.begin(), from.codes.end());
    to.levels = from.levels;
    to.missing += from.missing;
  }
}

}  // namespace fmd::test
