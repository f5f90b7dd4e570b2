#include "fmd/report/previous_audit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "core/json.h"
#include "data/json_reader.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/metrics/group.h"

namespace fmd {
namespace {

constexpr std::size_t kLongest = std::size_t{64} << 20;  // bytes of an audit.json
constexpr std::size_t kMostFigures = 100000;

std::string text_or_none(const JsonReader& object, const char* key) {
  return object.has(key) ? object.text(key) : "";
}

Interval read_interval(const JsonReader& object) {
  Interval interval;
  interval.value = object.number("value");
  if (object.has("low")) interval.low = object.number("low");
  if (object.has("high")) interval.high = object.number("high");
  // A resampled figure may lie outside: resampled sizes and maxima come out too large.
  const std::string kind = text_or_none(object, "interval");
  const bool resampled = kind == "percentile" || kind == "bca";
  if (interval.low > interval.high ||
      (!resampled && (interval.low > interval.value || interval.high < interval.value)))
    object.fail("\"value\" lies outside of \"low\" and \"high\"");
  return interval;
}

class FigureReader {
 public:
  explicit FigureReader(PreviousAudit& audit) : audit_(audit) {}

  void add(const JsonReader& object, AuditFigure figure) {
    figure.interval = read_interval(object);
    const std::string key =
        fmt::format("{}\n{}\n{}\n{}\n{}", figure.attribute, figure.measure, figure.first,
                    figure.second, figure.rate);
    if (!seen_.insert(key).second) object.fail("appears twice");
    if (audit_.figures.size() >= kMostFigures) object.fail("is one figure too many");
    audit_.figures.push_back(std::move(figure));
  }

  // A measure: its comparisons, or its one figure.
  void add_measure(const JsonReader& object, const std::string& attribute,
                   const std::string& name) {
    if (!object.has("value")) return;  // undefined, with a reason
    AuditFigure figure;
    figure.attribute = attribute;
    figure.measure = name;
    if (!object.has("comparisons")) {
      figure.first = text_or_none(object, object.has("group") ? "group" : "from");
      figure.second = text_or_none(object, "to");
      add(object, figure);
      return;
    }
    const std::vector<JsonReader> comparisons = object.objects("comparisons");
    figure.comparisons = static_cast<Index>(comparisons.size());
    for (const JsonReader& comparison : comparisons) {
      if (!comparison.has("value")) continue;
      figure.first = comparison.text("first");
      figure.second = comparison.text("second");
      figure.rate = text_or_none(comparison, "rate");
      add(comparison, figure);
    }
  }

 private:
  PreviousAudit& audit_;
  std::set<std::string> seen_;
};

[[noreturn]] void fail_other(const std::string& source) {
  throw Error(ErrorKind::bad_model, fmt::format("{}: is not an audit", source),
              "make one: fmd audit MODEL DATA -o old.json");
}

}  // namespace

std::string AuditFigure::about() const {
  if (first.empty() && second.empty()) return "";
  const bool flip = measure.starts_with("co_");  // of one pair of values: co_worst
  std::string text = first;
  if (!second.empty()) text += (flip ? " -> " : " - ") + second;
  return rate.empty() || measure != "equalized_odds" ? text : text + ", " + rate;
}

std::string AuditFigure::name() const {
  return measure + (attribute.empty() ? "" : ":" + attribute) +
         (about().empty() ? "" : " " + about());
}

PreviousAudit parse_audit(std::string_view text, const std::string& source) {
  if (text.size() > kLongest) {
    throw Error(
        ErrorKind::bad_model,
        fmt::format("{}: has {} bytes, at most {} are read", source, text.size(), kLongest),
        "make the audit again");
  }
  const nlohmann::json parsed = JsonReader::parse(std::string(text), source);
  if (!parsed.is_object()) fail_other(source);
  const JsonReader object(parsed, source);
  if (!object.has("command") || object.text("command") != "audit") fail_other(source);
  if (object.count("schema") != 1) {
    throw Error(ErrorKind::unsupported,
                fmt::format("{}: schema {}, this version of fmd reads 1", source,
                            object.count("schema")),
                "make the audit again with this version");
  }
  PreviousAudit audit;
  audit.file = source;
  if (object.has("model")) {
    const JsonReader model = object.object("model");
    audit.model = model.text("name");
    audit.model_sha256 = model.text("sha256");
  }
  const JsonReader data = object.object("data");
  audit.data = data.text("name");
  audit.data_sha256 = text_or_none(data, "sha256");
  audit.rows = object.count("rows");
  audit.confidence = object.number("confidence");
  if (!(audit.confidence >= 0.5 && audit.confidence <= 0.9999))
    object.fail("\"confidence\" must be between 0.5 and 0.9999");
  FigureReader reader(audit);
  if (object.has("accuracy")) reader.add_measure(object.object("accuracy"), "", "accuracy");
  for (const JsonReader& attribute : object.objects("attributes")) {
    const std::string name = attribute.text("name");
    const JsonReader measures = attribute.object("measures");
    for (const std::string& measure : measures.keys())
      reader.add_measure(measures.object(measure.c_str()), name, measure);
  }
  return audit;
}

PreviousAudit read_audit(const std::filesystem::path& path) {
  const FileView file = FileView::open(path, kMostJson);
  return parse_audit(
      {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()},
      path.filename().string());
}

namespace {

Interval turned(const Interval& i) { return i.value < 0 ? -i : i; }

// What is compared: gaps by their size; ratios as the smaller over the larger.
Interval size_of(const AuditFigure& figure) {
  const Interval& i = figure.interval;
  constexpr double kMost = std::numeric_limits<double>::infinity();
  if (limit_sense(figure.measure) == LimitSense::ratio && i.value > 1)
    return {1 / i.value, 1 / i.high, i.low > 0 ? 1 / i.low : kMost, i.kind};
  return is_floor(figure.measure) ? i : turned(i);
}

// The factor that widens an interval from one of `own` that hold together to one of `all`.
double factor(double confidence, Index own, Index all) {
  return normal_quantile(adjusted_confidence(confidence, all)) /
         normal_quantile(adjusted_confidence(confidence, own));
}

Interval widened(const Interval& i, double factor) {
  return {i.value, i.value - factor * (i.value - i.low),
          i.value + factor * (i.high - i.value), i.kind};
}

// a - b of two independent figures from their intervals.
Interval difference(const Interval& a, const Interval& b) {
  const double d = a.value - b.value;
  return {d, d - std::hypot(a.value - a.low, b.high - b.value),
          d + std::hypot(a.high - a.value, b.value - b.low), IntervalKind::newcombe};
}

Direction direction_of(const FigureChange& change) {
  const bool floor = is_floor(change.after.measure);
  if (change.change.low > 0) return floor ? Direction::better : Direction::worse;
  if (change.change.high < 0) return floor ? Direction::worse : Direction::better;
  return Direction::unclear;
}

using FigureKey =
    std::tuple<std::string, std::string, std::string, std::string, std::string>;

FigureKey key_of(const AuditFigure& f) {
  return {f.attribute, f.measure, f.first, f.second, f.rate};
}

}  // namespace

bool is_floor(const std::string& measure) {
  return limit_sense(measure) != LimitSense::at_most;
}

Index AuditChanges::count(Direction direction) const {
  return std::count_if(changes.begin(), changes.end(), [&](const FigureChange& change) {
    return change.direction == direction;
  });
}

AuditChanges compare_audits(const PreviousAudit& before, const PreviousAudit& after) {
  AuditChanges report;
  report.previous = before;
  report.previous.figures.clear();
  report.same_data = !before.data_sha256.empty() && before.data_sha256 == after.data_sha256;
  std::map<FigureKey, const AuditFigure*> previous;
  for (const AuditFigure& figure : before.figures)
    previous.emplace(key_of(figure), &figure);
  for (const AuditFigure& figure : after.figures) {
    const auto found = previous.find(key_of(figure));
    if (found == previous.end()) {
      report.fresh.push_back(figure.name());
      continue;
    }
    report.changes.push_back({.before = *found->second, .after = figure, .change = {}});
    previous.erase(found);
  }
  for (const AuditFigure& figure : before.figures)
    if (previous.contains(key_of(figure))) report.gone.push_back(figure.name());
  const auto all = static_cast<Index>(report.changes.size());
  for (FigureChange& change : report.changes) {
    const auto own = [&](const AuditFigure& figure, double confidence) {
      return widened(size_of(figure), factor(confidence, figure.comparisons, all));
    };
    change.change = difference(own(change.after, after.confidence),
                               own(change.before, before.confidence));
    change.direction = direction_of(change);
  }
  return report;
}

void set_paired_change(const Interval& plain, double confidence, Index figures,
                       FigureChange& change) {
  const bool floor = is_floor(change.after.measure);
  const double before = change.before.interval.value, after = change.after.interval.value;
  // When a gap changes its sign, the signed change does not tell how its size changed.
  if (!plain.defined() || (!floor && before * after < 0)) return;
  const bool negative = !floor && (after < 0 || before < 0);
  change.change = widened(negative ? -plain : plain, factor(confidence, 1, figures));
  change.paired = true;
  change.direction = direction_of(change);
}

}  // namespace fmd
