#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "fmd/core/types.h"

namespace fmd {

// MODEL.rows: fingerprints of the rows that a model was trained on. They tell how many rows
// of a table were used in training. Whoever has them can also test whether a known person
// was, so they are no part of the model file: it is served and given away without them.
// The model keeps the file's sha256.

// MODEL.rows
[[nodiscard]] std::filesystem::path rows_file_of(const std::filesystem::path& model);

// `hashes`: sorted. Same hashes, same bytes: a .safetensors file.
[[nodiscard]] Bytes rows_bytes(std::span<const std::uint64_t> hashes);

// Throws Error(bad_model).
[[nodiscard]] std::vector<std::uint64_t> parse_rows(std::span<const std::uint8_t> bytes,
                                                    const std::string& source);

// Of a file that belongs to a model: its sha256 is the one that the model keeps. Throws
// Error(cannot_read), and Error(wrong_model) for another one.
[[nodiscard]] std::vector<std::uint64_t> read_rows(const std::filesystem::path& path,
                                                   const std::string& sha256);

}  // namespace fmd
