#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/internal.h"
#include "data/images/images_abi.h"
#include "fmd/core/types.h"
#include "fmd/data/input_spec.h"

namespace fmd::internal {

// Pixels of 8 bits, row after row, red, green, blue.
struct Image {
  Index height = 0, width = 0;
  Bytes pixels;
};

// Decodes a JPEG or PNG file. Throws Error(bad_data) that names it.
[[nodiscard]] Image decode_image(const FmdImages& decoder,
                                 std::span<const std::uint8_t> bytes,
                                 const std::string& name);

// The image with another size, by means over triangles: what libraries of Python call
// bilinear with antialiasing. Pixels stay whole numbers.
[[nodiscard]] Image resized(const Image& image, Index height, Index width);
// The middle of an image. Throws Error(bad_data) when it is smaller.
[[nodiscard]] Image cropped(const Image& image, Index height, Index width,
                            const std::string& name);

// Height and width after `size` and `crop` of the spec.
[[nodiscard]] Image prepared(Image image, const InputSpec& spec, const std::string& name);

// The numbers that a model reads: (pixel / scale - mean) / std, channels as the spec says.
// planes: all of one channel, then the next; otherwise the channels of each pixel together.
void image_numbers(const Image& image, const InputSpec& spec, bool planes, float* into);

}  // namespace fmd::internal
