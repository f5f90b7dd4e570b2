#include "fmd/pipeline/describe_model.h"

#include <algorithm>

#include "core/json.h"
#include "fmd/core/hash.h"
#include "fmd/model/tree_backbone.h"
#include "report/line.h"

namespace fmd {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kShown = 6;  // levels of a category on the screen

Index depth_of(const Tree& tree) {
  Index deepest = 0;
  std::vector<std::pair<std::int32_t, Index>> open;
  if (!tree.nodes.empty()) open.emplace_back(0, 1);
  while (!open.empty()) {
    const auto [number, depth] = open.back();
    open.pop_back();
    deepest = std::max(deepest, depth);
    const TreeNode& node = tree.nodes[static_cast<std::size_t>(number)];
    for (const std::int32_t child : {node.left, node.right})
      if (child >= 0) open.emplace_back(child, depth + 1);
  }
  return deepest;
}

std::string kind_word(const InputColumn& column) {
  return column.kind == ColumnKind::number ? "number" : "category";
}

std::string levels_text(const InputColumn& column) {
  std::string text;
  for (std::size_t k = 0; k < std::min(kShown, column.levels.size()); ++k)
    text += (k > 0 ? ", " : "") + column.levels[k];
  if (column.levels.size() > kShown)
    text += fmt::format(", ... ({} in all)", column.levels.size());
  return text;
}

}  // namespace

ModelNote describe_model(const ModelFile& file) {
  const Model& model = file.model();
  ModelNote note;
  note.name = file.path().filename().string();
  note.sha256 = hex(sha256(file.bytes()));
  note.format = file.format();
  note.kind = kind_of(model);
  note.classes = model.task.classes;
  note.outputs = model.head->outputs();
  note.inputs = model.backbone->inputs().columns;
  note.parameters = model.head->parameters();
  note.details = file.details();
  if (const TreeEnsemble* trees = trees_of(*model.backbone)) {
    note.trees = std::ssize(trees->trees);
    note.leaves = trees->leaves();
    for (const Tree& tree : trees->trees) note.depth = std::max(note.depth, depth_of(tree));
  } else {
    note.widths = model.head->widths();
  }
  return note;
}

std::string to_json(const ModelNote& note) {
  Json inputs = Json::array();
  for (const InputColumn& column : note.inputs)
    inputs.push_back({{"name", column.name},
                      {"kind", kind_word(column)},
                      {"levels", column.levels},
                      {"read", column.read}});
  Json json = {{"schema", 1},
               {"command", "model"},
               {"name", note.name},
               {"sha256", note.sha256},
               {"format", note.format},
               {"kind", note.kind},
               {"classes", note.classes},
               {"outputs", note.outputs},
               {"inputs", inputs},
               {"parameters", note.parameters}};
  if (note.trees > 0)
    json["trees"] = {{"count", note.trees}, {"leaves", note.leaves}, {"depth", note.depth}};
  else
    json["widths"] = note.widths;
  if (!note.details.empty()) {
    json["details"] = Json::array();
    for (const auto& [key, text] : note.details)
      json["details"].push_back({{"key", key}, {"text", text}});
  }
  return json_lines(json);
}

Sheet sheet_of(const ModelNote& note) {
  Sheet sheet;
  sheet.command = "model";
  SheetSection& top = sheet.add();
  line(top, "model   ", "{}   {}, {}", note.name, note.format, note.kind);
  if (note.trees > 0)
    line(top, "trees   ", "{} with {} leaves, at most {} splits deep", note.trees,
         note.leaves, note.depth);
  else
    line(top, "layers  ", "{}", fmt::join(note.widths, " -> "));
  if (note.classes.empty())
    line(top, "classes ",
         "{}; the file stores no label and no classes: --label, --positive or task.toml",
         std::max<Index>(2, note.outputs));
  else
    line(top, "classes ", "{}", fmt::join(note.classes, ", "));
  if (note.trees > 0)
    line(top, "repair  ", "changes leaf values: {} numbers", note.parameters);
  else
    line(top, "repair  ", "changes the head's weights: {} numbers", note.parameters);
  if (!note.details.empty()) {
    SheetSection& details = sheet.add("FILE ");
    for (const auto& [key, text] : note.details) line(details, "  ", "{:<9} {}", key, text);
  }
  SheetSection& inputs =
      sheet.add("INPUTS ", fmt::format("{} columns", note.inputs.size()));
  for (const InputColumn& column : note.inputs)
    line(inputs, "  ", "{:<24} {:<9} {}{}", column.name, kind_word(column),
         levels_text(column), column.read ? "" : "  (not read)");
  return sheet;
}

}  // namespace fmd
