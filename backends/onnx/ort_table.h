#pragma once

#include <cstddef>
#include <cstdint>

// The part of ONNX Runtime's C interface that the plug-in uses. The library gives a table
// of functions whose order never changes: a new version only adds to its end. So a place in
// the table and the types of a function are all that is needed, and no header. Where the
// build finds the header, ort_check.cpp compares every place with it.
namespace fmd::ort {

struct Opaque;  // every object of the library

using Status = Opaque*;  // null = done

constexpr std::uint32_t kApiVersion =
    16;  // the oldest table that has all that is used here

enum class Place : std::size_t {
  error_message = 2,
  create_env = 3,
  create_session_from_array = 8,
  run = 9,
  create_options = 10,
  log_severity = 22,
  graph_optimization = 23,
  intra_op_threads = 24,
  inter_op_threads = 25,
  create_tensor = 48,
  create_tensor_with_data = 49,
  tensor_data = 51,
  fill_strings = 52,
  element_type = 60,
  dimensions_count = 61,
  dimensions = 62,
  element_count = 64,
  type_and_shape = 65,
  cpu_memory = 69,
  default_allocator = 78,
  release_env = 92,
  release_status = 93,
  release_memory = 94,
  release_session = 95,
  release_value = 96,
  release_type_and_shape = 99,
  release_options = 100,
  add_config = 130,
};

// What OrtGetApiBase() of the library returns.
struct Base {
  const void* const* (*table)(std::uint32_t version);
  const char* (*version)();
};

}  // namespace fmd::ort
