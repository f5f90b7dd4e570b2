#pragma once

#include <cstdint>
#include <span>

#include "fmd/core/types.h"

// The loss and its derivatives as functions of one row of logits.
namespace fmd {

[[nodiscard]] constexpr Index classes_of(Index outputs) {
  return outputs == 1 ? 2 : outputs;
}

// Probabilities of all classes from one row of logits: softmax, or {1 - s, s} for one
// output.
void probabilities(std::span<const double> z, std::span<double> p);

// -log p_y, exact for large |z|.
[[nodiscard]] double log_loss(std::span<const double> z, std::int32_t y);

// d log_loss / d z = p - e_y (one output: p1 - y).
void log_loss_gradient(std::span<const double> z, std::int32_t y, std::span<double> dz);

// r = S u with S = diag(p) - p p^T, the derivative of p with respect to z (one output:
// p(1-p) u).
void apply_softmax_slope(std::span<const double> p, std::span<const double> u,
                         std::span<double> r);

}  // namespace fmd
