#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "fmd/core/types.h"

namespace fmd {

// What one named input of a model is made of, for models that do not say it themselves
// (ONNX): columns of the table, an image that a column names, or a tensor for each row.
// Exactly one of columns, image and tensor is given.
struct InputSpec {
  std::string name = {};                  // of the model's input; empty: its only one
  std::vector<std::string> columns = {};  // in the order of the model's numbers
  std::string image = {};                 // column with names of images below --images
  std::string tensor = {};                // .npy beside task.toml; * = name of the table
  std::vector<Index> size = {};           // image: resize to height, width, or shorter side
  std::vector<Index> crop = {};           // image: then cut height, width from the middle
  std::string channels = "rgb";           // image: rgb | bgr | gray
  double scale = 255;                     // image: numbers are divided by this
  std::vector<double> mean = {}, std = {};  // image: then (x - mean) / std, per channel

  bool operator==(const InputSpec&) const = default;
};

// Where files that inputs are made of are looked for: named by flags, not by a model.
struct InputFiles {
  std::filesystem::path images = {};       // a folder or a tar file
  std::filesystem::path pair_images = {};  // the same names, with the attribute changed
  // A folder in which features of images and tensors are kept between commands; empty: they
  // are not kept.
  std::filesystem::path cache = {};
};

}  // namespace fmd
