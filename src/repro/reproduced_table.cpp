#include "fmd/repro/reproduced_table.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/json.h"
namespace fmd {
namespace {

// Two-sided 95 % quantiles of Student's t for 1, 2, ... degrees of freedom.
constexpr double kStudent[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                               2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                               2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                               2.060,  2.056, 2.052, 2.048, 2.045};

using Json = nlohmann::ordered_json;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json means(const std::map<std::string, SeedMean>& values) {
  Json json = Json::object();
  for (const auto& [name, mean] : values)
    json[name] = {{"mean", number(mean.mean)},
                  {"low", number(mean.low)},
                  {"high", number(mean.high)},
                  {"seeds", mean.seeds}};
  return json;
}

Json numbers(const std::map<std::string, double>& values) {
  Json json = Json::object();
  for (const auto& [name, value] : values) json[name] = number(value);
  return json;
}

// Accuracies in %, and what is told in their points.
bool is_accuracy(const std::string& column) {
  return column == "accuracy" || column == "unb" || column == "wor" || column == "avg";
}
// Larger is better.
bool is_gain(const std::string& column) {
  return is_accuracy(column) || column == "nearer";
}
bool is_points(const std::string& column) {
  return is_accuracy(column) || column.ends_with("_gain") || column == "unb_rows" ||
         column == "wor_rows" || column == "ss" || column == "lms" || column == "icat" ||
         column == "ppl" || column == "nearer" || column.starts_with("ss_") ||
         column.starts_with("lms_") || column.starts_with("change");
}

double read_number(const Json& json) { return json.is_null() ? kNone : json.get<double>(); }

std::map<std::string, double> read_numbers(const Json& json) {
  std::map<std::string, double> values;
  for (const auto& [name, value] : json.items()) values[name] = read_number(value);
  return values;
}

std::map<std::string, SeedMean> read_means(const Json& json) {
  std::map<std::string, SeedMean> values;
  for (const auto& [name, mean] : json.items())
    values[name] = {.seeds = mean.at("seeds"),
                    .mean = read_number(mean.at("mean")),
                    .low = read_number(mean.at("low")),
                    .high = read_number(mean.at("high"))};
  return values;
}

ReproducedCase read_case(const Json& json) {
  ReproducedCase c{.name = json.at("name"),
                   .title = json.at("title"),
                   .rows = {},
                   .facts = read_means(json.at("facts")),
                   .pictures = {}};
  for (const Json& row : json.at("rows"))
    c.rows.push_back({.id = row.at("id"),
                      .title = row.at("title"),
                      .paper = read_numbers(row.at("paper")),
                      .bar = read_numbers(row.at("bar")),
                      .ours = read_means(row.at("ours")),
                      .labels = row.at("labels_used"),
                      .chosen = row.at("chosen_with_first_seed")});
  if (json.contains("pictures")) c.pictures = json.at("pictures").dump();
  return c;
}

// 85.32 for accuracies, 0.0123 for biases, seconds with two or four decimals.
std::string figure(const std::string& column, double value) {
  if (!std::isfinite(value)) return "-";
  if (is_points(column)) return fmt::format("{:.2f}", value);
  if (column == "seconds" || column == "choosing" || column == "cpu")
    return value < 0.1 ? fmt::format("{:.4f}", value) : fmt::format("{:.2f}", value);
  if (value != 0 && std::abs(value) < 1e-3) return fmt::format("{:.1e}", value);
  return fmt::format("{:.4f}", value);
}

std::string mean_text(const std::string& column,
                      const std::map<std::string, SeedMean>& values, bool interval) {
  const auto found = values.find(column);
  if (found == values.end()) return "-";
  const SeedMean& m = found->second;
  std::string text = figure(column, m.mean);
  // Rows that no seed changes have none.
  if (interval && std::isfinite(m.low) && figure(column, m.low) != figure(column, m.high))
    text += fmt::format(" [{}, {}]", figure(column, m.low), figure(column, m.high));
  return text;
}

std::string paper_text(const std::map<std::string, double>& paper,
                       const std::vector<std::string>& columns) {
  if (paper.empty()) return "";
  std::string text;
  for (const std::string& column : columns) {
    const auto found = paper.find(column);
    text += (text.empty() ? "" : " / ") +
            (found == paper.end() ? std::string("-") : figure(column, found->second));
  }
  return text;
}

// An accuracy, or a gain, must be at least its bar, every other figure at most its bar.
std::string bar_text(const ReproducedRow& row, const std::vector<std::string>& columns) {
  std::string text;
  bool reached = true;
  if (row.ours.empty()) return "";
  for (const std::string& column : columns) {
    const auto bar = row.bar.find(column);
    if (bar == row.bar.end()) continue;
    const auto ours = row.ours.find(column);
    const bool high = is_gain(column);
    const bool ok = ours != row.ours.end() && (high ? ours->second.mean >= bar->second
                                                    : ours->second.mean <= bar->second);
    reached = reached && ok;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ",
                        high ? ">=" : "<=", figure(column, bar->second));
  }
  return text.empty() ? "" : text + (reached ? ": reached" : ": not reached");
}

std::string external_text(const ReproducedRow& row) {
  const auto rows = row.ours.find("rows");
  if (rows == row.ours.end() || !(rows->second.mean > 0)) return "";
  return fmt::format("{:.0f}", rows->second.mean);
}

// Ours minus the print, of what is no time.
std::string difference_text(const ReproducedRow& row,
                            const std::vector<std::string>& columns) {
  std::string text;
  for (const std::string& column : columns) {
    if (column == "seconds") continue;
    const auto printed = row.paper.find(column);
    const auto ours = row.ours.find(column);
    const double change = printed == row.paper.end() || ours == row.ours.end()
                              ? kNone
                              : ours->second.mean - printed->second;
    text += (text.empty() ? "" : " / ") + std::string(change > 0 ? "+" : "") +
            figure(column, change);
  }
  return text.find_first_not_of("- /") == std::string::npos ? "" : text;
}

bool tells(const std::map<std::string, double>& values, const std::string& column) {
  const auto found = values.find(column);
  return found != values.end() && std::isfinite(found->second);
}

// What a reader looks for first: what the paper prints, or what has a bar. Without either,
// all columns.
std::vector<std::string> headline(const ReproducedTable& table) {
  std::vector<std::string> found;
  for (const std::string& column : table.columns) {
    const auto told = [&](const ReproducedRow& row) {
      return tells(row.paper, column) || tells(row.bar, column);
    };
    if (std::any_of(table.cases.begin(), table.cases.end(), [&](const ReproducedCase& c) {
          return std::any_of(c.rows.begin(), c.rows.end(), told);
        }))
      found.push_back(column);
  }
  return found.empty() ? table.columns : found;
}

// Those that the paper prints for a row of the case.
std::vector<std::string> printed_columns(const ReproducedCase& c,
                                         const std::vector<std::string>& columns) {
  std::vector<std::string> found;
  for (const std::string& column : columns)
    if (std::any_of(c.rows.begin(), c.rows.end(),
                    [&](const ReproducedRow& row) { return tells(row.paper, column); }))
      found.push_back(column);
  return found;
}

bool is_measured(const ReproducedCase& c) {
  return std::any_of(c.rows.begin(), c.rows.end(),
                     [](const ReproducedRow& row) { return !row.ours.empty(); });
}

// Markdown rows of equally many cells; the first one is the head.
std::string table_text(const std::vector<std::vector<std::string>>& rows) {
  std::string text;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    text += fmt::format("| {} |\n", fmt::join(rows[i], " | "));
    if (i > 0) continue;
    for (std::size_t k = 0; k < rows[i].size(); ++k) text += "|---";
    text += "|\n";
  }
  return text;
}

std::string figures_table(const ReproducedCase& c, const std::vector<std::string>& columns,
                          bool quick) {
  const std::vector<std::string> in_paper = printed_columns(c, columns);
  const bool printed = !in_paper.empty(), measured = is_measured(c),
             barred = measured && !quick &&
                      std::any_of(c.rows.begin(), c.rows.end(),
                                  [](const ReproducedRow&row) { return !row.bar.empty(); });
  std::vector<std::vector<std::string>> rows = {{"row"}};
  if (printed) rows[0].push_back(fmt::format("paper: {}", fmt::join(in_paper, " / ")));
  if (measured) rows[0].insert(rows[0].end(), columns.begin(), columns.end());
  if (printed && measured) rows[0].emplace_back("ours - paper");
  if (barred) rows[0].emplace_back("bar");
  for (const ReproducedRow& row : c.rows) {
    std::vector<std::string>& cells = rows.emplace_back();
    cells.push_back(row.title);
    if (printed) cells.push_back(paper_text(row.paper, in_paper));
    if (measured)
      for (const std::string& column : columns)
        cells.push_back(mean_text(column, row.ours, column != "seconds"));
    if (printed && measured) cells.push_back(difference_text(row, in_paper));
    if (barred) cells.push_back(bar_text(row, columns));
  }
  return table_text(rows);
}

// The columns that are no headline, and how each row was made.
std::string details_table(const ReproducedCase& c, const std::vector<std::string>& columns,
                          const std::vector<std::string>& shown) {
  std::vector<std::vector<std::string>> rows = {{"row"}};
  std::vector<std::string> others;
  for (const std::string& column : columns)
    if (std::find(shown.begin(), shown.end(), column) == shown.end())
      others.push_back(column);
  rows[0].insert(rows[0].end(), others.begin(), others.end());
  for (const char* title :
       {"CPU s", "choosing s", "rows or pairs", "labels", "chosen (first seed)"})
    rows[0].emplace_back(title);
  for (const ReproducedRow& row : c.rows) {
    std::vector<std::string>& cells = rows.emplace_back();
    cells.push_back(row.title);
    for (const std::string& column : others)
      cells.push_back(mean_text(column, row.ours, column != "seconds"));
    cells.push_back(mean_text("cpu", row.ours, false));
    cells.push_back(mean_text("choosing", row.ours, false));
    cells.push_back(external_text(row));
    cells.emplace_back(row.labels ? "yes" : "no");
    cells.push_back(row.chosen);
  }
  return table_text(rows);
}

std::string case_table(const ReproducedCase& c, const std::vector<std::string>& columns,
                       const std::vector<std::string>& shown, bool quick) {
  std::string text = fmt::format("## {}\n\n{}", c.title, figures_table(c, shown, quick));
  if (is_measured(c))
    text += "\nHow the rows were made:\n\n" + details_table(c, columns, shown);
  if (!c.facts.empty()) {
    text += "\n";
    for (const auto& [name, mean] : c.facts)
      text += fmt::format("{}{}: {:.6g}", name == c.facts.begin()->first ? "" : ", ", name,
                          mean.mean);
    text += "\n";
  }
  return text + "\n";
}

}  // namespace

SeedMean seed_mean(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  SeedMean result{.seeds = std::ssize(values), .mean = kNone, .low = kNone, .high = kNone};
  if (values.empty()) return result;
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  result.mean = sum / n;
  if (values.size() < 2) return result;
  for (const double value : values)
    squares += (value - result.mean) * (value - result.mean);
  const std::size_t freedom = values.size() - 1;
  const double t = freedom <= std::size(kStudent) ? kStudent[freedom - 1] : 1.96;
  const double half = t * std::sqrt(squares / (n - 1) / n);
  result.low = result.mean - half;
  result.high = result.mean + half;
  return result;
}

ReproducedTable joined(ReproducedTable table, const ReproducedTable& more) {
  const std::string seeds =
      fmt::format("{} seed{}", more.seeds.size(), more.seeds.size() == 1 ? "" : "s");
  for (const ReproducedCase& from : more.cases) {
    const auto to =
        std::find_if(table.cases.begin(), table.cases.end(),
                     [&](const ReproducedCase& c) { return c.name == from.name; });
    if (to == table.cases.end()) continue;
    for (ReproducedRow row : from.rows) {
      const bool known =
          std::any_of(to->rows.begin(), to->rows.end(),
                      [&](const ReproducedRow& own) { return own.id == row.id; });
      if (known) continue;
      if (more.seeds != table.seeds) row.chosen += (row.chosen.empty() ? "" : "; ") + seeds;
      to->rows.push_back(std::move(row));
    }
  }
  table.notes.push_back(
      fmt::format("Rows that `fmd reproduce {}` made ({}; {}) stand below the others; see "
                  "[{}.md]({}.md).",
                  more.name, seeds, more.machine, more.name, more.name));
  for (const std::string& note : more.notes) table.notes.push_back(note);
  return table;
}

std::string to_json(const ReproducedTable& table) {
  Json cases = Json::array();
  for (const ReproducedCase& c : table.cases) {
    Json rows = Json::array();
    for (const ReproducedRow& row : c.rows)
      rows.push_back({{"id", row.id},
                      {"title", row.title},
                      {"paper", numbers(row.paper)},
                      {"bar", numbers(row.bar)},
                      {"ours", means(row.ours)},
                      {"labels_used", row.labels},
                      {"chosen_with_first_seed", row.chosen}});
    cases.push_back(
        {{"name", c.name}, {"title", c.title}, {"rows", rows}, {"facts", means(c.facts)}});
    if (!c.pictures.empty()) cases.back()["pictures"] = Json::parse(c.pictures);
  }
  const Json json = {
      {"schema", 1},          {"command", "reproduce"},   {"table", table.name},
      {"title", table.title}, {"source", table.source},   {"columns", table.columns},
      {"quick", table.quick}, {"seeds", table.seeds},     {"cases", cases},
      {"notes", table.notes}, {"machine", table.machine}, {"version", table.version}};
  return json_lines(json);
}

ReproducedTable read_reproduced_table(std::string_view text, const std::string& source) {
  const Json json = internal::parse_json<Json>(text, source, ErrorKind::bad_data);
  try {
    if (json.at("schema") != 1 || json.at("command") != "reproduce")
      throw Error(ErrorKind::bad_data, source + ": is not a table of fmd reproduce");
    ReproducedTable table{.name = json.at("table"),
                          .title = json.at("title"),
                          .source = json.at("source"),
                          .columns = json.at("columns"),
                          .cases = {},
                          .notes = json.at("notes"),
                          .seeds = json.at("seeds"),
                          .quick = json.at("quick"),
                          .machine = json.at("machine"),
                          .version = json.at("version")};
    for (const Json& c : json.at("cases")) table.cases.push_back(read_case(c));
    return table;
  } catch (const Json::exception& error) {
    throw Error(
        ErrorKind::bad_data,
        fmt::format("{}: is not a table of fmd reproduce ({})", source, error.what()),
        "make it again: fmd reproduce TABLE");
  }
}

std::string to_markdown(const ReproducedTable& table) {
  std::string text = fmt::format("# {} ({} of the paper)\n\n", table.title, table.source);
  if (table.quick)
    text +=
        "**A quick run: few rows, few epochs. It shows that everything runs; its figures "
        "mean nothing.**\n\n";
  if (table.columns.empty()) {
    text +=
        fmt::format("Made by `fmd reproduce {}`, fmd {}.\n\n", table.name, table.version);
  } else {
    text += fmt::format(
        "Made by `fmd reproduce {}{}`, fmd {}. Mean over {} seeds, in brackets its 95 % "
        "interval (Student's t). Accuracy in %.\nEach seed chooses on its hold-out and "
        "reports on "
        "other rows. Settings that all seeds share were set on earlier runs, whose rows "
        "overlap "
        "with\nthe rows that report here. Seconds are wall time of one edit at the "
        "chosen options.\nThe time to choose has its own column.\nMachine: {}.\n\n",
        table.name, table.quick ? " --quick" : "", table.version, table.seeds.size(),
        table.machine);
  }
  const std::vector<std::string> shown = headline(table);
  for (const ReproducedCase& c : table.cases)
    if (!c.rows.empty()) text += case_table(c, table.columns, shown, table.quick);
  if (!table.notes.empty()) text += "## What differs from the paper\n\n";
  for (const std::string& note : table.notes) text += "- " + note + "\n";
  return text;
}

}  // namespace fmd
