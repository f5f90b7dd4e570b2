#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/internal.h"
#include "fmd/core/file.h"

namespace fmd::internal {

[[nodiscard]] bool is_gzip(std::span<const std::uint8_t> bytes);

// The text in a gzip file (one member or several in a row), from its start to its end.
class GzipReader {
 public:
  GzipReader(std::shared_ptr<const InputFile> file, Index max_bytes);
  ~GzipReader();
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;

  // Fills `out` and returns the number of bytes. There are fewer than asked for only at the
  // end of the text, or before damage, for which the next call throws. Throws
  // Error(bad_csv) when the file is damaged, cut off, or unpacks to more than max_bytes.
  [[nodiscard]] std::size_t read(std::span<char> out);
  [[nodiscard]] bool at_end() const;
  [[nodiscard]] double share() const;  // of the compressed bytes, 0 .. 1
  void rewind();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The whole text. Throws what read() throws. Memory grows with the bytes that are there.
[[nodiscard]] std::string gunzip(const std::shared_ptr<const InputFile>& file,
                                 Index max_bytes);

}  // namespace fmd::internal
