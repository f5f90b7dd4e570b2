#pragma once

#include "core/internal.h"
#include "data/images/image.h"

namespace fmd::internal {

// The image as a PNG file.
[[nodiscard]] Bytes to_png(const Image& image);

}  // namespace fmd::internal
