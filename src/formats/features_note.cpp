#include "formats/features_note.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/json_reader.h"

namespace fmd::internal {
namespace {

using Json = nlohmann::json;

constexpr int kSchema = 1, kWithFlips = 2;  // the second: an offset or flipped features

Json attribute_json(const Attribute& a) {
  Json cells = Json::array();
  for (const auto& value : a.cells) {
    cells.push_back(Json::array());
    for (const Cell& cell : value)
      cells.back().push_back({{"text", cell.text}, {"number", cell.number}});
  }
  Json json = {{"name", a.name},       {"columns", a.columns},    {"values", a.values},
               {"cells", cells},       {"cuts", a.cuts},          {"groups", a.groups},
               {"missing", a.missing}, {"reference", a.reference}};
  for (const Mirror& mirror : a.mirrors)
    json["mirrors"].push_back({{"column", mirror.column},
                               {"exceptions", mirror.exceptions},
                               {"flipped", mirror.flipped}});
  if (a.own > 0) json["own"] = a.own;
  for (const bool unseen : a.unseen) json["unseen"].push_back(unseen ? 1 : 0);
  return json;
}

Attribute read_one(const Json& json, const std::string& source) {
  const JsonReader reader(json, source);
  Attribute a;
  a.name = reader.text("name");
  a.columns = reader.texts("columns");
  a.values = reader.texts("values");
  a.groups = reader.texts("groups");
  a.missing = reader.count("missing");
  const Json cells = json.value("cells", Json()), cuts = json.value("cuts", Json()),
             reference = json.value("reference", Json());
  if (!cells.is_array() || !cuts.is_array() || !reference.is_number_integer())
    reader.fail("cells, cuts and reference must be two lists and a whole number");
  for (const Json& cut : cuts) {
    if (!cut.is_number()) reader.fail("a cut is not a number");
    a.cuts.push_back(cut.get<double>());
  }
  for (const Json& value : cells) {
    if (!value.is_array() || value.size() != a.columns.size())
      reader.fail("a value needs one cell for each column");
    std::vector<Cell>& row = a.cells.emplace_back();
    for (const Json& cell : value) {
      const JsonReader one(cell, source);
      row.push_back({one.text("text"), one.number("number")});
    }
  }
  const auto which = reference.get<std::int64_t>();
  const auto count = static_cast<std::int64_t>(a.values.size());
  if (which < -1 || which >= count) reader.fail("the reference is not one of the values");
  a.reference = static_cast<std::int32_t>(which);
  if (reader.has("mirrors"))
    for (const JsonReader& one : reader.objects("mirrors"))
      a.mirrors.push_back(
          {one.text("column"), one.count("exceptions"), one.flag("flipped")});
  if (reader.has("own")) a.own = static_cast<std::size_t>(reader.count("own"));
  if (a.own > a.columns.size()) reader.fail("own is more than there are columns");
  if (reader.has("unseen"))
    for (const double one : reader.numbers("unseen")) a.unseen.push_back(one != 0);
  if (!a.unseen.empty() && a.unseen.size() != a.values.size())
    reader.fail("values and unseen disagree");
  const bool ranges = !a.cuts.empty();
  if (ranges ? a.cuts.size() + 1 != a.values.size() : a.cells.size() != a.values.size())
    reader.fail("values and cells disagree");
  if (!std::equal(
          a.values.begin(), a.values.end(), a.groups.begin(),
          a.groups.begin() + std::min(std::ssize(a.groups), std::ssize(a.values))) ||
      a.groups.size() > a.values.size() + 1)
    reader.fail("groups must be the values and at most one more");
  return a;
}

}  // namespace

std::string to_json(const FeaturesNote& note) {
  Json attributes = Json::array();
  for (const Attribute& a : note.attributes) attributes.push_back(attribute_json(a));
  Json json = {{"schema", kSchema},
               {"rows", note.rows},
               {"cols", note.cols},
               {"places", note.places},
               {"ones", note.ones},
               {"encoder", note.encoder},
               {"source", note.source},
               {"source_sha256", note.source_sha256},
               {"label", note.label},
               {"classes", note.classes},
               {"weight", note.weight},
               {"attributes", attributes},
               {"seen", note.seen < 0 ? Json(nullptr) : Json(note.seen)},
               {"seen_by_chance", note.seen_by_chance},
               {"missing_numbers", note.missing_numbers}};
  if (note.outputs > 0 || !note.flips.empty()) {
    json["schema"] = kWithFlips;
    json["outputs"] = note.outputs;
    json["flips"] = note.flips;
  }
  return json_text(json);
}

FeaturesNote features_note_from_json(const std::string& text, const std::string& source) {
  const Json json = JsonReader::parse(text, source);
  const JsonReader reader(json, source);
  const Index schema = reader.count("schema");
  if (schema != kSchema && schema != kWithFlips) reader.fail("schema is not 1 or 2");
  FeaturesNote note;
  if (schema == kWithFlips) {
    note.outputs = reader.count("outputs");
    note.flips = reader.texts("flips");
  }
  note.rows = reader.count("rows");
  note.cols = reader.count("cols");
  note.places = reader.count("places");
  note.ones = reader.flag("ones");
  note.encoder = reader.text("encoder");
  note.source = reader.text("source");
  note.source_sha256 = reader.text("source_sha256");
  note.label = reader.text("label");
  note.classes = reader.texts("classes");
  note.weight = reader.text("weight");
  if (reader.has("seen")) note.seen = reader.count("seen");
  note.seen_by_chance = reader.number("seen_by_chance");
  note.missing_numbers = reader.count("missing_numbers");
  if (note.cols < 1 || note.cols > std::numeric_limits<std::int32_t>::max() ||
      note.places > note.cols)
    reader.fail("cols or places is not allowed");
  const auto attributes = json.find("attributes");
  if (attributes == json.end() || !attributes->is_array())
    reader.fail("attributes is not a list");
  for (const Json& one : *attributes) note.attributes.push_back(read_one(one, source));
  for (const std::string& name : note.flips) {
    const auto found = std::find_if(note.attributes.begin(), note.attributes.end(),
                                    [&](const Attribute& a) { return a.name == name; });
    if (found == note.attributes.end() || found->values.size() < 2 || !found->flips())
      reader.fail("flips must name attributes that have two values or more");
  }
  // Shapes are compared with the file: no product may be larger than a number can be.
  constexpr Index kMost = Index{1} << 40;
  if (note.rows > kMost || note.outputs > (Index{1} << 20))
    reader.fail("rows or outputs is not allowed");
  return note;
}

}  // namespace fmd::internal
