// Compiled only where ONNX Runtime's header is found: each place of ort_table.h is where
// the header has the function.
#include <onnxruntime_c_api.h>

#include "onnx/ort_table.h"

namespace {

using fmd::ort::Place;

constexpr bool same(Place place, std::size_t offset) {
  return static_cast<std::size_t>(place) * sizeof(void*) == offset;
}

static_assert(same(Place::error_message, offsetof(OrtApi, GetErrorMessage)));
static_assert(same(Place::create_env, offsetof(OrtApi, CreateEnv)));
static_assert(same(Place::create_session_from_array,
                   offsetof(OrtApi, CreateSessionFromArray)));
static_assert(same(Place::run, offsetof(OrtApi, Run)));
static_assert(same(Place::create_options, offsetof(OrtApi, CreateSessionOptions)));
static_assert(same(Place::log_severity, offsetof(OrtApi, SetSessionLogSeverityLevel)));
static_assert(same(Place::graph_optimization,
                   offsetof(OrtApi, SetSessionGraphOptimizationLevel)));
static_assert(same(Place::intra_op_threads, offsetof(OrtApi, SetIntraOpNumThreads)));
static_assert(same(Place::inter_op_threads, offsetof(OrtApi, SetInterOpNumThreads)));
static_assert(same(Place::create_tensor, offsetof(OrtApi, CreateTensorAsOrtValue)));
static_assert(same(Place::create_tensor_with_data,
                   offsetof(OrtApi, CreateTensorWithDataAsOrtValue)));
static_assert(same(Place::tensor_data, offsetof(OrtApi, GetTensorMutableData)));
static_assert(same(Place::fill_strings, offsetof(OrtApi, FillStringTensor)));
static_assert(same(Place::element_type, offsetof(OrtApi, GetTensorElementType)));
static_assert(same(Place::dimensions_count, offsetof(OrtApi, GetDimensionsCount)));
static_assert(same(Place::dimensions, offsetof(OrtApi, GetDimensions)));
static_assert(same(Place::element_count, offsetof(OrtApi, GetTensorShapeElementCount)));
static_assert(same(Place::type_and_shape, offsetof(OrtApi, GetTensorTypeAndShape)));
static_assert(same(Place::cpu_memory, offsetof(OrtApi, CreateCpuMemoryInfo)));
static_assert(same(Place::default_allocator,
                   offsetof(OrtApi, GetAllocatorWithDefaultOptions)));
static_assert(same(Place::release_env, offsetof(OrtApi, ReleaseEnv)));
static_assert(same(Place::release_status, offsetof(OrtApi, ReleaseStatus)));
static_assert(same(Place::release_memory, offsetof(OrtApi, ReleaseMemoryInfo)));
static_assert(same(Place::release_session, offsetof(OrtApi, ReleaseSession)));
static_assert(same(Place::release_value, offsetof(OrtApi, ReleaseValue)));
static_assert(same(Place::release_type_and_shape,
                   offsetof(OrtApi, ReleaseTensorTypeAndShapeInfo)));
static_assert(same(Place::release_options, offsetof(OrtApi, ReleaseSessionOptions)));
static_assert(same(Place::add_config, offsetof(OrtApi, AddSessionConfigEntry)));

}  // namespace
