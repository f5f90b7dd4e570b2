// The scan of a tile of distances. Included several times by nearest_kernels.cpp, once for
// each instruction set; see core/simd.h.

namespace fmd::internal::nearest_kernels::FMD_ISA {
namespace {

using V = double __attribute__((vector_size(FMD_LANES * 8)));
using F = float __attribute__((vector_size(FMD_LANES * 8)));  // twice as many floats
using H = float __attribute__((vector_size(FMD_LANES * 4)));

constexpr Index kFloats = FMD_LANES * 2;
constexpr Index kSegment = 8 * kFloats;

FMD_INLINE F load(const float* from) {
  F v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

FMD_INLINE F smaller(F a, F b) { return a < b ? a : b; }

// By halves down to four lanes.
using Q = float __attribute__((vector_size(16)));
FMD_INLINE float least(F v) {
  Q part[FMD_LANES / 2];
  std::memcpy(part, &v, sizeof v);
  for (Index n = FMD_LANES / 4; n >= 1; n /= 2)
    for (Index i = 0; i < n; ++i) part[i] = part[i] < part[i + n] ? part[i] : part[i + n];
  const float a = part[0][0] < part[0][1] ? part[0][0] : part[0][1];
  const float b = part[0][2] < part[0][3] ? part[0][2] : part[0][3];
  return a < b ? a : b;
}

// Most segments hold nothing near: one minimum over eight vectors shows it.
FMD_TARGET Index first_below(const float* c, const float* add, Index from, Index count,
                             float limit) {
  Index j = from;
  for (; j + kSegment <= count; j += kSegment) {
    F m = load(c + j) + load(add + j);
    for (Index s = kFloats; s < kSegment; s += kFloats)
      m = smaller(m, load(c + j + s) + load(add + j + s));
    if (least(m) < limit) break;
  }
  for (; j < count; ++j)
    if (c[j] + add[j] < limit) return j;
  return count;
}

FMD_INLINE V widen(const float* from) {
  H h;
  std::memcpy(&h, from, sizeof h);
  return __builtin_convertvector(h, V);
}

FMD_INLINE double sum(V v) {
  double total = v[0];
  for (Index i = 1; i < FMD_LANES; ++i) total += v[i];
  return total;
}

FMD_TARGET double squared_distance(const float* x, const float* y, Index count) {
  V s = {};
  Index j = 0;
  for (; j + FMD_LANES <= count; j += FMD_LANES) {
    const V d = widen(x + j) - widen(y + j);
    s += d * d;
  }
  double total = sum(s);
  for (; j < count; ++j) {
    const double d = static_cast<double>(x[j]) - static_cast<double>(y[j]);
    total += d * d;
  }
  return total;
}

FMD_TARGET double dot(const float* x, const float* y, Index count) {
  V s = {};
  Index j = 0;
  for (; j + FMD_LANES <= count; j += FMD_LANES) s += widen(x + j) * widen(y + j);
  double total = sum(s);
  for (; j < count; ++j) total += static_cast<double>(x[j]) * static_cast<double>(y[j]);
  return total;
}

}  // namespace
}  // namespace fmd::internal::nearest_kernels::FMD_ISA
