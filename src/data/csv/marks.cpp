#include "data/csv/marks.h"

#include <array>
#include <bit>
#include <cstring>

#include "core/simd.h"

namespace fmd::internal {
namespace {

constexpr std::size_t kWord = 64;  // bytes looked at together, one bit each

struct Masks {
  std::uint64_t separator = 0, feed = 0, quote = 0;
};

// What else was seen, gathered over all words.
struct Seen {
  std::uint64_t above_ascii = 0, nul = 0, returns = 0;
};

#if FMD_X86
struct Four {
  __m128i v[4];
};

std::uint64_t bits(const Four& word, char c) {
  const __m128i wanted = _mm_set1_epi8(c);
  std::uint64_t mask = 0;
  for (int i = 3; i >= 0; --i) {
    const __m128i equal = _mm_cmpeq_epi8(word.v[i], wanted);
    mask = mask << 16 | static_cast<unsigned>(_mm_movemask_epi8(equal));
  }
  return mask;
}

Masks masks(const char* p, char separator, Seen& seen) {
  Four word;
  __m128i* v = word.v;
  for (int i = 0; i < 4; ++i)
    v[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * i));
  const __m128i any = _mm_or_si128(_mm_or_si128(v[0], v[1]), _mm_or_si128(v[2], v[3]));
  const __m128i least = _mm_min_epu8(_mm_min_epu8(v[0], v[1]), _mm_min_epu8(v[2], v[3]));
  seen.above_ascii |= static_cast<unsigned>(_mm_movemask_epi8(any));
  seen.nul |=
      static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(least, _mm_setzero_si128())));
  seen.returns |= bits(word, '\r');
  return {bits(word, separator), bits(word, '\n'), bits(word, '"')};
}
#else
Masks masks(const char* p, char separator, Seen& seen) {
  Masks m;
  for (std::size_t i = 0; i < kWord; ++i) {
    const auto bit = [&](bool on) { return static_cast<std::uint64_t>(on) << i; };
    m.separator |= bit(p[i] == separator);
    m.feed |= bit(p[i] == '\n');
    m.quote |= bit(p[i] == '"');
    seen.returns |= bit(p[i] == '\r');
    seen.nul |= bit(p[i] == 0);
    seen.above_ascii |= bit(static_cast<unsigned char>(p[i]) >= 0x80);
  }
  return m;
}
#endif

// Bit i of the result is the parity of bits 0 .. i.
std::uint64_t parities(std::uint64_t bits) {
  for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

}  // namespace

void CsvMarks::find(std::string_view text, char separator) {
  at.resize(text.size() + 1);
  at[0] = static_cast<std::uint32_t>(-1);
  std::uint32_t* out = at.data() + 1;
  Seen seen;
  std::uint64_t any_quote = 0;
  std::uint64_t lines_inside = 0;
  std::uint64_t open = 0;  // all ones inside of quotes
  const auto take = [&](const char* p, std::size_t base) {
    const Masks m = masks(p, separator, seen);
    std::uint64_t ends = m.separator | m.feed;
    if ((m.quote | open) != 0) {
      const std::uint64_t inside = parities(m.quote) ^ open;
      lines_inside |= m.feed & inside;
      ends &= ~inside;
      any_quote |= m.quote;
      open = (inside >> 63) != 0 ? ~std::uint64_t{0} : 0;
    }
    for (; ends != 0; ends &= ends - 1)
      *out++ = static_cast<std::uint32_t>(base) +
               static_cast<std::uint32_t>(std::countr_zero(ends));
  };
  std::size_t base = 0;
  for (; base + kWord <= text.size(); base += kWord) take(text.data() + base, base);
  if (base < text.size()) {
    std::array<char, kWord> rest;
    rest.fill('x');
    std::memcpy(rest.data(), text.data() + base, text.size() - base);
    take(rest.data(), base);
  }
  count = static_cast<std::size_t>(out - at.data()) - 1;
  quotes = any_quote != 0;
  quoted_lines = lines_inside != 0;
  returns = seen.returns != 0;
  above_ascii = seen.above_ascii != 0;
  nul = seen.nul != 0;
}

}  // namespace fmd::internal
