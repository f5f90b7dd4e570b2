#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "core/internal.h"

namespace fmd::internal {

// A flatbuffer: tables whose fields are found by offsets. Nothing is trusted: every offset
// and length is compared with the bytes that are there. Several offsets may lead to one
// place, so that a small file could stand for a large one; what is read in all is limited.
class FlatBuffer {
 public:
  // base: where the bytes begin in the file. bytes and source must outlive this.
  FlatBuffer(std::span<const std::uint8_t> bytes, std::size_t base,
             const std::string& source);

  struct Table {
    std::size_t place = 0, fields = 0, fields_size = 0;
  };
  // Equal elements, one after the other, from byte `begin` on.
  struct List {
    std::size_t begin = 0, count = 0;
  };

  [[nodiscard]] Table root();
  [[nodiscard]] bool has(const Table& table, std::size_t field) const;
  // Throws Error(bad_model) where the field is absent.
  [[nodiscard]] Table table(const Table& table, std::size_t field);
  template <typename T>
  [[nodiscard]] T number(const Table& table, std::size_t field, T otherwise) const {
    const std::size_t place = place_of(table, field, sizeof(T));
    return place == 0 ? otherwise : read<T>(place);
  }
  // Empty where the field is absent.
  [[nodiscard]] List list(const Table& table, std::size_t field, std::size_t element_size);
  [[nodiscard]] std::string_view text(const Table& table, std::size_t field);
  template <typename T>
  [[nodiscard]] T element(const List& list, std::size_t i) const {
    return read<T>(list.begin + i * sizeof(T));
  }
  [[nodiscard]] Table table_in(const List& tables, std::size_t i);
  [[nodiscard]] std::string_view text_in(const List& texts, std::size_t i);
  // Of a byte: where it is in the file.
  [[nodiscard]] std::size_t in_file(std::size_t place) const { return base_ + place; }

  [[noreturn]] void fail(std::size_t place, const std::string& what) const;

 private:
  // The bytes that a number takes at `place`. Throws Error(bad_model) outside.
  template <typename T>
  [[nodiscard]] T read(std::size_t place) const {
    require(place, sizeof(T));
    T value;
    std::memcpy(&value, bytes_.data() + place, sizeof(T));
    return value;
  }
  void require(std::size_t place, std::size_t size) const;
  [[nodiscard]] std::size_t place_of(const Table& table, std::size_t field,
                                     std::size_t size) const;
  [[nodiscard]] std::size_t follow(std::size_t place) const;
  [[nodiscard]] Table table_at(std::size_t place);
  [[nodiscard]] List list_at(std::size_t place, std::size_t element_size);
  void spend(std::size_t place, std::size_t bytes);

  std::span<const std::uint8_t> bytes_;
  std::size_t base_;
  const std::string& source_;
  std::size_t left_;  // bytes that may still be read
};

}  // namespace fmd::internal
