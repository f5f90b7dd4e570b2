#include "data/gzip.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <zlib.h>

#include "data/number.h"
#include "fmd/core/error.h"

namespace fmd {
namespace {

class Inflater {
 public:
  Inflater() {
    std::memset(&stream, 0, sizeof(stream));
    if (inflateInit2(&stream, 15 + 16) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream stream;
};

[[noreturn]] void fail(const std::string& source, const std::string& what) {
  throw Error(ErrorKind::bad_csv, fmt::format("{}: {}", source, what),
              "copy or compress the file again; `gzip -t` tests it");
}

// The last four bytes tell the length of the text, which a damaged file may say wrong.
std::size_t likely_size(std::span<const std::uint8_t> bytes) {
  std::uint32_t told = 0;
  for (std::size_t i = 0; i < 4; ++i) told = told << 8 | bytes[bytes.size() - 1 - i];
  return std::min<std::size_t>(told, 16 * bytes.size());
}

}  // namespace

bool is_gzip(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

std::string gunzip(std::span<const std::uint8_t> bytes, const std::string& source,
                   Index max_bytes) {
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  if (bytes.size() < 18) fail(source, "a gzip file that is cut off");
  const std::size_t limit = to_size(std::max<Index>(max_bytes, 0));
  Inflater inflater;
  z_stream& stream = inflater.stream;
  stream.next_in = const_cast<Bytef*>(bytes.data());  // zlib only reads it
  std::size_t left = bytes.size();
  std::string text;
  text.reserve(std::min(likely_size(bytes) + kChunk, limit + kChunk));
  std::size_t used = 0;
  while (true) {
    const std::size_t fed = std::min<std::size_t>(left, std::size_t{1} << 30);
    text.resize(used + kChunk);
    stream.avail_in = static_cast<uInt>(fed);
    stream.next_out = reinterpret_cast<Bytef*>(text.data() + used);
    stream.avail_out = static_cast<uInt>(kChunk);
    const int status = inflate(&stream, Z_NO_FLUSH);
    left -= fed - stream.avail_in;
    used += kChunk - stream.avail_out;
    if (used > limit) fail(source, fmt::format("unpacks to more than {} bytes", max_bytes));
    if (status == Z_STREAM_END) {
      // More members may follow; tape blocks are padded with zeros.
      while (left > 0 && *stream.next_in == 0) ++stream.next_in, --left;
      if (left == 0) break;
      inflateReset(&stream);
    } else if (status == Z_BUF_ERROR ||
               (status == Z_OK && left == 0 && stream.avail_out != 0)) {
      fail(source, "a gzip file that is cut off");
    } else if (status != Z_OK) {
      const char* what = stream.msg != nullptr ? stream.msg : "unknown";
      fail(source, fmt::format("a damaged gzip file ({})", what));
    }
  }
  text.resize(used);
  return text;
}

}  // namespace fmd
