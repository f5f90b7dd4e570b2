#include "fmd/core/plugin.h"

#include <dlfcn.h>

#include <fmt/format.h>

#include "fmd/core/error.h"

namespace fmd {

const void* open_backend(const std::string& name, std::uint32_t version,
                         const BackendFiles* files, const std::string& what,
                         const std::string& hint) {
  const std::string symbol = "fmd_" + name, file = symbol + ".so";
  std::vector<std::string> paths = {file};
  if (files != nullptr && files->contains(name)) paths = files->at(name);
  std::string reason = "no file is named for it";
  for (const std::string& path : paths) {
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* error = ::dlerror();
      reason = error == nullptr ? path : error;
      continue;
    }
    using Entry = const void* (*)();
    const auto entry = reinterpret_cast<Entry>(::dlsym(library, symbol.c_str()));
    const void* table = entry == nullptr ? nullptr : entry();
    if (table != nullptr && *static_cast<const std::uint32_t*>(table) == version)
      return table;
    reason = path + " is of another version";
    ::dlclose(library);
  }
  throw Error(ErrorKind::unsupported,
              fmt::format("{} needs the plug-in {}: {}", what, file, reason), hint);
}

}  // namespace fmd
