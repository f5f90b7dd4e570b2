#pragma once

#include <string>
#include <string_view>

#include "core/internal.h"
#include "fmd/core/types.h"

namespace fmd::internal {

inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// The text without its byte order mark. Throws Error(bad_csv) for UTF-16. Looks at the
// first bytes only.
[[nodiscard]] std::string_view start_of_text(std::string_view text,
                                             const std::string& source);

// Offset of the first byte that is NUL or not valid UTF-8; the text's size when there is
// none.
[[nodiscard]] std::size_t first_bad_byte(std::string_view text);

// Throws the error for a bad byte at this line.
[[noreturn]] void fail_bad_byte(char byte, const std::string& source, Index line);

// All of the above for a whole text.
[[nodiscard]] std::string_view checked_text(std::string_view text,
                                            const std::string& source);

}  // namespace fmd::internal
