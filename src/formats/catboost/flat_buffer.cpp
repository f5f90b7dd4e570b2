#include "formats/catboost/flat_buffer.h"

#include <bit>

#include "core/check.h"

namespace fmd::internal {

static_assert(std::endian::native == std::endian::little, "flatbuffers are little-endian");

FlatBuffer::FlatBuffer(std::span<const std::uint8_t> bytes, std::size_t base,
                       const std::string& source)
    : bytes_(bytes), base_(base), source_(source), left_(16 * bytes.size() + 65536) {}

void FlatBuffer::fail(std::size_t place, const std::string& what) const {
  throw Error(ErrorKind::bad_model,
              fmt::format("{}: byte {}: {}", source_, base_ + place, what),
              "the file is damaged: save the model again");
}

void FlatBuffer::require(std::size_t place, std::size_t size) const {
  if (place > bytes_.size() || size > bytes_.size() - place)
    fail(place, "an offset leads out of the file");
}

void FlatBuffer::spend(std::size_t place, std::size_t bytes) {
  if (bytes > left_) fail(place, "too many offsets lead to the same bytes");
  left_ -= bytes;
}

std::size_t FlatBuffer::follow(std::size_t place) const {
  return place + read<std::uint32_t>(place);
}

FlatBuffer::Table FlatBuffer::table_at(std::size_t place) {
  spend(place, 16);
  const auto back = std::int64_t{read<std::int32_t>(place)};
  const auto fields = static_cast<std::int64_t>(place) - back;
  if (fields < 0) fail(place, "an offset leads out of the file");
  Table table{.place = place, .fields = static_cast<std::size_t>(fields)};
  table.fields_size = read<std::uint16_t>(table.fields);
  if (table.fields_size < 4) fail(table.fields, "a table has no size");
  require(table.fields, table.fields_size);
  return table;
}

FlatBuffer::Table FlatBuffer::root() { return table_at(follow(0)); }

std::size_t FlatBuffer::place_of(const Table& table, std::size_t field,
                                 std::size_t size) const {
  const std::size_t entry = 4 + 2 * field;
  if (entry + 2 > table.fields_size) return 0;
  const std::size_t offset = read<std::uint16_t>(table.fields + entry);
  if (offset == 0) return 0;
  require(table.place + offset, size);
  return table.place + offset;
}

bool FlatBuffer::has(const Table& table, std::size_t field) const {
  return place_of(table, field, 1) != 0;
}

FlatBuffer::Table FlatBuffer::table(const Table& table, std::size_t field) {
  const std::size_t place = place_of(table, field, 4);
  if (place == 0) fail(table.place, "a part of the model is missing");
  return table_at(follow(place));
}

FlatBuffer::List FlatBuffer::list_at(std::size_t place, std::size_t element_size) {
  const std::size_t count = read<std::uint32_t>(place);
  if (count > (bytes_.size() - place - 4) / element_size)
    fail(place, "a list is longer than the file");
  spend(place, 4 + count * element_size);
  return {place + 4, count};
}

FlatBuffer::List FlatBuffer::list(const Table& table, std::size_t field,
                                  std::size_t element_size) {
  const std::size_t place = place_of(table, field, 4);
  return place == 0 ? List{} : list_at(follow(place), element_size);
}

std::string_view FlatBuffer::text(const Table& table, std::size_t field) {
  const List bytes = list(table, field, 1);
  return {reinterpret_cast<const char*>(bytes_.data()) + bytes.begin, bytes.count};
}

FlatBuffer::Table FlatBuffer::table_in(const List& tables, std::size_t i) {
  return table_at(follow(tables.begin + 4 * i));
}

std::string_view FlatBuffer::text_in(const List& texts, std::size_t i) {
  const List bytes = list_at(follow(texts.begin + 4 * i), 1);
  return {reinterpret_cast<const char*>(bytes_.data()) + bytes.begin, bytes.count};
}

}  // namespace fmd::internal
