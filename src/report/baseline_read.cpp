#include <set>

#include <fmt/format.h>

#include "data/json_reader.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/report/baseline.h"

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
  // Resampled figures may lie outside: those of sizes and maxima are drawn too large.
  const std::string kind = text_or_none(object, "interval");
  const bool resampled = kind == "percentile" || kind == "bca";
  if (interval.low > interval.high ||
      (!resampled && (interval.low > interval.value || interval.high < interval.value)))
    object.fail("\"value\" lies outside of \"low\" and \"high\"");
  return interval;
}

class FigureReader {
 public:
  explicit FigureReader(EarlierAudit& audit) : audit_(audit) {}

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
  EarlierAudit& audit_;
  std::set<std::string> seen_;
};

[[noreturn]] void fail_other(const std::string& source) {
  throw Error(ErrorKind::bad_model, fmt::format("{}: is no audit", source),
              "make one: fmd audit MODEL DATA -o old.json");
}

}  // namespace

std::string AuditFigure::about() const {
  if (first.empty() && second.empty()) return "";
  const bool flip = measure.starts_with("co");
  std::string text = first;
  if (!second.empty()) text += (flip ? " -> " : " - ") + second;
  return rate.empty() || measure != "equalized_odds" ? text : text + ", " + rate;
}

EarlierAudit parse_audit(std::string_view text, const std::string& source) {
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
  EarlierAudit audit;
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

EarlierAudit read_audit(const std::filesystem::path& path) {
  const FileView file = FileView::open(path);
  return parse_audit(
      {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()},
      path.filename().string());
}

}  // namespace fmd
