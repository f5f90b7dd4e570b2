#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/internal.h"
#include "fmd/core/bytes.h"
#include "fmd/core/error.h"

// Saving the states of tallies, and the error for a damaged one.
namespace fmd::internal {

// where: "tally", "flips".
[[noreturn]] inline void damaged_state(const std::string& where) {
  throw Error(ErrorKind::bad_model, where + ": the saved state contradicts itself",
              "the file is damaged: make it again");
}

template <typename T>
void put_all(ByteWriter& out, const std::vector<T>& values) {
  out.put_array(std::span<const T>(values));
}

}  // namespace fmd::internal
