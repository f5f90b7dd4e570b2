#pragma once

#include <algorithm>
#include <string>

#include "fmd/formats/model_file.h"
#include "support/fuzz.h"

namespace fmd::fuzz {

// A file of trees that is accepted can be patched, and the new file has the new values.
inline int tree_file(const std::uint8_t* data, std::size_t size,
                     const std::string& format) {
  const Bytes bytes(data, data + size);
  const auto open = [](const Bytes& contents) {
    return open_model_file(FileSet::in_memory("fuzz", {{"", contents}}));
  };
  const auto file = accepted([&] { return open(bytes); });
  if (!file || !(*file)->format().starts_with(format)) return 0;
  const Model& model = (*file)->model();
  require((*file)->patch(model).ranges.empty(), "the same model, no change");
  Model changed = model;
  for (Index j = 0; j < changed.theta.size(); j += 2) changed.theta[j] = 0.5;
  const auto patch = accepted([&] { return (*file)->patch(changed); });
  if (!patch) return 0;
  const auto files = apply_patch((*file)->files(), *patch);
  if (files.empty()) return 0;
  const auto again = open(files.at(""));
  require(again->model().theta.size() == model.theta.size(), "leaves are kept");
  require(again->model().backbone->hash() == model.backbone->hash(), "trees are kept");
  return 0;
}

}  // namespace fmd::fuzz
