#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/internal.h"
#include "fmd/core/error.h"
#include "fmd/core/types.h"

namespace fmd::internal {

// The one entry for JSON from files. What fmd writes is nested fewer than 20 deep and takes
// less than a megabyte, apart from lists of row hashes.
inline constexpr int kMostNesting = 64;
inline constexpr Index kMostJson = Index{100} << 20;  // bytes

// Throws Error(kind) for a text that is longer or nested deeper than the limits. A value
// that is nested deep is safe to parse, but not to copy, compare or write: those call
// themselves for every level.
void check_json_limits(std::string_view text, const std::string& source, ErrorKind kind);

// J is nlohmann::json or ordered_json. Memory: at most about 20 bytes for a byte of text.
// Throws Error(kind) that names the source, says `what`, and names the place.
template <typename J = nlohmann::json>
[[nodiscard]] J parse_json(std::string_view text, const std::string& source,
                           ErrorKind kind = ErrorKind::bad_model,
                           const std::string& what = "damaged JSON",
                           const std::string& hint = "") {
  check_json_limits(text, source, kind);
  try {
    return J::parse(text);
  } catch (const typename J::exception& error) {
    throw Error(kind, fmt::format("{}: {} ({})", source, what, error.what()), hint);
  }
}

// The value as a file or screen has it: two blanks a level, a line end. Bytes that are not
// UTF-8, such as those of a file's name, are written as escaped text (\xff).
[[nodiscard]] std::string json_lines(const nlohmann::ordered_json& value);

}  // namespace fmd::internal
