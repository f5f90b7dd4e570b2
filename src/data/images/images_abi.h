#pragma once

#include <cstddef>
#include <cstdint>

// The interface between the core and the image plug-in (backends/images), see
// fmd/core/plugin.h. The plug-in never throws: a call that fails returns 0 and writes a
// message of at most `room` bytes.
extern "C" {

struct FmdImages {
  std::uint32_t version;  // kFmdImagesVersion of the plug-in

  // Height and width of a JPEG or PNG image in memory, from its first bytes.
  int (*size)(const std::uint8_t* bytes, std::uint64_t count, std::int64_t* height,
              std::int64_t* width, char* message, std::size_t room);
  // Its pixels, row after row, red, green, blue: height x width x 3 bytes.
  int (*decode)(const std::uint8_t* bytes, std::uint64_t count, std::int64_t height,
                std::int64_t width, std::uint8_t* into, char* message, std::size_t room);
};
}

inline constexpr std::uint32_t kFmdImagesVersion = 1;
// Larger images are refused before memory is taken.
inline constexpr std::int64_t kFmdImagesMostPixels = std::int64_t{1} << 26;
