#pragma once

// Names that only src/ uses are in fmd::internal, so that no private name can collide with
// a public one, or with a name of a program that links the library. Inside src/ the prefix
// is not written. Public headers never include this file.
namespace fmd {
namespace internal {}
using namespace internal;
}  // namespace fmd
