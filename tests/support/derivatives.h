#pragma once

#include <functional>

#include "fmd/core/types.h"

namespace fmd::test {

// Gradient of f by central differences.
inline Vector numeric_gradient(const std::function<double(const Vector&)>& f,
                               const Vector& at, double step = 1e-5) {
  Vector gradient(at.size());
  for (Index j = 0; j < at.size(); ++j) {
    Vector up = at, down = at;
    up[j] += step;
    down[j] -= step;
    gradient[j] = (f(up) - f(down)) / (2 * step);
  }
  return gradient;
}

// Jacobian of a vector function by central differences: column j = df / dx_j.
inline Matrix numeric_jacobian(const std::function<Vector(const Vector&)>& f,
                               const Vector& at, double step = 1e-5) {
  Matrix jacobian(f(at).size(), at.size());
  for (Index j = 0; j < at.size(); ++j) {
    Vector up = at, down = at;
    up[j] += step;
    down[j] -= step;
    jacobian.col(j) = (f(up) - f(down)) / (2 * step);
  }
  return jacobian;
}

}  // namespace fmd::test
