#include "data/columnar/npy_header.h"

#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "data/number.h"
#include "data/words.h"
#include "fmd/core/error.h"

namespace fmd::internal {
namespace {

constexpr std::size_t kMaxFields = 100000;

[[noreturn]] void fail_damaged_npy(const std::string& source, const std::string& what) {
  throw Error(ErrorKind::bad_data, fmt::format("{}: {}", source, what),
              "the .npy file is damaged: write it again with numpy.save");
}

[[noreturn]] void fail_unsupported_npy(const std::string& source, const std::string& what,
                                       const char* hint) {
  throw Error(ErrorKind::unsupported, fmt::format("{}: {}", source, what), hint);
}

// The header is a Python literal; this reads as much of the language as NumPy writes.
class Literal {
 public:
  Literal(std::string_view text, const std::string& source)
      : text_(text), source_(&source) {}

  void expect(char c) {
    if (!accept(c)) fail();
  }
  bool accept(char c) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  [[nodiscard]] bool next_is(char c) {
    skip_blanks();
    return at_ < text_.size() && text_[at_] == c;
  }
  [[nodiscard]] bool at_end() {
    skip_blanks();
    return at_ == text_.size();
  }

  std::string text() {
    skip_blanks();
    const char quote = at_ < text_.size() ? text_[at_] : ' ';
    if (quote != '\'' && quote != '"') fail();
    std::string value;
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] == '\\') fail();
      value += text_[at_];
    }
    expect(quote);
    return value;
  }

  bool truth() {
    skip_blanks();
    const std::string_view rest = text_.substr(at_);
    const bool yes = rest.starts_with("True");
    if (!yes && !rest.starts_with("False")) fail();
    at_ += yes ? 4 : 5;
    return yes;
  }

  Index number() {
    skip_blanks();
    Index value = 0;
    const std::size_t first = at_;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      if (value > (std::numeric_limits<Index>::max() - 9) / 10) fail();
      value = 10 * value + (text_[at_] - '0');
    }
    if (at_ == first) fail();
    accept('L');  // Python 2
    return value;
  }

  [[noreturn]] void fail() const {
    fail_damaged_npy(*source_,
                     fmt::format("the header cannot be read at \"{}\"",
                                 shorten(text_.substr(std::min(at_, text_.size()), 40))));
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t'))
      ++at_;
  }

  std::string_view text_;
  const std::string* source_;
  std::size_t at_ = 0;
};

NpyType type_of(const std::string& descr, const std::string& source) {
  const auto is = [&](std::string_view kinds) {
    return descr.size() >= 2 && kinds.find(descr[1]) != std::string_view::npos;
  };
  if (is("O")) {
    fail_unsupported_npy(source,
                         "an array of Python objects, which can run code when it is read",
                         "save numbers: numpy.save(file, array.astype(float))");
  }
  const std::string_view size = descr.size() >= 3 ? std::string_view(descr).substr(2) : "";
  const bool known =
      (is("f") && (size == "4" || size == "8")) || (is("b") && size == "1") ||
      (is("iu") && (size == "1" || size == "2" || size == "4" || size == "8"));
  const char order = descr.empty() ? ' ' : descr[0];
  if (!known || (order != '<' && order != '>' && order != '|' && order != '=')) {
    fail_unsupported_npy(
        source, fmt::format("numbers of type \"{}\"", shorten(descr)),
        "f4, f8, i1 to i8, u1 to u8 and b1 are read: convert with astype; keep "
        "texts in a CSV or Parquet file");
  }
  return {.kind = descr[1], .size = size[0] - '0', .big_endian = order == '>'};
}

std::vector<NpyField> fields_of(Literal& in, const std::string& source) {
  if (!in.next_is('[')) return {{"", type_of(in.text(), source)}};
  std::vector<NpyField> fields;
  in.expect('[');
  while (!in.accept(']')) {
    in.expect('(');
    NpyField& field = fields.emplace_back();
    field.name = in.text();
    in.expect(',');
    if (in.next_is('[')) {
      fail_unsupported_npy(source,
                           fmt::format("the field \"{}\" has parts", shorten(field.name)),
                           "save plain fields, or one array each");
    }
    field.type = type_of(in.text(), source);
    if (!in.accept(')')) {
      fail_unsupported_npy(source,
                           fmt::format("the field \"{}\" has a shape", shorten(field.name)),
                           "save plain fields, or one array each");
    }
    if (!in.accept(',') && !in.next_is(']')) in.fail();
    if (fields.size() > kMaxFields) fail_damaged_npy(source, "more than 100000 fields");
  }
  if (fields.empty()) fail_damaged_npy(source, "a structured array without fields");
  return fields;
}

std::vector<Index> shape_of(Literal& in, const std::string& source) {
  std::vector<Index> shape;
  in.expect('(');
  while (!in.accept(')')) {
    shape.push_back(in.number());
    if (!in.accept(',') && !in.next_is(')')) in.fail();
    if (shape.size() > 64) fail_damaged_npy(source, "more than 64 dimensions");
  }
  return shape;
}

// Magic, version, length of the header, header.
std::string_view header_text(std::span<const std::uint8_t> bytes, const std::string& source,
                             std::size_t& data) {
  if (!is_npy(bytes) || bytes.size() < 10)
    fail_damaged_npy(source, "is cut off in its header");
  const int major = bytes[6];
  if (major < 1 || major > 3) {
    fail_unsupported_npy(source, fmt::format("NPY version {}.{}", major, bytes[7]),
                         "versions 1.0 to 3.0 are read");
  }
  const std::size_t digits = major == 1 ? 2 : 4;
  if (bytes.size() < 8 + digits) fail_damaged_npy(source, "is cut off in its header");
  std::size_t length = 0;
  for (std::size_t i = digits; i-- > 0;) length = length << 8 | bytes[8 + i];
  if (length > bytes.size() - 8 - digits) {
    fail_damaged_npy(source, fmt::format("its header says {} bytes, {} are there", length,
                                         bytes.size() - 8 - digits));
  }
  data = 8 + digits + length;
  return {reinterpret_cast<const char*>(bytes.data()) + 8 + digits, length};
}

}  // namespace

NpyHeader read_npy_header(std::span<const std::uint8_t> bytes, const std::string& source) {
  NpyHeader header;
  Literal in(header_text(bytes, source, header.data), source);
  bool descr = false;
  bool order = false;
  bool shape = false;
  in.expect('{');
  while (!in.accept('}')) {
    const std::string key = in.text();
    in.expect(':');
    if (key == "descr" && !descr) {
      header.fields = fields_of(in, source);
      descr = true;
    } else if (key == "fortran_order" && !order) {
      header.fortran = in.truth();
      order = true;
    } else if (key == "shape" && !shape) {
      header.shape = shape_of(in, source);
      shape = true;
    } else {
      fail_damaged_npy(source, fmt::format("the header has \"{}\"", shorten(key)));
    }
    if (!in.accept(',') && !in.next_is('}')) in.fail();
  }
  if (!in.at_end()) in.fail();
  if (!descr || !order || !shape)
    fail_damaged_npy(source, "the header needs descr, fortran_order and shape");
  return header;
}

}  // namespace fmd::internal
