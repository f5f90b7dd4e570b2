#include "data/task/input_reader.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "data/words.h"

namespace fmd::internal {
namespace {

constexpr Index kLargestSide = 4096;

// One number, or height and width.
std::vector<Index> read_sides(const TomlReader& reader, const toml::node& node,
                              std::string_view key) {
  std::vector<Index> sides;
  if (const toml::array* list = node.as_array()) {
    for (const toml::node& element : *list) sides.push_back(reader.count(element, key));
  } else {
    sides.push_back(reader.count(node, key));
  }
  return sides;
}

// A number for all channels, or one for each.
std::vector<double> read_channels(const TomlReader& reader, const toml::node& node,
                                  std::string_view key) {
  if (const auto one = node.is_number() ? node.value<double>() : std::optional<double>())
    return {*one};
  return reader.numbers(node, key);
}

InputSpec read_input(const TomlReader& reader, const toml::table& table) {
  static const std::vector<std::string> kKeys = {"name", "columns", "image",    "tensor",
                                                 "size", "crop",    "channels", "scale",
                                                 "mean", "std"};
  InputSpec spec;
  for (const auto& [toml_key, node] : table) {
    const std::string_view key = toml_key.str();
    if (key == "name") {
      spec.name = reader.text(node, key);
    } else if (key == "columns") {
      spec.columns = reader.texts(node, key);
    } else if (key == "image") {
      spec.image = reader.text(node, key);
    } else if (key == "tensor") {
      spec.tensor = reader.text(node, key);
    } else if (key == "size") {
      spec.size = read_sides(reader, node, key);
    } else if (key == "crop") {
      spec.crop = read_sides(reader, node, key);
    } else if (key == "channels") {
      spec.channels = reader.text(node, key);
    } else if (key == "scale") {
      const auto value = node.is_number() ? node.value<double>() : std::optional<double>();
      if (!value) reader.fail(node, key, "must be a number above 0");
      spec.scale = *value;
    } else if (key == "mean") {
      spec.mean = read_channels(reader, node, key);
    } else if (key == "std") {
      spec.std = read_channels(reader, node, key);
    } else {
      reader.fail_unknown(node, key, kKeys);
    }
  }
  const std::string wrong = input_contradiction(spec);
  if (!wrong.empty())
    reader.fail(table, "inputs", wrong,
                "[[inputs]] with columns = [\"age\", ...], image = \"file\" or tensor = "
                "\"x.npy\"");
  return spec;
}

}  // namespace

std::string input_contradiction(const InputSpec& spec) {
  const int kinds = !spec.columns.empty() + !spec.image.empty() + !spec.tensor.empty();
  if (kinds != 1) return "needs exactly one of columns, image and tensor";
  for (const auto* sides : {&spec.size, &spec.crop}) {
    if (sides->size() > 2) return "size and crop are one number, or [height, width]";
    for (const Index side : *sides)
      if (side < 1 || side > kLargestSide)
        return fmt::format("a side of {}, must be from 1 to {}", side, kLargestSide);
  }
  if (spec.channels != "rgb" && spec.channels != "bgr" && spec.channels != "gray")
    return fmt::format("channels is \"{}\", must be rgb, bgr or gray",
                       shorten(spec.channels));
  const std::size_t count = spec.channels == "gray" ? 1 : 3;
  for (const auto* values : {&spec.mean, &spec.std})
    if (values->size() > 1 && values->size() != count)
      return fmt::format("mean and std are one number, or one for each of {} channels",
                         count);
  const auto good = [](double v) { return std::isfinite(v) && v > 0; };
  if (!good(spec.scale) || !std::all_of(spec.std.begin(), spec.std.end(), good))
    return "scale and std must be above 0";
  const InputSpec plain{.name = spec.name, .columns = spec.columns, .tensor = spec.tensor};
  if (spec.image.empty() && spec != plain)
    return "size, crop, channels, scale, mean and std are for images";
  return "";
}

std::vector<InputSpec> read_inputs(const TomlReader& reader, const toml::node& node) {
  const toml::array* list = node.as_array();
  if (list == nullptr) reader.fail(node, "inputs", "must be tables: [[inputs]]");
  std::vector<InputSpec> specs;
  for (const toml::node& element : *list) {
    specs.push_back(read_input(reader, reader.table(element, "inputs")));
    for (std::size_t k = 0; k + 1 < specs.size(); ++k)
      if (specs[k].name == specs.back().name)
        reader.fail(element, "inputs",
                    fmt::format("\"{}\" appears twice", shorten(specs[k].name)));
  }
  return specs;
}

nlohmann::json to_object(const InputSpec& spec) {
  nlohmann::json object = {{"name", spec.name}};
  if (!spec.columns.empty()) object["columns"] = spec.columns;
  if (!spec.tensor.empty()) object["tensor"] = spec.tensor;
  if (spec.image.empty()) return object;
  object["image"] = spec.image;
  object["size"] = std::vector<double>(spec.size.begin(), spec.size.end());
  object["crop"] = std::vector<double>(spec.crop.begin(), spec.crop.end());
  object["channels"] = spec.channels;
  object["scale"] = spec.scale;
  object["mean"] = spec.mean;
  object["std"] = spec.std;
  return object;
}

InputSpec read_input_spec(const JsonReader& object) {
  InputSpec spec;
  spec.name = object.text("name");
  if (object.has("columns")) spec.columns = object.texts("columns");
  if (object.has("tensor")) spec.tensor = object.text("tensor");
  if (object.has("image")) {
    spec.image = object.text("image");
    for (const auto& [key, sides] : {std::pair{"size", &spec.size}, {"crop", &spec.crop}})
      for (const double side : object.numbers(key)) {
        if (!(side >= 1 && side <= kLargestSide)) object.fail("a side is out of range");
        sides->push_back(static_cast<Index>(side));
      }
    spec.channels = object.text("channels");
    spec.scale = object.number("scale");
    spec.mean = object.numbers("mean");
    spec.std = object.numbers("std");
  }
  const std::string wrong = input_contradiction(spec);
  if (!wrong.empty()) object.fail(wrong);
  return spec;
}

}  // namespace fmd::internal
