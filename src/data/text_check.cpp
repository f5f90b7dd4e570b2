#include "data/text_check.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

#include "fmd/core/error.h"

namespace fmd::internal {
namespace {

[[noreturn]] void fail_utf16(const std::string& source) {
  throw Error(ErrorKind::bad_csv, fmt::format("{}: UTF-16 text, UTF-8 is needed", source),
              "save it as \"CSV UTF-8\", or run: iconv -f UTF-16 -t UTF-8");
}

// Zip archives (.xlsx, .ods) and old workbooks (.xls).
void refuse_workbook(std::string_view text, const std::string& source) {
  if (!text.starts_with("PK\x03\x04") && !text.starts_with("\xd0\xcf\x11\xe0")) return;
  throw Error(
      ErrorKind::bad_csv,
      fmt::format("{}: a workbook of a spreadsheet, or an archive, and no text", source),
      "save the sheet as \"CSV UTF-8\"");
}

Index line_at(std::string_view text, std::size_t offset) {
  return 1 +
         std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n');
}

bool looks_like_utf16(std::string_view text) {
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) return true;
  const std::string_view head = text.substr(0, 1000);
  const auto nuls = std::count(head.begin(), head.end(), '\0');
  return head.size() >= 4 && 3 * nuls >= std::ssize(head);
}

bool is_tail(unsigned char c) { return (c & 0xc0U) == 0x80U; }

// The size of the UTF-8 character that begins here; 0 when it is not valid (overlong,
// surrogate, cut off).
std::size_t character_size(std::string_view s) {
  const auto at = [&s](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char c = at(0);
  if (c < 0x80) return 1;
  if (c < 0xc2 || c > 0xf4) return 0;
  const std::size_t size = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
  if (s.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if (!is_tail(at(i))) return 0;
  if ((c == 0xe0 && at(1) < 0xa0) || (c == 0xed && at(1) > 0x9f)) return 0;
  if ((c == 0xf0 && at(1) < 0x90) || (c == 0xf4 && at(1) > 0x8f)) return 0;
  return size;
}

}  // namespace

std::size_t first_bad_byte(std::string_view text) {
  // When all eight bytes are 1 .. 127, no high bit is set, and taking 1 from each byte sets
  // none.
  constexpr std::uint64_t kHigh = 0x8080808080808080U;
  constexpr std::uint64_t kOnes = 0x0101010101010101U;
  std::size_t i = 0;
  while (i < text.size()) {
    std::uint64_t word = 0;
    while (i + 8 <= text.size()) {
      std::memcpy(&word, text.data() + i, 8);
      if (((word | (word - kOnes)) & kHigh) != 0) break;
      i += 8;
    }
    if (i >= text.size()) break;
    const std::size_t size = text[i] == 0 ? 0 : character_size(text.substr(i));
    if (size == 0) return i;
    i += size;
  }
  return i;
}

void fail_bad_byte(char byte, const std::string& source, Index line) {
  if (byte == 0) {
    throw Error(ErrorKind::bad_csv, fmt::format("{}, line {}: a NUL byte", source, line),
                "the file is damaged, or it is not a text file");
  }
  throw Error(ErrorKind::bad_csv,
              fmt::format("{}, line {}: the byte 0x{:02x} is not valid UTF-8", source, line,
                          static_cast<unsigned char>(byte)),
              "save it as \"CSV UTF-8\", or run: iconv -f WINDOWS-1252 -t UTF-8");
}

std::string_view start_of_text(std::string_view text, const std::string& source) {
  refuse_workbook(text, source);
  if (looks_like_utf16(text)) fail_utf16(source);
  // Programs that add a mark to a file that has one leave two.
  while (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

std::string_view checked_text(std::string_view text, const std::string& source) {
  text = start_of_text(text, source);
  const std::size_t bad = first_bad_byte(text);
  if (bad < text.size()) fail_bad_byte(text[bad], source, line_at(text, bad));
  return text;
}

}  // namespace fmd::internal
