#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace fmd {

using Hash = std::array<std::uint8_t, 32>;  // SHA-256

[[nodiscard]] Hash sha256(std::span<const std::uint8_t> bytes);

// The same for bytes that come piece by piece.
class Sha256 {
 public:
  Sha256();
  void add(std::span<const std::uint8_t> bytes);
  [[nodiscard]] Hash finish();  // once, at the end

 private:
  std::array<std::uint32_t, 8> state_;
  std::array<std::uint8_t, 64> chunk_{};  // bytes that do not fill a chunk yet
  std::uint64_t size_ = 0;
};

// Of a whole file, in little memory. Throws what InputFile throws.
[[nodiscard]] Hash sha256_file(const std::filesystem::path& path);
[[nodiscard]] std::string hex(const Hash& hash);

// A 64-bit hash of a few bytes, for row fingerprints. Same value on every machine.
[[nodiscard]] std::uint64_t hash64(std::span<const std::uint8_t> bytes,
                                   std::uint64_t seed = 0);

}  // namespace fmd
