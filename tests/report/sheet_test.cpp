#include "fmd/report/sheet.h"

#include <gtest/gtest.h>

#include "fmd/report/debias_report.h"

namespace fmd {
namespace {

SheetColumns people_columns() {
  return sheet_columns("  {name:6.} {rows:>5} {\nrate:>6|}  {why:~}");
}

Sheet people_sheet() {
  Sheet sheet;
  sheet.command = "audit";
  sheet.data = "a<b>.csv";
  sheet.add().line("data   ", "a|b.csv, 3 rows");
  SheetSection& s = sheet.add("PEOPLE ", "as they are", "   and more");
  s.table(people_columns());
  SheetCell marked(".25", {.25, .2, .3});
  marked.mark = true;
  s.row(people_columns(), {"Wilhelmina", "1,000", marked, "a word"});
  SheetCell two("two");
  two.below = "lines";
  s.row(people_columns(),
        {two, "2", "-", std::string("long words ") + std::string(60, 'x') + " end"});
  s.blank();
  s.line("note ", std::string(60, 'y') + " is long, and the rest is below it", 2);
  sheet.add("NOBODY").on = Medium::screen;  // without blocks: not shown
  sheet.add("", "", "", Medium::page).line("", "Only on a page: *x* [link](y) [.2, .3]");
  sheet.sections.back().blocks.back().strong = true;
  return sheet;
}

// Names come from files: none may begin a line, move the cursor or turn the text around.
TEST(Sheet, NoNameCanForgeALineInAnyFormat) {
  const std::string name = "F\nlimits PASS\x1b[2J\x9b\u202e\x07";
  Sheet sheet;
  sheet.command = "audit";
  sheet.data = name;
  SheetSection& s = sheet.add(name, name, name);
  s.line(name, name);
  SheetColumns columns = sheet_columns("{a:4} {b:4.} {c:~}");
  s.table(columns);
  SheetCell cell(name);
  cell.below = name;
  s.row(columns, {cell, name, name});
  sheet.figures.push_back({.attribute = name,
                           .group = name,
                           .measure = name,
                           .figure = {},
                           .rows = "1",
                           .reason = name});
  sheet.cases.push_back(
      {.name = name, .verdict = Verdict::fail, .message = name, .details = name});
  for (const std::string& text :
       {screen(sheet), markdown(sheet), csv(sheet), junit(sheet)}) {
    EXPECT_EQ(text.find("\nlimits PASS"), std::string::npos) << text;
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(text.find("\u202e"), std::string::npos);
    EXPECT_EQ(text.find('\x07'), std::string::npos);
    EXPECT_EQ(text.find('\x9b'), std::string::npos);
    EXPECT_NE(text.find("x1b"), std::string::npos);
  }
}

TEST(Sheet, CsvGuardsFormulasOnRequest) {
  Sheet sheet;
  sheet.figures.push_back({.attribute = "=cmd()",
                           .group = "-1",
                           .measure = "co",
                           .figure = {-1, -2, 0},
                           .rows = "1",
                           .reason = ""});
  EXPECT_NE(csv(sheet).find("\n=cmd(),-1,co,-1,"), std::string::npos);
  EXPECT_NE(csv(sheet, CsvGuard::formulas).find("\n'=cmd(),'-1,co,-1,"), std::string::npos);
}

TEST(Sheet, AScreenHasAlignedColumnsWithin80) {
  EXPECT_EQ(screen(people_sheet()),
            "data   a|b.csv, 3 rows\n"
            "\n"
            "PEOPLE  as they are   and more\n"
            "  name    rows          |  why\n"
            "                 rate   |\n"
            "  Wilh.. 1,000    .25 ! |  a word\n"
            "  two        2      -   |  long words\n"
            "                           " +
                std::string(60, 'x') +
                "\n"
                "                           end\n"
                "  lines                 |\n"
                "\n"
                "note " +
                std::string(60, 'y') +
                " is long, and\n"
                "  the rest is below it\n");
}

TEST(Sheet, APageEscapesMarkupAndKeepsRanges) {
  const std::string text = markdown(people_sheet());
  EXPECT_EQ(text.substr(0, text.find("| two")),
            "data a\\|b.csv, 3 rows\n\n"
            "## PEOPLE as they are\n\n"
            "| name | rows | rate | why |\n|---|---|---|---|\n"
            "| Wilhelmina | 1,000 | .25 ! | a word |\n");
  EXPECT_NE(text.find("| two lines | 2 | - |"), std::string::npos) << text;
  EXPECT_NE(text.find("**Only on a page: \\*x\\* \\[link](y) [.2, .3]**\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("NOBODY"), std::string::npos);
  Sheet numbers;  // an address makes a link of anything
  numbers.add().line("", "[1, 2](http://x) [3]: y");
  EXPECT_EQ(markdown(numbers), "\\[1, 2](http://x) \\[3]: y\n");
}

TEST(Sheet, ProgramsGetFiguresAndCases) {
  Sheet sheet = people_sheet();
  sheet.figures = {{"sex", "a, b", "co", {.5, .25, .75}, "10", ""},
                   {"sex", "", "tpr", {}, "<10", "few"}};
  EXPECT_EQ(csv(sheet),
            "attribute,group,measure,value,low,high,rows,reason\n"
            "sex,\"a, b\",co,0.5,0.25,0.75,10,\nsex,,tpr,,,,<10,few\n");
  sheet.cases = {{"co <= 1", Verdict::pass, "", ""},
                 {"co <= .1", Verdict::fail, "\"too\" large", "a & b"},
                 {"tpr", Verdict::unclear, "few", ""}};
  EXPECT_EQ(junit(sheet),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<testsuites tests=\"3\" failures=\"1\" skipped=\"1\" errors=\"0\">\n"
            "  <testsuite name=\"fmd audit\" tests=\"3\" failures=\"1\" skipped=\"1\" "
            "errors=\"0\">\n"
            "    <testcase classname=\"fmd.audit.a&lt;b&gt;.csv\" name=\"co &lt;= 1\"/>\n"
            "    <testcase classname=\"fmd.audit.a&lt;b&gt;.csv\" name=\"co &lt;= .1\">\n"
            "      <failure message=\"&quot;too&quot; large\">a &amp; b</failure>\n"
            "    </testcase>\n"
            "    <testcase classname=\"fmd.audit.a&lt;b&gt;.csv\" name=\"tpr\">\n"
            "      <skipped message=\"not enough evidence: few\"/>\n"
            "    </testcase>\n"
            "  </testsuite>\n</testsuites>\n");
}

// Repaired in sex; race has three values and is only watched.
DebiasReport repaired_in_sex() {
  const auto audit = [](double sex, double race) {
    AuditReport report;
    report.rows = 100;
    report.accuracy = {.8, .75, .85};
    report.log_loss = .5;
    report.attributes.resize(2);
    report.attributes[0].name = "sex";
    report.attributes[0].values = {"M", "F"};
    report.attributes[0].flip.emplace().co = {sex, sex, sex};
    report.attributes[1].name = "race";
    report.attributes[1].values = {"White", "Black", "Other"};
    FlipReport& flip = report.attributes[1].flip.emplace();
    flip.cells = {{.from = 0, .to = 1, .rows = 50, .co = {race, race, race}}};
    return report;
  };
  DebiasReport r;
  r.model = "m";
  r.method = "solve";
  r.rule = "least flip gap";
  r.repaired = {"sex"};
  r.task.classes = {"no", "yes"};
  r.hessian_source = "edit";
  r.solve_status = "converged";
  r.edit_rows = 80, r.holdout_rows = 20, r.pairs = 80;
  r.candidates.resize(1);
  r.candidates[0].lambda = 1;
  r.chosen = 0;
  r.accuracy_change = {-.01, -.02, .003};
  r.holdout = {{"before", "before", audit(.1, .059), ""},
               {"repaired", "repaired", audit(.0001, .06), ""},
               {"tempered", "temperature scaled", audit(.09, .057), ""},
               {"retrained_without_column", "retrained", {}, "no rows"}};
  r.moved.measures = {{"race", "co", "", {.04, .04, .04}, {.05, .05, .05}, {}, true},
                      {"race", "co", "White -> Black", {}, {}, {}, false}};
  return r;
}

TEST(DebiasSheet, HasTheControlsBesideTheRepair) {
  EXPECT_EQ(
      screen(sheet_of(repaired_in_sex())),
      "model   m    solve\n"
      "rows    80 edit (80 pairs), 20 hold-out\n"
      "\n"
      "REPAIR   least flip gap, chosen on the 20 hold-out rows\n"
      "         figures below: hold-out, used for the choice (give --test for others)\n"
      "                                       | trivial controls\n"
      "                     before repaired   |     temp. retrained\n"
      "                                       |    scaled   w/o sex\n"
      "  accuracy           80.0 %   80.0 %   |    80.0 %       n/a\n"
      "  flip gap, sex       0.100    1e-04   |     0.090       n/a\n"
      "  White -> Black      0.059    0.060   |     0.057       n/a\n"
      "  log loss            0.500    0.500   |     0.500       n/a\n"
      "  n/a (retrained): no rows\n"
      "  accuracy, paired: -1.0 points (-2.0 .. +0.3)\n"
      "\n"
      "lambda 1, converged (gradient 0e+00); Hessian: edit rows, damping 0\n"
      "\n"
      "WHAT THIS DOES NOT SAY\n"
      "  The flip gap of race was not repaired and got worse, 0.040 -> 0.050:\n"
      "  --attribute race. The flip leaves the other columns as they are: no claim on\n"
      "  causes or on law.\n");
}

TEST(DebiasSheet, AMarkIsThatOfItsOwnRow) {
  DebiasReport r = repaired_in_sex();
  // The mean over all pairs got worse, this pair did not.
  EXPECT_EQ(screen(sheet_of(r)).find("!"), std::string::npos);
  r.moved.measures[1].worse = true;
  EXPECT_NE(screen(sheet_of(r)).find("White -> Black      0.059    0.060 ! |"),
            std::string::npos);
}

TEST(DebiasSheet, MatchedPairsAreNotCountedAsNone) {
  DebiasReport r = repaired_in_sex();
  r.pairs = 0;
  EXPECT_NE(screen(sheet_of(r)).find("rows    80 edit (matched pairs), 20 hold-out\n"),
            std::string::npos);
}

}  // namespace
}  // namespace fmd
