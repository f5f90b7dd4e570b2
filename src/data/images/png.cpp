#include "data/images/png.h"

#include <string_view>

#include <zlib.h>

#include "core/index.h"
#include "fmd/core/error.h"

namespace fmd::internal {
namespace {

void put_big(Bytes& to, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8)
    to.push_back(static_cast<std::uint8_t>(value >> shift));
}

void put_chunk(Bytes& to, std::string_view kind, const Bytes& contents) {
  put_big(to, static_cast<std::uint32_t>(contents.size()));
  Bytes summed(kind.begin(), kind.end());
  summed.insert(summed.end(), contents.begin(), contents.end());
  to.insert(to.end(), summed.begin(), summed.end());
  put_big(to, static_cast<std::uint32_t>(
                  crc32(0, summed.data(), static_cast<uInt>(summed.size()))));
}

}  // namespace

Bytes to_png(const Image& image) {
  Bytes lines;
  const std::size_t width = 3 * at(image.width);
  for (std::size_t r = 0; r < at(image.height); ++r) {
    lines.push_back(0);  // no filter
    const auto from = image.pixels.begin() + static_cast<Index>(r * width);
    lines.insert(lines.end(), from, from + static_cast<Index>(width));
  }
  uLongf size = compressBound(static_cast<uLong>(lines.size()));
  Bytes packed(size);
  if (compress2(packed.data(), &size, lines.data(), static_cast<uLong>(lines.size()), 6) !=
      Z_OK)
    throw Error(ErrorKind::numerical, "an image cannot be compressed");
  packed.resize(size);

  Bytes png = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  Bytes head;
  put_big(head, static_cast<std::uint32_t>(image.width));
  put_big(head, static_cast<std::uint32_t>(image.height));
  const Bytes rgb = {8, 2, 0, 0, 0};  // bits, kind of colour
  head.insert(head.end(), rgb.begin(), rgb.end());
  put_chunk(png, "IHDR", head);
  put_chunk(png, "IDAT", packed);
  put_chunk(png, "IEND", {});
  return png;
}

}  // namespace fmd::internal
