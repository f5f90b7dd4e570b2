#include "fmd/report/chart.h"

#include <gtest/gtest.h>

#include "fmd/core/error.h"

namespace fmd {
namespace {

ChartPoint point(double x, double y) { return {{.value = x}, {.value = y}}; }

Chart small_chart() {
  return {.title = "t",
          .x = {.title = "x", .low = 0, .high = 10},
          .y = {.title = "y", .low = 0, .high = 100},
          .series = {{.name = "s", .points = {point(5, 50)}}}};
}

std::string drawn(ChartPanel panel) {
  return svg({.title = "p", .panels = {std::move(panel)}, .notes = {}});
}

// The plot is 62 .. 428 wide and 30 .. 290 high: the middle of both axes.
TEST(Chart, AMarkStandsWhereItsValueIs) {
  EXPECT_NE(drawn(small_chart()).find("<circle cx=\"245.0\" cy=\"160.0\""),
            std::string::npos);
  Chart log = small_chart();
  log.x = {.title = "x", .log = true, .low = 1, .high = 100};
  log.series[0].points = {point(10, 100)};
  EXPECT_NE(drawn(log).find("<circle cx=\"245.0\" cy=\"30.0\""), std::string::npos);
}

TEST(Chart, AnIntervalIsALineThroughItsMark) {
  Chart chart = small_chart();
  chart.series[0].points = {{{.value = 5}, {.value = 50, .low = 0, .high = 100}}};
  EXPECT_NE(drawn(chart).find("<line x1=\"245.0\" y1=\"290.0\" x2=\"245.0\" y2=\"30.0\""),
            std::string::npos);
}

TEST(Chart, MarksBeyondAnAxisAreAtItsEdgeAndCounted) {
  Chart chart = small_chart();
  EXPECT_EQ(drawn(chart).find("beyond an axis"), std::string::npos);
  chart.series[0].points = {point(5, 50), point(20, 50)};
  const std::string one = drawn(chart);
  EXPECT_NE(one.find("<circle cx=\"428.0\" cy=\"160.0\""), std::string::npos);
  EXPECT_NE(one.find("1 mark lies beyond an axis"), std::string::npos);
  chart.x = {.title = "x", .log = true, .low = 1, .high = 10};
  chart.series[0].points = {point(0, 50), point(-1, 50)};  // no logarithm
  EXPECT_NE(drawn(chart).find("2 marks lie beyond an axis"), std::string::npos);
}

TEST(Chart, EndsComeFromAllPointsAndIntervals) {
  Chart chart = small_chart();
  chart.y = {.title = "y"};
  chart.series[0].points = {{{.value = 1}, {.value = 50, .low = 20, .high = 90}}};
  const std::string text = drawn(chart);
  EXPECT_NE(text.find(">20</text>"), std::string::npos);
  EXPECT_NE(text.find(">80</text>"), std::string::npos);
  EXPECT_EQ(text.find("beyond"), std::string::npos);
}

TEST(Chart, NoNameLeavesItsText) {
  Chart chart = small_chart();
  chart.title = chart.x.title = chart.series[0].name = "</text><script>x\x1b\n\u202e&";
  const std::string text =
      svg({.title = chart.title, .panels = {chart}, .notes = {chart.title}});
  EXPECT_EQ(text.find("<script"), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("\u202e"), std::string::npos);
  EXPECT_NE(text.find("&lt;script&gt;"), std::string::npos);
}

TEST(Chart, AnImageKeepsItsPixels) {
  ImageStrip strip{
      .title = "i",
      .images = {{.width = 2, .height = 1, .rgb = {255, 0, 0, 0, 0, 255}, .caption = {}}}};
  const std::string text = drawn(strip);
  EXPECT_NE(text.find("fill=\"#ff0000\" d=\"M0 0h1v1h-1z\""), std::string::npos);
  EXPECT_NE(text.find("fill=\"#0000ff\" d=\"M1 0h1v1h-1z\""), std::string::npos);
  strip.images[0].rgb.pop_back();
  EXPECT_THROW(static_cast<void>(drawn(strip)), Error);
}

TEST(Chart, ATableMarksItsCells) {
  const std::string text = drawn(ChartTable{
      .title = "t", .headings = {"a", "b"}, .rows = {{"1", "2"}}, .marked = {{0, 1}}});
  EXPECT_NE(text.find("font-weight:600\">2</text>"), std::string::npos);
  EXPECT_EQ(text.find("font-weight:600\">1</text>"), std::string::npos);
}

TEST(Chart, WithoutAFinitePointThereIsNoAxis) {
  Chart chart = small_chart();
  chart.x = {.title = "x"};
  chart.series[0].points = {point(kUndefined, 1)};
  EXPECT_THROW(static_cast<void>(drawn(chart)), Error);
}

}  // namespace
}  // namespace fmd
