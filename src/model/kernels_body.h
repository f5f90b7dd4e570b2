// Included several times by kernels.cpp, once for each instruction set; see core/simd.h.

#define FMD_INLINE __attribute__((always_inline)) FMD_TARGET inline

namespace fmd::kernels::FMD_ISA {
namespace {

using V = double __attribute__((vector_size(FMD_LANES * 8)));
using F = float __attribute__((vector_size(FMD_LANES * 4)));
using I = std::int64_t __attribute__((vector_size(FMD_LANES * 8)));

FMD_INLINE V load(const double* from) {
  V v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

FMD_INLINE V load(const float* from) {
  F f;
  std::memcpy(&f, from, sizeof f);
  return FMD_WIDEN(f);
}

FMD_INLINE void store(double* to, V v) { std::memcpy(to, &v, sizeof v); }

FMD_INLINE V all(double a) { return a - V{}; }  // a + 0 would not be free: -0

FMD_INLINE double sum(V v) {
#if FMD_LANES == 2
  return v[0] + v[1];
#elif FMD_LANES == 4
  return (v[0] + v[2]) + (v[1] + v[3]);
#else
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
#endif
}

// R rows against K outputs: R K sums stay in registers while x and the weights pass by
// once. w: one aligned row of `stride` doubles an output, the intercept at d.
template <int R, int K>
FMD_INLINE void dots(const float* x, Index d, const double* w, Index stride, Index outputs,
                     double* z) {
  V s[R][K] = {};
  Index j = 0;
  for (; j + FMD_LANES <= d; j += FMD_LANES) {
    V xv[R];
    for (int r = 0; r < R; ++r) xv[r] = load(x + r * d + j);
    for (int k = 0; k < K; ++k) {
      const V t = *reinterpret_cast<const V*>(w + k * stride + j);
      for (int r = 0; r < R; ++r) s[r][k] = FMD_FMA(xv[r], t, s[r][k]);
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int k = 0; k < K; ++k) {
      const double* t = w + k * stride;
      double rest = t[d];
      for (Index i = j; i < d; ++i) rest += t[i] * static_cast<double>(x[r * d + i]);
      z[r * outputs + k] = sum(s[r][k]) + rest;
    }
  }
}

template <int R>
FMD_TARGET void row_group(const float* x, Index d, const double* w, Index stride,
                          Index outputs, double* z) {
  Index k = 0;
  for (; k + 5 <= outputs; k += 5) dots<R, 5>(x, d, w + k * stride, stride, outputs, z + k);
  for (; k + 2 <= outputs; k += 2) dots<R, 2>(x, d, w + k * stride, stride, outputs, z + k);
  if (k < outputs) dots<R, 1>(x, d, w + k * stride, stride, outputs, z + k);
}

FMD_TARGET void dense_logits(const float* x, Index rows, Index d, const double* w,
                             Index stride, Index outputs, double* z) {
  Index i = 0;
  if (outputs == 1)
    for (; i + 4 <= rows; i += 4) dots<4, 1>(x + i * d, d, w, stride, 1, z + i);
  for (; i + 2 <= rows; i += 2)
    row_group<2>(x + i * d, d, w, stride, outputs, z + i * outputs);
  if (i < rows) row_group<1>(x + i * d, d, w, stride, outputs, z + i * outputs);
}

// Adds R rows to K outputs' sums (aligned rows of `stride` doubles), which pass by once.
template <int R, int K>
FMD_INLINE void outer(const float* x, Index d, const double* h, Index outputs, double* g,
                      Index stride) {
  Index j = 0;
  for (; j + FMD_LANES <= d; j += FMD_LANES) {
    V xv[R];
    for (int r = 0; r < R; ++r) xv[r] = load(x + r * d + j);
    for (int k = 0; k < K; ++k) {
      V* at = reinterpret_cast<V*>(g + k * stride + j);
      V s = *at;
      for (int r = 0; r < R; ++r) s = FMD_FMA(xv[r], all(h[r * outputs + k]), s);
      *at = s;
    }
  }
  for (int k = 0; k < K; ++k) {
    for (int r = 0; r < R; ++r) {
      const double a = h[r * outputs + k];
      for (Index i = j; i < d; ++i)
        g[k * stride + i] += a * static_cast<double>(x[r * d + i]);
      g[k * stride + d] += a;
    }
  }
}

template <int R>
FMD_TARGET void outer_group(const float* x, Index d, const double* h, Index outputs,
                            double* g, Index stride) {
  Index k = 0;
  for (; k + 5 <= outputs; k += 5)
    outer<R, 5>(x, d, h + k, outputs, g + k * stride, stride);
  for (; k < outputs; ++k) outer<R, 1>(x, d, h + k, outputs, g + k * stride, stride);
}

FMD_TARGET void dense_vjp(const float* x, Index rows, Index d, const double* h,
                          Index outputs, double* g, Index stride) {
  Index i = 0;
  for (; i + 4 <= rows; i += 4)
    outer_group<4>(x + i * d, d, h + i * outputs, outputs, g, stride);
  for (; i < rows; ++i) outer_group<1>(x + i * d, d, h + i * outputs, outputs, g, stride);
}

FMD_TARGET void widen(const float* x, Index count, double scale, double* to) {
  Index j = 0;
  for (; j + FMD_LANES <= count; j += FMD_LANES) store(to + j, load(x + j) * scale);
  for (; j < count; ++j) to[j] = static_cast<double>(x[j]) * scale;
}

// exp(x) for x <= 0. x = n log 2 + r with |r| <= log(2) / 2, Taylor for exp(r), and 2^n in
// two factors so that results below 2^-1022 are gradual. n is read from the low bits of n
// + 1.5 2^52.
FMD_INLINE V exp_of(V x) {
  constexpr double kShift = 0x1.8p52;
  const I bias = I{} + (std::int64_t{1023} << 52);
  x = x < -750.0 ? all(-750.0) : x;  // NaN stays
  const V n = (x * 0x1.71547652b82fep0 + kShift) - kShift;
  V r = FMD_FMA(n, all(-0x1.62e42fefa0000p-1), x);
  r = FMD_FMA(n, all(-0x1.cf79abc9e3b3ap-40), r);
  V e = all(1.0 / 6227020800);
  constexpr double kTaylor[] = {
      1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
      1.0 / 720,       1.0 / 120,      1.0 / 24,      1.0 / 6,      0.5};
  for (const double c : kTaylor) e = FMD_FMA(e, r, all(c));
  e = FMD_FMA(e * r, r, r) + 1.0;
  const V half = (n * 0.5 + kShift) - kShift;
  const I first = ((I)(half + kShift) << 52) + bias;
  const I second = ((I)((n - half) + kShift) << 52) + bias;
  return e * (V)first * (V)second;
}

// log(1 + e) for 0 <= e <= 1, with full relative accuracy: above sqrt(2) - 1 half of it is
// taken out as log 2, the rest is 2 atanh(s), |s| <= .172, by its series.
FMD_INLINE V log1p_of(V e) {
  const I large = e > 0.41421356237309503;
  const V y = large ? (e - 1.0) * 0.5 : e;
  const V s = y / (y + 2.0);
  const V q = s * s;
  V a = all(1.0 / 23);
  constexpr double kOdd[] = {1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13,
                             1.0 / 11, 1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3};
  for (const double c : kOdd) a = FMD_FMA(a, q, all(c));
  const V series = 2.0 * FMD_FMA(s * q, a, s);
  return large ? series + 0x1.62e42fefa39efp-1 : series;
}

FMD_INLINE V magnitude(V z) { return z < 0.0 ? -z : z; }

FMD_TARGET void exp_nonpositive(double* v, Index count) {
  Index j = 0;
  for (; j + FMD_LANES <= count; j += FMD_LANES) store(v + j, exp_of(load(v + j)));
  if (j == count) return;
  double rest[FMD_LANES] = {};
  std::memcpy(rest, v + j, static_cast<std::size_t>(count - j) * sizeof(double));
  store(rest, exp_of(load(rest)));
  std::memcpy(v + j, rest, static_cast<std::size_t>(count - j) * sizeof(double));
}

FMD_INLINE void sigmoid_at(const double* z, double* p, double* q) {
  const V x = load(z);
  const V e = exp_of(-magnitude(x));
  const V large = 1.0 / (1.0 + e);
  const V small = e * large;
  store(p, x < 0.0 ? small : large);
  store(q, x < 0.0 ? large : small);
}

FMD_TARGET void sigmoid(const double* z, Index count, double* p, double* q) {
  Index j = 0;
  for (; j + FMD_LANES <= count; j += FMD_LANES) sigmoid_at(z + j, p + j, q + j);
  if (j == count) return;
  const auto bytes = static_cast<std::size_t>(count - j) * sizeof(double);
  double rest[FMD_LANES] = {}, rest_p[FMD_LANES], rest_q[FMD_LANES];
  std::memcpy(rest, z + j, bytes);
  sigmoid_at(rest, rest_p, rest_q);
  std::memcpy(p + j, rest_p, bytes);
  std::memcpy(q + j, rest_q, bytes);
}

FMD_INLINE void logistic_at(const double* z, const double* sign, double* p, double* loss) {
  const V x = load(z);
  const V margin = x * load(sign);
  const V e = exp_of(-magnitude(x));
  const V large = 1.0 / (1.0 + e);
  store(p, x < 0.0 ? e * large : large);
  const V tail = log1p_of(e);
  store(loss, margin < 0.0 ? tail - margin : tail);
}

FMD_TARGET void logistic_loss(const double* z, const double* sign, Index count, double* p,
                              double* loss) {
  Index j = 0;
  for (; j + FMD_LANES <= count; j += FMD_LANES)
    logistic_at(z + j, sign + j, p + j, loss + j);
  if (j == count) return;
  const auto bytes = static_cast<std::size_t>(count - j) * sizeof(double);
  double rest[FMD_LANES] = {}, rest_sign[FMD_LANES] = {}, rest_p[FMD_LANES],
         rest_loss[FMD_LANES];
  std::memcpy(rest, z + j, bytes);
  std::memcpy(rest_sign, sign + j, bytes);
  logistic_at(rest, rest_sign, rest_p, rest_loss);
  std::memcpy(p + j, rest_p, bytes);
  std::memcpy(loss + j, rest_loss, bytes);
}

}  // namespace
}  // namespace fmd::kernels::FMD_ISA

#undef FMD_INLINE
