// Included several times by pair_kernels.cpp, once for each instruction set; see
// core/simd.h.

namespace fmd::internal::pair_kernels::FMD_ISA {
namespace {

using V = double __attribute__((vector_size(FMD_LANES * 8)));

FMD_INLINE V load(const double* from) {
  V v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

FMD_INLINE void store(double* to, V v) { std::memcpy(to, &v, sizeof v); }

FMD_INLINE double total(V v) {
  double sum = 0;
  for (int l = 0; l < FMD_LANES; ++l) sum += v[l];
  return sum;
}

FMD_TARGET PairSums evaluate(const PairRows& rows, const double* weight, Ratio ratio,
                             double* dp_to, double* mixed_to) {
  V squares = {}, slopes = {}, others = {};
  for (Index i = 0; i < rows.count; i += FMD_LANES) {
    const V p = load(rows.p + i), q = load(rows.q + i), w = load(weight + i);
    const V down = q * ratio.all, part = 1.0 / (p + down);
    const V pbar = p * part, qbar = down * part;
    const V dp = ratio.less_one * pbar * q;
    const V sbar = pbar * qbar, pull = w * dp, slope = pull * sbar;
    const V s = p * q, change = dp * (q - pbar);  // s - sbar
    const V tilt = sbar * (qbar - pbar) * dp;
    store(dp_to + i, dp);
    store(mixed_to + i, w * (sbar * change + tilt));
    store(rows.own + i,
          load(rows.own + i) + w * (change * change + s * (q - p) * dp - tilt));
    store(rows.pulled + i, load(rows.pulled + i) + pull);
    store(rows.slopes + i, load(rows.slopes + i) + slope);
    squares += pull * dp;
    slopes += slope;
    others += w * (sbar * sbar - tilt);
  }
  return {total(squares), total(slopes), total(others)};
}

FMD_TARGET double product(Index count, const double* mixed, const double* pulled, double du,
                          double* both) {
  V sum = {};
  for (Index i = 0; i < count; i += FMD_LANES) {
    const V m = load(mixed + i);
    store(both + i, load(both + i) + m * du);
    sum += m * load(pulled + i);
  }
  return total(sum);
}

// log(1 + p0 (exp(dz) - 1)) - p0 dz. Near 0 its terms cancel: there by the cumulants.
// Elsewhere the logarithm is that of (1 + exp(z)) / (1 + exp(z0)).
FMD_TARGET double held(const HeldRows& rows, const double* moved, const double* p_of,
                       const double* q_of, const double* tail, double* slope) {
  V sum = {};
  for (Index i = 0; i < rows.count; i += FMD_LANES) {
    const V dz = load(moved + i), p = load(p_of + i), q = load(q_of + i);
    const V z0 = load(rows.z0 + i), z = z0 + dz;
    const V p0 = load(rows.p0 + i), q0 = load(rows.q0 + i), w = load(rows.weight + i);
    const V s = p0 * q0, skew = q0 - p0, square = dz * dz;
    const V expm1 = dz * (1.0 + dz * (0.5 + dz * (1.0 / 6 + dz * (1.0 / 24 + dz / 120))));
    const V near_value = s * square *
                         (0.5 + dz * skew / 6 + square * (1.0 - 6.0 * s) / 24 +
                          square * dz * skew * (1.0 - 12.0 * s) / 120 +
                          square * square * (1.0 - 30.0 * s * (1.0 - 4.0 * s)) / 720);
    const V zero = {};
    const V top = z > 0.0 ? z : zero, top0 = z0 > 0.0 ? z0 : zero;
    const V apart = top - top0 - p0 * dz;
    const V line = z > 0.0 ? (z0 > 0.0 ? q0 * dz : apart) : (z0 > 0.0 ? apart : -p0 * dz);
    const V far_value = load(tail + i) - load(rows.tail0 + i) + line;
    const V size = dz < 0.0 ? -dz : dz;
    sum += w * (size > 3e-3 ? far_value : near_value);
    const V far_slope = z > 0.0 ? q0 - q : p - p0;
    store(slope + i, w * (size > 3e-3 ? far_slope : expm1 * p0 * q));
  }
  return total(sum);
}

}  // namespace
}  // namespace fmd::internal::pair_kernels::FMD_ISA
