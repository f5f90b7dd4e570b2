#pragma once

#include <string_view>

#include <fmt/format.h>

#include "core/internal.h"
#include "fmd/core/error.h"
#include "fmd/core/types.h"

// Checks of arguments, with one wording for each kind of mistake.
namespace fmd::internal {

// "train: option l2 is -3, must be >= 0"
template <typename T>
void require_option(bool ok, std::string_view where, std::string_view name, const T& value,
                    std::string_view must_be) {
  if (ok) return;
  throw Error(ErrorKind::bad_option,
              fmt::format("{}: option {} is {}, must be {}", where, name, value, must_be));
}

// "solve: theta has 12 entries, needs 14"
inline void require_size(std::string_view where, std::string_view name, Index has,
                         Index needs) {
  if (has == needs) return;
  throw Error(ErrorKind::bad_shape,
              fmt::format("{}: {} has {} entries, needs {}", where, name, has, needs));
}

}  // namespace fmd::internal
