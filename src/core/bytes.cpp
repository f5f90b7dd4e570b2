#include "fmd/core/bytes.h"

#include <bit>

#include "core/check.h"

namespace fmd {

static_assert(std::endian::native == std::endian::little,
              "states are written little-endian");

void ByteWriter::put_raw(const void* data, std::size_t size) {
  const auto* first = static_cast<const std::uint8_t*>(data);
  bytes_.insert(bytes_.end(), first, first + size);
}

void ByteWriter::put_text(std::string_view text) {
  put(static_cast<std::uint64_t>(text.size()));
  put_raw(text.data(), text.size());
}

ByteReader::ByteReader(std::span<const std::uint8_t> bytes, std::string what)
    : bytes_(bytes), what_(std::move(what)) {}

void ByteReader::get_raw(void* into, std::size_t size) {
  if (size > left()) {
    throw Error(ErrorKind::bad_model,
                fmt::format("{}: ends after {} bytes, {} more are needed at byte {}", what_,
                            bytes_.size(), size - left(), at_),
                "the file is cut off or damaged: make it again");
  }
  if (size > 0) std::memcpy(into, bytes_.data() + at_, size);
  at_ += size;
}

std::size_t ByteReader::count_of(std::size_t element) {
  const auto count = get<std::uint64_t>();
  if (count > left() / element) {
    throw Error(ErrorKind::bad_model,
                fmt::format("{}: claims {} entries at byte {} but only {} bytes follow",
                            what_, count, at_, left()),
                "the file is cut off or damaged: make it again");
  }
  return static_cast<std::size_t>(count);
}

std::string ByteReader::get_text() {
  std::string text(count_of(1), '\0');
  get_raw(text.data(), text.size());
  return text;
}

}  // namespace fmd
