#pragma once

#include <cstddef>
#include <cstdint>

#include "data/columnar/arrow_abi.h"

// The interface between the core and the Parquet plug-in (backends/parquet), see
// fmd/core/plugin.h. The plug-in never throws: a call that fails writes a message of at
// most `room` bytes.
extern "C" {

struct FmdParquet {
  std::uint32_t version;  // kFmdParquetVersion of the plug-in

  // Opens a file in memory. The bytes must stay there until close(). Null when the file
  // cannot be read.
  void* (*open)(const std::uint8_t* bytes, std::uint64_t size, char* message,
                std::size_t room);
  void (*close)(void* file);

  std::int64_t (*rows)(void* file);
  std::int32_t (*columns)(void* file);
  const char* (*name)(void* file, std::int32_t column);
  const char* (*type)(void* file, std::int32_t column);  // in Arrow's words

  // A stream of batches with this column alone, from the first row to the last. Streams are
  // independent of each other, also in threads. Returns 0 when it fails or the column has
  // parts.
  int (*read)(void* file, std::int32_t column, std::int64_t batch_rows,
              struct ArrowArrayStream* out, char* message, std::size_t room);

  // The column's numbers, from the first row to the last. Like streams, they are
  // independent of each other. Null with an empty message when the column does not hold
  // numbers.
  void* (*numbers)(void* file, std::int32_t column, char* message, std::size_t room);
  // Writes the next numbers, at most `count`; missing ones are NaN. Returns how many it
  // wrote: 0 at the end, -1 when it fails.
  std::int64_t (*next_numbers)(void* numbers, double* values, std::int64_t count,
                               char* message, std::size_t room);
  void (*close_numbers)(void* numbers);
};
}

inline constexpr std::uint32_t kFmdParquetVersion = 2;
