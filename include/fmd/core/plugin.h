#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fmd {

// Where the shared libraries of backends are: by the backend's name ("parquet") the files
// to try, in this order. A backend that is not named is looked for where the system looks,
// as fmd_<name>.so. The library itself asks no environment: the command and Python fill
// this in and hand it on in Exec.
using BackendFiles = std::map<std::string, std::vector<std::string>>;

// The table of C functions of a backend, opened on first use and kept open: what the symbol
// fmd_<name> of its library returns when it is called. Every table begins with its version
// (std::uint32_t), and its functions report errors as text, so that no C++ type and no
// exception crosses the border. what: the start of the message, "a.parquet: a Parquet
// file". Throws Error(unsupported) with the reason and the hint.
[[nodiscard]] const void* open_backend(const std::string& name, std::uint32_t version,
                                       const BackendFiles* files, const std::string& what,
                                       const std::string& hint);

}  // namespace fmd
