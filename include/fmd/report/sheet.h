#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fmd/data/csv.h"
#include "fmd/metrics/interval.h"

// A report in the form that is shown: plain data. sheet_of() of a report makes it, and each
// format is one function that takes it. A new format needs no change of any report.
namespace fmd {

// What people read, and the figure behind it where there is one. Texts may hold names from
// files: each format makes them safe to show (safe_text), so none of them can begin a line.
struct SheetCell {
  SheetCell(std::string text,
            const Interval& figure = {})  // NOLINT: rows are lists of texts
      : text(std::move(text)), figure(figure) {}
  SheetCell(const char* text) : text(text) {}  // NOLINT

  std::string text;
  std::string below;  // a second line
  Interval figure;    // undefined: there is only text
  bool mark = false;  // "!" behind it
};

enum class Align { left, right };
// What a screen does with text that is wider than its column: print all of it, cut it, or
// break it into lines.
enum class Fit { spill, cut, wrap };

struct SheetColumn {
  std::string heading;  // "\n" begins a second line: names in it must be safe to show
  std::size_t width = 0;
  Align align = Align::left;
  Fit fit = Fit::spill;
  std::size_t gap = 1;  // blanks before it
  bool bar = false;     // a bar follows, with room for marks before it

  bool operator==(const SheetColumn&) const = default;
};

using SheetColumns = std::vector<SheetColumn>;

// Columns from a picture of a row: "  {name:14.}{rows:>7} {why:~}". Blanks are gaps. In
// braces are the heading, ">" for the right side, the width, and "." (cut), "~" (wrap) or
// "|" (bar).
[[nodiscard]] SheetColumns sheet_columns(std::string_view picture);

// Rows of a table, or a paragraph where there are no columns.
struct SheetBlock {
  SheetColumns columns;
  bool heads = false;  // a screen shows the headings too; pages always do
  std::vector<std::vector<SheetCell>> rows;
  std::string lead, words;  // a screen breaks the words behind the lead
  std::size_t indent = 0;   // of the lines after the first
  bool strong = false;      // what matters most: bold on a page
};

// Where a section is shown. A page is Markdown (or HTML); it has room for wider tables than
// a screen.
enum class Medium { both, screen, page };

// A section without blocks is not shown.
struct SheetSection {
  std::string title, about;  // on a screen one line, after an empty one
  std::string heads;         // a screen's headings, at the end of that line
  Medium on = Medium::both;
  std::vector<SheetBlock> blocks;

  // A paragraph. Further lines are indented like the lead, or by `indent`.
  void line(std::string lead, std::string words);
  void line(std::string lead, std::string words, std::size_t indent);
  void blank() { line("", ""); }
  // Begins a table whose headings are shown on a screen too.
  void table(const SheetColumns& columns);
  // Adds a row to the table above it, or begins a table where that has other columns.
  void row(const SheetColumns& columns, std::vector<SheetCell> cells);
};

// A figure for programs. Where it is undefined, the reason says why.
struct SheetFigure {
  std::string attribute, group, measure;
  Interval figure;
  std::string rows;  // that it is about; "<10" where it is masked
  std::string reason;
};

// Something that was judged.
struct SheetCase {
  std::string name;
  Verdict verdict = Verdict::none;
  std::string message, details;
};

struct Sheet {
  std::string command, data;  // "audit" of "test.csv"
  std::vector<SheetSection> sections;
  std::vector<SheetFigure> figures;
  std::vector<SheetCase> cases;

  SheetSection& add(std::string title = "", std::string about = "", std::string heads = "",
                    Medium on = Medium::both);
};

// A terminal's screen, 80 columns, no colour: all sections except those of pages.
[[nodiscard]] std::string screen(const Sheet& sheet);
// Tables fit for a pull request: all sections except those of screens.
[[nodiscard]] std::string markdown(const Sheet& sheet);
// One line per figure: attribute, group, measure, value, low, high, rows, reason.
[[nodiscard]] std::string csv(const Sheet& sheet, CsvGuard guard = CsvGuard::none);
// One test case per case. A failed one has the figures; one without enough evidence is
// skipped.
[[nodiscard]] std::string junit(const Sheet& sheet);

}  // namespace fmd
