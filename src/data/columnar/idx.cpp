#include "fmd/data/idx.h"

#include <algorithm>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "data/gzip.h"
#include "data/number.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"

namespace fmd {
namespace {

constexpr int kUnsignedBytes = 0x08;  // the kind of number that is read
constexpr std::size_t kReadBytes = std::size_t{1} << 20;

// The file's bytes in order, unpacked where they are packed.
class IdxFeed {
 public:
  explicit IdxFeed(std::shared_ptr<const InputFile> file) : file_(std::move(file)) {
    if (is_gzip(file_->first(2))) packed_.emplace(file_, std::numeric_limits<Index>::max());
  }

  // Appends up to `count` bytes to `out`; fewer only at the end.
  void read(std::size_t count, Bytes& out) {
    while (count > 0) {
      const std::size_t used = out.size(), room = std::min(count, kReadBytes);
      out.resize(used + room);
      const std::size_t came = take({out.data() + used, room});
      out.resize(used + came);
      offset_ += came;
      count -= came;
      if (came == 0) return;
    }
  }
  [[nodiscard]] std::size_t offset() const { return offset_; }

 private:
  std::size_t take(std::span<std::uint8_t> out) {
    if (!packed_) {
      const std::size_t came = std::min(out.size(), to_size(file_->size()) - offset_);
      file_->read(static_cast<Index>(offset_), out.first(came));
      return came;
    }
    try {
      if (packed_->at_end()) return 0;
      return packed_->read({reinterpret_cast<char*>(out.data()), out.size()});
    } catch (const Error& error) {  // gzip throws bad_csv
      throw Error(ErrorKind::bad_data,
                  fmt::format("{}, after {} unpacked bytes", error.what(), offset_),
                  error.hint());
    }
  }

  std::shared_ptr<const InputFile> file_;
  std::optional<GzipReader> packed_;
  std::size_t offset_ = 0;
};

Error damaged_idx(const std::string& source, std::size_t offset, const std::string& what) {
  return {ErrorKind::bad_data, fmt::format("{}, offset {}: {}", source, offset, what),
          "get the IDX file again"};
}

std::vector<Index> read_shape(IdxFeed& feed, const std::string& source) {
  Bytes magic;
  feed.read(4, magic);
  if (magic.size() < 4 || magic[0] != 0 || magic[1] != 0)
    throw damaged_idx(source, 0, "an IDX file begins with two zeros, a kind and a number");
  if (magic[2] != kUnsignedBytes) {
    throw Error(
        ErrorKind::unsupported,
        fmt::format("{}, offset 2: numbers of kind 0x{:02x}", source, int{magic[2]}),
        "IDX files of unsigned bytes (kind 0x08) are read");
  }
  if (magic[3] < 1 || magic[3] > 4)
    throw damaged_idx(source, 3,
                      fmt::format("{} dimensions, 1 to 4 are read", int{magic[3]}));
  std::vector<Index> shape;
  for (int d = 0; d < magic[3]; ++d) {
    const std::size_t at = feed.offset();
    Bytes number;
    feed.read(4, number);
    if (number.size() < 4) throw damaged_idx(source, at, "the file ends within its header");
    Index size = 0;
    for (const std::uint8_t byte : number) size = size << 8 | byte;
    if (size == 0) throw damaged_idx(source, at, "a dimension of 0: there is no element");
    shape.push_back(size);
  }
  return shape;
}

IdxArray parse_idx(const std::shared_ptr<const InputFile>& file) {
  const std::string& source = file->name();
  IdxFeed feed(file);
  IdxArray array{.source = source, .shape = read_shape(feed, source), .values = {}};
  Index needed = 1;
  for (const Index size : array.shape) {
    if (needed > std::numeric_limits<Index>::max() / 2 / size)
      throw damaged_idx(source, 4, "the shape needs more bytes than a machine has");
    needed *= size;
  }
  const std::size_t start = feed.offset();
  feed.read(to_size(needed), array.values);
  if (std::ssize(array.values) < needed) {
    throw damaged_idx(
        source, feed.offset(),
        fmt::format("the file ends; its shape needs {} bytes from offset {} on, "
                    "{} are there",
                    needed, start, array.values.size()));
  }
  Bytes more;
  feed.read(1, more);
  if (!more.empty())
    throw damaged_idx(source, start + to_size(needed), "bytes after the last element");
  return array;
}

}  // namespace

IdxArray parse_idx(std::span<const std::uint8_t> bytes, const std::string& source) {
  return parse_idx(InputFile::in_memory(bytes, source));
}

IdxArray read_idx(const std::filesystem::path& path) {
  return parse_idx(InputFile::open(path));
}

}  // namespace fmd
