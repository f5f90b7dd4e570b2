#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fmd/formats/model_file.h"
#include "fmd/report/sheet.h"

namespace fmd {

// What a model file holds, as plain data.
struct ModelNote {
  std::string name, sha256, format, kind;
  std::vector<std::string> classes;  // empty: the file stores none
  Index outputs = 1;
  std::vector<InputColumn> inputs;
  Index trees = 0, depth = 0;  // 0: no trees
  Index leaves = 0;
  std::vector<Index> widths;  // of other models, from layer to layer
  Index parameters = 0;       // that a repair can change
  std::vector<std::pair<std::string, std::string>> details;  // see ModelFile::details
};

[[nodiscard]] ModelNote describe_model(const ModelFile& file);
[[nodiscard]] Sheet sheet_of(const ModelNote& note);
[[nodiscard]] std::string to_json(const ModelNote& note);

}  // namespace fmd
