#include "fmd/report/columns_report.h"

#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>

#include "fmd/core/safe_text.h"
#include "report/text.h"

namespace fmd {
namespace {

const SheetColumns& column_picture() {
  static const SheetColumns picture = sheet_columns(
      "  {column:20.} {type:8.} {missing:>7} {values:>7}  {example:12.}  {became:~}");
  return picture;
}

std::string values_text(Index values) {
  return values > kMostCounted ? text::count(kMostCounted) + "+" : text::count(values);
}

double share(Index part, Index all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

}  // namespace

std::string to_json(const ColumnsReport& report) {
  nlohmann::ordered_json columns = nlohmann::ordered_json::array();
  for (const ColumnFacts& c : report.columns)
    columns.push_back({{"name", c.name},
                       {"type", c.type},
                       {"missing", c.missing},
                       {"share_missing", share(c.missing, report.rows)},
                       {"values", std::min(c.values, kMostCounted)},
                       {"more_values", c.values > kMostCounted},
                       {"example", c.example},
                       {"became", c.became},
                       {"features", c.features}});
  nlohmann::ordered_json warnings = nlohmann::ordered_json::array();
  for (const ColumnWarning& w : report.warnings)
    warnings.push_back({{"column", w.column}, {"kind", w.kind}, {"text", w.text}});
  const nlohmann::ordered_json json = {{"source", report.source},
                                       {"rows", report.rows},
                                       {"columns", std::move(columns)},
                                       {"warnings", std::move(warnings)},
                                       {"left_out", report.left_out}};
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

SheetSection columns_section(const ColumnsReport& report, std::size_t most) {
  SheetSection section;
  section.table(column_picture());
  const std::size_t shown = std::min(most, report.columns.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const ColumnFacts& c = report.columns[i];
    const double missing = 100 * share(c.missing, report.rows);
    section.row(column_picture(), {safe_text(c.name), c.type,
                                   c.missing == 0 ? "-" : text::fixed(missing, 1) + " %",
                                   values_text(c.values), safe_text(c.example), c.became});
  }
  if (shown < report.columns.size())
    section.line("  ", fmt::format("... and {} more columns; fmd columns shows all",
                                   report.columns.size() - shown));
  return section;
}

Sheet sheet_of(const ColumnsReport& report) {
  Sheet sheet;
  sheet.command = "columns";
  sheet.data = report.source;
  Index features = 0;
  for (const ColumnFacts& c : report.columns) features += c.features;
  sheet.add().line("data   ", fmt::format("{}, {} rows; {} columns give {} features",
                                          report.source, text::count(report.rows),
                                          report.columns.size(), text::count(features)));
  sheet.sections.push_back(
      columns_section(report, std::numeric_limits<std::size_t>::max()));
  return sheet;
}

std::string warning_lines(const ColumnsReport& report) {
  std::string lines;
  for (const ColumnWarning& w : report.warnings)
    lines += fmt::format("note   {}: {}\n", safe_text(w.column), safe_text(w.text));
  return lines;
}

}  // namespace fmd
