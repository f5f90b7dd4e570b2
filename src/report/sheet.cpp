#include "fmd/report/sheet.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "fmd/core/safe_text.h"
#include "report/markup.h"
#include "report/text.h"

namespace fmd {

SheetColumns sheet_columns(std::string_view picture) {
  SheetColumns columns;
  std::size_t at = 0;
  for (std::size_t open; (open = picture.find('{', at)) != std::string_view::npos;) {
    const std::size_t close = picture.find('}', open);
    const std::string_view field = picture.substr(open + 1, close - open - 1);
    const std::size_t colon = std::min(field.rfind(':'), field.size());
    SheetColumn column{.heading = std::string(field.substr(0, colon)), .gap = open - at};
    for (const char c : field.substr(colon)) {
      if (c == '>') column.align = Align::right;
      if (c == '.') column.fit = Fit::cut;
      if (c == '~') column.fit = Fit::wrap;
      if (c == '|') column.bar = true;
      if (c >= '0' && c <= '9')
        column.width = 10 * column.width + static_cast<std::size_t>(c - '0');
    }
    columns.push_back(std::move(column));
    at = close + 1;
  }
  return columns;
}

void SheetSection::line(std::string lead, std::string words) {
  const std::size_t indent = lead.size();
  line(std::move(lead), std::move(words), indent);
}

void SheetSection::line(std::string lead, std::string words, std::size_t indent) {
  SheetBlock block;
  block.lead = std::move(lead);
  block.words = std::move(words);
  block.indent = indent;
  blocks.push_back(std::move(block));
}

void SheetSection::table(const SheetColumns& columns) {
  SheetBlock& block = blocks.emplace_back();
  block.columns = columns;
  block.heads = true;
}

void SheetSection::row(const SheetColumns& columns, std::vector<SheetCell> cells) {
  if (blocks.empty() || blocks.back().columns != columns)
    blocks.emplace_back().columns = columns;
  blocks.back().rows.push_back(std::move(cells));
}

SheetSection& Sheet::add(std::string title, std::string about, std::string heads,
                         Medium on) {
  return sections.emplace_back(SheetSection{.title = std::move(title),
                                            .about = std::move(about),
                                            .heads = std::move(heads),
                                            .on = on,
                                            .blocks = {}});
}

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines(1);
  for (const char c : text)
    if (c == '\n')
      lines.emplace_back();
    else
      lines.back() += c;
  return lines;
}

std::string without_trailing_blanks(const std::string& text) {
  std::string out;
  for (std::string& line : lines_of(text)) {
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  out.pop_back();
  return out;
}

// The lines of each heading.
std::vector<std::vector<std::string>> headings(const SheetColumns& columns) {
  std::vector<std::vector<std::string>> all;
  for (const SheetColumn& column : columns)
    all.push_back(lines_of(safe_lines(column.heading)));
  return all;
}

// One line of a cell, from column `start` of the screen on.
std::string on_screen(std::string text, bool mark, const SheetColumn& column, Fit fit,
                      std::size_t start) {
  if (fit == Fit::cut) text = text::clip(text, column.width);
  if (fit == Fit::wrap) text = text::wrap(text, start, start);
  if (mark && !column.bar) text += " !";
  text = column.align == Align::left ? fmt::format("{:<{}}", text, column.width)
                                     : fmt::format("{:>{}}", text, column.width);
  return column.bar ? text + (mark ? " ! |" : "   |") : text;
}

// `marks` are those of the first line; empty = headings, which are never cut.
std::string lines_on_screen(const SheetColumns& columns,
                            const std::vector<std::vector<std::string>>& lines,
                            const std::vector<bool>& marks) {
  std::size_t height = 1;
  for (const auto& cell : lines) height = std::max(height, cell.size());
  std::string out;
  for (std::size_t l = 0; l < height; ++l) {
    std::string line;
    for (std::size_t k = 0; k < lines.size(); ++k) {
      const SheetColumn& column = columns[k];
      line += std::string(column.gap, ' ');
      line += on_screen(l < lines[k].size() ? lines[k][l] : "",
                        !marks.empty() && marks[k] && l == 0, column,
                        marks.empty() ? Fit::spill : column.fit, line.size());
    }
    out += line + "\n";
  }
  return out;
}

std::string row_on_screen(const SheetColumns& columns,
                          const std::vector<SheetCell>& cells) {
  std::vector<std::vector<std::string>> lines;
  std::vector<bool> marks;
  for (const SheetCell& cell : cells) {
    auto& text = lines.emplace_back(1, safe_text(cell.text));
    if (!cell.below.empty()) text.push_back(safe_text(cell.below));
    marks.push_back(cell.mark);
  }
  return lines_on_screen(columns, lines, marks);
}

std::string section_on_screen(const SheetSection& section, bool first) {
  std::string out;
  if (!section.title.empty() && !section.blocks.empty()) {
    const std::string title = safe_text(section.title);
    const std::size_t indent = title.size() + 1;
    out += (first ? "" : "\n") + title + " " +
           text::wrap(safe_text(section.about), indent, indent) + safe_text(section.heads) +
           "\n";
  }
  for (const SheetBlock& block : section.blocks) {
    if (block.columns.empty()) {
      const std::string lead = safe_text(block.lead);
      out += lead + text::wrap(safe_text(block.words), lead.size(), block.indent) + "\n";
      continue;
    }
    if (block.heads) out += lines_on_screen(block.columns, headings(block.columns), {});
    for (const auto& row : block.rows) out += row_on_screen(block.columns, row);
  }
  return out;
}

}  // namespace

std::string screen(const Sheet& sheet) {
  std::string out;
  for (const SheetSection& section : sheet.sections)
    if (section.on != Medium::page) out += section_on_screen(section, out.empty());
  return without_trailing_blanks(out);
}

namespace {

// "[.108, .111]" is no link: it holds only numbers, and no address follows.
bool is_range(std::string_view text) {
  const std::size_t end = text.find_first_not_of("0123456789.,- ", 1);
  return end != std::string_view::npos && text[end] == ']' &&
         (end + 1 == text.size() ||
          std::string_view("([:").find(text[end + 1]) == std::string_view::npos);
}

// None of the characters may end a table's cell or begin markup. Blanks are single.
std::string page_text(const std::string& shown) {
  const std::string text = safe_text(shown);
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ' && (out.empty() || out.back() == ' ')) continue;
    if (std::string_view("|\\`*_<").find(c) != std::string_view::npos ||
        (c == '[' && !is_range(std::string_view(text).substr(i))))
      out += '\\';
    out += c;
  }
  if (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

// A paragraph whose first characters, perhaps those of a name, would make it a heading, a
// quote or an entry of a list.
std::string paragraph(std::string text) {
  const std::size_t digits = text.find_first_not_of("0123456789");
  if (digits != std::string::npos && digits > 0 && digits + 1 < text.size() &&
      (text[digits] == '.' || text[digits] == ')') && text[digits + 1] == ' ')
    text.insert(digits, "\\");
  else if (!text.empty() && std::string_view("#>+-=~").find(text[0]) != std::string::npos)
    text.insert(0, "\\");
  return text;
}

std::string row_on_page(const std::vector<SheetCell>& cells) {
  std::string out = "|";
  for (const SheetCell& cell : cells) {
    const std::string text =
        page_text(cell.text + (cell.below.empty() ? "" : " " + cell.below)) +
        (cell.mark ? " !" : "");
    out += text.empty() ? " |" : " " + text + " |";
  }
  return out + "\n";
}

std::string block_on_page(const SheetBlock& block) {
  if (block.columns.empty()) {
    const std::string text = paragraph(page_text(block.lead + " " + block.words));
    if (text.empty()) return "";
    return block.strong ? "**" + text + "**\n\n" : text + "\n\n";
  }
  std::vector<SheetCell> heads;
  for (const SheetColumn& column : block.columns) {
    std::string& text = heads.emplace_back(column.heading).text;
    std::replace(text.begin(), text.end(), '\n', ' ');
  }
  std::string out = row_on_page(heads) + "|";
  for (std::size_t k = 0; k < block.columns.size(); ++k) out += "---|";
  out += "\n";
  for (const auto& row : block.rows) out += row_on_page(row);
  return out + "\n";
}

}  // namespace

std::string markdown(const Sheet& sheet) {
  std::string out;
  for (const SheetSection& section : sheet.sections) {
    if (section.on == Medium::screen) continue;
    if (!section.title.empty() && !section.blocks.empty())
      out += "## " + page_text(section.title + " " + section.about) + "\n\n";
    for (const SheetBlock& block : section.blocks) out += block_on_page(block);
  }
  if (!out.empty()) out.pop_back();
  return out;
}

namespace {

std::string csv_number(double x) { return std::isfinite(x) ? fmt::format("{}", x) : ""; }

std::string csv_name(const std::string& name, CsvGuard guard) {
  return csv_cell(safe_text(name), guard);
}

}  // namespace

std::string csv(const Sheet& sheet, CsvGuard guard) {
  std::string out = "attribute,group,measure,value,low,high,rows,reason\n";
  for (const SheetFigure& f : sheet.figures)
    out += fmt::format("{},{},{},{},{},{},{},{}\n", csv_name(f.attribute, guard),
                       csv_name(f.group, guard), csv_name(f.measure, guard),
                       csv_number(f.figure.value), csv_number(f.figure.low),
                       csv_number(f.figure.high), f.rows,
                       f.figure.defined() ? "" : csv_name(f.reason, guard));
  return out;
}

namespace {

std::string case_in_xml(const Sheet& sheet, const SheetCase& c) {
  const std::string head =
      fmt::format("    <testcase classname=\"fmd.{}.{}\" name=\"{}\"", sheet.command,
                  xml_text(sheet.data), xml_text(c.name));
  if (c.verdict == Verdict::fail)
    return fmt::format("{}>\n      <failure message=\"{}\">{}</failure>\n    </testcase>\n",
                       head, xml_text(c.message), xml_text(c.details));
  if (c.verdict == Verdict::unclear)
    return fmt::format(
        "{}>\n      <skipped message=\"not enough evidence: {}\"/>\n    </testcase>\n",
        head, xml_text(c.message));
  if (c.details.empty()) return head + "/>\n";
  return fmt::format("{}>\n      <system-out>{}</system-out>\n    </testcase>\n", head,
                     xml_text(c.details));
}

}  // namespace

std::string junit(const Sheet& sheet) {
  std::string cases;
  Index failed = 0, skipped = 0;
  for (const SheetCase& c : sheet.cases) {
    failed += c.verdict == Verdict::fail;
    skipped += c.verdict == Verdict::unclear;
    cases += case_in_xml(sheet, c);
  }
  const std::string counts =
      fmt::format("tests=\"{}\" failures=\"{}\" skipped=\"{}\" errors=\"0\"",
                  sheet.cases.size(), failed, skipped);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {0}>\n  <testsuite "
      "name=\"fmd {1}\" {0}>\n{2}  </testsuite>\n</testsuites>\n",
      counts, sheet.command, cases);
}

}  // namespace fmd
