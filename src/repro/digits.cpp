#include "fmd/repro/digits.h"

#include <fmt/format.h>

#include "fmd/core/error.h"
#include "fmd/data/datasets.h"
#include "fmd/data/idx.h"

namespace fmd {
namespace {

IdxArray read_part(const std::filesystem::path& folder, const std::string& name) {
  const Dataset& set = image_datasets().front();
  for (const DatasetFile& file : set.files) {
    if (file.path != "mnist/" + name) continue;
    const std::string bytes = read_image_file(set, file, folder);
    return parse_idx({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()},
                     file.path);
  }
  throw Error(ErrorKind::bad_option, fmt::format("mnist: no file {}", name));
}

}  // namespace

Digits load_digits(const std::filesystem::path& data_folder, const std::string& part) {
  const std::string stem = part == "test" ? "t10k" : "train";
  IdxArray images = read_part(data_folder, stem + "-images-idx3-ubyte");
  const IdxArray labels = read_part(data_folder, stem + "-labels-idx1-ubyte");
  if (images.count() != labels.count()) {
    throw Error(ErrorKind::bad_data, fmt::format("mnist: {} images but {} labels",
                                                 images.count(), labels.count()));
  }
  const Index pixels = images.cell();
  return {pixels, std::move(images.values), {labels.values.begin(), labels.values.end()}};
}

std::string grey_in_hex(std::span<const std::uint8_t> image) {
  std::string text;
  for (const std::uint8_t grey : image) text += fmt::format("{:02x}", grey);
  return text;
}

Digits select(const Digits& digits, std::span<const Index> rows) {
  Digits some;
  some.pixels = digits.pixels;
  some.grey.reserve(rows.size() * static_cast<std::size_t>(digits.pixels));
  for (const Index row : rows) {
    const auto image = digits.image(row);
    some.grey.insert(some.grey.end(), image.begin(), image.end());
    some.label.push_back(digits.label[static_cast<std::size_t>(row)]);
  }
  return some;
}

}  // namespace fmd
