// Decodes JPEG and PNG images for the core, see src/data/images/images_abi.h.
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <jpeglib.h>
#include <png.h>

#include "data/images/images_abi.h"

namespace {

constexpr std::int64_t kLongestSide = 65500;  // what a JPEG can have
constexpr int kMostScans = 200;               // of a progressive JPEG

int fail(char* message, std::size_t room, const char* text) {
  if (room > 0) std::snprintf(message, room, "%s", text);
  return 0;
}

bool is_jpeg(const std::uint8_t* bytes, std::uint64_t count) {
  return count > 3 && bytes[0] == 0xff && bytes[1] == 0xd8 && bytes[2] == 0xff;
}

bool is_png(const std::uint8_t* bytes, std::uint64_t count) {
  return count > 8 && std::memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0;
}

// Whether an image of this size may be decoded.
const char* wrong_size(std::int64_t height, std::int64_t width) {
  if (height < 1 || width < 1) return "it has no pixels";
  if (height > kLongestSide || width > kLongestSide ||
      height * width > kFmdImagesMostPixels)
    return "it has more than 67 million pixels";
  return nullptr;
}

// ---------------------------------------------------------------- JPEG

struct JpegErrors {
  jpeg_error_mgr base;
  std::jmp_buf back;
  char text[JMSG_LENGTH_MAX];
};

[[noreturn]] void leave_jpeg(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  errors->base.format_message(info, errors->text);
  std::longjmp(errors->back, 1);
}

// A warning means that pixels were made up: the file is damaged.
void warn_jpeg(j_common_ptr info, int level) {
  if (level < 0) leave_jpeg(info);
}

void watch_scans(j_common_ptr info) {
  auto* jpeg = reinterpret_cast<j_decompress_ptr>(info);
  if (jpeg->input_scan_number > kMostScans) {
    auto* errors = reinterpret_cast<JpegErrors*>(info->err);
    std::snprintf(errors->text, sizeof(errors->text), "more than %d scans", kMostScans);
    std::longjmp(errors->back, 1);
  }
}

// into null: the size alone.
int read_jpeg(const std::uint8_t* bytes, std::uint64_t count, std::int64_t* height,
              std::int64_t* width, std::uint8_t* into, char* message, std::size_t room) {
  jpeg_decompress_struct jpeg;
  JpegErrors errors;
  jpeg_progress_mgr progress;
  std::memset(&jpeg, 0, sizeof(jpeg));
  std::memset(&progress, 0, sizeof(progress));
  jpeg.err = jpeg_std_error(&errors.base);
  errors.base.error_exit = leave_jpeg;
  errors.base.emit_message = warn_jpeg;
  errors.text[0] = 0;
  progress.progress_monitor = watch_scans;
  if (setjmp(errors.back) != 0) {
    jpeg_destroy_decompress(&jpeg);
    return fail(message, room, errors.text);
  }
  jpeg_create_decompress(&jpeg);
  jpeg.progress = &progress;
  jpeg_mem_src(&jpeg, bytes, static_cast<unsigned long>(count));
  jpeg_read_header(&jpeg, TRUE);
  const char* wrong = wrong_size(jpeg.image_height, jpeg.image_width);
  if (wrong == nullptr && into != nullptr &&
      (jpeg.image_height != *height || jpeg.image_width != *width))
    wrong = "its size changed";
  if (wrong != nullptr) {
    jpeg_destroy_decompress(&jpeg);
    return fail(message, room, wrong);
  }
  *height = jpeg.image_height;
  *width = jpeg.image_width;
  if (into != nullptr) {
    jpeg.out_color_space = JCS_RGB;
    jpeg_start_decompress(&jpeg);
    while (jpeg.output_scanline < jpeg.output_height) {
      JSAMPROW row = into + 3 * std::size_t{jpeg.output_scanline} * jpeg.output_width;
      jpeg_read_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_decompress(&jpeg);
  }
  jpeg_destroy_decompress(&jpeg);
  return 1;
}

// ---------------------------------------------------------------- PNG

struct PngInput {
  const std::uint8_t* bytes;
  std::uint64_t left;
};

struct PngErrors {
  char text[200];
};

void leave_png(png_structp png, png_const_charp text) {
  auto* errors = static_cast<PngErrors*>(png_get_error_ptr(png));
  std::snprintf(errors->text, sizeof(errors->text), "%s", text);
  png_longjmp(png, 1);
}

void ignore_png(png_structp, png_const_charp) {}

void give_png(png_structp png, png_bytep into, std::size_t count) {
  auto* input = static_cast<PngInput*>(png_get_io_ptr(png));
  if (count > input->left) png_error(png, "the file ends too early");
  std::memcpy(into, input->bytes, count);
  input->bytes += count;
  input->left -= count;
}

// Red, green and blue of 8 bits, whatever is stored; transparency is left out.
void want_rgb(png_structp png) {
  png_set_expand(png);
  png_set_strip_16(png);
  png_set_strip_alpha(png);
  png_set_gray_to_rgb(png);
}

int read_png(const std::uint8_t* bytes, std::uint64_t count, std::int64_t* height,
             std::int64_t* width, std::uint8_t* into, char* message, std::size_t room) {
  PngErrors errors{};
  PngInput input{bytes, count};
  png_structp png =
      png_create_read_struct(PNG_LIBPNG_VER_STRING, &errors, leave_png, ignore_png);
  png_infop info = png == nullptr ? nullptr : png_create_info_struct(png);
  if (info == nullptr) {
    png_destroy_read_struct(&png, nullptr, nullptr);
    return fail(message, room, "out of memory");
  }
  if (setjmp(png_jmpbuf(png)) != 0) {
    png_destroy_read_struct(&png, &info, nullptr);
    return fail(message, room, errors.text);
  }
  png_set_user_limits(png, static_cast<png_uint_32>(kLongestSide),
                      static_cast<png_uint_32>(kLongestSide));
  png_set_chunk_cache_max(png, 64);
  png_set_chunk_malloc_max(png, 4000000);
  png_set_read_fn(png, &input, give_png);
  png_read_info(png, info);
  const std::int64_t rows = png_get_image_height(png, info);
  const std::int64_t columns = png_get_image_width(png, info);
  const char* wrong = wrong_size(rows, columns);
  if (wrong == nullptr && into != nullptr && (rows != *height || columns != *width))
    wrong = "its size changed";
  if (wrong != nullptr) {
    png_destroy_read_struct(&png, &info, nullptr);
    return fail(message, room, wrong);
  }
  *height = rows;
  *width = columns;
  if (into != nullptr) {
    want_rgb(png);
    const int passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    if (png_get_rowbytes(png, info) != 3 * static_cast<std::size_t>(columns))
      png_error(png, "its pixels cannot become red, green and blue");
    for (int pass = 0; pass < passes; ++pass)
      for (std::int64_t row = 0; row < rows; ++row)
        png_read_row(png, into + 3 * row * columns, nullptr);
    png_read_end(png, nullptr);
  }
  png_destroy_read_struct(&png, &info, nullptr);
  return 1;
}

// ---------------------------------------------------------------- the table

int read_image(const std::uint8_t* bytes, std::uint64_t count, std::int64_t* height,
               std::int64_t* width, std::uint8_t* into, char* message, std::size_t room) {
  if (is_jpeg(bytes, count))
    return read_jpeg(bytes, count, height, width, into, message, room);
  if (is_png(bytes, count))
    return read_png(bytes, count, height, width, into, message, room);
  return fail(message, room, "it is neither JPEG nor PNG");
}

int size(const std::uint8_t* bytes, std::uint64_t count, std::int64_t* height,
         std::int64_t* width, char* message, std::size_t room) {
  return read_image(bytes, count, height, width, nullptr, message, room);
}

int decode(const std::uint8_t* bytes, std::uint64_t count, std::int64_t height,
           std::int64_t width, std::uint8_t* into, char* message, std::size_t room) {
  return read_image(bytes, count, &height, &width, into, message, room);
}

constexpr FmdImages kTable = {kFmdImagesVersion, size, decode};

}  // namespace

extern "C" __attribute__((visibility("default"))) const void* fmd_images() {
  return &kTable;
}
