#include "fmd/core/blas.h"

#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>

#include "core/blas_kernel.h"
#include "core/lapack.h"

namespace fmd {
namespace {

constexpr const char* kVariable = "OPENBLAS_CORETYPE";

std::atomic<bool> kernel_was_repaired = false;

// A function of the BLAS that is linked, or null: OpenBLAS is recognised by its symbols, so
// that any other library works untouched.
template <typename Function>
Function* find(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
}

std::string text_of(const char* function) {
  auto* get = find<const char*()>(function);
  const char* text = get != nullptr ? get() : nullptr;
  return text != nullptr ? text : "";
}

// "OpenBLAS 0.3.21 ..." where the library says so, otherwise the name of its file. (The
// address of dgemm also makes the linker keep the BLAS in programs that call nothing of
// it.)
std::string library_name() {
  std::string config = text_of("openblas_get_config");
  if (!config.empty()) return config;
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&dgemm_), &info) == 0) return "";
  return std::filesystem::path(info.dli_fname).filename().string();
}

std::string current_kernel() { return text_of("openblas_get_corename"); }

// OpenBLAS reads the variable each time it chooses a kernel. It is unset at once: programs
// started from here, and other copies of OpenBLAS in this process, choose for
// themselves.
bool switch_kernel(const std::string& kernel) {
  auto* quit = find<void()>("gotoblas_dynamic_quit");
  auto* init = find<void()>("gotoblas_dynamic_init");
  if (quit == nullptr || init == nullptr) return false;
  ::setenv(kVariable, kernel.c_str(), 1);
  quit();
  init();
  ::unsetenv(kVariable);
  return current_kernel() == kernel;
}

}  // namespace

std::string best_kernel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")) {
    return __builtin_cpu_supports("avx512bf16") ? "Cooperlake" : "SkylakeX";
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
  return "";
}

BlasInfo blas_info() {
  return {.library = library_name(),
          .kernel = current_kernel(),
          .repaired = kernel_was_repaired};
}

BlasInfo setup_blas() {
  if (auto* set_threads = find<void(int)>("openblas_set_num_threads")) set_threads(1);
  const bool user_set = std::getenv(kVariable) != nullptr;
  const std::string kernel = repair_kernel(current_kernel(), user_set, best_kernel());
  if (!kernel.empty() && switch_kernel(kernel)) kernel_was_repaired = true;
  return blas_info();
}

}  // namespace fmd
