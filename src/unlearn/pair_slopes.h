#pragma once

#include <span>

#include "core/internal.h"
#include "fmd/core/types.h"

// The scores p of a pair, and their slopes S = dp/dz = diag(p) - p p^T. One output
// (sigmoid): vectors of one entry, p = p(class 1), S = p (1 - p).
namespace fmd::internal {

// p = p(c) and dp = p(c) - p(cbar) from z = z(c) and dz = z(c) - z(cbar). dp keeps its
// relative precision where both sides nearly agree.
void pair_scores(std::span<const double> z, std::span<const double> dz, std::span<double> p,
                 std::span<double> dp);

// r = S u.
void apply_slope(std::span<const double> p, std::span<const double> u, std::span<double> r);

// r = S' u, where S' is the derivative of S along dp.
void apply_slope_change(std::span<const double> p, std::span<const double> dp,
                        std::span<const double> u, std::span<double> r);

// S itself (C x C).
void slope(std::span<const double> p, Matrix& S);

// S(c) - S(cbar), without cancellation.
void slope_difference(std::span<const double> p, std::span<const double> dp, Matrix& D);

// The secant slope Sbar: the mean of S on the line from z(cbar) to z(c), so that
// dp = Sbar dz.
void secant_slope(std::span<const double> z, std::span<const double> dz, Matrix& Sbar);

}  // namespace fmd::internal
