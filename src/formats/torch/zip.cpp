#include "formats/torch/zip.h"

#include <zlib.h>

#include "core/check.h"
#include "fmd/core/safe_text.h"

namespace fmd::internal {
namespace {

constexpr std::uint32_t kLocal = 0x04034b50, kDirectory = 0x02014b50, kEnd = 0x06054b50,
                        kAfter = 0x08074b50;
constexpr std::size_t kLocalSize = 30, kDirectorySize = 46, kEndSize = 22;
constexpr std::size_t kMostComment = 65535;
constexpr std::uint32_t kWide = 0xffffffff;  // the number is elsewhere: more than 4 GB

class Reader {
 public:
  Reader(std::span<const std::uint8_t> bytes, const std::string& source)
      : bytes_(bytes), source_(source) {}

  [[nodiscard]] ZipEntries read() const {
    const std::size_t end = find_end();
    const std::size_t count = number(end + 10, 2);
    std::size_t at = number(end + 16, 4);
    if (at == kWide || count == 0xffff)
      throw Error(ErrorKind::unsupported,
                  fmt::format("{}: an archive of 4 GB or more", source_),
                  "models of this size cannot be opened");
    ZipEntries entries;
    for (std::size_t k = 0; k < count; ++k) {
      require(at, kDirectorySize);
      if (number(at, 4) != kDirectory) damaged("its directory");
      const std::size_t name = number(at + 28, 2);
      require(at + kDirectorySize, name);
      const std::string_view text(
          reinterpret_cast<const char*>(bytes_.data()) + at + kDirectorySize, name);
      if (!entries.emplace(text, entry(at)).second) damaged("a name that is there twice");
      at += kDirectorySize + name + number(at + 30, 2) + number(at + 32, 2);
    }
    return entries;
  }

 private:
  [[noreturn]] void damaged(const std::string& what) const {
    throw Error(ErrorKind::bad_model,
                fmt::format("{}: a damaged or cut off archive ({})", source_, what),
                "copy the file again, or save the model again");
  }
  void require(std::size_t at, std::size_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) damaged("it ends too early");
  }
  // Little endian.
  [[nodiscard]] std::size_t number(std::size_t at, std::size_t size) const {
    require(at, size);
    std::size_t value = 0;
    for (std::size_t i = size; i-- > 0;) value = value << 8U | bytes_[at + i];
    return value;
  }

  [[nodiscard]] std::size_t find_end() const {
    if (bytes_.size() < kEndSize) damaged("it ends too early");
    const std::size_t last = bytes_.size() - kEndSize;
    const std::size_t first = last > kMostComment ? last - kMostComment : 0;
    for (std::size_t at = last + 1; at-- > first;)
      if (number(at, 4) == kEnd) return at;
    damaged("it has no directory");
  }

  [[nodiscard]] ZipEntry entry(std::size_t at) const {
    const std::size_t size = number(at + 20, 4), local = number(at + 42, 4);
    if (size == kWide || local == kWide)
      throw Error(ErrorKind::unsupported,
                  fmt::format("{}: a file of 4 GB or more", source_),
                  "models of this size cannot be opened");
    require(local, kLocalSize);
    if (number(local, 4) != kLocal) damaged("a file's beginning");
    ZipEntry made;
    made.stored = number(at + 10, 2) == 0;
    made.begin = local + kLocalSize + number(local + 26, 2) + number(local + 28, 2);
    require(made.begin, size);
    made.end = made.begin + size;
    made.directory_check = at + 16;
    const bool after = (number(local + 6, 2) & 8U) != 0;
    if (!after) {
      made.own_check = local + 14;
    } else if (made.end + 8 <= bytes_.size() && number(made.end, 4) == kAfter) {
      made.own_check = made.end + 4;
    }
    return made;
  }

  std::span<const std::uint8_t> bytes_;
  const std::string& source_;
};

}  // namespace

ZipEntries read_zip(std::span<const std::uint8_t> bytes, const std::string& source) {
  return Reader(bytes, source).read();
}

void update_check(Bytes& archive, const ZipEntry& entry) {
  const auto check = static_cast<std::uint32_t>(::crc32_z(
      ::crc32_z(0, nullptr, 0), archive.data() + entry.begin, entry.end - entry.begin));
  for (const std::size_t at : {entry.directory_check, entry.own_check})
    for (std::size_t i = 0; i < 4 && at > 0; ++i)
      archive[at + i] = static_cast<std::uint8_t>(check >> 8U * i);
}

}  // namespace fmd::internal
