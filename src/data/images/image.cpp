#include "data/images/image.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/check.h"
#include "core/index.h"
#include "fmd/core/safe_text.h"

namespace fmd::internal {
namespace {

// The pixels that one new pixel is the mean of, and their weights.
struct Taps {
  Index first = 0;
  std::vector<double> weight;
};

// New pixel i lies over old pixels around (i + 1/2) old / new; a triangle of that width.
std::vector<Taps> triangle_taps(Index from, Index to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double reach = std::max(scale, 1.0);
  std::vector<Taps> all(at(to));
  for (Index i = 0; i < to; ++i) {
    const double middle = (static_cast<double>(i) + 0.5) * scale;
    const auto first = std::max<Index>(0, static_cast<Index>(middle - reach + 0.5));
    const auto last = std::min<Index>(from, static_cast<Index>(middle + reach + 0.5));
    Taps& taps = all[at(i)];
    taps.first = first;
    double sum = 0;
    for (Index k = first; k < last; ++k) {
      const double distance = std::abs((static_cast<double>(k) - middle + 0.5) / reach);
      taps.weight.push_back(std::max(0.0, 1 - distance));
      sum += taps.weight.back();
    }
    for (double& w : taps.weight) w /= sum;
  }
  return all;
}

std::uint8_t whole_pixel(double value) {
  return static_cast<std::uint8_t>(std::clamp(value + 0.5, 0.0, 255.0));
}

// Resizes along one axis. Pixel (a, b) stands at a * across + b * along.
Bytes resize_axis(const Bytes& pixels, Index lines, Index from, Index to, bool rows) {
  const std::vector<Taps> taps = triangle_taps(from, to);
  Bytes made(at(lines * to * 3));
  for (Index line = 0; line < lines; ++line) {
    for (Index i = 0; i < to; ++i) {
      const Taps& t = taps[at(i)];
      std::array<double, 3> sum{};
      for (std::size_t k = 0; k < t.weight.size(); ++k) {
        const Index place = t.first + static_cast<Index>(k);
        const std::uint8_t* pixel =
            pixels.data() + 3 * (rows ? place * lines + line : line * from + place);
        for (std::size_t c = 0; c < 3; ++c) sum[c] += t.weight[k] * pixel[c];
      }
      std::uint8_t* out = made.data() + 3 * (rows ? i * lines + line : line * to + i);
      for (std::size_t c = 0; c < 3; ++c) out[c] = whole_pixel(sum[c]);
    }
  }
  return made;
}

[[noreturn]] void bad_image(const std::string& name, const std::string& why,
                            const std::string& hint) {
  throw Error(ErrorKind::bad_data, fmt::format("image \"{}\": {}", safe_text(name), why),
              hint);
}

}  // namespace

Image decode_image(const FmdImages& decoder, std::span<const std::uint8_t> bytes,
                   const std::string& name) {
  std::array<char, 256> message{};
  Image image;
  std::int64_t height = 0, width = 0;
  if (decoder.size(bytes.data(), bytes.size(), &height, &width, message.data(),
                   message.size()) == 0)
    bad_image(name, safe_text(message.data()), "give whole JPEG or PNG files");
  image.height = height;
  image.width = width;
  image.pixels.resize(at(height * width * 3));
  if (decoder.decode(bytes.data(), bytes.size(), height, width, image.pixels.data(),
                     message.data(), message.size()) == 0)
    bad_image(name, fmt::format("it is damaged: {}", safe_text(message.data())),
              "give whole JPEG or PNG files");
  return image;
}

Image resized(const Image& image, Index height, Index width) {
  Image made = image;
  if (width != made.width) {
    made.pixels = resize_axis(made.pixels, made.height, made.width, width, false);
    made.width = width;
  }
  if (height != made.height) {
    made.pixels = resize_axis(made.pixels, made.width, made.height, height, true);
    made.height = height;
  }
  return made;
}

Image cropped(const Image& image, Index height, Index width, const std::string& name) {
  if (height > image.height || width > image.width)
    bad_image(name,
              fmt::format("it is {} x {}, too small to cut {} x {} from it", image.height,
                          image.width, height, width),
              "resize first: size = ... in [[inputs]]");
  const auto top =
      static_cast<Index>(std::nearbyint(static_cast<double>(image.height - height) / 2));
  const auto left =
      static_cast<Index>(std::nearbyint(static_cast<double>(image.width - width) / 2));
  Image made{height, width, Bytes(at(height * width * 3))};
  for (Index row = 0; row < height; ++row)
    std::copy_n(image.pixels.begin() + 3 * ((top + row) * image.width + left), 3 * width,
                made.pixels.begin() + 3 * row * width);
  return made;
}

Image prepared(Image image, const InputSpec& spec, const std::string& name) {
  if (spec.size.size() == 2) {
    image = resized(image, spec.size[0], spec.size[1]);
  } else if (spec.size.size() == 1) {  // the shorter side
    const Index side = spec.size[0], shorter = std::min(image.height, image.width);
    const auto other = [&](Index length) { return side * length / shorter; };
    if (other(std::max(image.height, image.width)) > 16384)
      bad_image(name,
                fmt::format("{} x {} is too narrow to resize", image.height, image.width),
                "give size = [height, width]");
    image = resized(image, other(image.height), other(image.width));
  }
  if (!spec.crop.empty()) image = cropped(image, spec.crop.front(), spec.crop.back(), name);
  return image;
}

void image_numbers(const Image& image, const InputSpec& spec, bool planes, float* into) {
  const Index pixels = image.height * image.width;
  const bool gray = spec.channels == "gray";
  const Index channels = gray ? 1 : 3;
  // With 256 values of a pixel, a table is faster than arithmetic.
  std::vector<std::array<float, 256>> table(at(channels));
  const auto of = [](const std::vector<double>& values, Index c, double none) {
    if (values.empty()) return none;
    return values[values.size() == 1 ? 0 : at(c)];
  };
  for (Index c = 0; c < channels; ++c)
    for (std::size_t v = 0; v < 256; ++v)
      table[at(c)][v] = static_cast<float>(
          (static_cast<double>(v) / spec.scale - of(spec.mean, c, 0)) / of(spec.std, c, 1));
  for (Index p = 0; p < pixels; ++p) {
    const std::uint8_t* rgb = image.pixels.data() + 3 * p;
    for (Index c = 0; c < channels; ++c) {
      // Luminance with weights of 16 bits, as Python's libraries compute it.
      const std::uint8_t value =
          gray ? static_cast<std::uint8_t>(
                     (rgb[0] * 19595U + rgb[1] * 38470U + rgb[2] * 7471U + 0x8000U) >> 16)
               : rgb[spec.channels == "bgr" ? 2 - c : c];
      into[planes ? c * pixels + p : p * channels + c] = table[at(c)][value];
    }
  }
}

}  // namespace fmd::internal
