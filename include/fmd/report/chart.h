#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "fmd/core/types.h"
#include "fmd/metrics/interval.h"

// Pictures as plain data, and SVG as their one format. A picture follows the reader's light
// or dark page; series differ in shape as well as in colour, so that it can be printed in
// black. Nothing is loaded from elsewhere: no font, no script, no other file.
namespace fmd {

// One mark. Ends of an interval are drawn where they are known.
struct ChartPoint {
  Interval x, y;
};

// What a series looks like: the shape of its marks, and its place in the palette.
enum class Mark : std::uint8_t { none, circle, square, triangle, diamond, cross };
enum class Ink : std::uint8_t { plain, blue, red, green, purple, orange, sky, faint };
enum class Stroke : std::uint8_t { none, solid, dotted };

struct ChartSeries {
  std::string name;  // in the legend; "" = not there
  std::vector<ChartPoint> points;
  Mark mark = Mark::circle;
  Ink ink = Ink::blue;
  Stroke stroke = Stroke::none;  // a line through the points in their order
  bool hollow = false;           // marks are outlines
};

struct ChartAxis {
  std::string title;
  bool log = false;
  // Undefined: taken from the points. Marks beyond the ends are drawn at the edge, and a
  // line below the chart says how many. So is 0 on a logarithmic axis.
  double low = kUndefined, high = kUndefined;
};

struct Chart {
  std::string title;
  ChartAxis x, y;
  std::vector<ChartSeries> series;
};

// Small images in rows of ten, enlarged. rgb: height x width x 3.
struct ChartImage {
  Index width = 0, height = 0;
  std::vector<std::uint8_t> rgb;
  std::string caption;
};
struct ImageStrip {
  std::string title;
  std::vector<ChartImage> images;
};

// Rows of short texts. A cell of `marked` (row, column) is in red and bold.
struct ChartTable {
  std::string title;
  std::vector<std::string> headings;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::pair<Index, Index>> marked;
};

// Boxes from left to right with arrows between them.
struct ChartFlow {
  struct Box {
    std::string title;
    std::vector<std::string> lines;
  };
  std::string title;
  std::vector<Box> boxes;
};

using ChartPanel = std::variant<Chart, ImageStrip, ChartTable, ChartFlow>;

struct Picture {
  std::string title;
  std::vector<ChartPanel> panels;
  Index columns = 1;               // panels side by side
  std::vector<std::string> notes;  // below, each a paragraph
};

// Texts may hold names from files; they are made safe and escaped. Throws
// Error(bad_option: an image whose bytes do not fit its size, a chart without a finite
// point).
[[nodiscard]] std::string svg(const Picture& picture);

}  // namespace fmd
