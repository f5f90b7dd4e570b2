#include "fmd/core/exec.h"

#include <chrono>
#include <mutex>
#include <string>

namespace fmd {

struct Progress::State {
  using Clock = std::chrono::steady_clock;

  Callback callback;
  std::mutex mutex;
  std::string stage;
  Index last_done = -1;
  Clock::time_point last_time;
};

Progress::Progress(Callback callback, int) : state_(std::make_unique<State>()) {
  state_->callback = std::move(callback);
}

Progress::~Progress() = default;

void Progress::report(std::string_view stage, Index done, Index total) const {
  constexpr auto kPause = std::chrono::milliseconds(50);
  auto& s = *state_;
  if (!s.callback) return;
  const std::lock_guard lock(s.mutex);
  const auto now = State::Clock::now();
  const bool new_stage =
      s.last_done < 0 || s.stage != stage || (done == 0 && s.last_done > 0);
  if (!new_stage) {
    const bool last = done == total && s.last_done != total;
    if (done < s.last_done || (!last && now - s.last_time < kPause)) return;
  }
  if (new_stage) s.stage = stage;
  s.last_done = done;
  s.last_time = now;
  s.callback(stage, done, total);
}

void Exec::for_each(Index count, const std::function<void(Index)>& body) const {
  if (pool != nullptr) {
    pool->run(count, body);
  } else {
    for (Index i = 0; i < count; ++i) body(i);
  }
}

void Exec::report(std::string_view stage, Index done, Index total) const {
  if (progress != nullptr) progress->report(stage, done, total);
}

}  // namespace fmd
