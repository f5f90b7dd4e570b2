#include "data/images/image.h"

#include "data/images/image_files.h"
#include "support/fuzz.h"

extern "C" const void* fmd_images();

// A JPEG or PNG file, and the same bytes as a tar file of images.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fmd;
  const auto& decoder = *static_cast<const FmdImages*>(fmd_images());
  const std::span<const std::uint8_t> bytes(data, size);
  const auto tar = fuzz::accepted([&] { return ImageFiles(bytes, "fuzz.tar"); });
  if (tar) static_cast<void>(fuzz::accepted([&] { return tar->read("a.png"); }));
  // Large images take long and show nothing new.
  std::int64_t height = 0, width = 0;
  char message[100];
  if (decoder.size(data, size, &height, &width, message, sizeof(message)) == 0) return 0;
  if (height * width > 1 << 18) return 0;
  const auto image =
      fuzz::accepted([&] { return decode_image(decoder, bytes, "fuzz.png"); });
  if (!image) return 0;
  fuzz::require(std::ssize(image->pixels) == image->height * image->width * 3,
                "an image has all its pixels");
  const auto small = fuzz::accepted([&] {
    return prepared(*image, {.image = "file", .size = {9}, .crop = {8}}, "fuzz.png");
  });
  if (!small) return 0;
  std::vector<float> numbers(192);
  image_numbers(*small, {.image = "file"}, true, numbers.data());
  for (const float v : numbers) fuzz::require(v >= 0 && v <= 1, "numbers are from 0 to 1");
  return 0;
}
