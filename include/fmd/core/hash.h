#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace fmd {

using Hash = std::array<std::uint8_t, 32>;  // SHA-256

[[nodiscard]] Hash sha256(std::span<const std::uint8_t> bytes);
// Of a whole file, in little memory. Throws what InputFile throws.
[[nodiscard]] Hash sha256_file(const std::filesystem::path& path);
[[nodiscard]] std::string hex(const Hash& hash);

// A 64-bit hash of a few bytes, for row fingerprints. Same value on every machine.
[[nodiscard]] std::uint64_t hash64(std::span<const std::uint8_t> bytes,
                                   std::uint64_t seed = 0);

}  // namespace fmd
