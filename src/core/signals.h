#pragma once

#include <pthread.h>
#include <signal.h>

#include "core/internal.h"

namespace fmd::internal {

// Signals to this thread wait until the end of the scope.
class HoldSignals {
 public:
  HoldSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~HoldSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  HoldSignals(const HoldSignals&) = delete;
  HoldSignals& operator=(const HoldSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace fmd::internal
