#include "fmd/repro/figures.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/index.h"
#include "core/json.h"
#include "fmd/core/error.h"
#include "fmd/report/chart.h"
#include "fmd/repro/colours.h"

namespace fmd {
namespace {

using Json = nlohmann::ordered_json;

Interval interval_of(const SeedMean& mean) {
  return {.value = mean.mean, .low = mean.low, .high = mean.high};
}

Interval ours(const ReproducedRow& row, const std::string& column) {
  const auto found = row.ours.find(column);
  return found == row.ours.end() ? Interval{} : interval_of(found->second);
}

ChartPoint point(double x, double y) { return {{.value = x}, {.value = y}}; }

std::string made_by(const ReproducedTable& table) {
  return fmt::format(
      "Made by fmd reproduce {}, fmd {}: means over {} seed{}. Lines are 95 % intervals "
      "over "
      "seeds; seeds share rows, so they are somewhat too narrow.{}",
      table.name, table.version, table.seeds.size(), table.seeds.size() == 1 ? "" : "s",
      table.quick ? " A quick run: its figures mean nothing." : "");
}

// ---------------------------------------------------------------- accuracy against bias

// A look of its own for each row that can be in a figure.
struct Look {
  const char* id;
  Mark mark;
  Ink ink;
  bool hollow;
};
constexpr Look kLooks[] = {
    {"vanilla", Mark::cross, Ink::plain, false},
    {"tempered", Mark::cross, Ink::faint, false},
    {"intercepts", Mark::cross, Ink::purple, false},
    {"eq7_printed", Mark::triangle, Ink::faint, true},
    {"eq8_printed", Mark::square, Ink::faint, true},
    {"eq9_printed", Mark::diamond, Ink::faint, true},
    {"eq7", Mark::triangle, Ink::sky, false},
    {"eq8", Mark::square, Ink::sky, false},
    {"eq9", Mark::diamond, Ink::sky, false},
    {"eq9_external", Mark::diamond, Ink::purple, false},
    {"solve", Mark::circle, Ink::blue, false},
    {"solve1", Mark::circle, Ink::blue, true},
    {"solve2", Mark::circle, Ink::sky, false},
    {"solve3", Mark::circle, Ink::blue, false},
    {"solve4", Mark::circle, Ink::sky, true},
    {"solve_all", Mark::circle, Ink::blue, false},
    {"finetune", Mark::square, Ink::orange, false},
    {"finetune1", Mark::square, Ink::orange, true},
    {"finetune3", Mark::square, Ink::orange, false},
    {"dfr", Mark::triangle, Ink::green, false},
    {"scratch", Mark::diamond, Ink::red, false},
    {"scratch_redrawn", Mark::diamond, Ink::red, true},
    {"average", Mark::triangle, Ink::purple, true},
    {"retrained", Mark::square, Ink::red, false},
    {"eqodd", Mark::triangle, Ink::orange, true},
    {"ceqodd", Mark::square, Ink::orange, true},
    {"reject", Mark::diamond, Ink::orange, true},
};

Look look_of(const std::string& id, std::size_t place) {
  for (const Look& look : kLooks)
    if (id == look.id) return look;
  constexpr Ink kInks[] = {Ink::green, Ink::purple, Ink::orange, Ink::sky, Ink::red};
  constexpr Mark kMarks[] = {Mark::square, Mark::triangle, Mark::diamond, Mark::circle};
  return {"", kMarks[place % std::size(kMarks)], kInks[place % std::size(kInks)], true};
}

// Rows that ruin the model would push all others into a corner.
bool shown(const std::string& id) {
  return id != "eq7_printed" && id != "eq8_printed" && id != "eq9_printed";
}

// The case's rows, and the paper's row for the method it prints.
Chart accuracy_and_bias(const ReproducedCase& c) {
  Chart chart{.title = c.title,
              .x = {.title = "flip gap Co (less is better)", .log = true},
              .y = {.title = "accuracy in %"},
              .series = {}};
  for (std::size_t i = 0; i < c.rows.size(); ++i) {
    const ReproducedRow& row = c.rows[i];
    if (shown(row.id) && ours(row, "bias").defined()) {
      const Look look = look_of(row.id, i);
      chart.series.push_back({.name = row.title,
                              .points = {{ours(row, "bias"), ours(row, "accuracy")}},
                              .mark = look.mark,
                              .ink = look.ink,
                              .hollow = look.hollow});
    }
    const auto accuracy = row.paper.find("accuracy"), bias = row.paper.find("bias");
    if (accuracy == row.paper.end() || bias == row.paper.end()) continue;
    chart.series.push_back({.name = "paper: " + row.title,
                            .points = {point(bias->second, accuracy->second)},
                            .mark = row.id == "vanilla" ? Mark::square : Mark::diamond,
                            .ink = Ink::plain,
                            .hollow = true});
  }
  return chart;
}

ReproducedFigure accuracy_figure(const ReproducedTable& table, const std::string& title) {
  Picture picture{.title = title, .panels = {}, .columns = 2, .notes = {made_by(table)}};
  for (const ReproducedCase& c : table.cases)
    picture.panels.push_back(accuracy_and_bias(c));
  picture.notes.push_back(
      "Eq. 7, 8 and 9 with the printed scale ruin the model and are in the table alone.");
  return {table.name + "-methods", title, svg(picture)};
}

// ---------------------------------------------------------------- the trade-off

ReproducedFigure tradeoff_figure(const ReproducedTable& table) {
  const std::string title = "What a smaller flip gap costs: solve on the last layer";
  Picture picture{.title = title, .panels = {}, .columns = 2, .notes = {}};
  for (const ReproducedCase& c : table.cases) {
    if (c.pictures.empty()) continue;
    const Json curve = Json::parse(c.pictures).value("pareto_last_layer", Json::array());
    if (curve.empty()) continue;
    ChartSeries path{.name = "solve, one mark per lambda (first seed)",
                     .points = {},
                     .mark = Mark::circle,
                     .ink = Ink::blue,
                     .stroke = Stroke::solid};
    for (const Json& p : curve)
      path.points.push_back(
          point(p.at("bias").get<double>(), 100 * p.at("accuracy").get<double>()));
    Chart chart = accuracy_and_bias(c);
    const std::vector<std::string> kept = {"vanilla", "average", "retrained", "eq9"};
    std::vector<ChartSeries> series = {path};
    for (ChartSeries& s : chart.series)
      for (const ReproducedRow& row : c.rows)
        if ((row.title == s.name &&
             std::find(kept.begin(), kept.end(), row.id) != kept.end()) ||
            s.name == "paper: " + row.title)
          series.push_back(s);
    chart.series = std::move(series);
    picture.panels.push_back(std::move(chart));
  }
  if (picture.panels.empty()) return {};
  picture.notes = {made_by(table)};
  return {table.name + "-tradeoff", title, svg(picture)};
}

// ---------------------------------------------------------------- how many pairs

ChartSeries over_pairs(const ReproducedCase& c, const std::string& method,
                       const std::string& column, std::size_t place) {
  const Look look = look_of(method, place);
  ChartSeries s{.name = {},
                .points = {},
                .mark = look.mark,
                .ink = look.ink,
                .stroke = Stroke::solid,
                .hollow = look.hollow};
  for (const ReproducedRow& row : c.rows) {
    const std::size_t mark = row.id.find('@');
    if (mark == std::string::npos || row.id.substr(0, mark) != method) continue;
    s.name = row.title.substr(0, row.title.rfind(", "));
    s.points.push_back({{.value = std::stod(row.id.substr(mark + 1))}, ours(row, column)});
  }
  return s;
}

ReproducedFigure samples_figure(const ReproducedTable& table) {
  const std::string title = "How many pairs unlearning needs, and how long it takes";
  Picture picture{.title = title, .panels = {}, .columns = 1, .notes = {made_by(table)}};
  const ReproducedCase& c = table.cases.front();
  struct Part {
    const char *column, *title;
    bool log;
  };
  for (const Part& part :
       {Part{"accuracy", "accuracy in %", false}, Part{"bias", "flip gap Co", true},
        Part{"seconds", "seconds of one edit", true}}) {
    Chart chart{.title = part.title,
                .x = {.title = "pairs in D_ex", .log = true},
                .y = {.title = part.title, .log = part.log},
                .series = {}};
    std::size_t place = 0;
    for (const char* const method : {"vanilla", "eq9", "solve1", "solve3", "finetune3",
                                     "dfr", "scratch", "scratch_redrawn"}) {
      if (part.column == std::string("seconds") && method == std::string("vanilla"))
        continue;
      ChartSeries s = over_pairs(c, method, part.column, place++);
      if (!s.points.empty()) chart.series.push_back(std::move(s));
    }
    picture.panels.push_back(std::move(chart));
  }
  picture.columns = 2;
  return {"samples", title, svg(picture)};
}

// ---------------------------------------------------------------- steps of a training

// Each row of a case over the share of its steps; none without curves.
ReproducedFigure training_figure(const ReproducedTable& table) {
  const std::string title = "What more steps of training bring";
  Picture picture{.title = title, .panels = {}, .columns = 2, .notes = {}};
  struct Part {
    const char *column, *title;
  };
  for (const ReproducedCase& c : table.cases) {
    if (c.pictures.empty()) continue;
    const Json curves = Json::parse(c.pictures).value("curves", Json::object());
    for (const Part& part : {Part{"accuracy", "accuracy in %"}, Part{"bias", "flip gap Co"},
                             Part{"unb", "mean accuracy of the cells in %"},
                             Part{"wor", "accuracy of the worst cell in %"}}) {
      Chart chart{.title = c.title,
                  .x = {.title = "share of the steps in %"},
                  .y = {.title = part.title},
                  .series = {}};
      for (std::size_t i = 0; i < c.rows.size(); ++i) {
        const Json points = curves.value(c.rows[i].id, Json::array());
        if (points.empty() || !points.front().contains(part.column)) continue;
        const Look look = look_of(c.rows[i].id, i);
        const auto last = points.back().at("step").get<double>();
        ChartSeries s{.name = c.rows[i].title,
                      .points = {},
                      .mark = look.mark,
                      .ink = look.ink,
                      .stroke = Stroke::solid,
                      .hollow = look.hollow};
        for (const Json& p : points)
          s.points.push_back(point(100 * p.at("step").get<double>() / last,
                                   p.at(part.column).get<double>()));
        chart.series.push_back(std::move(s));
      }
      if (!chart.series.empty()) picture.panels.push_back(std::move(chart));
    }
  }
  if (picture.panels.empty()) return {};
  picture.notes = {
      fmt::format("Made by fmd reproduce {}, fmd {}: first seed, on the rows that report. "
                  "The last step "
                  "is the one in the table; none is chosen by these curves.",
                  table.name, table.version)};
  return {table.name + "-steps", title, svg(picture)};
}

// ---------------------------------------------------------------- the toy

// Where the logits of a digit lie: its shape's part upward, its colour's part to the right.
// `reach` and `top`: the ends of the axes.
Chart decision_chart(const std::string& title, const Json& points, double reach,
                     double top) {
  Chart chart{.title = title,
              .x = {.title = "what the colour adds to the logit of \"8\""},
              .y = {.title = "what the shape adds"},
              .series = {}};
  struct Kind {
    int digit;
    const char* colour;
    Mark mark;
    Ink ink;
  };
  for (const Kind& kind :
       {Kind{3, "red", Mark::triangle, Ink::red},
        Kind{3, "blue", Mark::triangle, Ink::blue}, Kind{8, "red", Mark::square, Ink::red},
        Kind{8, "blue", Mark::square, Ink::blue}}) {
    ChartSeries s{.name = fmt::format("{} in {}", kind.digit, kind.colour),
                  .points = {},
                  .mark = kind.mark,
                  .ink = kind.ink,
                  .hollow = true};
    for (const Json& p : points) {
      if (p.at("digit").get<int>() != kind.digit ||
          p.at("colour").get<std::string>() != kind.colour)
        continue;
      s.points.push_back(
          point(p.at("of_colour").get<double>(), p.at("shape").get<double>()));
    }
    chart.series.push_back(std::move(s));
  }
  chart.x.low = -reach;
  chart.x.high = reach;
  chart.y.low = -top;
  chart.y.high = top;
  // On the solid line the logit is 0: above it the answer is 8.
  chart.series.push_back({.name = "where the model decides",
                          .points = {point(-reach, reach), point(reach, -reach)},
                          .mark = Mark::none,
                          .ink = Ink::plain,
                          .stroke = Stroke::solid});
  chart.series.push_back({.name = "where it should decide",
                          .points = {point(-reach, 0), point(reach, 0)},
                          .mark = Mark::none,
                          .ink = Ink::plain,
                          .stroke = Stroke::dotted});
  return chart;
}

ReproducedFigure decisions_figure(const ReproducedTable& table, const Json& pictures) {
  const std::string title = "Toy: what the model looks at, before and after";
  Picture picture{.title = title, .panels = {}, .columns = 2, .notes = {}};
  const Json& both = pictures.at("decisions");
  double reach = .5, top = .5;  // the same axes before and after
  for (const Json& points : both)
    for (const Json& p : points) {
      reach = std::max(reach, 1.05 * std::abs(p.at("of_colour").get<double>()));
      top = std::max(top, 1.05 * std::abs(p.at("shape").get<double>()));
    }
  top = std::max(top, reach);
  picture.panels.push_back(
      decision_chart("before: vanilla", both.at("vanilla"), reach, top));
  picture.panels.push_back(decision_chart("after: solve", both.at("solve"), reach, top));
  picture.notes = {fmt::format(
      "Made by fmd reproduce toy, fmd {}: {} reporting digits of the first seed. Each "
      "digit is scored in red and in blue; the mean of both logits comes "
      "from the shape, half of their difference from the colour.",
      table.version, both.at("vanilla").size())};
  return {"toy-decisions", title, svg(picture)};
}

ChartSeries curve_of(const Json& steps, const std::string& x, const std::string& y,
                     double times, Mark mark, Ink ink, const std::string& name) {
  ChartSeries s{
      .name = name, .points = {}, .mark = mark, .ink = ink, .stroke = Stroke::solid};
  for (const Json& step : steps)
    s.points.push_back(point(step.at(x).get<double>(), times * step.at(y).get<double>()));
  return s;
}

ReproducedFigure unlearning_figure(const ReproducedTable& table, const Json& pictures) {
  const std::string title = "Toy: accuracy and flip gap while pairs are unlearned";
  Picture picture{.title = title, .panels = {}, .columns = 2, .notes = {}};
  const Json& steps = pictures.at("curves").at("eq9");
  const Json& way = pictures.at("curves").at("solve");
  struct Part {
    const char *column, *title;
    double times;
  };
  for (const Part& part :
       {Part{"accuracy", "accuracy in %", 100}, Part{"bias", "flip gap Co", 1}}) {
    Chart chart{.title = part.title,
                .x = {.title = "pairs used by Eq. 9; share of the way of solve x 50"},
                .y = {.title = part.title},
                .series = {}};
    chart.series.push_back(curve_of(steps, "pairs", part.column, part.times, Mark::diamond,
                                    Ink::sky, "Eq. 9, pair by pair"));
    ChartSeries solved = curve_of(way, "share", part.column, part.times, Mark::circle,
                                  Ink::blue, "solve, from start to end");
    for (ChartPoint& p : solved.points) p.x.value *= 50;
    chart.series.push_back(std::move(solved));
    picture.panels.push_back(std::move(chart));
  }
  picture.notes = {fmt::format(
      "Made by fmd reproduce toy, fmd {}: first seed, on its reporting digits. "
      "Eq. 9 uses H of D_ex, and the scale that the hold-out chose for all 50 pairs.",
      table.version)};
  return {"toy-unlearning", title, svg(picture)};
}

// Grey values in hexadecimal, in the toy's red or blue.
ChartImage digit_image(const Json& shown) {
  const std::string grey = shown.at("grey").get<std::string>();
  const auto side = static_cast<Index>(std::lround(std::sqrt(grey.size() / 2)));
  const Colour& paint = palette()[shown.at("colour").get<std::string>() == "red" ? 0 : 6];
  ChartImage image{.width = side, .height = side, .rgb = {}, .caption = {}};
  for (std::size_t i = 0; i + 1 < grey.size(); i += 2) {
    const int value = std::stoi(grey.substr(i, 2), nullptr, 16);
    for (const float channel : paint)
      image.rgb.push_back(static_cast<std::uint8_t>(static_cast<float>(value) * channel));
  }
  if (shown.contains("change"))
    image.caption = fmt::format("{:+.2f}", 1000 * shown.at("change").get<double>());
  return image;
}

ImageStrip strip_of(const std::string& title, const Json& digits) {
  ImageStrip strip{.title = title, .images = {}};
  for (const Json& digit : digits) strip.images.push_back(digit_image(digit));
  return strip;
}

ReproducedFigure digits_figure(const ReproducedTable& table, const Json& pictures) {
  const std::string title = "Toy: the training digits that the flip gap comes from";
  Picture picture{.title = title, .panels = {}, .columns = 1, .notes = {}};
  picture.panels.push_back(
      strip_of("most harmful: without the digit the gap falls by (thousandths)",
               pictures.at("harmful")));
  picture.panels.push_back(
      strip_of("most helpful: without the digit the gap rises by (thousandths)",
               pictures.at("helpful")));
  picture.notes = {fmt::format(
      "Made by fmd reproduce toy, fmd {}: first seed, all training digits ranked by Eq. 6. "
      "In training 95 % of the 3s are red and 95 % of the 8s are blue.",
      table.version)};
  return {"toy-digits", title, svg(picture)};
}

// ---------------------------------------------------------------- pairs

// Digits in two colours, and rows of Adult that differ in one column.
ReproducedFigure pairs_figure(const Json& pictures) {
  const std::string title = "Factual and counterfactual pairs";
  Picture picture{.title = title, .panels = {}, .columns = 1, .notes = {}};
  const auto strip = [&](const std::string& heading, const std::string& side) {
    ImageStrip images{.title = heading, .images = {}};
    for (const Json& digit : pictures.at("digits")) {
      ChartImage image{.width = digit.at("side").get<Index>(),
                       .height = digit.at("side").get<Index>(),
                       .rgb = {},
                       .caption = {}};
      const std::string grey = digit.at("grey").get<std::string>();
      for (std::size_t i = 0; i + 1 < grey.size(); i += 2)
        for (const Json& channel : digit.at(side))
          image.rgb.push_back(static_cast<std::uint8_t>(
              std::stoi(grey.substr(i, 2), nullptr, 16) * channel.get<double>()));
      images.images.push_back(std::move(image));
    }
    picture.panels.push_back(std::move(images));
  };
  strip("Colored MNIST: a digit c in its own colour", "own");
  strip("its pair cbar: the same digit in another colour", "other");
  ChartTable table{
      .title = "Adult: two rows c, each with cbar below; only one column differs",
      .headings = {"", "age", "education", "hours", "race", "sex"},
      .rows = {},
      .marked = {}};
  for (const Json& row : pictures.at("adult")) {
    table.rows.push_back(row.at("cells").get<std::vector<std::string>>());
    const auto marked = row.at("marked").get<Index>();
    if (marked >= 0) table.marked.emplace_back(std::ssize(table.rows) - 1, marked);
  }
  picture.panels.push_back(std::move(table));
  ChartTable sentences{
      .title = "CrowS-Pairs: sentences c, each with cbar below; one word differs",
      .headings = {"", "bias", "a dot is a word that both have"},
      .rows = {},
      .marked = {}};
  for (const Json& row : pictures.value("crows", Json::array())) {
    sentences.rows.push_back(row.at("cells").get<std::vector<std::string>>());
    const auto marked = row.at("marked").get<Index>();
    if (marked >= 0) sentences.marked.emplace_back(std::ssize(sentences.rows) - 1, marked);
  }
  if (!sentences.rows.empty()) picture.panels.push_back(std::move(sentences));
  picture.notes = {
      "Faces of CelebA are for research use alone: fmd draws them into your own folder and "
      "nowhere else."};
  return {"pairs", title, svg(picture)};
}

// ---------------------------------------------------------------- the whole

ReproducedFigure overview_figure() {
  const std::string title = "How fmd takes bias out of a trained model";
  Picture picture{.title = title, .panels = {}, .columns = 1, .notes = {}};
  picture.panels.push_back(ChartFlow{
      .title = "",
      .boxes = {
          {"a trained model",
           {"any format: XGBoost, LightGBM, ONNX, a native table model", "",
            "a frozen backbone turns a row into features; the head on top is all that "
            "changes"}},
          {"1 identify",
           {"pairs (c, cbar): the same row with another value of one attribute", "",
            "Co = mean |p(c) - p(cbar)|, with an interval, beside the gaps between "
            "groups"}},
          {"2 explain",
           {"v = H^-1 grad Co: one solve", "",
            "influence of training row k: (1/n) v . grad L_k, checked by refits"}},
          {"3 remove",
           {"a Newton step on the head (Eq. 7 to 9), or the whole path from accurate to "
            "unbiased",
            "", "chosen by one rule on rows that report nothing"}},
          {"the same file",
           {"other numbers in the head, every other byte as before", "",
            "a receipt that can be verified, and an undo that restores every byte"}}}});
  return {"overview", title, svg(picture)};
}

}  // namespace

std::vector<ReproducedFigure> figures_of(const ReproducedTable& table) {
  std::vector<ReproducedFigure> figures;
  if (table.cases.empty()) return figures;
  try {
    if (table.name == "table1")
      figures.push_back(accuracy_figure(table, "Colored MNIST: accuracy against flip gap"));
    if (table.name == "samples") figures.push_back(samples_figure(table));
    if (table.name == "table2" || table.name == "table7") {
      ReproducedFigure figure = tradeoff_figure(table);
      if (!figure.svg.empty()) figures.push_back(std::move(figure));
    }
    if (table.name.ends_with("_trained")) {
      ReproducedFigure figure = training_figure(table);
      if (!figure.svg.empty()) figures.push_back(std::move(figure));
    }
    const std::string& pictures = table.cases.front().pictures;
    if (table.name == "toy" && !pictures.empty()) {
      const Json json = Json::parse(pictures);
      figures.push_back(decisions_figure(table, json));
      figures.push_back(unlearning_figure(table, json));
      figures.push_back(digits_figure(table, json));
    }
    if (table.name == "overview") figures.push_back(overview_figure());
    if (table.name == "pairs" && !pictures.empty())
      figures.push_back(pairs_figure(Json::parse(pictures)));
  } catch (const std::logic_error& error) {  // JSON of another form, no number
    throw Error(ErrorKind::bad_task,
                fmt::format("reproduce: the pictures of {} cannot be drawn: {}", table.name,
                            error.what()),
                "make the table again: fmd reproduce " + table.name + " --fresh");
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::bad_task,
                fmt::format("reproduce: the pictures of {} cannot be drawn: {}", table.name,
                            error.what()),
                "make the table again: fmd reproduce " + table.name + " --fresh");
  }
  return figures;
}

}  // namespace fmd
