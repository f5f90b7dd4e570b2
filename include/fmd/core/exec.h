#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "fmd/core/parallel.h"
#include "fmd/core/types.h"

namespace fmd {

// How far a long piece of work is: stage, done, total (0 = unknown). Called from one thread
// at a time, at most some 20 times a second; must not throw.
using Progress = std::function<void(std::string_view stage, Index done, Index total)>;

// How to run, never what to compute: results do not depend on pool or progress, to the bit.
struct Exec {
  ThreadPool* pool = nullptr;  // none: the calling thread does everything
  std::uint64_t seed = 1;      // of every random choice
  const Progress* progress = nullptr;

  // body(i) for i = 0 .. count-1 on the pool, or in place without one.
  void for_each(Index count, const std::function<void(Index)>& body) const;
  void report(std::string_view stage, Index done, Index total) const;
};

}  // namespace fmd
