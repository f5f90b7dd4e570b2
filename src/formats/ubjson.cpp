#include "formats/ubjson.h"

#include <bit>
#include <charconv>
#include <cstring>

#include "core/check.h"
#include "core/json.h"
#include "fmd/core/safe_text.h"

namespace fmd::internal {
namespace {

// Bytes of a number of this type; 0: no such number. T and F have none, but are numbers
// here.
std::size_t number_size(char type) {
  switch (type) {
    case 'i':
    case 'U':
      return 1;
    case 'I':
      return 2;
    case 'l':
    case 'd':
      return 4;
    case 'L':
    case 'D':
      return 8;
    default:
      return 0;
  }
}

bool is_ubjson_number(char type) {
  return number_size(type) > 0 || type == 'T' || type == 'F';
}

double number_of(char type, const std::uint8_t* bytes) {
  std::uint64_t raw = 0;  // the first byte is the highest
  const std::size_t size = number_size(type);
  for (std::size_t i = 0; i < size; ++i) raw = raw << 8 | bytes[i];
  switch (type) {
    case 'i':
      return static_cast<std::int8_t>(raw);
    case 'U':
      return static_cast<std::uint8_t>(raw);
    case 'I':
      return static_cast<std::int16_t>(raw);
    case 'l':
      return static_cast<std::int32_t>(raw);
    case 'L':
      return static_cast<double>(static_cast<std::int64_t>(raw));
    case 'd':
      return std::bit_cast<float>(static_cast<std::uint32_t>(raw));
    case 'D':
      return std::bit_cast<double>(raw);
    default:
      return type == 'T' ? 1 : 0;
  }
}

class Ubjson {
 public:
  Ubjson(std::span<const std::uint8_t> bytes, const std::string& source)
      : bytes_(bytes), source_(source) {}

  DocumentValue run() {
    DocumentValue value = parse(next(), 0);
    if (at_ != bytes_.size()) fail("there are bytes after the end");
    return value;
  }

 private:
  // What stands before the elements of a list or an object.
  struct Header {
    char type = 0;     // of all elements; 0 = each has its own
    Index count = -1;  // -1: until the closing mark
  };

  DocumentValue parse(char type, int depth) {
    if (depth > kMostNesting)
      fail(fmt::format("values are nested deeper than {}", kMostNesting));
    DocumentValue value;
    value.begin = at_;
    if (type == '{') {
      parse_object(value, depth);
    } else if (type == '[') {
      parse_list(value, depth);
      return value;
    } else if (type == 'S') {
      value.kind = DocumentValue::Kind::text;
      value.text = parse_text();
    } else if (is_ubjson_number(type)) {
      value.kind = type == 'T' || type == 'F' ? DocumentValue::Kind::boolean
                                              : DocumentValue::Kind::number;
      value.number = take_number(type);
    } else if (type != 'Z') {
      fail(fmt::format("the type {} is not known", safe_text(std::string(1, type))));
    }
    value.end = at_;
    return value;
  }

  void parse_object(DocumentValue& value, int depth) {
    value.kind = DocumentValue::Kind::object;
    const Header header = parse_header();
    for (Index i = 0; header.count < 0 ? !take('}') : i < header.count; ++i) {
      std::string key = parse_text();
      if (std::ssize(value.members) == kMostKeys)
        fail(fmt::format("an object has more than {} keys", kMostKeys));
      if (Document::find(value, key) != nullptr)
        fail(fmt::format("the key \"{}\" appears twice", safe_text(key)));
      DocumentValue member = parse(header.type != 0 ? header.type : next(), depth + 1);
      value.members.emplace_back(std::move(key), std::move(member));
    }
  }

  void parse_list(DocumentValue& value, int depth) {
    const Header header = parse_header();
    value.begin = at_;
    const char first = header.type != 0      ? header.type
                       : at_ < bytes_.size() ? static_cast<char>(bytes_[at_])
                                             : '\0';
    const bool empty = header.count == 0 || (header.count < 0 && first == ']');
    if (!empty && !is_ubjson_number(first)) {
      value.kind = DocumentValue::Kind::list;
      for (Index i = 0; header.count < 0 ? !take(']') : i < header.count; ++i)
        value.items.push_back(parse(header.type != 0 ? header.type : next(), depth + 1));
      value.end = at_;
      return;
    }
    value.kind = DocumentValue::Kind::numbers;
    value.type = static_cast<std::uint8_t>(header.type);
    if (header.type != 0 && header.count >= 0) {
      value.count = header.count;
      skip(static_cast<std::size_t>(header.count) * number_size(header.type));
      value.end = at_;
      return;
    }
    while (header.count < 0 ? peek() != ']' : value.count < header.count) {
      const char type = header.type != 0 ? header.type : next();
      if (!is_ubjson_number(type)) fail("a list has numbers and other values");
      skip(number_size(type));
      ++value.count;
    }
    value.end = at_;
    if (header.count < 0) ++at_;
  }

  Header parse_header() {
    Header header;
    if (take('$')) header.type = next();
    if (take('#')) header.count = parse_count();
    if (header.type != 0 && header.count < 0) fail("a type without a count");
    return header;
  }

  // Nothing is as long as this where fewer bytes are left: elements without bytes of their
  // own (true, false, null) are no reason to count far.
  Index parse_count() {
    const double count = take_number(next());
    if (!(count >= 0 && count <= static_cast<double>(bytes_.size() - at_)))
      fail(
          fmt::format("a count of {}, only {} bytes are left", count, bytes_.size() - at_));
    return static_cast<Index>(count);
  }

  std::string parse_text() {
    const auto size = static_cast<std::size_t>(parse_count());
    std::string text(reinterpret_cast<const char*>(bytes_.data() + at_), size);
    skip(size);
    if (valid_utf8(text) != text) fail("a text is not UTF-8");
    return text;
  }

  double take_number(char type) {
    if (!is_ubjson_number(type)) fail("a number is expected");
    const std::size_t begin = at_;
    skip(number_size(type));
    return number_of(type, bytes_.data() + begin);
  }

  [[nodiscard]] char peek() const {
    if (at_ >= bytes_.size()) fail("the file ends too early");
    return static_cast<char>(bytes_[at_]);
  }
  char next() {
    const char c = peek();
    ++at_;
    return c;
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void skip(std::size_t size) {
    if (size > bytes_.size() - at_) fail("the file ends too early");
    at_ += size;
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::bad_model,
                fmt::format("{}: damaged UBJSON at byte {}: {}", source_, at_, what),
                "the file is damaged: save the model again");
  }

  std::span<const std::uint8_t> bytes_;
  const std::string& source_;
  std::size_t at_ = 0;
};

}  // namespace

DocumentValue parse_ubjson(std::span<const std::uint8_t> bytes, const std::string& source) {
  return Ubjson(bytes, source).run();
}

void each_ubjson(std::span<const std::uint8_t> bytes, const DocumentValue& numbers,
                 const Document::Visit& visit) {
  std::size_t i = numbers.begin;
  for (Index k = 0; k < numbers.count; ++k) {
    const char type =
        numbers.type != 0 ? static_cast<char>(numbers.type) : static_cast<char>(bytes[i++]);
    const std::size_t size = number_size(type);
    visit(number_of(type, bytes.data() + i), i, i + size);
    i += size;
  }
}

}  // namespace fmd::internal
