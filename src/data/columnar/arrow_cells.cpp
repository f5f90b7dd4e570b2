#include "data/columnar/arrow_cells.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "data/number.h"

namespace fmd::internal {
namespace {

bool bit(const void* bits, Index i) {
  return (static_cast<const std::uint8_t*>(bits)[i / 8] >> (i % 8) & 1) != 0;
}

double half_to_double(std::uint16_t half) {
  const int exponent = half >> 10 & 31;
  const double fraction = half & 1023;
  const double sign = (half & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return fraction == 0 ? sign * HUGE_VAL : std::nan("");
  return sign * (exponent == 0 ? std::ldexp(fraction, -24)
                               : std::ldexp(1024 + fraction, exponent - 25));
}

// Days since 1970 as a date of the Gregorian calendar.
std::string date_text(Index days) {
  const Index shifted = days + 719468;  // days since 1 March of the year 0
  const Index era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
  const Index day_of_era = shifted - era * 146097;
  const Index year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const Index day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const Index month = (5 * day_of_year + 2) / 153;  // from March
  const Index day = day_of_year - (153 * month + 2) / 5 + 1;
  const Index year = year_of_era + era * 400 + (month >= 10 ? 1 : 0);
  return fmt::format("{:04}-{:02}-{:02}", year, month < 10 ? month + 3 : month - 9, day);
}

template <typename T>
std::string_view slice(const ArrowArray& array, Index i) {
  const T* offsets = static_cast<const T*>(array.buffers[1]) + array.offset + i;
  const char* bytes = static_cast<const char*>(array.buffers[2]);
  if (offsets[0] == offsets[1]) return {};
  return {bytes + offsets[0], static_cast<std::size_t>(offsets[1] - offsets[0])};
}

}  // namespace

ArrowType arrow_type(const char* text) {
  const std::string_view format(text == nullptr ? "" : text);
  if (format.size() == 1) {
    switch (format[0]) {
      case 'n':
        return {.form = ArrowForm::empty};
      case 'b':
        return {.form = ArrowForm::truth};
      case 'c':
        return {.form = ArrowForm::whole, .size = 1, .is_signed = true};
      case 'C':
        return {.form = ArrowForm::whole, .size = 1};
      case 's':
        return {.form = ArrowForm::whole, .size = 2, .is_signed = true};
      case 'S':
        return {.form = ArrowForm::whole, .size = 2};
      case 'i':
        return {.form = ArrowForm::whole, .size = 4, .is_signed = true};
      case 'I':
        return {.form = ArrowForm::whole, .size = 4};
      case 'l':
        return {.form = ArrowForm::whole, .size = 8, .is_signed = true};
      case 'L':
        return {.form = ArrowForm::whole, .size = 8};
      case 'e':
        return {.form = ArrowForm::real, .size = 2};
      case 'f':
        return {.form = ArrowForm::real, .size = 4};
      case 'g':
        return {.form = ArrowForm::real, .size = 8};
      case 'u':
        return {.form = ArrowForm::text, .size = 4};
      case 'U':
        return {.form = ArrowForm::text, .size = 8};
      default:
        return {};
    }
  }
  if (format == "vu") return {.form = ArrowForm::text_view, .size = 16};
  if (format == "tdD") return {.form = ArrowForm::time, .size = 4, .is_signed = true};
  const auto time = [](Index per_second) {
    return ArrowType{.form = ArrowForm::time,
                     .size = 8,
                     .is_signed = true,
                     .scale = 0,
                     .per_second = per_second};
  };
  if (format == "tdm") return time(1000);
  if (format.starts_with("tss:")) return time(1);
  if (format.starts_with("tsm:")) return time(1000);
  if (format.starts_with("tsu:")) return time(1000000);
  if (format.starts_with("tsn:")) return time(1000000000);
  if (format.starts_with("d:")) {
    int precision = 0;
    int scale = 0;
    int bits = 128;
    const char* end = format.data() + format.size();
    auto read = std::from_chars(format.data() + 2, end, precision);
    if (read.ptr != end) read = std::from_chars(read.ptr + 1, end, scale);
    if (read.ptr != end) read = std::from_chars(read.ptr + 1, end, bits);
    const bool sane = read.ptr == end && bits % 32 == 0 && bits > 0 && bits <= 256 &&
                      scale >= -300 && scale <= 300;
    if (sane) return {.form = ArrowForm::decimal, .size = bits / 8, .scale = scale};
  }
  return {};
}

ColumnKind arrow_kind(const ArrowType& type) {
  switch (type.form) {
    case ArrowForm::truth:
    case ArrowForm::text:
    case ArrowForm::text_view:
    case ArrowForm::time:
      return ColumnKind::category;
    default:
      return ColumnKind::number;
  }
}

bool ArrowCells::is_missing(Index i) const {
  if (type_.form == ArrowForm::empty) return true;
  const void* valid = array_->null_count == 0 ? nullptr : array_->buffers[0];
  return valid != nullptr && !bit(valid, array_->offset + i);
}

std::int64_t ArrowCells::whole(Index i) const {
  switch (type_.size) {
    case 1:
      return type_.is_signed ? values<std::int8_t>()[i] : values<std::uint8_t>()[i];
    case 2:
      return type_.is_signed ? values<std::int16_t>()[i] : values<std::uint16_t>()[i];
    case 4:
      return type_.is_signed ? std::int64_t{values<std::int32_t>()[i]}
                             : std::int64_t{values<std::uint32_t>()[i]};
    default:
      return values<std::int64_t>()[i];
  }
}

double ArrowCells::real(Index i) const {
  switch (type_.size) {
    case 2:
      return half_to_double(values<std::uint16_t>()[i]);
    case 4:
      return static_cast<double>(values<float>()[i]);
    default:
      return values<double>()[i];
  }
}

std::string_view ArrowCells::text(Index i, std::string& scratch) const {
  switch (type_.form) {
    case ArrowForm::text:
    case ArrowForm::text_view:
      return stored_text(i);
    case ArrowForm::truth:
      return bit(array_->buffers[1], array_->offset + i) ? "true" : "false";
    case ArrowForm::whole:
      scratch = type_.size == 8 && !type_.is_signed
                    ? fmt::format("{}", static_cast<std::uint64_t>(whole(i)))
                    : fmt::format("{}", whole(i));
      return scratch;
    case ArrowForm::real:
      scratch = type_.size == 4 ? float_text(values<float>()[i]) : number_text(real(i));
      return scratch;
    case ArrowForm::decimal:
      return scratch = decimal_text(i);
    case ArrowForm::time:
      return scratch = time_text(i);
    default:
      return {};
  }
}

std::string_view ArrowCells::stored_text(Index i) const {
  if (type_.form == ArrowForm::text)
    return type_.size == 4 ? slice<std::int32_t>(*array_, i)
                           : slice<std::int64_t>(*array_, i);
  // 16 bytes: the size, then up to 12 bytes of text, or 4 of it, a buffer and an offset.
  const char* view =
      static_cast<const char*>(array_->buffers[1]) + 16 * (array_->offset + i);
  std::int32_t part[4];
  std::memcpy(part, view, 16);
  const auto size = static_cast<std::size_t>(part[0]);
  if (size <= 12) return {view + 4, size};
  return {static_cast<const char*>(array_->buffers[2 + part[2]]) + part[3], size};
}

std::string ArrowCells::decimal_text(Index i) const {
  std::vector<std::uint32_t> limbs(to_size(type_.size / 4));
  const char* bytes = static_cast<const char*>(array_->buffers[1]);
  std::memcpy(limbs.data(), bytes + (array_->offset + i) * type_.size, to_size(type_.size));
  const bool negative = limbs.back() >> 31 != 0;
  if (negative) {  // two's complement
    std::uint64_t carry = 1;
    for (std::uint32_t& limb : limbs) {
      carry += static_cast<std::uint32_t>(~limb);
      limb = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
  }
  std::string digits;  // last one first
  while (std::any_of(limbs.begin(), limbs.end(), [](std::uint32_t l) { return l != 0; })) {
    std::uint64_t rest = 0;
    for (auto limb = limbs.rbegin(); limb != limbs.rend(); ++limb) {
      rest = rest << 32 | *limb;
      *limb = static_cast<std::uint32_t>(rest / 10);
      rest %= 10;
    }
    digits += static_cast<char>('0' + rest);
  }
  const auto places = to_size(std::max(type_.scale, 0));
  while (digits.size() <= places) digits += '0';
  std::reverse(digits.begin(), digits.end());
  if (type_.scale < 0 && digits != "0") digits.append(to_size(-type_.scale), '0');
  if (places > 0) {
    digits.insert(digits.size() - places, ".");
    while (digits.back() == '0') digits.pop_back();
    if (digits.back() == '.') digits.pop_back();
  }
  return (negative ? "-" : "") + digits;
}

std::string ArrowCells::time_text(Index i) const {
  const std::int64_t value = whole(i);
  if (type_.per_second == 0) return date_text(value);
  const auto floor_div = [](Index a, Index b) { return a / b - (a % b < 0 ? 1 : 0); };
  const Index second = floor_div(value, type_.per_second);
  const Index part = value - second * type_.per_second;
  const Index day = floor_div(second, 86400);
  const Index left = second - day * 86400;
  std::string text = date_text(day);
  if (left == 0 && part == 0) return text;
  text += fmt::format(" {:02}:{:02}:{:02}", left / 3600, left / 60 % 60, left % 60);
  if (part == 0) return text;
  const auto digits = static_cast<int>(std::lround(std::log10(type_.per_second)));
  text += fmt::format(".{:0{}}", part, digits);
  while (text.back() == '0') text.pop_back();
  return text;
}

}  // namespace fmd::internal
