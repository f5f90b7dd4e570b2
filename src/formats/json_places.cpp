#include "formats/json_places.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/json.h"
#include "fmd/core/safe_text.h"

namespace fmd::internal {
namespace {

struct Word {
  std::string_view text;
  double value;
};
constexpr Word kWords[] = {{"true", 1},
                           {"false", 0},
                           {"NaN", std::numeric_limits<double>::quiet_NaN()},
                           {"Infinity", std::numeric_limits<double>::infinity()},
                           {"-Infinity", -std::numeric_limits<double>::infinity()}};

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
bool in_number(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

// The number or word at the start of `rest`: its length, 0 if there is none.
std::size_t number_at(std::string_view rest, double& value) {
  for (const Word& word : kWords) {
    if (!rest.starts_with(word.text)) continue;
    value = word.value;
    return word.text.size();
  }
  std::size_t size = 0;
  while (size < rest.size() && in_number(rest[size])) ++size;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + size, value);
  if (error == std::errc::result_out_of_range) {
    // Text of a number whose exponent no double has: nothing, or more than all.
    const std::string_view text = rest.substr(0, size);
    const bool tiny = text.find("e-") != text.npos || text.find("E-") != text.npos;
    value = tiny ? 0 : std::numeric_limits<double>::infinity();
    if (text.starts_with('-')) value = -value;
    return size;
  }
  if (error != std::errc() || end != rest.data() + size || rest[0] == '+') return 0;
  return size;
}

class JsonPlaces {
 public:
  JsonPlaces(std::span<const std::uint8_t> bytes, const std::string& source)
      : text_(reinterpret_cast<const char*>(bytes.data()), bytes.size()), source_(source) {}

  DocumentValue run() {
    DocumentValue value = parse(0);
    skip();
    if (at_ != text_.size()) fail("there is text after the end");
    return value;
  }

 private:
  DocumentValue parse(int depth) {
    if (depth > kMostNesting)
      fail(fmt::format("values are nested deeper than {}", kMostNesting));
    skip();
    DocumentValue value;
    value.begin = at_;
    const char c = peek();
    if (c == '{') {
      parse_object(value, depth);
    } else if (c == '[') {
      parse_list(value, depth);
      return value;
    } else if (c == '"') {
      value.kind = DocumentValue::Kind::text;
      value.text = parse_text();
    } else if (text_.substr(at_).starts_with("null")) {
      at_ += 4;
    } else {
      const std::size_t size = number_at(text_.substr(at_), value.number);
      if (size == 0) fail("a value is expected");
      value.kind =
          c == 't' || c == 'f' ? DocumentValue::Kind::boolean : DocumentValue::Kind::number;
      at_ += size;
    }
    value.end = at_;
    return value;
  }

  void parse_object(DocumentValue& value, int depth) {
    value.kind = DocumentValue::Kind::object;
    ++at_;
    if (take('}')) return;
    do {
      skip();
      if (peek() != '"') fail("a key is expected");
      std::string key = parse_text();
      if (std::ssize(value.members) == kMostKeys)
        fail(fmt::format("an object has more than {} keys", kMostKeys));
      if (Document::find(value, key) != nullptr)
        fail(fmt::format("the key \"{}\" appears twice", safe_text(key)));
      if (!take(':')) fail("a colon is expected");
      DocumentValue member = parse(depth + 1);
      value.members.emplace_back(std::move(key), std::move(member));
    } while (take(','));
    if (!take('}')) fail("a comma or the end of an object is expected");
  }

  void parse_list(DocumentValue& value, int depth) {
    ++at_;
    skip();
    const char first = peek();
    if (first == '"' || first == '[' || first == '{' ||
        text_.substr(at_).starts_with("null")) {
      value.kind = DocumentValue::Kind::list;
      parse_items(value, depth);
    } else if (const std::size_t begin = value.begin, first_at = at_;
               !parse_numbers(value)) {
      // It begins like a list of numbers, but has others too.
      value.kind = DocumentValue::Kind::list;
      value.begin = begin;
      value.count = 0;
      at_ = first_at;
      parse_items(value, depth);
    }
    if (!take(']')) fail("a comma or the end of a list is expected");
    if (value.kind == DocumentValue::Kind::list) value.end = at_;
  }

  void parse_items(DocumentValue& value, int depth) {
    do {
      value.items.push_back(parse(depth + 1));
    } while (take(','));
  }

  // False: a value that is no number stands in the list.
  bool parse_numbers(DocumentValue& value) {
    value.kind = DocumentValue::Kind::numbers;
    value.begin = value.end = at_;
    if (peek() == ']') return true;
    do {
      skip();
      double number = 0;
      const std::size_t size = number_at(text_.substr(at_), number);
      if (size == 0) {
        const char c = peek();
        if (c == '[' || c == '{' || c == '"' || c == 'n') return false;
        fail("a number is expected");
      }
      at_ += size;
      ++value.count;
      value.end = at_;
    } while (take(','));
    return true;
  }

  std::string parse_text() {
    const std::size_t begin = at_++;
    bool plain = true;
    while (peek() != '"') {
      if (static_cast<unsigned char>(peek()) < 0x20) fail("a text has a control character");
      if (text_[at_] == '\\') {
        plain = false;
        ++at_;
      }
      if (at_ < text_.size()) ++at_;
    }
    ++at_;
    const std::string_view whole = text_.substr(begin, at_ - begin);
    std::string text(whole.substr(1, whole.size() - 2));
    if (!plain) text = parse_json(whole, source_).get<std::string>();
    if (valid_utf8(text) != text) fail("a text is not UTF-8");
    return text;
  }

  [[nodiscard]] char peek() const {
    if (at_ >= text_.size()) fail("the file ends too early");
    return text_[at_];
  }
  void skip() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::bad_model,
                fmt::format("{}: damaged JSON at byte {}: {}", source_, at_, what),
                "the file is damaged: save the model again");
  }

  std::string_view text_;
  const std::string& source_;
  std::size_t at_ = 0;
};

}  // namespace

DocumentValue parse_json_places(std::span<const std::uint8_t> bytes,
                                const std::string& source) {
  return JsonPlaces(bytes, source).run();
}

void each_json(std::span<const std::uint8_t> bytes, const DocumentValue& numbers,
               const Document::Visit& visit) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::size_t i = numbers.begin;
  for (Index k = 0; k < numbers.count; ++k) {
    while (is_blank(text[i]) || text[i] == ',') ++i;
    double value = 0;
    const std::size_t size = number_at(text.substr(i), value);
    visit(value, i, i + size);
    i += size;
  }
}

}  // namespace fmd::internal
