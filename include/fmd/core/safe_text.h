#pragma once

#include <string>
#include <string_view>

namespace fmd {

// Text from a file as it may be shown to a person: nothing in it moves the cursor, begins a
// line or reorders what is read. Control characters, line separators, marks of text
// direction and invisible marks are written as \n, \t, \x1b, \u202e; bytes that are not
// UTF-8 as \xff. A backslash stays as it is: this is for reading, not for reading back.
[[nodiscard]] std::string safe_text(std::string_view text);

// The same for text of several lines, each of which the program wrote: \n stays.
[[nodiscard]] std::string safe_lines(std::string_view text);

// The same bytes where they are UTF-8; other bytes as \xff. For JSON, which escapes control
// characters by itself.
[[nodiscard]] std::string valid_utf8(std::string_view text);

}  // namespace fmd
