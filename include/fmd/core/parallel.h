#pragma once

#include <functional>
#include <memory>

#include "fmd/core/types.h"

namespace fmd {

// Worker threads that wait for work without spinning. (The threads of OpenMP spin.) One
// pool serves a whole run; the calling thread works too, so ThreadPool(1) starts no thread
// at all.
class ThreadPool {
 public:
  // 0 = the machine's cores, at most 64; fewer when the system gives no more.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] int threads() const;

  // Calls body(i) for i = 0 .. count-1, each once, in any order; returns when all are done.
  // If calls throw, the exception of the smallest i is thrown again, as if the calls had
  // been made one after the other. Later calls that have not begun are then not made. A
  // call from inside a body, or while another thread uses the pool, runs in place.
  void run(Index count, const std::function<void(Index)>& body);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fmd
