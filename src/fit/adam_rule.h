#pragma once

#include <cmath>

#include "core/internal.h"
#include "fmd/core/types.h"

namespace fmd::internal {

// Adam's update with its memory (decay .9 and .999).
class AdamRule {
 public:
  explicit AdamRule(Index parameters)
      : first_(Vector::Zero(parameters)), second_(Vector::Zero(parameters)) {}

  void step(const Vector& gradient, double rate, Vector& theta) {
    constexpr double first_decay = 0.9, second_decay = 0.999, floor = 1e-8;
    ++steps_;
    const double first_share = 1 - std::pow(first_decay, steps_),
                 second_share = 1 - std::pow(second_decay, steps_);
    for (Index j = 0; j < theta.size(); ++j) {
      const double g = gradient[j];
      first_[j] = first_decay * first_[j] + (1 - first_decay) * g;
      second_[j] = second_decay * second_[j] + (1 - second_decay) * g * g;
      theta[j] -=
          rate * (first_[j] / first_share) / (std::sqrt(second_[j] / second_share) + floor);
    }
  }

  [[nodiscard]] Index steps() const { return steps_; }

 private:
  Vector first_, second_;
  int steps_ = 0;
};

}  // namespace fmd::internal
