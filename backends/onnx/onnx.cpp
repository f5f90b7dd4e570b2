// Runs ONNX models with ONNX Runtime for the core, see src/model/onnx_abi.h. The library is
// opened at run time; nothing of it is linked.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/half.h"
#include "model/onnx_abi.h"
#include "onnx/ort_table.h"

namespace {

using fmd::ort::Base;
using fmd::ort::Opaque;
using fmd::ort::Place;
using fmd::ort::Status;

constexpr int kErrorsOnly = 3;  // of the levels of its log
constexpr int kAllOptimizations = 99;
constexpr int kArena = 1, kDefaultMemory = 0;

// The table of one opened library.
struct Library {
  const void* const* table = nullptr;
  std::string version;

  // The function at a place, of the given type.
  template <typename... Args>
  [[nodiscard]] auto at(Place place) const {
    return reinterpret_cast<Status (*)(Args...)>(
        const_cast<void*>(table[static_cast<std::size_t>(place)]));
  }
  void release(Place place, Opaque* object) const {
    if (object == nullptr) return;
    reinterpret_cast<void (*)(Opaque*)>(
        const_cast<void*>(table[static_cast<std::size_t>(place)]))(object);
  }
  // Throws the library's own words.
  void require(Status status) const {
    if (status == nullptr) return;
    const auto message = reinterpret_cast<const char* (*)(const Opaque*)>(
        const_cast<void*>(table[static_cast<std::size_t>(Place::error_message)]));
    const std::string text = message(status);
    release(Place::release_status, status);
    throw std::runtime_error(text);
  }
};

// Objects of the library, given back at the end.
class Owned {
 public:
  Owned(const Library& library, Place release) : library_(&library), release_(release) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { library_->release(release_, object_); }
  [[nodiscard]] Opaque** out() { return &object_; }
  [[nodiscard]] Opaque* get() const { return object_; }

 private:
  const Library* library_;
  Place release_;
  Opaque* object_ = nullptr;
};

Library open_library(const std::string& files) {
  std::string reason = "no file is named";
  for (std::size_t at = 0; at <= files.size();) {
    const std::size_t end = std::min(files.find('\n', at), files.size());
    const std::string file = files.substr(at, end - at);
    at = end + 1;
    if (file.empty()) continue;
    void* handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      const char* error = ::dlerror();
      reason = error == nullptr ? file : error;
      continue;
    }
    const auto entry =
        reinterpret_cast<const Base* (*)()>(::dlsym(handle, "OrtGetApiBase"));
    const Base* base = entry == nullptr ? nullptr : entry();
    const void* const* table =
        base == nullptr ? nullptr : base->table(fmd::ort::kApiVersion);
    if (table != nullptr) return {table, base->version()};
    reason = file + " is not ONNX Runtime 1.16 or newer";
    ::dlclose(handle);
  }
  throw std::runtime_error("ONNX Runtime cannot be opened: " + reason);
}

struct Model {
  explicit Model(Library opened)
      : library(std::move(opened)),
        env(library, Place::release_env),
        options(library, Place::release_options),
        session(library, Place::release_session),
        memory(library, Place::release_memory) {}
  Library library;
  Owned env, options, session, memory;
};

std::unique_ptr<Model> open_model(const char* libraries, const std::uint8_t* bytes,
                                  std::uint64_t size, const char* folder) {
  auto model = std::make_unique<Model>(open_library(libraries));
  const Library& l = model->library;
  l.require(l.at<int, const char*, Opaque**>(Place::create_env)(kErrorsOnly, "fmd",
                                                                model->env.out()));
  l.require(l.at<Opaque**>(Place::create_options)(model->options.out()));
  Opaque* options = model->options.get();
  l.require(l.at<Opaque*, int>(Place::log_severity)(options, kErrorsOnly + 1));
  l.require(l.at<Opaque*, int>(Place::graph_optimization)(options, kAllOptimizations));
  // Workers of the core run batches side by side; the library adds no threads of its own.
  l.require(l.at<Opaque*, int>(Place::intra_op_threads)(options, 1));
  l.require(l.at<Opaque*, int>(Place::inter_op_threads)(options, 1));
  const auto configure = l.at<Opaque*, const char*, const char*>(Place::add_config);
  l.require(configure(options, "session.intra_op.allow_spinning", "0"));
  if (folder != nullptr)
    l.require(
        configure(options, "session.model_external_initializers_file_folder_path", folder));
  l.require(l.at<Opaque*, const void*, std::size_t, const Opaque*, Opaque**>(
      Place::create_session_from_array)(model->env.get(), bytes, size, options,
                                        model->session.out()));
  l.require(l.at<int, int, Opaque**>(Place::cpu_memory)(kArena, kDefaultMemory,
                                                        model->memory.out()));
  return model;
}

void make_input(const Model& model, const FmdOnnxTensor& input, Opaque** value) {
  const Library& l = model.library;
  const auto rank = static_cast<std::size_t>(input.rank);
  if (input.type != 8) {
    l.require(l.at<const Opaque*, void*, std::size_t, const std::int64_t*, std::size_t, int,
                   Opaque**>(Place::create_tensor_with_data)(
        model.memory.get(), const_cast<void*>(input.data), input.size, input.shape, rank,
        input.type, value));
    return;
  }
  Opaque* allocator = nullptr;  // the library's own, not released
  l.require(l.at<Opaque**>(Place::default_allocator)(&allocator));
  l.require(l.at<Opaque*, const std::int64_t*, std::size_t, int, Opaque**>(
      Place::create_tensor)(allocator, input.shape, rank, input.type, value));
  l.require(l.at<Opaque*, const char* const*, std::size_t>(Place::fill_strings)(
      *value, static_cast<const char* const*>(input.data), input.size));
}

template <typename T>
void copy_numbers(const void* from, float* into, std::int64_t count) {
  const T* values = static_cast<const T*>(from);
  for (std::int64_t i = 0; i < count; ++i) into[i] = static_cast<float>(values[i]);
}

std::string shape_of(const Library& l, const Opaque* info) {
  std::size_t rank = 0;
  l.require(l.at<const Opaque*, std::size_t*>(Place::dimensions_count)(info, &rank));
  std::vector<std::int64_t> dims(rank);
  l.require(l.at<const Opaque*, std::int64_t*, std::size_t>(Place::dimensions)(
      info, dims.data(), rank));
  std::string text;
  for (const std::int64_t dim : dims)
    text += (text.empty() ? "" : " x ") + std::to_string(dim);
  return text;
}

void take_output(const Library& l, Opaque* value, float* into, std::int64_t count) {
  Owned info(l, Place::release_type_and_shape);
  l.require(l.at<const Opaque*, Opaque**>(Place::type_and_shape)(value, info.out()));
  std::size_t elements = 0;
  l.require(l.at<const Opaque*, std::size_t*>(Place::element_count)(info.get(), &elements));
  if (elements != static_cast<std::size_t>(count))
    throw std::runtime_error("the input of the head has shape " + shape_of(l, info.get()) +
                             ", " + std::to_string(count) + " numbers are needed");
  int type = 0;
  l.require(l.at<const Opaque*, int*>(Place::element_type)(info.get(), &type));
  void* data = nullptr;
  l.require(l.at<Opaque*, void**>(Place::tensor_data)(value, &data));
  switch (type) {
    case 1:
      copy_numbers<float>(data, into, count);
      break;
    case 6:
      copy_numbers<std::int32_t>(data, into, count);
      break;
    case 7:
      copy_numbers<std::int64_t>(data, into, count);
      break;
    case 9:
      copy_numbers<bool>(data, into, count);
      break;
    case 10:
      for (std::int64_t i = 0; i < count; ++i)
        into[i] = fmd::internal::from_half(static_cast<const std::uint16_t*>(data)[i]);
      break;
    case 11:
      copy_numbers<double>(data, into, count);
      break;
    default:
      throw std::runtime_error("the input of the head has numbers of type " +
                               std::to_string(type) + ", which is not supported");
  }
}

void run_model(const Model& model, const FmdOnnxTensor* inputs, std::int32_t input_count,
               const char* output, float* into, std::int64_t count) {
  const Library& l = model.library;
  std::vector<std::unique_ptr<Owned>> values;
  std::vector<const Opaque*> given;
  std::vector<const char*> names;
  for (std::int32_t k = 0; k < input_count; ++k) {
    values.push_back(std::make_unique<Owned>(l, Place::release_value));
    make_input(model, inputs[k], values.back()->out());
    given.push_back(values.back()->get());
    names.push_back(inputs[k].name);
  }
  Owned result(l, Place::release_value);
  l.require(l.at<Opaque*, const Opaque*, const char* const*, const Opaque* const*,
                 std::size_t, const char* const*, std::size_t, Opaque**>(Place::run)(
      model.session.get(), nullptr, names.data(), given.data(), given.size(), &output, 1,
      result.out()));
  take_output(l, result.get(), into, count);
}

// Runs `work`; an exception becomes a message.
template <typename Result, typename Work>
Result guarded(char* message, std::size_t room, Result failed, Work&& work) {
  const auto tell = [&](const char* text) {
    if (room > 0) std::snprintf(message, room, "%s", text);
    return failed;
  };
  try {
    return work();
  } catch (const std::exception& error) {
    return tell(error.what());
  } catch (...) {
    return tell("ONNX Runtime failed");
  }
}

void* open(const char* libraries, const std::uint8_t* bytes, std::uint64_t size,
           const char* folder, char* message, std::size_t room) {
  return guarded<void*>(message, room, nullptr, [&]() -> void* {
    return open_model(libraries, bytes, size, folder).release();
  });
}

void close(void* model) { delete static_cast<Model*>(model); }

const char* library(void* model) {
  return static_cast<Model*>(model)->library.version.c_str();
}

int run(void* model, const FmdOnnxTensor* inputs, std::int32_t input_count,
        const char* output, float* into, std::int64_t count, char* message,
        std::size_t room) {
  return guarded(message, room, 0, [&] {
    run_model(*static_cast<Model*>(model), inputs, input_count, output, into, count);
    return 1;
  });
}

constexpr FmdOnnx kTable = {kFmdOnnxVersion, open, close, library, run};

}  // namespace

extern "C" __attribute__((visibility("default"))) const void* fmd_onnx() { return &kTable; }
