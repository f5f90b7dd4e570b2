#include "fmd/core/parallel.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/signals.h"

namespace fmd {
namespace {

thread_local bool inside_a_body = false;

}  // namespace

struct ThreadPool::State {
  std::mutex mutex;
  std::mutex running;  // held by the thread whose job this is
  std::condition_variable work, done;
  std::vector<std::thread> threads;
  bool stop = false;

  // One job at a time: workers take the next i until none is left.
  std::uint64_t job = 0;
  const std::function<void(Index)>* body = nullptr;
  std::atomic<Index> next = 0;
  std::atomic<Index> failed_at = 0;  // the smallest i that threw; count when none did
  int busy = 0;
  std::exception_ptr error;

  void take_part() {
    inside_a_body = true;
    // An i before the failed one is still called, so that which exception comes out does
    // not depend on timing.
    for (Index i = next++; i < failed_at; i = next++) {
      try {
        (*body)(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (i < failed_at) {
          error = std::current_exception();
          failed_at = i;
        }
      }
    }
    inside_a_body = false;
  }

  void work_loop() {
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex);
    for (;;) {
      work.wait(lock, [&] { return stop || job != seen; });
      if (stop) return;
      seen = job;
      if (body == nullptr) continue;  // the job ended before this thread woke up
      ++busy;
      lock.unlock();
      take_part();
      lock.lock();
      if (--busy == 0) done.notify_all();
    }
  }
};

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>()) {
  if (threads <= 0) threads = static_cast<int>(std::thread::hardware_concurrency());
  threads = std::clamp(threads, 1, 64);
  state_->threads.reserve(static_cast<std::size_t>(threads));
  const HoldSignals hold;  // threads inherit it: signals go to those who know of them
  try {
    for (int t = 1; t < threads; ++t)
      state_->threads.emplace_back([state = state_.get()] { state->work_loop(); });
  } catch (const std::system_error&) {  // the system gives no more threads: fewer will do
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stop = true;
  }
  state_->work.notify_all();
  for (auto& thread : state_->threads) thread.join();
}

int ThreadPool::threads() const { return static_cast<int>(state_->threads.size()) + 1; }

void ThreadPool::run(Index count, const std::function<void(Index)>& body) {
  auto& s = *state_;
  std::unique_lock mine(s.running, std::defer_lock);
  if (s.threads.empty() || count <= 1 || inside_a_body || !mine.try_lock()) {
    for (Index i = 0; i < count; ++i) body(i);
    return;
  }
  {
    const std::lock_guard lock(s.mutex);
    s.body = &body;
    s.next = 0;
    s.failed_at = count;
    s.error = nullptr;
    ++s.job;
  }
  s.work.notify_all();
  s.take_part();
  std::unique_lock lock(s.mutex);
  s.done.wait(lock, [&] { return s.busy == 0; });
  s.body = nullptr;
  if (s.error) std::rethrow_exception(std::exchange(s.error, nullptr));
}

}  // namespace fmd
