#include "pipeline/monotone_rules.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/index.h"
#include "data/words.h"
#include "fmd/core/error.h"
#include "fmd/core/safe_text.h"
#include "fmd/model/tree_backbone.h"

namespace fmd::internal {
namespace {

MonotoneNote parse_monotone(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  const std::string way = equals == std::string::npos ? "" : text.substr(equals + 1);
  const bool up = way == "1" || way == "+1";
  if (equals == 0 || equals == std::string::npos || (!up && way != "-1"))
    throw Error(ErrorKind::bad_option,
                fmt::format("--monotone {}: must be INPUT=+1 or INPUT=-1", safe_text(text)),
                "--monotone age=+1: the answer must not fall with age");
  MonotoneNote note;
  note.input = text.substr(0, equals);
  note.direction = up ? 1 : -1;
  note.from_file = false;
  return note;
}

// Position of an input that the trees read as a number.
std::int32_t number_input(const TreeEnsemble& trees, const std::string& name) {
  for (std::size_t j = 0; j < trees.inputs.size(); ++j)
    if (trees.inputs[j].name == name && trees.inputs[j].kind == ColumnKind::number)
      return static_cast<std::int32_t>(j);
  std::vector<std::string> names;
  for (const InputColumn& input : trees.inputs)
    if (input.kind == ColumnKind::number) names.push_back(input.name);
  throw Error(ErrorKind::bad_option,
              fmt::format("--monotone: the model reads no number {}", safe_text(name)),
              fmt::format("its numbers: {}", list_words(names)));
}

}  // namespace

std::vector<MonotoneNote> monotone_notes(const Model& model, const DebiasOptions& options) {
  const TreeEnsemble* trees = trees_of(*model.backbone);
  if (trees == nullptr) {
    if (options.monotone.empty()) return {};
    throw Error(ErrorKind::unsupported, "debias: --monotone is for models of trees",
                "leave it out");
  }
  std::vector<MonotoneNote> notes;
  for (std::size_t j = 0; j < trees->monotone.size(); ++j) {
    if (trees->monotone[j] == 0) continue;
    notes.emplace_back();
    notes.back().input = trees->inputs[j].name;
    notes.back().direction = trees->monotone[j];
  }
  for (const std::string& text : options.monotone) {
    MonotoneNote note = parse_monotone(text);
    (void)number_input(*trees, note.input);
    const auto same =
        std::find_if(notes.begin(), notes.end(),
                     [&](const MonotoneNote& other) { return other.input == note.input; });
    if (same == notes.end())
      notes.push_back(std::move(note));
    else if (same->direction != note.direction)
      throw Error(
          ErrorKind::bad_option,
          fmt::format("--monotone {}: another rule says the opposite", safe_text(text)),
          "leave one of them out");
  }
  return notes;
}

LeafOrder leaf_order(const Model& model, const MonotoneNote& note) {
  const TreeEnsemble& trees = *trees_of(*model.backbone);
  return fmd::leaf_order(trees, {{number_input(trees, note.input), note.direction}});
}

bool keeps(const LeafOrder& order, const Vector& theta) {
  return std::all_of(order.begin(), order.end(), [&](const auto& pair) {
    return theta[pair.first] <= theta[pair.second];
  });
}

}  // namespace fmd::internal
