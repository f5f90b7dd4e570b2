#include "fmd/data/csv.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "data/csv_scan.h"
#include "data/gzip.h"
#include "data/level_index.h"
#include "data/number.h"
#include "data/words.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"

namespace fmd {
namespace {

// The texts that mean "missing"; almost every other cell is told apart by its first byte.
class MissingTexts {
 public:
  explicit MissingTexts(const std::vector<std::string>& texts) : texts_(texts) {
    for (const std::string& text : texts) {
      if (text.empty()) {
        empty_ = true;
      } else {
        begins_[static_cast<unsigned char>(text[0])] = true;
      }
    }
  }
  [[nodiscard]] bool has(std::string_view text) const {
    if (text.empty()) return empty_;
    return begins_[static_cast<unsigned char>(text[0])] &&
           std::find(texts_.begin(), texts_.end(), text) != texts_.end();
  }

 private:
  const std::vector<std::string>& texts_;
  bool empty_ = false;
  std::array<bool, 256> begins_ = {};
};

// A column while it is read. One whose kind is inferred begins as numbers; at the first
// text after numbers it is put off to a second pass over the file, because the numbers' own
// texts ("007") are gone by then.
struct Builder {
  std::size_t position = 0;  // in the file
  bool given = false;        // kind is known, not inferred
  bool put_off = false;
  bool any = false;  // a cell that is not missing
  Column column;
  std::unique_ptr<LevelIndex> index;

  void begin_category() {
    column.kind = ColumnKind::category;
    column.numbers = {};
    column.codes.assign(static_cast<std::size_t>(column.missing), -1);
    index = std::make_unique<LevelIndex>(column.levels);
  }

  void add_missing() {
    ++column.missing;
    if (column.kind == ColumnKind::number) {
      column.numbers.push_back(std::numeric_limits<double>::quiet_NaN());
    } else {
      column.codes.push_back(-1);
    }
  }

  void add(std::string_view text, const CsvScanner& scanner) {
    if (column.kind == ColumnKind::number) {
      double value = 0;
      const NumberText result = parse_number(text, value);
      if (result == NumberText::number) {
        any = true;
        column.numbers.push_back(value);
        return;
      }
      if (given) fail(result, text, scanner);
      if (any) {
        put_off = true;
        return;
      }
      begin_category();
    }
    column.codes.push_back(index->code(text));
  }

  [[noreturn]] void fail(NumberText result, std::string_view text,
                         const CsvScanner& scanner) const {
    const char* what = result == NumberText::other ? "is not a number" : "is out of range";
    throw Error(
        ErrorKind::bad_value,
        fmt::format("{}: \"{}\" {}", scanner.where(position), shorten(text), what),
        "this column was declared or trained as numbers; correct the cell, or leave it "
        "empty when the value is missing");
  }
};

void check_names(const std::vector<std::string>& names, const CsvScanner& scanner) {
  std::map<std::string_view, std::size_t> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) {
      throw Error(ErrorKind::bad_csv,
                  fmt::format("{}, line {}: column {} has no name", scanner.source(),
                              scanner.line(), i + 1),
                  "the first line must name every column");
    }
    const auto [at, fresh] = seen.emplace(names[i], i);
    if (!fresh) {
      throw Error(
          ErrorKind::bad_csv,
          fmt::format("{}, line {}: columns {} and {} are both named \"{}\"",
                      scanner.source(), scanner.line(), at->second + 1, i + 1, names[i]),
          "rename one of them");
    }
  }
}

std::vector<std::string> read_names(CsvScanner& scanner, const CsvOptions& options) {
  if (!options.names.empty()) return options.names;
  if (!scanner.next()) {
    throw Error(ErrorKind::bad_csv, fmt::format("{}: is empty", scanner.source()),
                "a header line with the columns' names and at least one row are needed");
  }
  std::vector<std::string> names;
  std::string scratch;
  for (const RawCell& cell : scanner.cells()) names.emplace_back(cell_text(cell, scratch));
  check_names(names, scanner);
  return names;
}

std::vector<Builder> make_builders(const std::vector<std::string>& names,
                                   const CsvOptions& options) {
  std::vector<Builder> builders;
  builders.reserve(names.size());  // an index points into its column
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool wanted =
        options.keep.empty() ||
        std::find(options.keep.begin(), options.keep.end(), names[i]) != options.keep.end();
    if (!wanted) continue;
    Builder& builder = builders.emplace_back();
    builder.position = i;
    builder.column.name = names[i];
    const auto type = options.types.find(names[i]);
    builder.given = type != options.types.end();
    if (builder.given && type->second == ColumnKind::category) builder.begin_category();
  }
  return builders;
}

void check_width(const CsvScanner& scanner, std::size_t width) {
  const std::size_t count = scanner.cells().size();
  if (count == width) return;
  throw Error(ErrorKind::bad_csv,
              fmt::format("{}, line {}: {} cell{}, the header has {}", scanner.source(),
                          scanner.line(), count, count == 1 ? "" : "s", width),
              count > width ? "a text with a comma needs quotes around it"
                            : "an empty cell still needs its comma");
}

// Appends every record to the builders that are not put off.
void read_rows(CsvScanner& scanner, std::size_t width, const MissingTexts& missing,
               std::vector<Builder*> active, std::vector<Index>* lines) {
  std::string scratch;
  while (scanner.next()) {
    check_width(scanner, width);
    if (lines != nullptr) lines->push_back(scanner.line());
    bool changed = false;
    for (Builder* builder : active) {
      const std::string_view text = cell_text(scanner.cells()[builder->position], scratch);
      if (missing.has(text)) {
        builder->add_missing();
      } else {
        builder->add(text, scanner);
        changed = changed || builder->put_off;
      }
    }
    if (changed)
      std::erase_if(active, [](const Builder* builder) { return builder->put_off; });
  }
}

}  // namespace

Table parse_csv(std::string_view text, const std::string& source,
                const CsvOptions& options) {
  text = checked_text(text, source);
  CsvScanner scanner(text, source, options);
  const std::vector<std::string> names = read_names(scanner, options);
  scanner.set_names(&names);
  const CsvScanner after_header = scanner;

  std::vector<Builder> builders = make_builders(names, options);
  std::vector<Builder*> active;
  for (Builder& builder : builders) active.push_back(&builder);
  const MissingTexts missing(options.missing);
  Table table;
  table.source = source;
  read_rows(scanner, names.size(), missing, active, &table.line);
  if (table.line.empty()) {
    throw Error(ErrorKind::bad_csv,
                options.names.empty() ? fmt::format("{}: has a header but no rows", source)
                                      : fmt::format("{}: is empty", source));
  }

  std::erase_if(active, [](const Builder* builder) { return !builder->put_off; });
  if (!active.empty()) {
    for (Builder* builder : active) {
      builder->put_off = false;
      builder->column.missing = 0;
      builder->begin_category();
    }
    CsvScanner again = after_header;
    read_rows(again, names.size(), missing, active, nullptr);
  }
  for (Builder& builder : builders) table.columns.push_back(std::move(builder.column));
  return table;
}

Table read_csv(const std::filesystem::path& path, const CsvOptions& options) {
  const FileView file = FileView::open(path);
  const std::string source = path.string();
  if (!is_gzip(file.bytes())) return parse_csv(file.text(), source, options);
  return parse_csv(gunzip(file.bytes(), source, Index{1} << 40), source, options);
}

std::string read_text(const std::filesystem::path& path, Index max_bytes) {
  const FileView file = FileView::open(path);
  if (is_gzip(file.bytes())) return gunzip(file.bytes(), path.string(), max_bytes);
  if (std::ssize(file.text()) > max_bytes) {
    throw Error(ErrorKind::cannot_read,
                fmt::format("{}: {} bytes, at most {} are read", path.string(),
                            file.text().size(), max_bytes));
  }
  return std::string(file.text());
}

std::vector<std::string_view> csv_records(std::string_view text, const std::string& source,
                                          const CsvOptions& options) {
  CsvScanner scanner(checked_text(text, source), source, options);
  std::vector<std::string_view> records;
  while (scanner.next()) records.push_back(scanner.record());
  return records;
}

std::string csv_cell(std::string_view text) {
  const bool blank_end = !text.empty() && (text.front() == ' ' || text.front() == '\t' ||
                                           text.back() == ' ' || text.back() == '\t');
  // At the start of a file a mark would not be taken for a part of the cell.
  const bool marked = text.starts_with(kByteOrderMark);
  if (!blank_end && !marked && text.find_first_of(",\"\n\r") == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace fmd
