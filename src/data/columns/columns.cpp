#include "fmd/data/columns.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <unordered_set>

#include <fmt/format.h>

#include "data/columns/notations.h"
#include "data/number.h"
#include "data/words.h"
#include "fmd/core/error.h"

namespace fmd {
namespace {

constexpr Index kManyLevels = 50;       // more features of one column are worth a warning
constexpr std::size_t kMostCodes = 20;  // different whole numbers that may name groups
constexpr double kNearly = 0.9;  // share of numbers that makes a text column doubtful

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string plural(Index count, const char* word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

// The levels that rows have, and how many rows each.
struct Used {
  std::vector<std::string> levels;
  std::vector<Index> rows;
};

Used used_levels(const Column& column) {
  std::vector<Index> rows(column.levels.size(), 0);
  for (const std::int32_t code : column.codes)
    if (code >= 0) ++rows[to_size(code)];
  Used used;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] == 0) continue;
    used.levels.push_back(column.levels[i]);
    used.rows.push_back(rows[i]);
  }
  return used;
}

std::string lower_case(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return text;
}

bool is_boolean(const std::vector<std::string>& levels) {
  static const std::set<std::string> kYes = {"true", "t", "yes", "y"};
  static const std::set<std::string> kNo = {"false", "f", "no", "n"};
  bool yes = false;
  bool no = false;
  for (const std::string& level : levels) {
    const std::string text = lower_case(level);
    const bool is_yes = kYes.contains(text);
    if (!is_yes && !kNo.contains(text)) return false;
    (is_yes ? yes : no) = true;
  }
  return yes && no;
}

// Long texts of several words, most of them different.
bool is_free_text(const Used& used) {
  Index rows = 0;
  double bytes = 0;
  double blanks = 0;
  for (std::size_t i = 0; i < used.levels.size(); ++i) {
    rows += used.rows[i];
    bytes += static_cast<double>(used.levels[i].size());
    blanks +=
        static_cast<double>(std::count(used.levels[i].begin(), used.levels[i].end(), ' '));
  }
  const auto count = static_cast<double>(used.levels.size());
  return used.levels.size() > 20 && 2 * std::ssize(used.levels) > rows &&
         bytes >= 20 * count && blanks >= 2 * count;
}

bool are_codes(const std::vector<std::string>& levels) {
  std::size_t numbers = 0;
  for (const std::string& level : levels) {
    double value = 0;
    if (is_missing_word(level)) continue;
    if (parse_number(level, value) != NumberText::number || value != std::floor(value))
      return false;
    ++numbers;
  }
  return numbers > 0 && numbers <= kMostCodes;
}

// Different numbers, up to one more than kMostCounted.
Index count_numbers(const Column& column) {
  std::unordered_set<double> seen;
  for (const double number : column.numbers) {
    if (!std::isnan(number)) seen.insert(number);
    if (std::ssize(seen) > kMostCounted) break;
  }
  return std::ssize(seen);
}

// Whole numbers without gaps, no two equal: 1 to n in any order.
bool counts_rows(const Column& column) {
  double low = 0;
  double high = 0;
  bool first = true;
  for (const double number : column.numbers) {
    if (std::isnan(number) || number != std::floor(number)) return false;
    low = first ? number : std::min(low, number);
    high = first ? number : std::max(high, number);
    first = false;
  }
  if (first || high - low + 1 != static_cast<double>(column.numbers.size())) return false;
  std::vector<bool> seen(column.numbers.size(), false);
  for (const double number : column.numbers) {
    const auto place = static_cast<std::size_t>(number - low);
    if (seen[place]) return false;
    seen[place] = true;
  }
  return true;
}

// The lowest and highest of a few whole numbers that may be codes.
std::optional<std::pair<double, double>> code_range(const Column& column, Index values) {
  if (values < 3 || values > 12) return std::nullopt;
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const double number : column.numbers) {
    if (std::isnan(number)) continue;
    if (number != std::floor(number)) return std::nullopt;
    low = std::min(low, number);
    high = std::max(high, number);
  }
  if (low < 0 || high - low + 1 > static_cast<double>(values) + 3) return std::nullopt;
  return std::pair(low, high);
}

std::string first_cell(const Column& column) {
  for (Index row = 0; row < column.rows(); ++row) {
    const std::string text = column.text(row);
    if (!text.empty() && !is_missing_word(text)) return text;
  }
  return "";
}

class Settler {
 public:
  Settler(Table& table, const Task& task, bool lenient)
      : table_(table), task_(task), lenient_(lenient), open_(open_attribute_columns(task)) {
    report_.source = table.source;
    report_.rows = table.rows();
  }

  ColumnsReport run() {
    find_notations();
    for (Column& column : table_.columns) settle(column);
    return std::move(report_);
  }

 private:
  // Nobody has said what kind it is.
  [[nodiscard]] bool is_open(const Column& column) const {
    return column.name != task_.label && column.name != task_.id &&
           !task_.types.contains(column.name);
  }

  // Numbers such as 1,234 mean 1.234 where another column can only have decimal commas.
  void find_notations() {
    bool commas = false;
    for (const Column& column : table_.columns) {
      if (column.kind != ColumnKind::category || !is_open(column)) continue;
      const std::optional<Notation> found = find_notation(used_levels(column).levels);
      if (!found) continue;
      notations_[column.name] = *found;
      commas = commas || *found == Notation::comma;
    }
    for (auto& [name, notation] : notations_) {
      if (notation != Notation::point) continue;
      const std::vector<std::string> levels = used_levels(table_.column(name)).levels;
      if (!fits_comma(levels)) continue;
      const bool marked = std::any_of(levels.begin(), levels.end(), [](const auto& text) {
        return text.find_first_of(",.") != std::string::npos;
      });
      if (!marked) continue;
      if (commas) notation = Notation::comma;
      warn(name, "decimal_comma",
           fmt::format(
               "its commas could be decimal commas or thousands separators; taken "
               "as {}",
               commas ? "decimal commas, as in other columns" : "thousands separators"));
    }
  }

  void warn(const std::string& column, const char* kind, std::string text) {
    report_.warnings.push_back({column, kind, std::move(text)});
  }

  void settle(Column& column) {
    ColumnFacts facts;
    facts.name = column.name;
    facts.example = first_cell(column);
    std::string how;
    const auto notation = notations_.find(column.name);
    if (contains(open_, column.name) && is_open(column) &&
        column.kind == ColumnKind::category && are_codes(used_levels(column).levels)) {
      apply_notation(table_, Notation::codes, column);
      how = in_words(Notation::codes);
      warn(column.name, "groups",
           fmt::format("{} different whole numbers are taken as groups",
                       used_levels(column).levels.size()));
    } else if (notation != notations_.end()) {
      apply_notation(table_, notation->second, column);
      how = in_words(notation->second);
    } else if (column.kind == ColumnKind::category && is_open(column)) {
      check_nearly_numbers(column);
    }
    facts.missing = column.missing;
    if (column.kind == ColumnKind::number) {
      describe_number(column, facts);
    } else {
      describe_category(column, facts);
    }
    if (!how.empty()) facts.became += ": " + how;
    report_.columns.push_back(std::move(facts));
  }

  // What it is other than an input; "" for inputs.
  [[nodiscard]] std::string role(const std::string& name) const {
    if (name == task_.label) return "label";
    if (name == task_.id) return "id";
    if (name == task_.weight) return "weight";
    return contains(task_.ignore, name) ? "left out: ignored" : "";
  }

  void describe_number(const Column& column, ColumnFacts& facts) {
    const bool date = column.notation == Notation::ymd ||
                      column.notation == Notation::dmy || column.notation == Notation::mdy;
    facts.type = date ? "date" : "number";
    facts.values = count_numbers(column);
    facts.became = role(column.name);
    if (!facts.became.empty()) return;
    facts.features = column.missing > 0 ? 2 : 1;
    facts.became = plural(facts.features, "feature");
    if (column.missing > 0) facts.became += " (one says \"missing\")";
    if (date)
      warn(column.name, "date", "dates are read as days since 1970-01-01, one number");
    if (facts.values == 1) warn(column.name, "constant", "every row has the same number");
    if (table_.rows() >= 20 && counts_rows(column))
      warn(column.name, "id",
           fmt::format("numbers the rows; --ignore {} leaves it out", column.name));
    if (!task_.types.contains(column.name) && !date && table_.rows() >= 50)
      if (const auto range = code_range(column, facts.values))
        warn(
            column.name, "code",
            fmt::format("only {} whole numbers, {} to {}: if they are codes, --category {} "
                        "makes them groups",
                        facts.values, number_text(range->first), number_text(range->second),
                        column.name));
  }

  void describe_category(const Column& column, ColumnFacts& facts) {
    const Used used = used_levels(column);
    facts.values = std::ssize(used.levels);
    facts.type = is_boolean(used.levels) ? "boolean" : "category";
    const bool free =
        is_open(column) && !contains(open_, column.name) && is_free_text(used);
    if (free) facts.type = "text";
    facts.became = role(column.name);
    if (!facts.became.empty()) return;
    if (free) {
      facts.became = "left out: free text";
      report_.left_out.push_back(column.name);
      warn(
          column.name, "free_text",
          fmt::format("{} different texts are left out; --category {} makes each a feature",
                      facts.values, column.name));
      return;
    }
    const Index levels = facts.values + (column.missing > 0 ? 1 : 0);
    facts.features = facts.values == 2 && column.missing == 0 ? 1 : levels;
    facts.became = plural(facts.features, "feature");
    if (column.missing > 0) facts.became += " (one says \"missing\")";
    warn_levels(column, facts);
  }

  void warn_levels(const Column& column, const ColumnFacts& facts) {
    const Index filled = table_.rows() - column.missing;
    if (facts.values == 1) warn(column.name, "constant", "every row has the same text");
    if (facts.values == filled && filled >= 20) {
      warn(column.name, "id",
           fmt::format("every row has another text, {} features; --ignore {} leaves it out",
                       facts.features, column.name));
    } else if (facts.features > kManyLevels) {
      warn(
          column.name, "many_values",
          fmt::format("{} different texts give {} features", facts.values, facts.features));
    }
  }

  // A cell such as "1x5" among numbers would turn every number into a text of its own.
  void check_nearly_numbers(const Column& column) {
    std::vector<bool> number;
    for (const std::string& level : column.levels)
      number.push_back(is_missing_word(level) ||
                       read_number(level, Notation::plain).has_value() ||
                       read_number(level, Notation::point).has_value());
    Index cells = 0;
    Index numbers = 0;
    std::vector<std::string> odd;
    std::set<std::int32_t> shown;
    std::set<std::int32_t> different;
    for (Index row = 0; row < column.rows(); ++row) {
      const std::int32_t code = column.codes[to_size(row)];
      if (code < 0 || is_missing_word(column.levels[to_size(code)])) continue;
      ++cells;
      if (number[to_size(code)]) {
        ++numbers;
        if (different.size() < 3) different.insert(code);
      } else if (odd.size() < 3 && shown.insert(code).second) {
        odd.push_back(fmt::format("\"{}\" ({})", shorten(column.levels[to_size(code)]),
                                  table_.where(row)));
      }
    }
    const double least = kNearly * static_cast<double>(cells);
    if (odd.empty() || static_cast<double>(numbers) < least || different.size() < 3) return;
    const std::string what = fmt::format("{} of {} cells are numbers, but not {}", numbers,
                                         cells, list_words(odd));
    if (lenient_) return warn(column.name, "odd_cells", what);
    throw Error(
        ErrorKind::bad_value,
        fmt::format("{}, column \"{}\": {}", table_.source, column.name, what),
        fmt::format("correct these cells; if they mean \"missing\", leave them empty "
                    "or list them in task.toml: missing = [...]; if the column holds "
                    "codes, --category {}",
                    column.name));
  }

  Table& table_;
  const Task& task_;
  bool lenient_;
  std::vector<std::string> open_;
  std::map<std::string, Notation> notations_;
  ColumnsReport report_;
};

// Words of answers that are bad for a person.
bool sounds_bad(const std::string& text) {
  static const std::vector<std::string> kBad = {
      "deny",   "denied", "reject", "default", "fraud", "bad",     "arrest", "recid",
      "churn",  "fail",   "risk",   "delinq",  "late",  "dropout", "charge", "evict",
      "layoff", "died",   "dead",   "death",   "sick",  "crime",   "jail",   "overdue"};
  static const std::set<std::string> kNo = {"no", "nein", "non", "n", "false", "f"};
  const std::string lower = lower_case(text);
  return kNo.contains(lower) ||
         std::any_of(kBad.begin(), kBad.end(), [&](const std::string& word) {
           return lower.find(word) != std::string::npos;
         });
}

}  // namespace

ColumnsReport settle_columns(Table& table, const Task& task, bool lenient) {
  return Settler(table, task, lenient).run();
}

std::vector<std::string> open_attribute_columns(const Task& task) {
  std::vector<std::string> names;
  for (const AttributeSpec& spec : task.attributes) {
    if (!spec.values.empty() || spec.quantiles > 0 || !spec.cuts.empty()) continue;
    if (spec.columns.size() > 1) continue;
    const std::string& name = spec.columns.empty() ? spec.name : spec.columns[0];
    if (!task.types.contains(name)) names.push_back(name);
  }
  return names;
}

std::vector<ColumnWarning> label_warnings(const Table& table, const Task& task,
                                          bool favorable_given) {
  std::vector<ColumnWarning> warnings;
  double number = 0;
  const bool numbers =
      std::all_of(task.classes.begin(), task.classes.end(), [&](const std::string& text) {
        return parse_number(text, number) == NumberText::number;
      });
  if (numbers && task.classes.size() > 2)
    warnings.push_back(
        {task.label, "numeric_label",
         fmt::format(
             "fmd does classification only: {} different numbers are {} classes; for "
             "two, make a column such as \"{} above a limit\"",
             task.classes.size(), task.classes.size(), task.label)});
  if (favorable_given || !task.binary()) return warnings;
  const std::vector<std::int32_t> y = labels(table, task);
  const auto positive = static_cast<double>(std::count(y.begin(), y.end(), 1));
  const double rate = y.empty() ? 0 : positive / static_cast<double>(y.size());
  const std::string& answer = task.classes[1];
  const bool bad = sounds_bad(answer) || sounds_bad(task.label);
  if (!bad && rate >= 0.15) return warnings;
  warnings.push_back(
      {task.label, "favorable",
       fmt::format("\"{}\" is taken as good for the person, but {}; if \"{}\" is the good "
                   "answer, add --favorable {}",
                   answer,
                   bad ? std::string("its name sounds bad")
                       : fmt::format("only {:.1f} % of the rows have it", 100 * rate),
                   task.classes[0], task.classes[0])});
  return warnings;
}

}  // namespace fmd
