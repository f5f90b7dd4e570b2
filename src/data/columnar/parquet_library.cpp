#include "data/columnar/parquet_library.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "fmd/core/error.h"

#ifndef FMD_LIBRARY_FOLDER
#define FMD_LIBRARY_FOLDER "lib"
#endif

namespace fmd::internal {
namespace {

constexpr const char* kName = "fmd_parquet.so";

// Where the plug-in may be: the file that FMD_PARQUET_LIB names; otherwise in the program's
// folder or the one above (after a build), in the library folder beside the program's
// folder (after an installation), or where the system looks.
std::vector<std::string> candidates() {
  if (const char* given = std::getenv("FMD_PARQUET_LIB")) return {given};
  std::vector<std::string> paths;
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    const auto folder = program.parent_path();
    for (const auto& place :
         {folder, folder.parent_path(), folder.parent_path() / FMD_LIBRARY_FOLDER}) {
      if (std::filesystem::exists(place / kName, error))
        paths.push_back((place / kName).string());
    }
  }
  paths.emplace_back(kName);
  return paths;
}

const FmdParquet* open_library(std::string& reason) {
  for (const std::string& path : candidates()) {
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* error = ::dlerror();
      reason = error == nullptr ? path : error;
      continue;
    }
    const auto entry =
        reinterpret_cast<FmdParquetEntry>(::dlsym(library, kFmdParquetSymbol));
    const FmdParquet* found = entry == nullptr ? nullptr : entry();
    if (found != nullptr && found->version == kFmdParquetVersion) return found;
    reason = path + " is of another version";
    ::dlclose(library);
  }
  return nullptr;
}

}  // namespace

const FmdParquet& parquet_library(const std::string& source) {
  static std::mutex mutex;
  static const FmdParquet* library = nullptr;
  const std::lock_guard lock(mutex);
  std::string reason;
  if (library == nullptr) library = open_library(reason);
  if (library != nullptr) return *library;
  throw Error(
      ErrorKind::unsupported,
      fmt::format("{}: a Parquet file needs the plug-in {}: {}", source, kName, reason),
      "install the Python package pyarrow and build fmd again (./dev setup does both), "
      "name the plug-in by FMD_PARQUET_LIB, or save the table as CSV");
}

}  // namespace fmd::internal
