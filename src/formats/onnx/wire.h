#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/internal.h"
#include "fmd/core/types.h"

namespace fmd::internal {

// One field of a protobuf message. Bytes are views into the file.
struct WireField {
  std::uint32_t number = 0;
  int kind = 0;                         // 0 number, 1 eight bytes, 2 bytes, 5 four bytes
  std::uint64_t value = 0;              // of kinds 0, 1 and 5
  std::span<const std::uint8_t> bytes;  // of kinds 1, 2 and 5
  std::size_t begin = 0, payload = 0, end = 0;  // where it stands in the file

  [[nodiscard]] std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
};

// The fields of one message, one after the other. Nothing is trusted: a length is compared
// with the bytes that are there before it is used.
class WireReader {
 public:
  // base: where the bytes begin in the file. source must outlive the reader.
  WireReader(std::span<const std::uint8_t> bytes, std::size_t base,
             const std::string& source)
      : bytes_(bytes), base_(base), source_(source) {}
  // False at the end. Throws Error(bad_model) that names the byte.
  [[nodiscard]] bool next(WireField& field);

 private:
  [[nodiscard]] std::uint64_t varint();
  [[noreturn]] void damaged(const std::string& what) const;
  std::span<const std::uint8_t> bytes_;
  std::size_t base_;
  const std::string& source_;
  std::size_t at_ = 0;
};

// Throws Error(bad_model) unless the field is of this kind.
void require_kind(const WireField& field, int kind, const std::string& source);

// Writing: fields are appended to `to`.
void put_varint(Bytes& to, std::uint64_t value);
void put_bytes(Bytes& to, std::uint32_t number, std::span<const std::uint8_t> bytes);
void put_text(Bytes& to, std::uint32_t number, std::string_view text);

}  // namespace fmd::internal
