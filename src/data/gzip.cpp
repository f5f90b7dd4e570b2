#include "data/gzip.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include <fmt/format.h>
#include <zlib.h>

#include "data/number.h"
#include "fmd/core/error.h"

namespace fmd::internal {
namespace {

Error damaged_gzip(const std::string& source, const std::string& what) {
  return {ErrorKind::bad_csv, fmt::format("{}: {}", source, what),
          "copy or compress the file again; `gzip -t` tests it"};
}

// The last four bytes hold the length of the text. In a damaged file it may be wrong.
std::size_t likely_size(const InputFile& file) {
  std::array<std::uint8_t, 4> last{};
  file.read(file.size() - 4, last);
  std::uint32_t told = 0;
  for (std::size_t i = 0; i < 4; ++i) told = told << 8 | last[3 - i];
  return std::min<std::size_t>(told, 16 * to_size(file.size()));
}

}  // namespace

bool is_gzip(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

struct GzipReader::State {
  State(std::shared_ptr<const InputFile> input, Index most)
      : file(std::move(input)), source(file->name()), max_bytes(most) {
    std::memset(&stream, 0, sizeof(stream));
    if (inflateInit2(&stream, 15 + 16) != Z_OK) throw std::bad_alloc();
    begin();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { inflateEnd(&stream); }

  void begin() {
    stream.avail_in = 0;
    left = file->size();
    total = 0;
    ended = false;
    error.reset();
    if (file->size() < 18) error = damaged_gzip(source, "a gzip file that is cut off");
  }

  // Reads more of the file when nothing of it is left to unpack.
  void feed() {
    if (stream.avail_in > 0 || left == 0) return;
    packed.resize(to_size(std::min<Index>(left, kPacked)));
    file->read(file->size() - left, packed);
    left -= std::ssize(packed);
    stream.next_in = packed.data();
    stream.avail_in = static_cast<uInt>(packed.size());
  }

  // More members may follow; tape blocks are padded with zeros.
  void skip_padding() {
    for (feed(); stream.avail_in > 0 && *stream.next_in == 0; feed())
      ++stream.next_in, --stream.avail_in;
  }

  // Unpacks once into `out` and returns how many bytes came. Sets `ended` and `error`.
  std::size_t step(std::span<char> out) {
    const std::size_t room = std::min<std::size_t>(out.size(), std::size_t{1} << 30);
    feed();
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(room);
    const int status = inflate(&stream, Z_NO_FLUSH);
    const std::size_t came = room - stream.avail_out;
    total += static_cast<Index>(came);
    if (total > max_bytes) {
      error = damaged_gzip(source, fmt::format("unpacks to more than {} bytes", max_bytes));
    } else if (status == Z_STREAM_END) {
      skip_padding();
      ended = stream.avail_in == 0;
      if (!ended) inflateReset(&stream);
    } else if (status == Z_BUF_ERROR || (status == Z_OK && left == 0 &&
                                         stream.avail_in == 0 && stream.avail_out != 0)) {
      error = damaged_gzip(source, "a gzip file that is cut off");
    } else if (status != Z_OK) {
      const char* what = stream.msg != nullptr ? stream.msg : "unknown";
      error = damaged_gzip(source, fmt::format("a damaged gzip file ({})", what));
    }
    return came;
  }

  static constexpr Index kPacked = Index{1} << 18;

  std::shared_ptr<const InputFile> file;
  std::string source;
  Index max_bytes;
  z_stream stream;
  Bytes packed;    // what zlib is fed from
  Index left = 0;  // of the file, after `packed`
  Index total = 0;
  bool ended = false;
  std::optional<Error> error;
};

GzipReader::GzipReader(std::shared_ptr<const InputFile> file, Index max_bytes)
    : state_(std::make_unique<State>(std::move(file), std::max<Index>(max_bytes, 0))) {}

GzipReader::~GzipReader() = default;

std::size_t GzipReader::read(std::span<char> out) {
  State& s = *state_;
  std::size_t used = 0;
  while (used < out.size() && !s.ended && !s.error) used += s.step(out.subspan(used));
  if (used == 0 && s.error) throw *s.error;
  return used;
}

bool GzipReader::at_end() const { return state_->ended; }

double GzipReader::share() const {
  const auto size = static_cast<double>(state_->file->size());
  return (size - static_cast<double>(state_->left) -
          static_cast<double>(state_->stream.avail_in)) /
         size;
}

void GzipReader::rewind() {
  inflateReset(&state_->stream);
  state_->begin();
}

std::string gunzip(const std::shared_ptr<const InputFile>& file, Index max_bytes) {
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  GzipReader reader(file, max_bytes);
  std::string text;
  if (file->size() >= 18)
    text.reserve(std::min(likely_size(*file), to_size(std::max<Index>(max_bytes, 0))) +
                 kChunk);
  std::size_t used = 0;
  while (!reader.at_end()) {
    text.resize(used + kChunk);
    used += reader.read({text.data() + used, kChunk});
  }
  text.resize(used);
  return text;
}

}  // namespace fmd::internal
