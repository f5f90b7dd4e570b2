#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "fmd/core/types.h"

namespace fmd {

// Handwritten digits: grey values 0 .. 255 of each image, row after row, and labels.
struct Digits {
  Index pixels = 0;  // of one image: 784
  Bytes grey;
  std::vector<std::int32_t> label;

  [[nodiscard]] Index size() const { return static_cast<Index>(label.size()); }
  [[nodiscard]] std::span<const std::uint8_t> image(Index i) const {
    return {grey.data() + i * pixels, static_cast<std::size_t>(pixels)};
  }
};

// MNIST's "train" (60,000) or "test" (10,000) part. Throws Error(missing_dataset) that
// names folder, file, source and checksum, Error(wrong_checksum), Error(bad_data).
[[nodiscard]] Digits load_digits(const std::filesystem::path& data_folder,
                                 const std::string& part);
// Two hexadecimal digits for each pixel.
[[nodiscard]] std::string grey_in_hex(std::span<const std::uint8_t> image);
[[nodiscard]] Digits select(const Digits& digits, std::span<const Index> rows);

}  // namespace fmd
