#include "fmd/report/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "core/index.h"
#include "fmd/core/error.h"
#include "report/markup.h"

namespace fmd {
namespace {

constexpr double kWidth = 440, kPlotHeight = 260, kGap = 24, kEdge = 16;
constexpr double kLeft = 62, kRight = 12, kLetter = 6.2, kLine = 16;
constexpr double kImage = 40;  // side of a small image, at least
constexpr Index kImagesInRow = 10;
constexpr int kGreyLevels = 16;

// On white and on black paper: colours that differ in lightness too.
constexpr const char* kStyle =
    "<style>\n"
    "svg{font-family:system-ui,-apple-system,'Segoe UI',sans-serif;font-size:12px;"
    "--page:#fff;--text:#1c1c1c;--soft:#5f6368;--grid:#e3e3e3;--blue:#0066a8;"
    "--red:#c9420a;--green:#007a5a;--purple:#a44a86;--orange:#b06f00;--sky:#2f8fc4;"
    "--faint:#9a9a9a}\n"
    "@media (prefers-color-scheme:dark){svg{--page:#15181c;--text:#e8e8e8;--soft:#a8adb3;"
    "--grid:#34383d;--blue:#5eb3ec;--red:#ff8a57;--green:#3fc79d;--purple:#e59ac8;"
    "--orange:#f0b23c;--sky:#9bd6fa;--faint:#777}}\n"
    "text{fill:var(--text)}.soft{fill:var(--soft)}.title{font-size:14px;font-weight:600}"
    ".head{font-weight:600}.grid{stroke:var(--grid)}.axis{stroke:var(--soft)}\n"
    "</style>\n";

const char* colour_of(Ink ink) {
  switch (ink) {
    case Ink::plain:
      return "var(--text)";
    case Ink::blue:
      return "var(--blue)";
    case Ink::red:
      return "var(--red)";
    case Ink::green:
      return "var(--green)";
    case Ink::purple:
      return "var(--purple)";
    case Ink::orange:
      return "var(--orange)";
    case Ink::sky:
      return "var(--sky)";
    case Ink::faint:
      return "var(--faint)";
  }
  return "";
}

std::string text_at(double x, double y, const std::string& words,
                    const std::string& attributes = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}{}>{}</text>\n", x, y,
                     attributes.empty() ? "" : " ", attributes, xml_text(words));
}

std::string line_between(double x1, double y1, double x2, double y2,
                         const std::string& attributes) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n",
                     x1, y1, x2, y2, attributes);
}

// Words in lines of at most `width` letters.
std::vector<std::string> broken(const std::string& words, double width) {
  const auto most = static_cast<std::size_t>(std::max(width / kLetter, 8.0));
  std::vector<std::string> lines(1);
  std::size_t at = 0;
  while (at < words.size()) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    const std::string word = words.substr(at, end - at);
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > most)
      lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
    at = end + 1;
  }
  return lines;
}

std::string lines_at(double x, double y, const std::vector<std::string>& lines,
                     const std::string& attributes) {
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i)
    text += text_at(x, y + kLine * static_cast<double>(i), lines[i], attributes);
  return text;
}

// ---------------------------------------------------------------- axes

// An axis with both ends known, and where its values stand: from `start` on, `length` long.
struct Scale {
  bool log = false;
  double low = 0, high = 1, start = 0, length = 1;

  [[nodiscard]] double inner(double value) const { return log ? std::log10(value) : value; }
  [[nodiscard]] bool outside(double value) const {
    return (log && value <= 0) || value < low || value > high;
  }
  [[nodiscard]] double at(double value) const {
    if (log && value <= 0) value = low;
    const double share =
        (inner(std::clamp(value, low, high)) - inner(low)) / (inner(high) - inner(low));
    return start + share * length;
  }
};

std::string tick_text(double value) {
  const double size = std::abs(value);
  if (value == 0) return "0";
  if (size >= 1e5 || size < 1e-4) return fmt::format("{:.0e}", value);
  return fmt::format("{:.6g}", value);
}

// Steps of 1, 2 or 5 times a power of ten, about five of them.
std::vector<double> linear_ticks(double low, double high) {
  const double rough = (high - low) / 5,
               power = std::pow(10, std::floor(std::log10(rough)));
  const double share = rough / power;
  const double step = power * (share < 1.5 ? 1 : share < 3.5 ? 2 : share < 7.5 ? 5 : 10);
  std::vector<double> ticks;
  for (double k = std::ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; ++k)
    ticks.push_back(k == 0 ? 0 : k * step);
  return ticks;
}

std::vector<double> log_ticks(double low, double high) {
  const double decades = std::log10(high / low);
  const int every = decades > 7 ? 2 : 1;
  std::vector<double> ticks;
  for (int p = static_cast<int>(std::floor(std::log10(low)));
       std::pow(10, p) <= high * (1 + 1e-9); p += every)
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double tick = digit * std::pow(10, p);
      if ((digit == 1 || decades < 2) && tick >= low * (1 - 1e-9) &&
          tick <= high * (1 + 1e-9))
        ticks.push_back(tick);
    }
  return ticks;
}

std::vector<double> ticks_of(const Scale& scale) {
  return scale.log ? log_ticks(scale.low, scale.high) : linear_ticks(scale.low, scale.high);
}

// The ends of an axis: those that are given, else the points' with a margin.
Scale scale_of(const ChartAxis& axis, const std::vector<ChartSeries>& series,
               Interval ChartPoint::*which) {
  double low = kUndefined, high = kUndefined;
  for (const ChartSeries& s : series)
    for (const ChartPoint& point : s.points) {
      const Interval& figure = point.*which;
      for (const double value : {figure.value, figure.low, figure.high}) {
        if (!std::isfinite(value) || (axis.log && value <= 0)) continue;
        low = std::isnan(low) ? value : std::min(low, value);
        high = std::isnan(high) ? value : std::max(high, value);
      }
    }
  const bool given = std::isfinite(axis.low) && std::isfinite(axis.high);
  if (given) return {.log = axis.log, .low = axis.low, .high = axis.high};
  if (!std::isfinite(low))
    throw Error(ErrorKind::bad_option,
                fmt::format("chart: axis \"{}\" has no finite point", axis.title));
  Scale scale{.log = axis.log, .low = low, .high = high};
  if (axis.log) {
    const double margin = std::pow(std::max(high / low, 1.2), .06);
    scale.low = low / margin;
    scale.high = high * margin;
  } else {
    const double margin =
        high > low ? .06 * (high - low) : std::max(std::abs(high), 1.0) / 2;
    scale.low = low - margin;
    scale.high = high + margin;
  }
  if (std::isfinite(axis.low)) scale.low = axis.low;
  if (std::isfinite(axis.high)) scale.high = axis.high;
  return scale;
}

// ---------------------------------------------------------------- marks

std::string mark_at(double x, double y, const ChartSeries& s) {
  const std::string paint = fmt::format(
      "fill=\"{}\" stroke=\"{}\" stroke-width=\"1.4\"",
      s.hollow || s.mark == Mark::cross ? "none" : colour_of(s.ink), colour_of(s.ink));
  switch (s.mark) {
    case Mark::none:
      return "";
    case Mark::circle:
      return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" {}/>\n", x, y, paint);
    case Mark::square:
      return fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"7\" height=\"7\" {}/>\n",
                         x - 3.5, y - 3.5, paint);
    case Mark::triangle:
      return fmt::format("<path d=\"M{:.1f} {:.1f}l4.6 8h-9.2z\" {}/>\n", x, y - 5, paint);
    case Mark::diamond:
      return fmt::format("<path d=\"M{:.1f} {:.1f}l5 5l-5 5l-5 -5z\" {}/>\n", x, y - 5,
                         paint);
    case Mark::cross:
      return fmt::format("<path d=\"M{:.1f} {:.1f}l8 8m0 -8l-8 8\" {}/>\n", x - 4, y - 4,
                         paint);
  }
  return "";
}

std::string stroke_of(const ChartSeries& s) {
  return fmt::format("stroke=\"{}\" stroke-width=\"1.6\" fill=\"none\"{}", colour_of(s.ink),
                     s.stroke == Stroke::dotted ? " stroke-dasharray=\"2 4\"" : "");
}

std::string series_in(const ChartSeries& s, const Scale& x, const Scale& y) {
  std::string text, path;
  for (const ChartPoint& point : s.points) {
    if (!std::isfinite(point.x.value) || !std::isfinite(point.y.value)) continue;
    const double px = x.at(point.x.value), py = y.at(point.y.value);
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", px, py);
    const std::string thin =
        fmt::format("stroke=\"{}\" stroke-width=\"1\"", colour_of(s.ink));
    if (std::isfinite(point.x.low))
      text += line_between(x.at(point.x.low), py, x.at(point.x.high), py, thin);
    if (std::isfinite(point.y.low))
      text += line_between(px, y.at(point.y.low), px, y.at(point.y.high), thin);
    text += mark_at(px, py, s);
  }
  if (s.stroke != Stroke::none && !path.empty())
    text = fmt::format("<path d=\"{}\" {}/>\n", path, stroke_of(s)) + text;
  return text;
}

// ---------------------------------------------------------------- panels

// What stands below one another: text in SVG, and how high it is.
struct Drawn {
  std::string svg;
  double height = 0;
};

std::string grid(const Scale& x, const Scale& y, double top) {
  std::string text;
  const double bottom = top + kPlotHeight;
  for (const double tick : ticks_of(x)) {
    const double at = x.at(tick);
    text += line_between(at, top, at, bottom, "class=\"grid\"");
    text +=
        text_at(at, bottom + 15, tick_text(tick), "class=\"soft\" text-anchor=\"middle\"");
  }
  for (const double tick : ticks_of(y)) {
    const double at = y.at(tick);
    text += line_between(x.start, at, x.start + x.length, at, "class=\"grid\"");
    text +=
        text_at(x.start - 6, at + 4, tick_text(tick), "class=\"soft\" text-anchor=\"end\"");
  }
  text += line_between(x.start, bottom, x.start + x.length, bottom, "class=\"axis\"");
  text += line_between(x.start, top, x.start, bottom, "class=\"axis\"");
  return text;
}

Drawn legend(const std::vector<ChartSeries>& series, double left, double top) {
  Drawn drawn;
  double x = left, y = top;
  bool any = false;
  for (const ChartSeries& s : series) {
    if (s.name.empty()) continue;
    const double width = 26 + kLetter * static_cast<double>(s.name.size()) + 12;
    if (any && x + width > kWidth) {
      x = left;
      y += kLine;
    }
    if (s.stroke != Stroke::none)
      drawn.svg += line_between(x, y - 4, x + 18, y - 4, stroke_of(s));
    drawn.svg += mark_at(x + 9, y - 4, s);
    drawn.svg += text_at(x + 24, y, s.name);
    x += width;
    any = true;
  }
  drawn.height = any ? y - top + kLine : 0;
  return drawn;
}

// How many marks lie beyond an axis.
Index marks_outside(const Chart& chart, const Scale& x, const Scale& y) {
  Index count = 0;
  for (const ChartSeries& s : chart.series)
    for (const ChartPoint& point : s.points)
      if (s.mark != Mark::none && (x.outside(point.x.value) || y.outside(point.y.value)))
        ++count;
  return count;
}

Drawn draw(const Chart& chart) {
  Scale x = scale_of(chart.x, chart.series, &ChartPoint::x);
  Scale y = scale_of(chart.y, chart.series, &ChartPoint::y);
  const double top = 30, bottom = top + kPlotHeight;
  x.start = kLeft;
  x.length = kWidth - kLeft - kRight;
  y.start = bottom;
  y.length = -kPlotHeight;
  Drawn drawn;
  drawn.svg = text_at(0, 14, chart.title, "class=\"head\"") + grid(x, y, top);
  for (const ChartSeries& s : chart.series) drawn.svg += series_in(s, x, y);
  drawn.svg +=
      text_at(kLeft + x.length / 2, bottom + 32, chart.x.title, "text-anchor=\"middle\"");
  drawn.svg += fmt::format(
      "<text transform=\"translate(12 {:.1f}) rotate(-90)\" "
      "text-anchor=\"middle\">{}</text>\n",
      top + kPlotHeight / 2, xml_text(chart.y.title));
  const Drawn names = legend(chart.series, 0, bottom + 54);
  drawn.svg += names.svg;
  drawn.height = bottom + 44 + names.height;
  if (const Index outside = marks_outside(chart, x, y); outside > 0) {
    drawn.svg += text_at(0, drawn.height + 12,
                         fmt::format("{} mark{} beyond an axis: drawn at its edge", outside,
                                     outside == 1 ? " lies" : "s lie"),
                         "class=\"soft\"");
    drawn.height += kLine + 4;
  }
  return drawn;
}

// Pixels of one colour are one path; colours are rounded to a few levels.
std::string image_at(const ChartImage& image, double left, double top, double pixel) {
  if (image.width <= 0 || image.height <= 0 ||
      std::ssize(image.rgb) != image.width * image.height * 3)
    throw Error(ErrorKind::bad_option,
                fmt::format("chart: an image of {} x {} pixels has {} bytes", image.width,
                            image.height, image.rgb.size()));
  std::map<std::array<int, 3>, std::string> paths;
  for (Index i = 0; i < image.width * image.height; ++i) {
    std::array<int, 3> colour{};
    for (std::size_t c = 0; c < 3; ++c)
      colour[c] =
          image.rgb[at(3 * i) + c] * (kGreyLevels - 1) / 255 * 255 / (kGreyLevels - 1);
    if (colour == std::array<int, 3>{0, 0, 0}) continue;
    paths[colour] += fmt::format("M{} {}h1v1h-1z", i % image.width, i / image.width);
  }
  std::string text = fmt::format(
      "<g transform=\"translate({:.1f} {:.1f}) scale({:.3f})\" "
      "shape-rendering=\"crispEdges\">\n<rect width=\"{}\" height=\"{}\" fill=\"#000\"/>\n",
      left, top, pixel, image.width, image.height);
  for (const auto& [colour, path] : paths)
    text += fmt::format("<path fill=\"#{:02x}{:02x}{:02x}\" d=\"{}\"/>\n", colour[0],
                        colour[1], colour[2], path);
  return text + "</g>\n";
}

Drawn draw(const ImageStrip& strip) {
  Drawn drawn{.svg = text_at(0, 14, strip.title, "class=\"head\""), .height = 24};
  const double step = (kWidth + 4) / static_cast<double>(kImagesInRow);
  Index column = 0;
  for (const ChartImage& image : strip.images) {
    if (column == kImagesInRow) {
      column = 0;
      drawn.height += kImage + kLine + 4;
    }
    const double left = step * static_cast<double>(column);
    const double pixel = kImage / static_cast<double>(std::max(image.width, image.height));
    drawn.svg += image_at(image, left, drawn.height, pixel);
    drawn.svg += text_at(left + kImage / 2, drawn.height + kImage + 12, image.caption,
                         "class=\"soft\" text-anchor=\"middle\" font-size=\"10\"");
    ++column;
  }
  drawn.height += kImage + kLine + 4;
  return drawn;
}

// Where each column begins: its share of the width is that of its longest text.
std::vector<double> column_starts(const ChartTable& table) {
  std::vector<double> longest;
  for (const std::string& heading : table.headings)
    longest.push_back(static_cast<double>(heading.size()) + 3);
  for (const std::vector<std::string>& row : table.rows)
    for (std::size_t c = 0; c < std::min(row.size(), longest.size()); ++c)
      longest[c] = std::max(longest[c], static_cast<double>(row[c].size()) + 3);
  const double all = std::accumulate(longest.begin(), longest.end(), 0.0);
  std::vector<double> starts;
  double start = 0;
  for (const double letters : longest) {
    starts.push_back(start);
    start += kWidth * letters / all;
  }
  return starts;
}

Drawn draw(const ChartTable& table) {
  Drawn drawn{.svg = text_at(0, 14, table.title, "class=\"head\""), .height = 34};
  const std::vector<double> starts = column_starts(table);
  for (std::size_t c = 0; c < starts.size(); ++c)
    drawn.svg += text_at(starts[c], drawn.height, table.headings[c], "class=\"soft\"");
  drawn.svg +=
      line_between(0, drawn.height + 5, kWidth, drawn.height + 5, "class=\"axis\"");
  drawn.height += 22;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    for (std::size_t c = 0; c < std::min(table.rows[r].size(), starts.size()); ++c) {
      const bool marked = std::find(table.marked.begin(), table.marked.end(),
                                    std::pair<Index, Index>(r, c)) != table.marked.end();
      drawn.svg += text_at(starts[c], drawn.height, table.rows[r][c],
                           marked ? "style=\"fill:var(--red);font-weight:600\"" : "");
    }
    drawn.height += kLine + 2;
  }
  return drawn;
}

Drawn draw(const ChartFlow& flow) {
  const double arrow = 28;
  const auto boxes = static_cast<double>(std::max<std::size_t>(flow.boxes.size(), 1));
  const double width = (2 * kWidth + kGap - arrow * (boxes - 1)) / boxes;
  Drawn drawn{.svg = text_at(0, 14, flow.title, "class=\"head\""), .height = 28};
  double tallest = 0;
  std::vector<std::vector<std::string>> texts;
  for (const ChartFlow::Box& box : flow.boxes) {
    std::vector<std::string> lines;
    for (const std::string& words : box.lines)
      for (std::string& line : broken(words, width - 20)) lines.push_back(std::move(line));
    tallest = std::max(tallest, 44 + kLine * static_cast<double>(lines.size()));
    texts.push_back(std::move(lines));
  }
  for (std::size_t i = 0; i < flow.boxes.size(); ++i) {
    const double left = (width + arrow) * static_cast<double>(i);
    drawn.svg += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"6\" "
        "fill=\"none\" stroke=\"var(--blue)\" stroke-width=\"1.4\"/>\n",
        left + 1, drawn.height, width - 2, tallest);
    drawn.svg +=
        text_at(left + 10, drawn.height + 22, flow.boxes[i].title, "class=\"head\"");
    drawn.svg += lines_at(left + 10, drawn.height + 42, texts[i], "class=\"soft\"");
    if (i + 1 < flow.boxes.size())
      drawn.svg += fmt::format(
          "<path d=\"M{:.1f} {:.1f}h{:.1f}m-6 -5l6 5l-6 5\" fill=\"none\" "
          "stroke=\"var(--soft)\" stroke-width=\"1.6\"/>\n",
          left + width + 3, drawn.height + tallest / 2, arrow - 8);
  }
  drawn.height += tallest + 6;
  return drawn;
}

}  // namespace

std::string svg(const Picture& picture) {
  const Index columns = std::max<Index>(picture.columns, 1);
  double width =
      kWidth * static_cast<double>(columns) + kGap * static_cast<double>(columns - 1);
  for (const ChartPanel& panel : picture.panels)
    if (std::holds_alternative<ChartFlow>(panel)) width = 2 * kWidth + kGap;
  std::string body;
  double height = kEdge;
  for (const std::string& line : broken(picture.title, width * .86)) {
    body += text_at(kEdge, height + 14, line, "class=\"title\"");
    height += 20;
  }
  height += 8;
  for (std::size_t first = 0; first < picture.panels.size(); first += at(columns)) {
    double tallest = 0;
    for (std::size_t i = first; i < std::min(first + at(columns), picture.panels.size());
         ++i) {
      const Drawn drawn =
          std::visit([](const auto& panel) { return draw(panel); }, picture.panels[i]);
      body += fmt::format("<g transform=\"translate({:.1f} {:.1f})\">\n{}</g>\n",
                          kEdge + (kWidth + kGap) * static_cast<double>(i - first), height,
                          drawn.svg);
      tallest = std::max(tallest, drawn.height);
    }
    height += tallest + kGap / 2;
  }
  for (const std::string& note : picture.notes) {
    const std::vector<std::string> lines = broken(note, width);
    body += lines_at(kEdge, height + 12, lines, "class=\"soft\"");
    height += kLine * static_cast<double>(lines.size()) + 4;
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\">\n<title>{2}</title>\n{3}"
      "<rect width=\"100%\" height=\"100%\" fill=\"var(--page)\"/>\n{4}</svg>\n",
      width + 2 * kEdge, height + kEdge, xml_text(picture.title), kStyle, body);
}

}  // namespace fmd
