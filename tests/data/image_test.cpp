#include "data/images/image.h"

#include <cstring>
#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "data/images/image_files.h"
#include "data/images/png.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/core/plugin.h"
#include "support/close.h"
#include "support/folder.h"

namespace fmd {
namespace {

using internal::Image;
using internal::ImageFiles;

std::filesystem::path images_folder() {
  return std::filesystem::path(FMD_TEST_DIR) / "files/images";
}

// The plug-in of this build; null where libjpeg and libpng are not there.
const FmdImages* image_plugin() {
  const auto build =
      std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
  const BackendFiles files = {{"images", {(build / "fmd_images.so").string()}}};
  try {
    return static_cast<const FmdImages*>(
        open_backend("images", kFmdImagesVersion, &files, "test", ""));
  } catch (const Error&) {
    return nullptr;
  }
}

// The largest difference of two lists of pixels; 999 when their sizes differ.
int pixel_gap(const Bytes& pixels, const nlohmann::json& known) {
  if (pixels.size() != known.size()) return 999;
  int gap = 0;
  for (std::size_t i = 0; i < pixels.size(); ++i)
    gap = std::max(gap, std::abs(int{pixels[i]} - known[i].get<int>()));
  return gap;
}

Image two_by_two() { return {2, 2, {0, 10, 20, 100, 110, 120, 40, 50, 60, 200, 210, 220}}; }

void put_octal(Bytes& header, std::size_t at, std::size_t digits, std::size_t value) {
  for (std::size_t k = digits; k-- > 0; value /= 8)
    header[at + k] = static_cast<std::uint8_t>('0' + value % 8);
}

void add_to_tar(Bytes& tar, const std::string& name, const std::string& contents,
                char kind = '0') {
  Bytes header(512, 0);
  std::memcpy(header.data(), name.data(), std::min<std::size_t>(name.size(), 100));
  put_octal(header, 124, 11, contents.size());
  header[156] = static_cast<std::uint8_t>(kind);
  std::memcpy(header.data() + 257, "ustar", 6);
  std::memset(header.data() + 148, ' ', 8);
  std::size_t sum = 0;
  for (const std::uint8_t byte : header) sum += byte;
  put_octal(header, 148, 6, sum);
  header[154] = 0;
  tar.insert(tar.end(), header.begin(), header.end());
  tar.insert(tar.end(), contents.begin(), contents.end());
  tar.resize((tar.size() + 511) / 512 * 512, 0);
}

std::string text_of(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace

TEST(Image, PixelsAreThoseOfPillow) {
  const FmdImages* decoder = image_plugin();
  if (decoder == nullptr) GTEST_SKIP() << "no image plug-in in this build";
  const auto known =
      nlohmann::json::parse(FileView::open(images_folder() / "known.json").text());
  const ImageFiles files(images_folder());
  for (const auto& [name, facts] : known.items()) {
    SCOPED_TRACE(name);
    const Image image = decode_image(*decoder, files.read(name), name);
    EXPECT_EQ(image.height, 20);
    EXPECT_EQ(image.width, 30);
    EXPECT_LE(pixel_gap(image.pixels, facts["pixels"]), name.ends_with(".png") ? 0 : 2);
  }
  const Image sixteen = decode_image(*decoder, files.read("sixteen.png"), "sixteen.png");
  EXPECT_EQ(sixteen.pixels[0], sixteen.pixels[2]);
}

TEST(Image, ResizedIsTheMeanOverTriangles) {
  const Image one = resized(two_by_two(), 1, 1);
  EXPECT_EQ(one.pixels, (Bytes{85, 95, 105}));  // (0 + 100 + 40 + 200) / 4
  EXPECT_EQ(resized(two_by_two(), 2, 2).pixels, two_by_two().pixels);
  // Three from two: the middle one is their mean.
  const Image three = resized(two_by_two(), 2, 3);
  EXPECT_EQ(three.pixels[3], 50);
}

TEST(Image, ResizedAsPillowDoesIt) {
  const FmdImages* decoder = image_plugin();
  if (decoder == nullptr) GTEST_SKIP() << "no image plug-in in this build";
  const auto known = nlohmann::json::parse(
      FileView::open(images_folder() / "known.json").text())["waves.png"];
  const ImageFiles files(images_folder());
  const Image image = decode_image(*decoder, files.read("waves.png"), "waves.png");
  EXPECT_LE(pixel_gap(resized(image, 8, 8).pixels, known["smaller"]), 1);
  EXPECT_LE(pixel_gap(resized(image, 25, 31).pixels, known["larger"]), 1);
}

TEST(Image, ShorterSideAndCropGiveTheMiddle) {
  Image wide{2, 6, Bytes(36)};
  for (std::size_t i = 0; i < 36; ++i) wide.pixels[i] = static_cast<std::uint8_t>(i);
  const Image middle =
      prepared(wide, {.image = "file", .size = {2}, .crop = {2}}, "wide.png");
  EXPECT_EQ(middle.height, 2);
  EXPECT_EQ(middle.width, 2);
  EXPECT_EQ(middle.pixels, (Bytes{6, 7, 8, 9, 10, 11, 24, 25, 26, 27, 28, 29}));
  EXPECT_ERROR(prepared(wide, {.image = "file", .crop = {3}}, "wide.png"),
               ErrorKind::bad_data, "\"wide.png\": it is 2 x 6, too small");
  EXPECT_ERROR(prepared(Image{1, 4000, Bytes(12000)}, {.image = "f", .size = {64}}, "n"),
               ErrorKind::bad_data, "too narrow");
}

TEST(Image, NumbersAreScaledByChannelInBothOrders) {
  const InputSpec spec{.image = "file", .scale = 10, .mean = {1, 2, 3}, .std = {1, 2, 4}};
  std::vector<float> planes(12), pixels(12), gray(4), blue(12);
  image_numbers(two_by_two(), spec, true, planes.data());
  image_numbers(two_by_two(), spec, false, pixels.data());
  EXPECT_FLOAT_EQ(planes[0], -1.0F);   // (0 / 10 - 1) / 1
  EXPECT_FLOAT_EQ(planes[5], 4.5F);    // green of the second pixel: (11 - 2) / 2
  EXPECT_FLOAT_EQ(planes[11], 4.75F);  // blue of the last: (22 - 3) / 4
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t p = 0; p < 4; ++p) EXPECT_EQ(planes[c * 4 + p], pixels[p * 3 + c]);
  image_numbers(two_by_two(), {.image = "f", .channels = "gray", .scale = 1}, true,
                gray.data());
  EXPECT_FLOAT_EQ(gray[1], 108.0F);  // .299 * 100 + .587 * 110 + .114 * 120 = 108.2
  image_numbers(two_by_two(), {.image = "f", .channels = "bgr", .scale = 1}, true,
                blue.data());
  EXPECT_FLOAT_EQ(blue[0], 20.0F);
}

TEST(Image, DamagedFilesAreNamed) {
  const FmdImages* decoder = image_plugin();
  if (decoder == nullptr) GTEST_SKIP() << "no image plug-in in this build";
  const ImageFiles files(images_folder());
  for (const std::string name :
       {"waves.png", "waves.jpg", "palette.png", "progressive.jpg"}) {
    SCOPED_TRACE(name);
    const Bytes whole = files.read(name);
    for (std::size_t length = 0; length + 12 < whole.size(); length += 7) {
      const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
      EXPECT_ERROR(decode_image(*decoder, cut, name), ErrorKind::bad_data, name);
    }
  }
  EXPECT_ERROR(decode_image(*decoder, Bytes{'G', 'I', 'F', '8', '9', 'a'}, "a.gif"),
               ErrorKind::bad_data, "neither JPEG nor PNG");
  // A PNG that says it has 60,000 x 60,000 pixels.
  Bytes bomb = files.read("waves.png");
  bomb[18] = bomb[22] = 0xea;
  bomb[19] = bomb[23] = 0x60;
  EXPECT_ERROR(decode_image(*decoder, bomb, "bomb.png"), ErrorKind::bad_data, "bomb.png");
}

TEST(ImageFiles, FoldersAndTarFilesGiveTheSameBytes) {
  const test::Folder folder;
  std::filesystem::create_directory(folder / "sub");
  std::filesystem::copy_file(images_folder() / "gray.png", folder / "sub/a.png");
  const ImageFiles in_folder(folder.path());
  const Bytes bytes = in_folder.read("sub/a.png");
  Bytes tar;
  add_to_tar(tar, "sub", "", '5');
  add_to_tar(tar, "./sub/a.png", text_of(bytes));
  const std::string long_name = std::string(120, 'd') + "/b.png";
  add_to_tar(tar, "long", long_name, 'L');
  add_to_tar(tar, "cut", "second");
  add_to_tar(tar, "pax", std::string("14 path=c.png\n"), 'x');
  add_to_tar(tar, "cut", "third");
  tar.resize(tar.size() + 1024, 0);
  const ImageFiles in_tar(tar, "faces.tar");
  EXPECT_EQ(in_tar.size(), 3U);
  EXPECT_EQ(in_tar.read("sub/a.png"), bytes);
  EXPECT_EQ(text_of(in_tar.read(long_name)), "second");
  EXPECT_EQ(text_of(in_tar.read("c.png")), "third");
}

TEST(ImageFiles, NamesStayBelowTheFolder) {
  const test::Folder folder;
  const ImageFiles files(folder.path());
  for (const std::string name : {"../a.png", "/etc/passwd", "a/../../b.png", ""})
    EXPECT_ERROR(files.read(name), ErrorKind::bad_data, "leads out of the folder");
  EXPECT_ERROR(files.read("absent.png"), ErrorKind::bad_data, "there is no such file");
}

TEST(ImageFiles, DamagedTarFilesAreRefused) {
  Bytes tar;
  add_to_tar(tar, "a.png", std::string(600, 'x'));
  const Bytes cut(tar.begin(), tar.begin() + 700);
  EXPECT_ERROR(ImageFiles(cut, "t.tar"), ErrorKind::bad_data, "goes past the end");
  EXPECT_ERROR(ImageFiles(Bytes(tar.begin(), tar.begin() + 100), "t.tar"),
               ErrorKind::bad_data, "ends in a header");
  tar[0] = 'b';
  EXPECT_ERROR(ImageFiles(tar, "t.tar"), ErrorKind::bad_data, "not a header");
}

TEST(Images, APngThatWasWrittenIsReadBack) {
  const FmdImages* plugin = image_plugin();
  if (plugin == nullptr) GTEST_SKIP() << "no image plug-in";
  Image image{3, 5, {}};
  for (int i = 0; i < 45; ++i) image.pixels.push_back(static_cast<std::uint8_t>(5 * i));
  const Image back = internal::decode_image(*plugin, internal::to_png(image), "made");
  EXPECT_EQ(back.height, 3);
  EXPECT_EQ(back.width, 5);
  EXPECT_EQ(back.pixels, image.pixels);
}

}  // namespace fmd
