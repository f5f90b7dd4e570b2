#include "formats/onnx/wire.h"

#include <cstring>

#include "core/check.h"

namespace fmd::internal {
namespace {

[[noreturn]] void damaged_wire(const std::string& source, std::size_t at,
                               const std::string& what) {
  throw Error(ErrorKind::bad_model, fmt::format("{}: byte {}: {}", source, at, what),
              "the file is damaged or is not an ONNX model: export it again");
}

}  // namespace

void WireReader::damaged(const std::string& what) const {
  damaged_wire(source_, base_ + at_, what);
}

std::uint64_t WireReader::varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (at_ == bytes_.size()) damaged("the file ends within a number");
    const std::uint8_t byte = bytes_[at_++];
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  damaged("a number has more than ten bytes");
}

bool WireReader::next(WireField& field) {
  if (at_ == bytes_.size()) return false;
  field = {};
  field.begin = base_ + at_;
  const std::uint64_t tag = varint();
  if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff) damaged("a field has no valid number");
  field.number = static_cast<std::uint32_t>(tag >> 3);
  field.kind = static_cast<int>(tag & 7);
  std::uint64_t length = 0;
  switch (field.kind) {
    case 0:
      field.value = varint();
      break;
    case 1:
      length = 8;
      break;
    case 2:
      length = varint();
      break;
    case 5:
      length = 4;
      break;
    default:
      damaged(fmt::format("a field of the unknown kind {}", field.kind));
  }
  field.payload = base_ + at_;
  if (length > bytes_.size() - at_)
    damaged(fmt::format("a length of {} goes past the end, {} bytes are left", length,
                        bytes_.size() - at_));
  field.bytes = bytes_.subspan(at_, length);
  at_ += length;
  if (field.kind == 1 || field.kind == 5)
    std::memcpy(&field.value, field.bytes.data(), length);
  field.end = base_ + at_;
  return true;
}

void require_kind(const WireField& field, int kind, const std::string& source) {
  if (field.kind != kind)
    damaged_wire(
        source, field.begin,
        fmt::format("field {} has kind {}, must have {}", field.number, field.kind, kind));
}

void put_varint(Bytes& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<std::uint8_t>(value | 0x80));
  to.push_back(static_cast<std::uint8_t>(value));
}

void put_bytes(Bytes& to, std::uint32_t number, std::span<const std::uint8_t> bytes) {
  put_varint(to, std::uint64_t{number} << 3 | 2);
  put_varint(to, bytes.size());
  to.insert(to.end(), bytes.begin(), bytes.end());
}

void put_text(Bytes& to, std::uint32_t number, std::string_view text) {
  put_bytes(to, number, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

}  // namespace fmd::internal
