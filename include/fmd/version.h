#pragma once

namespace fmd {

// The version of the headers, and the one place where it is written: the build, the
// package and the command read it from here. Semantic versioning.
inline constexpr const char* kVersion = "0.1.0";

// The version of the library that is linked. Differs from kVersion only when a program was
// compiled for another version of the library.
[[nodiscard]] const char* version();

}  // namespace fmd
