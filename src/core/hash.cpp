#include "fmd/core/hash.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "core/mix.h"
#include "core/simd.h"
#include "fmd/core/file.h"

#if FMD_X86
#include <cpuid.h>
#endif

namespace fmd {
namespace {

using Words = std::array<std::uint32_t, 8>;

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
    0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
    0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
    0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
    0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
    0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
    0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
    0xc67178f2};

std::uint32_t big_endian(const std::uint8_t* p) {
  return static_cast<std::uint32_t>(p[0]) << 24 | static_cast<std::uint32_t>(p[1]) << 16 |
         static_cast<std::uint32_t>(p[2]) << 8 | static_cast<std::uint32_t>(p[3]);
}

#if FMD_X86
// Intel's and AMD's instructions for SHA-256: four words at a time, a to h in two registers
// as (a b e f) and (c d g h).
__attribute__((target("sha,sse4.1"))) void compress_by_sha(Words& state,
                                                           const std::uint8_t* chunk) {
  const auto load = [](const void* from) {
    return _mm_loadu_si128(static_cast<const __m128i*>(from));
  };
  const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const __m128i abcd = _mm_shuffle_epi32(load(state.data()), 0xb1);
  const __m128i efgh = _mm_shuffle_epi32(load(state.data() + 4), 0x1b);
  const __m128i abef = _mm_alignr_epi8(abcd, efgh, 8);
  const __m128i cdgh = _mm_blend_epi16(efgh, abcd, 0xf0);
  __m128i first = abef, second = cdgh, w[4];
  for (std::size_t t = 0; t < 16; ++t) {
    __m128i& now = w[t % 4];
    if (t < 4) {
      now = _mm_shuffle_epi8(load(chunk + 16 * t), swap);
    } else {
      const __m128i last = w[(t + 3) % 4];
      const __m128i seven = _mm_alignr_epi8(last, w[(t + 2) % 4], 4);
      now = _mm_add_epi32(_mm_sha256msg1_epu32(now, w[(t + 1) % 4]), seven);
      now = _mm_sha256msg2_epu32(now, last);
    }
    const __m128i sum = _mm_add_epi32(now, load(kRound.data() + 4 * t));
    second = _mm_sha256rnds2_epu32(second, first, sum);
    first = _mm_sha256rnds2_epu32(first, second, _mm_shuffle_epi32(sum, 0x0e));
  }
  first = _mm_shuffle_epi32(_mm_add_epi32(first, abef), 0x1b);    // f e b a
  second = _mm_shuffle_epi32(_mm_add_epi32(second, cdgh), 0xb1);  // d c h g
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data()),
                   _mm_blend_epi16(first, second, 0xf0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data() + 4),
                   _mm_alignr_epi8(second, first, 8));
}

bool has_sha() {
  static const bool has = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & (1U << 29)) != 0 &&
           __builtin_cpu_supports("sse4.1");
  }();
  return has;
}
#endif

void compress(Words& state, const std::uint8_t* chunk) {
#if FMD_X86
  if (has_sha()) return compress_by_sha(state, chunk);
#endif
  std::array<std::uint32_t, 64> w;
  for (std::size_t t = 0; t < 16; ++t) w[t] = big_endian(chunk + 4 * t);
  for (std::size_t t = 16; t < 64; ++t) {
    const std::uint32_t x = w[t - 15], y = w[t - 2];
    w[t] = w[t - 16] + w[t - 7] + (std::rotr(x, 7) ^ std::rotr(x, 18) ^ (x >> 3)) +
           (std::rotr(y, 17) ^ std::rotr(y, 19) ^ (y >> 10));
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t t = 0; t < 64; ++t) {
    const std::uint32_t first = h +
                                (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                                (g ^ (e & (f ^ g))) + kRound[t] + w[t];
    const std::uint32_t second =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) | (c & (a | b)));
    h = g, g = f, f = e, e = d + first;
    d = c, c = b, b = a, a = first + second;
  }
  const Words mixed = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state[i] += mixed[i];
}

}  // namespace

Sha256::Sha256()
    : state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
             0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19} {}

void Sha256::add(std::span<const std::uint8_t> bytes) {
  const auto filled = static_cast<std::size_t>(size_ % 64);
  size_ += bytes.size();
  if (filled > 0) {
    const std::size_t more = std::min(64 - filled, bytes.size());
    if (more > 0) std::memcpy(chunk_.data() + filled, bytes.data(), more);
    bytes = bytes.subspan(more);
    if (filled + more < 64) return;
    compress(state_, chunk_.data());
  }
  const std::size_t whole = bytes.size() / 64 * 64;
  for (std::size_t at = 0; at < whole; at += 64) compress(state_, bytes.data() + at);
  if (bytes.size() > whole)
    std::memcpy(chunk_.data(), bytes.data() + whole, bytes.size() - whole);
}

Hash Sha256::finish() {
  // The rest, a one bit, zeros and the length in bits fill one or two chunks more.
  std::array<std::uint8_t, 128> tail{};
  const auto left = static_cast<std::size_t>(size_ % 64);
  std::memcpy(tail.data(), chunk_.data(), left);
  tail[left] = 0x80;
  const std::size_t end = left < 56 ? 64 : 128;
  const std::uint64_t bits = size_ * 8;
  for (std::size_t i = 0; i < 8; ++i)
    tail[end - 1 - i] = static_cast<std::uint8_t>(bits >> (8 * i));
  for (std::size_t at = 0; at < end; at += 64) compress(state_, tail.data() + at);

  Hash hash;
  for (std::size_t i = 0; i < 32; ++i)
    hash[i] = static_cast<std::uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  return hash;
}

Hash sha256(std::span<const std::uint8_t> bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.finish();
}

Hash sha256_file(const std::filesystem::path& path) {
  constexpr Index kPiece = Index{1} << 18;
  const auto file = InputFile::open(path);
  Sha256 hash;
  Bytes piece;
  for (Index at = 0; at < file->size(); at += kPiece) {
    piece.resize(static_cast<std::size_t>(std::min(kPiece, file->size() - at)));
    file->read(at, piece);
    hash.add(piece);
  }
  return hash.finish();
}

std::string hex(const Hash& hash) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : hash) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::uint64_t hash64(std::span<const std::uint8_t> bytes, std::uint64_t seed) {
  // Each word goes through a bijection of the state: two texts of one length that differ in
  // one word never collide.
  std::uint64_t state =
      mix64(seed + kGoldenStep) ^ static_cast<std::uint64_t>(bytes.size());
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min<std::size_t>(8, bytes.size() - at));
    state = mix64((state ^ word) + kGoldenStep);
  }
  return mix64(state + kGoldenStep);
}

}  // namespace fmd
