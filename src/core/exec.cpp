#include "fmd/core/exec.h"

namespace fmd {

void Exec::for_each(Index count, const std::function<void(Index)>& body) const {
  if (pool != nullptr) {
    pool->run(count, body);
  } else {
    for (Index i = 0; i < count; ++i) body(i);
  }
}

void Exec::report(std::string_view stage, Index done, Index total) const {
  if (progress != nullptr && *progress) (*progress)(stage, done, total);
}

}  // namespace fmd
