#pragma once

#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "fmd/core/types.h"

namespace fmd {

// Writes states as bytes, little-endian. T: numbers and arrays of numbers, no struct with
// gaps between its fields (the bytes of a gap would be random). The same state gives the
// same bytes on every machine that fmd supports.
class ByteWriter {
 public:
  template <typename T>
  requires std::is_trivially_copyable_v<T>
  void put(const T& value) { put_raw(&value, sizeof(T)); }
  void put_text(std::string_view text);  // u64 length, bytes
  template <typename T>
  requires std::is_trivially_copyable_v<T>
  void put_array(std::span<const T> values) {  // u64 count, elements
    put(static_cast<std::uint64_t>(values.size()));
    put_raw(values.data(), values.size_bytes());
  }
  void put_raw(const void* data, std::size_t size);

  [[nodiscard]] const Bytes& bytes() const { return bytes_; }
  [[nodiscard]] Bytes take() { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

// Reads what ByteWriter wrote and checks every length. A read past the end and a length
// that is impossible throw Error(bad_model, "<what>: ends after N bytes ..."). Memory is
// taken only for bytes that exist.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::uint8_t> bytes, std::string what = "state");

  template <typename T>
  requires std::is_trivially_copyable_v<T> T get() {
    T value;
    get_raw(&value, sizeof(T));
    return value;
  }
  [[nodiscard]] std::string get_text();
  template <typename T>
  requires std::is_trivially_copyable_v<T> std::vector<T> get_array() {
    std::vector<T> values(count_of(sizeof(T)));
    get_raw(values.data(), values.size() * sizeof(T));
    return values;
  }
  void get_raw(void* into, std::size_t size);
  [[nodiscard]] std::size_t left() const { return bytes_.size() - at_; }

 private:
  std::size_t count_of(std::size_t element);  // a count whose elements are all there

  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
  std::string what_;
};

}  // namespace fmd
