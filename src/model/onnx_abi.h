#pragma once

#include <cstddef>
#include <cstdint>

// The interface between the core and the ONNX plug-in (backends/onnx), see
// fmd/core/plugin.h. The plug-in never throws: a call that fails writes a message of at
// most `room` bytes.
extern "C" {

// One input of a model: numbers row after row, or texts.
struct FmdOnnxTensor {
  const char* name;
  std::int32_t type;  // as ONNX counts: 1 float, 6 int32, 7 int64, 8 text, 11 double
  std::int32_t rank;
  const std::int64_t* shape;
  const void* data;    // texts: const char* const*
  std::uint64_t size;  // bytes of the numbers; texts: how many
};

struct FmdOnnx {
  std::uint32_t version;  // kFmdOnnxVersion of the plug-in

  // Opens a model in memory. libraries: files of ONNX Runtime to try, separated by line
  // ends. folder: where its external data are; null = none. The bytes may go after the
  // call. Null when it fails.
  void* (*open)(const char* libraries, const std::uint8_t* bytes, std::uint64_t size,
                const char* folder, char* message, std::size_t room);
  void (*close)(void* model);
  // Version of the library that was opened.
  const char* (*library)(void* model);

  // Runs the model on one batch and writes the numbers of `output`, exactly `count`. Many
  // threads may call it at the same time. Returns 0 when it fails.
  int (*run)(void* model, const struct FmdOnnxTensor* inputs, std::int32_t input_count,
             const char* output, float* into, std::int64_t count, char* message,
             std::size_t room);
};
}

inline constexpr std::uint32_t kFmdOnnxVersion = 1;
