#include "model/trees/city_hash.h"

#include <bit>
#include <cstring>
#include <utility>

namespace fmd::internal {
namespace {

// The algorithm's four odd constants, and the one of its mix of two words.
constexpr std::uint64_t kA = 0xc3a5c85c97cb3127U, kB = 0xb492b66fbe98f273U,
                        kC = 0x9ae16a3b2f90404fU, kD = 0xc949d7c7509e6557U,
                        kMix = 0x9ddfea08eb382d69U;

// Little-endian words of a text. A text is read from its start and from its end: from(i)
// is the word at byte i, back(i) the word that begins i bytes before the end.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}
  [[nodiscard]] std::uint64_t from(std::size_t i) const { return load(i, 8); }
  [[nodiscard]] std::uint64_t back(std::size_t i) const {
    return load(text_.size() - i, 8);
  }
  [[nodiscard]] std::uint64_t half_from(std::size_t i) const { return load(i, 4); }
  [[nodiscard]] std::uint64_t half_back(std::size_t i) const {
    return load(text_.size() - i, 4);
  }
  [[nodiscard]] std::uint64_t byte(std::size_t i) const {
    return static_cast<unsigned char>(text_[i]);
  }
  [[nodiscard]] std::uint64_t size() const { return text_.size(); }

 private:
  [[nodiscard]] std::uint64_t load(std::size_t i, std::size_t bytes) const {
    std::uint64_t word = 0;
    for (std::size_t k = bytes; k-- > 0;) word = word << 8 | byte(i + k);
    return word;
  }
  std::string_view text_;
};

std::uint64_t fold(std::uint64_t x) { return x ^ x >> 47; }

std::uint64_t mix(std::uint64_t low, std::uint64_t high) {
  const std::uint64_t once = fold((low ^ high) * kMix);
  return fold((high ^ once) * kMix) * kMix;
}

std::uint64_t up_to_16(const Words& w) {
  const std::uint64_t n = w.size();
  if (n > 8) {
    const std::uint64_t last = w.back(8);
    return mix(w.from(0), std::rotr(last + n, static_cast<int>(n))) ^ last;
  }
  if (n >= 4) return mix(n + (w.half_from(0) << 3), w.half_back(4));
  if (n == 0) return kC;
  const std::uint64_t y = w.byte(0) + (w.byte(n / 2) << 8), z = n + (w.byte(n - 1) << 2);
  return fold(y * kC ^ z * kD) * kC;
}

std::uint64_t up_to_32(const Words& w) {
  const std::uint64_t a = w.from(0) * kB, b = w.from(8), c = w.back(8) * kC,
                      d = w.back(16) * kA;
  return mix(std::rotr(a - b, 43) + std::rotr(c, 30) + d,
             a + std::rotr(b ^ kD, 20) - c + w.size());
}

struct Pair {
  std::uint64_t first, second;
};

// Half of a text of 33 to 64 bytes: four words in a row, with what starts the sums.
Pair half(std::uint64_t a, std::uint64_t one, std::uint64_t two, std::uint64_t z) {
  const std::uint64_t b = std::rotr(a + z, 52);
  std::uint64_t c = std::rotr(a, 37);
  a += one;
  c += std::rotr(a, 7);
  a += two;
  return {a + z, b + std::rotr(a, 31) + c};
}

std::uint64_t up_to_64(const Words& w) {
  const Pair v =
      half(w.from(0) + (w.size() + w.back(16)) * kA, w.from(8), w.from(16), w.from(24));
  const Pair u = half(w.from(16) + w.back(32), w.back(24), w.back(16), w.back(8));
  const std::uint64_t r = fold((v.first + u.second) * kC + (u.first + v.second) * kA);
  return fold(r * kA + v.second) * kC;
}

// 32 bytes from byte i into two words.
Pair absorb(const Words& w, std::size_t i, std::uint64_t a, std::uint64_t b) {
  const std::uint64_t last = w.from(i + 24);
  a += w.from(i);
  b = std::rotr(b + a + last, 21);
  const std::uint64_t before = a;
  a += w.from(i + 8) + w.from(i + 16);
  return {a + last, b + std::rotr(a, 44) + before};
}

// The end of the text first, then 64 bytes at a time.
std::uint64_t longer(const Words& w) {
  const std::size_t n = w.size();
  std::uint64_t x = w.from(0), y = w.back(16) ^ kB, z = w.back(56) ^ kA;
  Pair v = absorb(w, n - 64, n, y), u = absorb(w, n - 32, n * kB, kA);
  z += fold(v.second) * kB;
  x = std::rotr(z + x, 39) * kB;
  y = std::rotr(y, 33) * kB;
  for (std::size_t i = 0; i < (n - 1) / 64 * 64; i += 64) {
    x = std::rotr(x + y + v.first + w.from(i + 16), 37) * kB ^ u.second;
    y = std::rotr(y + v.second + w.from(i + 48), 42) * kB ^ v.first;
    z = std::rotr(z ^ u.first, 33);
    v = absorb(w, i, v.second * kB, x + u.first);
    u = absorb(w, i + 32, z + u.second, y);
    std::swap(x, z);
  }
  return mix(mix(v.first, u.first) + fold(y) * kB + z, mix(v.second, u.second) + x);
}

}  // namespace

std::uint64_t city_hash(std::string_view text) {
  const Words words(text);
  if (text.size() <= 16) return up_to_16(words);
  if (text.size() <= 32) return up_to_32(words);
  return text.size() <= 64 ? up_to_64(words) : longer(words);
}

}  // namespace fmd::internal
