#include "fmd/data/columns.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "data/columns/notations.h"
#include "data/csv/plan.h"
#include "data/number.h"
#include "data/words.h"
#include "fmd/core/error.h"

namespace fmd {
namespace {

constexpr Index kManyLevels = 50;       // more features of one column are worth a warning
constexpr std::size_t kMostCodes = 20;  // different whole numbers that may name groups
constexpr double kNearly = 0.9;  // share of numbers that makes a text column doubtful
// A few texts beside many different numbers, such as "no answer", are doubtful sooner.
constexpr double kMostly = 0.5;
constexpr std::size_t kFewOdd = 5;
constexpr Index kManyNumbers = 20;

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

// The different numbers of a column.
struct Numbers {
  Index count = 0;               // at most one more than kMostCounted
  std::map<double, Index> rows;  // of each; empty when there are more than kMostCounted
};

Numbers numbers_of(const Column& column) {
  std::unordered_map<double, Index> rows;
  for (const double number : column.numbers) {
    if (!std::isnan(number)) ++rows[number];
    if (std::ssize(rows) > kMostCounted) return {kMostCounted + 1, {}};
  }
  return {std::ssize(rows), {rows.begin(), rows.end()}};
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

// Every row has another whole number, which counts nothing.
bool names_rows(const Column& column) {
  constexpr std::size_t kFewest = 100;  // of fewer rows chance makes all amounts differ
  if (column.numbers.size() < kFewest || column.notation != Notation::plain) return false;
  std::unordered_set<double> seen;
  for (const double number : column.numbers)
    if (std::isnan(number) || number != std::floor(number) || !seen.insert(number).second)
      return false;
  return true;
}

// Numbers that questionnaires write for "no answer": 99, -9, 9998.
bool is_sentinel(double number) {
  const double size = std::abs(number);
  for (double all = number < 0 ? 9 : 99; all < 1e8; all = 10 * all + 9)
    if (size == all || size == all - 1 || size == all - 2) return true;
  return number == -1;
}

// The lowest and highest of a few whole numbers that may be codes: 1 to 4, also with a 9 or
// 99 for "no answer".
std::optional<std::pair<double, double>> code_range(const Numbers& all) {
  if (all.count < 3 || all.count > 12) return std::nullopt;
  std::vector<double> numbers;
  for (const auto& [number, rows] : all.rows) {
    if (number != std::floor(number)) return std::nullopt;
    numbers.push_back(number);
  }
  const std::pair range(numbers.front(), numbers.back());
  if (is_sentinel(numbers.front()) && numbers.front() < 0) numbers.erase(numbers.begin());
  while (numbers.size() > 3 &&
         (is_sentinel(numbers.back()) || numbers.back() == 8 || numbers.back() == 9) &&
         numbers.back() > numbers[numbers.size() - 2] + 1)
    numbers.pop_back();
  if (numbers.size() < 3) return std::nullopt;
  const double width = numbers.back() - numbers.front() + 1;
  if (numbers.front() < 0 || width > static_cast<double>(numbers.size()) + 3)
    return std::nullopt;
  return range;
}

// A number that may mean "missing": -9 where no other number is below 0, or 999 far above
// the others. NaN where there is none.
double sentinel_of(const std::map<double, Index>& rows) {
  constexpr Index kFewest = 5;  // rows that have it
  if (rows.size() < 4) return std::nan("");
  const auto first = rows.begin();
  if (first->first < 0 && is_sentinel(first->first) && first->second >= kFewest &&
      (std::next(first)->first >= 0 || is_sentinel(std::next(first)->first)) &&
      std::next(first, 2)->first >= 0)
    return first->first;
  const auto last = std::prev(rows.end());
  if (last->first >= 99 && is_sentinel(last->first) && last->second >= kFewest &&
      last->first > 2 * std::prev(last)->first && first->first >= 0)
    return last->first;
  return std::nan("");
}

// Names of numbers whose size means nothing.
bool sounds_like_code(const std::string& name) {
  const std::string lower = lower_case(name);
  for (const char* word : {"zip", "postcode", "postal", "plz", "fips", "naics"})
    if (lower.find(word) != std::string::npos) return true;
  return lower.ends_with("code") || lower.ends_with("_cd");
}

// Two levels that differ only in case and blanks; empty when there are none.
std::pair<std::string, std::string> same_spelling(const std::vector<std::string>& levels) {
  constexpr std::size_t kMost = 1000;
  if (levels.size() > kMost) return {};
  std::map<std::string, std::string> seen;
  for (const std::string& level : levels) {
    std::string key;
    for (const char c : lower_case(level))
      if (c != ' ' && c != '_' && c != '-') key += c;
    const auto [found, added] = seen.emplace(key, level);
    if (!added && !key.empty()) return {found->second, level};
  }
  return {};
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
    odd_ = false;
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
      odd_ = check_nearly_numbers(column);
    }
    facts.missing = column.missing;
    if (column.name == kUnnamedColumn && is_open(column)) {
      describe_index(column, facts);
    } else if (column.kind == ColumnKind::number) {
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

  void describe_index(const Column& column, ColumnFacts& facts) {
    const bool number = column.kind == ColumnKind::number;
    facts.type = number ? "number" : "category";
    facts.values =
        number ? numbers_of(column).count : std::ssize(used_levels(column).levels);
    facts.became = "left out: has no name";
    report_.left_out.push_back(column.name);
    warn(column.name, "id",
         fmt::format("the first column has no name, as an index has; left out; --category "
                     "\"{}\" makes it groups",
                     column.name));
  }

  void describe_number(const Column& column, ColumnFacts& facts) {
    const bool date = column.notation == Notation::ymd ||
                      column.notation == Notation::dmy || column.notation == Notation::mdy;
    facts.type = date ? "date" : "number";
    const Numbers numbers = numbers_of(column);
    facts.values = numbers.count;
    facts.became = role(column.name);
    if (!facts.became.empty()) return;
    facts.features = column.missing > 0 ? 2 : 1;
    facts.became = plural(facts.features, "feature");
    if (column.missing > 0) facts.became += " (one says \"missing\")";
    if (date)
      warn(column.name, "date", "dates are read as days since 1970-01-01, one number");
    if (facts.values == 1) warn(column.name, "constant", "every row has the same number");
    if (date) return;
    warn_number(column, numbers);
  }

  void warn_number(const Column& column, const Numbers& numbers) {
    const std::string& name = column.name;
    if (table_.rows() >= 20 && counts_rows(column)) {
      warn(name, "id", fmt::format("numbers the rows; --ignore {} leaves it out", name));
    } else if (names_rows(column)) {
      warn(name, "id",
           fmt::format("every row has another whole number; if it names the rows, "
                       "--ignore {} leaves it out",
                       name));
    }
    if (task_.types.contains(name) || table_.rows() < 50) return;
    if (const auto range = code_range(numbers)) {
      warn(name, "code",
           fmt::format("only {} whole numbers, {} to {}: if they are codes, --category {} "
                       "makes them groups",
                       numbers.count, number_text(range->first), number_text(range->second),
                       name));
    } else if (numbers.count > 12 && sounds_like_code(name)) {
      warn(name, "code",
           fmt::format("its name says codes, whose size means nothing: --category {} makes "
                       "them groups, --ignore {} leaves it out",
                       name, name));
    }
    if (const double number = sentinel_of(numbers.rows); !std::isnan(number))
      warn(name, "sentinel",
           fmt::format("{} stands apart from the other numbers, in {}; if it means "
                       "\"missing\", write missing = [\"{}\"] in task.toml",
                       number_text(number), plural(numbers.rows.at(number), "row"),
                       number_text(number)));
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
    if (odd_) return;  // its cells come first
    if (facts.values == 1) warn(column.name, "constant", "every row has the same text");
    const auto [one, other] = same_spelling(used_levels(column).levels);
    if (!other.empty())
      warn(column.name, "spelling",
           fmt::format("\"{}\" and \"{}\" differ only in case or blanks; they are two "
                       "values",
                       shorten(one), shorten(other)));
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

  // What most texts of a column are, apart from words for "missing".
  struct Most {
    const char* word = "numbers";
    std::vector<bool> fits;  // by level
    Index cells = 0;
  };

  static Most most_of(const Column& column, const std::vector<Index>& rows) {
    const auto count = [&](const char* word, auto&& reads) {
      Most one{.word = word, .fits = {}};
      for (std::size_t i = 0; i < column.levels.size(); ++i) {
        const std::string& level = column.levels[i];
        one.fits.push_back(!is_missing_word(level) && reads(level));
        if (one.fits.back()) one.cells += rows[i];
      }
      return one;
    };
    const auto read_as = [](const std::string& text, std::initializer_list<Notation> all) {
      return std::any_of(all.begin(), all.end(), [&](Notation notation) {
        return read_number(text, notation).has_value();
      });
    };
    Most most = count("numbers", [&](const std::string& text) {
      return read_as(text, {Notation::plain, Notation::point});
    });
    for (const Most& other :
         {count("numbers",
                [&](const std::string& text) { return read_as(text, {Notation::comma}); }),
          count("dates", [&](const std::string& text) {
            return read_as(text, {Notation::ymd, Notation::dmy, Notation::mdy});
          })})
      if (other.cells > most.cells) most = other;
    return most;
  }

  // A cell such as "1x5" among numbers would turn every number into a text of its own.
  // True when there is one, and it is only warned of.
  bool check_nearly_numbers(const Column& column) {
    std::vector<Index> rows(column.levels.size(), 0);
    Index cells = 0;
    for (const std::int32_t code : column.codes) {
      if (code < 0 || is_missing_word(column.levels[to_size(code)])) continue;
      ++rows[to_size(code)];
      ++cells;
    }
    const Most most = most_of(column, rows);
    Index different = 0;
    std::size_t odd_texts = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] == 0) continue;
      different += most.fits[i];
      odd_texts += !most.fits[i];
    }
    const double least =
        odd_texts <= kFewOdd && different > kManyNumbers ? kMostly : kNearly;
    if (odd_texts == 0 || different < 3 ||
        static_cast<double>(most.cells) < least * static_cast<double>(cells))
      return false;
    std::vector<std::string> odd;
    std::set<std::int32_t> shown;
    for (Index row = 0; row < column.rows() && odd.size() < 3; ++row) {
      const std::int32_t code = column.codes[to_size(row)];
      if (code < 0 || rows[to_size(code)] == 0 || most.fits[to_size(code)]) continue;
      if (shown.insert(code).second)
        odd.push_back(fmt::format("\"{}\" ({})", shorten(column.levels[to_size(code)]),
                                  table_.where(row)));
    }
    const std::string what = fmt::format("{} of {} cells are {}, but not {}", most.cells,
                                         cells, most.word, list_words(odd));
    if (lenient_) {
      warn(column.name, "odd_cells", what);
      return true;
    }
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
  bool odd_ = false;  // the column at hand is nearly all numbers
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
