#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string_view>

#include "fmd/core/error.h"

// Called by libFuzzer, or by replay.cpp, with one input after the other.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace fmd::fuzz {

inline std::string_view as_text(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// What read() gives; nothing when it refuses the input by an Error with words in it. Any
// other exception ends the program: readers promise to throw nothing else.
template <typename Read>
auto accepted(const Read& read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const Error& error) {
    if (std::string_view(error.what()).empty()) std::abort();
    return std::nullopt;
  }
}

// A property that every accepted input must have.
inline void require(bool holds, const char* property) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", property);
  std::abort();
}

}  // namespace fmd::fuzz
