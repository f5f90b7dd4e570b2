#include "fmd/pipeline/contact_sheet.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "core/index.h"
#include "data/images/image_files.h"
#include "data/images/png.h"
#include "fmd/core/error.h"

namespace fmd {
namespace {

constexpr Index kTile = 96, kFrame = 4, kGap = 6, kAcross = 10;

using Colour8 = std::array<std::uint8_t, 3>;
constexpr Colour8 kRed = {200, 40, 40}, kBlue = {40, 80, 200};

void fill(Image& sheet, Index top, Index left, Index size, const Colour8& colour) {
  for (Index r = top; r < top + size; ++r)
    for (Index c = left; c < left + size; ++c)
      std::copy_n(colour.begin(), colour.size(),
                  sheet.pixels.begin() + 3 * (r * sheet.width + c));
}

// The image, its longer side as long as a tile, in the middle of a framed tile.
void put_tile(Image& sheet, Index number, Index first_line, const Colour8& colour,
              const Image& image) {
  const Index side = kTile + 2 * kFrame;
  const Index top = kGap + (first_line + number / kAcross) * (side + kGap);
  const Index left = kGap + number % kAcross * (side + kGap);
  fill(sheet, top, left, side, colour);
  const Index longest = std::max(image.height, image.width);
  const Image small = resized(image, std::max<Index>(1, image.height * kTile / longest),
                              std::max<Index>(1, image.width * kTile / longest));
  const Index down = top + kFrame + (kTile - small.height) / 2;
  const Index right = left + kFrame + (kTile - small.width) / 2;
  for (Index r = 0; r < small.height; ++r)
    std::copy_n(small.pixels.begin() + 3 * r * small.width, 3 * small.width,
                sheet.pixels.begin() + 3 * ((down + r) * sheet.width + right));
}

// Names of the rows with the lowest (sign 1) or highest (sign -1) change.
std::vector<std::string> strongest(const Explanation& explained, Index count, double sign) {
  const Column& names = explained.train.table.column(explained.images.front());
  std::vector<Index> rows(at(explained.change.rows()));
  std::iota(rows.begin(), rows.end(), Index{0});
  std::erase_if(rows, [&](Index row) { return sign * explained.change(row, 0) >= 0; });
  std::stable_sort(rows.begin(), rows.end(), [&](Index i, Index j) {
    return sign * explained.change(i, 0) < sign * explained.change(j, 0);
  });
  rows.resize(std::min(rows.size(), at(count)));
  std::vector<std::string> found;
  for (const Index row : rows) found.push_back(names.text(row));
  return found;
}

Index lines_of(const std::vector<std::string>& names) {
  return (std::ssize(names) + kAcross - 1) / kAcross;
}

}  // namespace

ContactSheet contact_sheet(const Explanation& explained,
                           const std::filesystem::path& images, Index count,
                           const Exec& exec) {
  if (explained.images.size() != 1 || images.empty() || explained.change.cols() == 0)
    throw Error(ErrorKind::unsupported,
                "a contact sheet shows images, and the model reads "
                "none",
                "leave --sheet out");
  ContactSheet sheet{.harmful = strongest(explained, count, 1),
                     .helpful = strongest(explained, count, -1),
                     .png = {}};
  const auto& decoder = *static_cast<const FmdImages*>(
      open_backend("images", kFmdImagesVersion, exec.backends, "a contact sheet",
                   "build fmd where libjpeg and libpng are installed"));
  const ImageFiles files(images);
  const Index side = kTile + 2 * kFrame + kGap;
  Image picture{kGap + (lines_of(sheet.harmful) + lines_of(sheet.helpful)) * side,
                kGap + kAcross * side,
                {}};
  picture.pixels.assign(at(3 * picture.height * picture.width), 255);
  const auto put = [&](const std::vector<std::string>& names, Index line,
                       const Colour8& colour) {
    for (std::size_t i = 0; i < names.size(); ++i)
      put_tile(picture, static_cast<Index>(i), line, colour,
               decode_image(decoder, files.read(names[i]), names[i]));
  };
  put(sheet.harmful, 0, kRed);
  put(sheet.helpful, lines_of(sheet.harmful), kBlue);
  sheet.png = to_png(picture);
  return sheet;
}

}  // namespace fmd
