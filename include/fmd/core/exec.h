#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "fmd/core/parallel.h"
#include "fmd/core/plugin.h"
#include "fmd/core/types.h"

namespace fmd {

// Reports how far a long piece of work is: stage, done, total (0 = unknown). The work may
// report often and from many threads. The callback is called from one thread at a time, at
// most about 20 times a second; the first and the last report of a stage (done == total)
// always come through. A stage begins with a new name or with done = 0; within it `done`
// never falls. The callback must not throw and must not report itself.
class Progress {
 public:
  using Callback = std::function<void(std::string_view stage, Index done, Index total)>;

  template <typename F>
  requires(std::constructible_from<Callback, F> && !std::same_as<std::decay_t<F>, Progress>)
      Progress(F&& callback)
      : Progress(Callback(std::forward<F>(callback)), 0) {}  // NOLINT
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void report(std::string_view stage, Index done, Index total) const;

 private:
  Progress(Callback callback, int);
  struct State;
  std::unique_ptr<State> state_;
};

// How to run, not what to compute: no bit of a result depends on pool or progress.
struct Exec {
  ThreadPool* pool = nullptr;  // none: the calling thread does everything
  std::uint64_t seed = 1;      // of every random choice
  const Progress* progress = nullptr;
  const BackendFiles* backends = nullptr;  // none: where the system looks
  // Takes sentences about what was left out, counted or taken for something.
  const std::function<void(const std::string&)>* notes = nullptr;

  // body(i) for i = 0 .. count-1 on the pool, or in place without one.
  void for_each(Index count, const std::function<void(Index)>& body) const;
  // Cheap enough for every block; does nothing without progress.
  void report(std::string_view stage, Index done, Index total) const;
  void note(const std::string& text) const {
    if (notes != nullptr) (*notes)(text);
  }
};

}  // namespace fmd
