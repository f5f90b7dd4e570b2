#include "fmd/data/table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "core/mix.h"
#include "data/number.h"
#include "data/words.h"
#include "fmd/core/error.h"
#include "fmd/core/hash.h"
#include "fmd/data/csv.h"

namespace fmd {
namespace {

constexpr std::uint64_t kMissingHash = 0x6d697373696e6721U;

std::uint64_t hash_text(std::string_view text) {
  return hash64({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

std::uint64_t hash_number(double number) {
  if (std::isnan(number)) return kMissingHash;
  if (number == 0) number = 0;  // -0 equals 0
  std::uint64_t bits = 0;
  std::memcpy(&bits, &number, sizeof(bits));
  return internal::hash_word(bits, 1);
}

// Equal for "1" read as a number and "1" read as a category.
std::uint64_t hash_cell(std::string_view text) {
  double number = 0;
  if (parse_number(text, number) == NumberText::number) return hash_number(number);
  return hash_text(text);
}

void add_hashes(const Column& column, std::vector<std::uint64_t>& state) {
  const std::uint64_t name = hash_text(column.name);
  std::vector<std::uint64_t> values;
  for (const std::string& level : column.levels) values.push_back(hash_cell(level));
  for (std::size_t row = 0; row < state.size(); ++row) {
    std::uint64_t value = 0;
    if (column.kind == ColumnKind::number) {
      value = hash_number(column.numbers[row]);
    } else {
      const std::int32_t code = column.codes[row];
      value = code < 0 ? kMissingHash : values[to_size(code)];
    }
    state[row] = internal::hash_word(value, state[row] ^ name);
  }
}

}  // namespace

Index Column::rows() const {
  return kind == ColumnKind::number ? std::ssize(numbers) : std::ssize(codes);
}

std::string Column::text(Index row) const {
  if (kind == ColumnKind::number) {
    const double value = numbers[to_size(row)];
    return std::isnan(value) ? "" : number_text(value);
  }
  const std::int32_t code = codes[to_size(row)];
  return code < 0 ? "" : levels[to_size(code)];
}

Lines::Lines(std::initializer_list<Index> lines) {
  for (const Index line : lines) push_back(line);
}

void Lines::push_back(Index line) { append(line, 1); }

void Lines::append(Index first, Index count) {
  if (count == 0) return;
  if (runs_.empty() || runs_.back().line + (size_ - runs_.back().row) != first)
    runs_.push_back({size_, first});
  size_ += count;
}

void Lines::append(const Lines& other, Index from, Index count, Index shift) {
  const Index last = from + count;
  for (std::size_t i = 0; i < other.runs_.size() && from < last; ++i) {
    const bool final = i + 1 == other.runs_.size();
    const Index end = std::min(last, final ? other.size_ : other.runs_[i + 1].row);
    if (end <= from) continue;
    const Run& run = other.runs_[i];
    append(run.line + (from - run.row) + shift, end - from);
    from = end;
  }
}

void Lines::clear() { *this = {}; }

Index Lines::operator[](Index row) const {
  const auto next = std::upper_bound(runs_.begin(), runs_.end(), row,
                                     [](Index r, const Run& run) { return r < run.row; });
  const Run& run = *std::prev(next);
  return run.line + (row - run.row);
}

Index TensorColumn::size() const {
  return std::accumulate(shape.begin(), shape.end(), Index{1}, std::multiplies<>());
}

Index Table::rows() const { return columns.empty() ? line.size() : columns.front().rows(); }

const Column* Table::find(std::string_view name) const {
  const auto at =
      std::find_if(columns.begin(), columns.end(),
                   [name](const Column& column) { return column.name == name; });
  return at == columns.end() ? nullptr : &*at;
}

const Column& Table::column(std::string_view name) const {
  if (const Column* found = find(name)) return *found;
  std::vector<std::string> names;
  for (const Column& column : columns) names.push_back(column.name);
  const std::string nearest = nearest_word(name, names);
  throw Error(ErrorKind::missing_column,
              fmt::format("{}: no column \"{}\"; the columns are {}", source, name,
                          list_words(names, 30)),
              nearest.empty() ? "" : fmt::format("did you mean \"{}\"?", nearest));
}

std::string Table::where(Index row) const {
  if (row < line.size())
    return fmt::format("{}, {} {}", source, line.of_rows() ? "row" : "line", line[row]);
  return fmt::format("{}, row {}", source, row + 1);
}

Table select(const Table& table, std::span<const Index> rows) {
  Table result;
  result.source = table.source;
  for (const Column& from : table.columns) {
    Column& to = result.columns.emplace_back();
    to.name = from.name;
    to.kind = from.kind;
    to.levels = from.levels;
    to.notation = from.notation;
    for (const Index row : rows) {
      if (from.kind == ColumnKind::number) {
        to.numbers.push_back(from.numbers[to_size(row)]);
        to.missing += std::isnan(to.numbers.back()) ? 1 : 0;
      } else {
        to.codes.push_back(from.codes[to_size(row)]);
        to.missing += to.codes.back() < 0 ? 1 : 0;
      }
    }
  }
  for (const TensorColumn& from : table.tensors) {
    TensorColumn& to = result.tensors.emplace_back(from);
    to.read = [read = from.read, all = std::vector<Index>(rows.begin(), rows.end())](
                  std::span<const Index> wanted, float* into) {
      std::vector<Index> source;
      source.reserve(wanted.size());
      for (const Index row : wanted) source.push_back(all[to_size(row)]);
      read(source, into);
    };
  }
  if (!table.line.empty()) {
    for (const Index row : rows) result.line.push_back(table.line[row]);
    if (table.line.of_rows()) result.line.count_rows();
  }
  return result;
}

std::string to_csv(const Table& table) {
  // An empty line would be skipped when the text is read again.
  const bool single = table.columns.size() == 1;
  std::vector<std::vector<std::string>> levels;  // as cells, quoted once
  std::string text;
  for (const Column& column : table.columns) {
    std::vector<std::string>& cells = levels.emplace_back();
    for (const std::string& level : column.levels) cells.push_back(csv_cell(level));
    if (levels.size() > 1) text += ',';
    text += csv_cell(column.name);
  }
  text += '\n';
  for (Index row = 0; row < table.rows(); ++row) {
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const Column& column = table.columns[c];
      if (c > 0) text += ',';
      const std::size_t before = text.size();
      if (column.kind == ColumnKind::number) {
        text += column.text(row);
      } else if (const std::int32_t code = column.codes[to_size(row)]; code >= 0) {
        text += levels[c][to_size(code)];
      }
      if (single && text.size() == before) text += "\"\"";
    }
    text += '\n';
  }
  return text;
}

std::vector<std::uint64_t> row_hashes(const Table& table,
                                      std::span<const std::string> columns) {
  std::vector<std::string> names(columns.begin(), columns.end());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::vector<std::uint64_t> state(to_size(table.rows()), 0);
  for (const std::string& name : names) add_hashes(table.column(name), state);
  return state;
}

Index overlap(std::span<const std::uint64_t> rows,
              std::span<const std::uint64_t> training) {
  return std::count_if(rows.begin(), rows.end(), [training](std::uint64_t row) {
    return std::binary_search(training.begin(), training.end(), row);
  });
}

}  // namespace fmd
