#pragma once

#include <cmath>

#include "core/internal.h"
#include "fmd/model/mlp_head.h"

// Activations with their first and second derivatives at x.
namespace fmd::internal {

template <typename T>
struct Bent {
  T value, slope, bend;
};

template <typename T>
struct Relu {
  Bent<T> operator()(T x) const { return x > 0 ? Bent<T>{x, 1, 0} : Bent<T>{0, 0, 0}; }
};

template <typename T>
struct Tanh {
  Bent<T> operator()(T x) const {
    const T t = std::tanh(x), slope = 1 - t * t;
    return {t, slope, -2 * t * slope};
  }
};

template <typename T>
struct Gelu {
  Bent<T> operator()(T x) const {
    const T below = std::erfc(-x * static_cast<T>(0.70710678118654752440)) / 2;
    const T density = static_cast<T>(0.39894228040143267794) * std::exp(-x * x / 2);
    return {x * below, below + x * density, (2 - x * x) * density};
  }
};

// use(function) for the activation's function: the choice is made once, not for each
// number.
template <typename T, typename Use>
void with_activation(Activation activation, const Use& use) {
  if (activation == Activation::relu) return use(Relu<T>());
  if (activation == Activation::tanh) return use(Tanh<T>());
  return use(Gelu<T>());
}

}  // namespace fmd::internal
