#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "data/number.h"
#include "fmd/core/file.h"
#include "fmd/data/table.h"

namespace fmd {
namespace {

constexpr std::uint64_t kMissing = 0x6d697373696e6721U;

std::uint64_t chain(std::uint64_t state, std::uint64_t value) {
  std::array<std::uint8_t, 8> bytes;
  for (std::size_t i = 0; i < 8; ++i)
    bytes[i] = static_cast<std::uint8_t>(value >> (8 * i));
  return hash64(bytes, state);
}

std::uint64_t hash_text(std::string_view text) {
  return hash64({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

std::uint64_t number_value(double number) {
  if (std::isnan(number)) return kMissing;
  if (number == 0) number = 0;  // -0 equals 0
  std::uint64_t bits = 0;
  std::memcpy(&bits, &number, sizeof(bits));
  return chain(1, bits);
}

// The same for "1" read as a number and "1" read as a category.
std::uint64_t text_value(std::string_view text) {
  double number = 0;
  if (parse_number(text, number) == NumberText::number) return number_value(number);
  return hash_text(text);
}

void add_column(const Column& column, std::vector<std::uint64_t>& state) {
  const std::uint64_t name = hash_text(column.name);
  std::vector<std::uint64_t> values;
  for (const std::string& level : column.levels) values.push_back(text_value(level));
  for (std::size_t row = 0; row < state.size(); ++row) {
    std::uint64_t value = 0;
    if (column.kind == ColumnKind::number) {
      value = number_value(column.numbers[row]);
    } else {
      const std::int32_t code = column.codes[row];
      value = code < 0 ? kMissing : values[to_size(code)];
    }
    state[row] = chain(state[row] ^ name, value);
  }
}

}  // namespace

std::vector<std::uint64_t> row_hashes(const Table& table,
                                      std::span<const std::string> columns) {
  std::vector<std::string> names(columns.begin(), columns.end());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::vector<std::uint64_t> state(to_size(table.rows()), 0);
  for (const std::string& name : names) add_column(table.column(name), state);
  return state;
}

Index overlap(std::span<const std::uint64_t> rows,
              std::span<const std::uint64_t> training) {
  return std::count_if(rows.begin(), rows.end(), [training](std::uint64_t row) {
    return std::binary_search(training.begin(), training.end(), row);
  });
}

}  // namespace fmd
