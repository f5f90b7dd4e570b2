#include "fmd/data/npy.h"

#include <bit>
#include <cstring>
#include <limits>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "data/columnar/npy_header.h"
#include "data/columnar/npy_rows.h"
#include "data/number.h"
#include "data/words.h"
#include "fmd/core/error.h"

namespace fmd {
namespace {

constexpr Index kMaxColumns = 100000;
constexpr Index kMostHeader = Index{16} << 20;  // bytes

template <typename T>
T load(const std::uint8_t* p, bool big_endian) {
  std::uint8_t bytes[sizeof(T)];
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    const bool swap = big_endian == (std::endian::native == std::endian::little);
    bytes[i] = p[swap ? sizeof(T) - 1 - i : i];
  }
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

// a * b, or -1 when an Index cannot hold it.
Index product(Index a, Index b) {
  return b != 0 && a > std::numeric_limits<Index>::max() / b ? -1 : a * b;
}

void check_size(const NpyView& view, Index cells, Index cell_bytes, Index there) {
  const Index needed = cells < 0 ? -1 : product(cells, cell_bytes);
  if (needed == there && needed > 0) return;
  if (needed == 0) {
    throw Error(ErrorKind::bad_data, fmt::format("{}: has no numbers", view.source),
                "at least one row is needed");
  }
  throw Error(
      ErrorKind::bad_data,
      fmt::format("{}: its shape needs {} bytes of numbers, {} are there", view.source,
                  needed < 0 ? "too many" : std::to_string(needed), there),
      "the .npy file is damaged: write it again with numpy.save");
}

void check_field_names(const std::vector<NpyField>& fields, const std::string& source) {
  std::set<std::string> seen;
  for (const NpyField& field : fields) {
    if (field.name.empty() || !seen.insert(field.name).second) {
      throw Error(ErrorKind::bad_data,
                  fmt::format("{}: two fields are named \"{}\", or one has no name", source,
                              shorten(field.name)),
                  "give each field its own name");
    }
  }
}

// Where the numbers of a file of `size` bytes are, by its header.
NpyLayout layout_of(const NpyHeader& header, Index size, const std::string& source) {
  NpyLayout layout;
  NpyView& view = layout.view;
  view.source = source;
  layout.data = static_cast<Index>(header.data);
  const bool structured = !header.fields.front().name.empty() || header.fields.size() > 1;
  const std::size_t dimensions = header.shape.size();
  if (dimensions == 0 || dimensions > (structured ? 1U : 2U)) {
    throw Error(ErrorKind::unsupported,
                fmt::format("{}: an array of {} dimensions", source, dimensions),
                structured ? "a structured array must be a list"
                           : "one dimension or two are read: use reshape");
  }
  view.rows = header.shape[0];
  Index row_bytes = 0;
  for (const NpyField& field : header.fields) row_bytes += field.type.size;
  const Index width = dimensions == 2 ? header.shape[1] : 1;
  const Index cells = product(view.rows, width);
  // Checked before any memory is allocated by the header's numbers.
  check_size(view, cells, row_bytes, size - layout.data);
  if (structured) {
    check_field_names(header.fields, source);
    Index offset = 0;
    for (const NpyField& field : header.fields) {
      view.columns.push_back({field.name, field.type, offset, row_bytes});
      offset += field.type.size;
    }
    layout.row_bytes = row_bytes;
    return layout;
  }
  if (width > kMaxColumns) {
    throw Error(
        ErrorKind::unsupported,
        fmt::format("{}: an array of {} columns, at most {}", source, width, kMaxColumns));
  }
  for (Index c = 0; c < width; ++c) {
    view.columns.push_back({"", header.fields[0].type,
                            header.fortran ? c * view.rows * row_bytes : c * row_bytes,
                            header.fortran ? row_bytes : width * row_bytes});
  }
  layout.row_bytes = width * row_bytes;
  layout.by_columns = header.fortran;
  return layout;
}

}  // namespace

namespace internal {

NpyLayout read_npy_layout(const InputFile& file) {
  constexpr Index kShort = 12 + (Index{1} << 16);  // every header of NPY 1.0
  Bytes start = file.first(kShort);
  if (start.size() >= 12 && start[6] > 1) {
    Index length = 0;
    for (std::size_t i = 12; i-- > 8;) length = length << 8 | start[i];
    if (12 + length > kShort) start = file.first(std::min(12 + length, kMostHeader));
    if (length > kMostHeader && 12 + length <= file.size()) {
      throw Error(ErrorKind::unsupported,
                  fmt::format("{}: a header of {} bytes, at most {} are read", file.name(),
                              length, kMostHeader));
    }
  }
  return layout_of(read_npy_header(start, file.name()), file.size(), file.name());
}

}  // namespace internal

bool is_npy(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  return bytes.size() >= 8 &&
         std::string_view(reinterpret_cast<const char*>(bytes.data()), 6) == kMagic;
}

NpyView parse_npy(std::span<const std::uint8_t> bytes, const std::string& source) {
  NpyLayout layout = layout_of(read_npy_header(bytes, source), std::ssize(bytes), source);
  layout.view.data = bytes.subspan(static_cast<std::size_t>(layout.data));
  return layout.view;
}

double NpyView::number(Index row, Index column) const {
  const NpyColumn& c = columns[to_size(column)];
  const std::uint8_t* p = data.data() + c.offset + row * c.stride;
  const bool big = c.type.big_endian;
  switch (c.type.kind) {
    case 'f':
      return c.type.size == 4 ? static_cast<double>(load<float>(p, big))
                              : load<double>(p, big);
    case 'b':
      return *p != 0 ? 1 : 0;
    case 'i':
      switch (c.type.size) {
        case 1:
          return static_cast<std::int8_t>(*p);
        case 2:
          return load<std::int16_t>(p, big);
        case 4:
          return load<std::int32_t>(p, big);
        default:
          return static_cast<double>(load<std::int64_t>(p, big));
      }
    default:
      switch (c.type.size) {
        case 1:
          return *p;
        case 2:
          return load<std::uint16_t>(p, big);
        case 4:
          return load<std::uint32_t>(p, big);
        default:
          return static_cast<double>(load<std::uint64_t>(p, big));
      }
  }
}

std::string NpyView::whole_text(Index row, Index column) const {
  const NpyColumn& c = columns[to_size(column)];
  const std::uint8_t* p = data.data() + c.offset + row * c.stride;
  if (c.type.size < 8) return fmt::format("{}", static_cast<Index>(number(row, column)));
  return c.type.kind == 'i' ? fmt::format("{}", load<std::int64_t>(p, c.type.big_endian))
                            : fmt::format("{}", load<std::uint64_t>(p, c.type.big_endian));
}

const float* NpyView::floats() const {
  constexpr bool kBig = std::endian::native == std::endian::big;
  const NpyColumn& first = columns.front();
  const auto address = reinterpret_cast<std::uintptr_t>(data.data());
  const bool plain = first.name.empty() && first.type.kind == 'f' && first.type.size == 4 &&
                     first.type.big_endian == kBig && address % alignof(float) == 0;
  const bool by_rows = columns.size() == 1 || rows == 1 || columns[1].offset == 4;
  return plain && by_rows ? reinterpret_cast<const float*>(data.data()) : nullptr;
}

Table read_npy(const std::filesystem::path& path, const CsvOptions& options,
               const Exec& exec) {
  return read_rows(*open_npy_rows(InputFile::open(path), options, exec));
}

}  // namespace fmd
