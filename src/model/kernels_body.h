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

// Sums of the lanes of four vectors, each as (0 + 1) + (2 + 3) after adding the upper half
// to the lower one where there are eight.
struct Four {
  double at[4];
};

#if FMD_LANES == 2
FMD_INLINE Four sums(V a, V b, V c, V d) {
  return {{a[0] + a[1], b[0] + b[1], c[0] + c[1], d[0] + d[1]}};
}
#else
FMD_INLINE __m256d quarter_sums(__m256d a, __m256d b, __m256d c, __m256d d) {
  const __m256d ab = _mm256_hadd_pd(a, b), cd = _mm256_hadd_pd(c, d);
  return _mm256_permute2f128_pd(ab, cd, 0x21) + _mm256_blend_pd(ab, cd, 12);
}
#if FMD_LANES == 8
FMD_INLINE __m256d halves(V v) {
  __m256d half[2];
  std::memcpy(half, &v, sizeof v);
  return half[0] + half[1];
}
#else
FMD_INLINE __m256d halves(V v) { return (__m256d)v; }
#endif
FMD_INLINE Four sums(V a, V b, V c, V d) {
  Four four;
  _mm256_storeu_pd(four.at, quarter_sums(halves(a), halves(b), halves(c), halves(d)));
  return four;
}
#endif

// The last d % FMD_LANES floats of a row, zeros behind them.
FMD_INLINE V load_rest(const float* from, Index count) {
  F f = {};
  std::memcpy(&f, from, static_cast<std::size_t>(count) * sizeof(float));
  return FMD_WIDEN(f);
}

template <int R, int K>
FMD_INLINE void add_products(const V (&x)[R], const double* w, Index stride,
                             V (&s)[R * K]) {
  for (int k = 0; k < K; ++k) {
    V t = *reinterpret_cast<const V*>(w + k * stride);
    FMD_KEEP(t);  // one load for all rows, not one for each
    for (int r = 0; r < R; ++r) s[r * K + k] = FMD_FMA(x[r], t, s[r * K + k]);
  }
}

// R rows against K outputs: R K sums stay in registers while x and the weights pass by
// once.
template <int R, int K>
FMD_INLINE void dots(const float* x, Index d, const AlignedRows& w, Index first,
                     double* z) {
  const Index stride = w.stride;
  const double* const at = w.row(first);
  V s[R * K] = {}, xv[R];
  Index j = 0;
  for (; j + FMD_LANES <= d; j += FMD_LANES) {
    for (int r = 0; r < R; ++r) xv[r] = load(x + r * d + j);
    add_products<R, K>(xv, at + j, stride, s);
  }
  if (j < d) {
    for (int r = 0; r < R; ++r) xv[r] = load_rest(x + r * d + j, d - j);
    add_products<R, K>(xv, at + j, stride, s);
  }
  for (int m = 0; m < R * K; m += 4) {
    const V none = {};
    const Four four =
        sums(s[m], m + 1 < R * K ? s[m + 1] : none, m + 2 < R * K ? s[m + 2] : none,
             m + 3 < R * K ? s[m + 3] : none);
    for (int l = 0; l < 4 && m + l < R * K; ++l) {
      const int r = (m + l) / K, k = (m + l) % K;
      z[r * w.rows + first + k] = four.at[l] + w.intercept()[first + k];
    }
  }
}

// While these rows are at work, as many from `next` on (null: none) are fetched from
// memory.
template <int R, int K>
FMD_TARGET void dots_of_rows(const float* x, Index rows, Index d, const AlignedRows& w,
                             Index first, double* z, const float* next) {
  Index i = 0;
  for (; i + R <= rows; i += R) {
    if (next != nullptr)
      for (Index j = 0; j < R * d; j += 16) __builtin_prefetch(next + i * d + j);
    dots<R, K>(x + i * d, d, w, first, z + i * w.rows);
  }
  for (; i < rows; ++i) dots<1, K>(x + i * d, d, w, first, z + i * w.rows);
}

// Tiles of rows stay in the first-level cache while groups of up to five outputs, as even
// as possible, pass over them; fewer outputs take more rows at a time to hide the latency
// of sums.
FMD_TARGET void dense_logits(const float* x, Index rows, Index d, const AlignedRows& w,
                             double* z) {
  constexpr Index kTile = 48;
  for (Index i = 0; i < rows; i += kTile) {
    const Index n = rows - i < kTile ? rows - i : kTile;
    const float* const tile = x + i * d;
    double* const to = z + i * w.rows;
    const float* next = i + 2 * kTile <= rows ? tile + kTile * d : nullptr;
    for (Index k = 0; k < w.rows;) {
      const Index left = w.rows - k, groups = (left + 4) / 5;
      const Index count = (left + groups - 1) / groups;
      if (count == 5) dots_of_rows<2, 5>(tile, n, d, w, k, to, next);
      if (count == 4) dots_of_rows<2, 4>(tile, n, d, w, k, to, next);
      if (count == 3) dots_of_rows<3, 3>(tile, n, d, w, k, to, next);
      if (count == 2) dots_of_rows<4, 2>(tile, n, d, w, k, to, next);
      if (count == 1) dots_of_rows<4, 1>(tile, n, d, w, k, to, next);
      k += count;
      next = nullptr;
    }
  }
}

template <int R, int K>
FMD_INLINE void add_multiples(const V (&x)[R], const double* h, Index outputs, double* g,
                              Index stride) {
  for (int k = 0; k < K; ++k) {
    V* const at = reinterpret_cast<V*>(g + k * stride);
    V s = *at;
    for (int r = 0; r < R; ++r) s = FMD_FMA(x[r], all(h[r * outputs + k]), s);
    *at = s;
  }
}

// Adds R rows to K outputs' sums, which pass by once.
template <int R, int K>
FMD_INLINE void outer(const float* x, Index d, const double* h, AlignedRows& g,
                      Index first) {
  const Index stride = g.stride, outputs = g.rows;
  double* const at = g.row(first);
  V xv[R];
  Index j = 0;
  for (; j + FMD_LANES <= d; j += FMD_LANES) {
    for (int r = 0; r < R; ++r) xv[r] = load(x + r * d + j);
    add_multiples<R, K>(xv, h + first, outputs, at + j, stride);
  }
  if (j < d) {
    for (int r = 0; r < R; ++r) xv[r] = load_rest(x + r * d + j, d - j);
    add_multiples<R, K>(xv, h + first, outputs, at + j, stride);
  }
}

template <int R>
FMD_TARGET void outer_group(const float* x, Index d, const double* h, AlignedRows& g) {
  Index k = 0;
  for (; k + 5 <= g.rows; k += 5) outer<R, 5>(x, d, h, g, k);
  for (; k < g.rows; ++k) outer<R, 1>(x, d, h, g, k);
}

FMD_TARGET void dense_vjp(const float* x, Index rows, Index d, const double* h,
                          AlignedRows& g) {
  Index i = 0;
  for (; i + 4 <= rows; i += 4) outer_group<4>(x + i * d, d, h + i * g.rows, g);
  for (; i < rows; ++i) outer_group<1>(x + i * d, d, h + i * g.rows, g);
  for (Index r = 0; r < rows; ++r)
    for (Index k = 0; k < g.rows; ++k) g.intercept()[k] += h[r * g.rows + k];
}

FMD_TARGET void widen(const float* x, Index count, double scale, double* to) {
  Index j = 0;
  for (; j + FMD_LANES <= count; j += FMD_LANES) store(to + j, load(x + j) * scale);
  for (; j < count; ++j) to[j] = static_cast<double>(x[j]) * scale;
}

// x = exp(x) for x <= 0. x = n log 2 + r with |r| <= log(2) / 2, Taylor for exp(r), and 2^n
// in two factors so that results below 2^-1022 are gradual. n is read from the low bits of
// n + 1.5 2^52. Several vectors at a time share the constants' loads and hide each other's
// latency.
template <int N>
FMD_INLINE void exp_of(V (&x)[N]) {
  constexpr double kShift = 0x1.8p52;
  constexpr double kTaylor[] = {
      1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
      1.0 / 720,       1.0 / 120,      1.0 / 24,      1.0 / 6,      0.5};
  const I bias = I{} + (std::int64_t{1023} << 52);
  V n[N], r[N], e[N];
  for (int l = 0; l < N; ++l) {
    const V y = x[l] < -750.0 ? all(-750.0) : x[l];  // NaN stays
    n[l] = (y * 0x1.71547652b82fep0 + kShift) - kShift;
    r[l] = FMD_FMA(n[l], all(-0x1.62e42fefa0000p-1), y);
    r[l] = FMD_FMA(n[l], all(-0x1.cf79abc9e3b3ap-40), r[l]);
    e[l] = all(1.0 / 6227020800);
  }
  for (const double c : kTaylor)
    for (int l = 0; l < N; ++l) e[l] = FMD_FMA(e[l], r[l], all(c));
  for (int l = 0; l < N; ++l) {
    e[l] = FMD_FMA(e[l] * r[l], r[l], r[l]) + 1.0;
    const V half = (n[l] * 0.5 + kShift) - kShift;
    const I first = ((I)(half + kShift) << 52) + bias;
    const I second = ((I)((n[l] - half) + kShift) << 52) + bias;
    x[l] = e[l] * (V)first * (V)second;
  }
}

FMD_INLINE V exp_of_one(V x) {
  V v[1] = {x};
  exp_of(v);
  return v[0];
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
  for (; j + 2 * FMD_LANES <= count; j += 2 * FMD_LANES) {
    V two[2] = {load(v + j), load(v + j + FMD_LANES)};
    exp_of(two);
    store(v + j, two[0]);
    store(v + j + FMD_LANES, two[1]);
  }
  for (; j + FMD_LANES <= count; j += FMD_LANES) store(v + j, exp_of_one(load(v + j)));
  if (j == count) return;
  double rest[FMD_LANES] = {};
  std::memcpy(rest, v + j, static_cast<std::size_t>(count - j) * sizeof(double));
  store(rest, exp_of_one(load(rest)));
  std::memcpy(v + j, rest, static_cast<std::size_t>(count - j) * sizeof(double));
}

FMD_INLINE V larger(V a, V b) { return a > b ? a : b; }

// Rows of at least FMD_LANES numbers: whole vectors, then one that ends with the row and
// overlaps the one before, where `fresh` is 1 for the lanes that are new.
FMD_INLINE void shift_row(const double* z, Index n, double* p) {
  V top = load(z + n - FMD_LANES);
  for (Index j = 0; j + FMD_LANES <= n; j += FMD_LANES) top = larger(top, load(z + j));
  double most = top[0];
  for (int l = 1; l < FMD_LANES; ++l) most = top[l] > most ? top[l] : most;
  const V last = load(z + n - FMD_LANES) - most;
  for (Index j = 0; j + FMD_LANES <= n; j += FMD_LANES) store(p + j, load(z + j) - most);
  store(p + n - FMD_LANES, last);
}

FMD_INLINE void normalise_row(double* p, Index n, V fresh) {
  const V last = load(p + n - FMD_LANES);
  V total = last * fresh;
  for (Index j = 0; j + FMD_LANES <= n; j += FMD_LANES) total += load(p + j);
  const double scale = 1 / sums(total, V{}, V{}, V{}).at[0];
  for (Index j = 0; j + FMD_LANES <= n; j += FMD_LANES) store(p + j, load(p + j) * scale);
  store(p + n - FMD_LANES, last * scale);
}

FMD_INLINE void short_softmax(const double* z, Index n, double* p) {
  double top = z[0], total = 0;
  for (Index k = 1; k < n; ++k) top = z[k] > top ? z[k] : top;
  double part[FMD_LANES] = {};
  for (Index k = 0; k < n; ++k) part[k] = z[k] - top;
  store(part, exp_of_one(load(part)));
  for (Index k = 0; k < n; ++k) total += part[k];
  for (Index k = 0; k < n; ++k) p[k] = part[k] / total;
}

FMD_TARGET void softmax(const double* z, Index rows, Index n, double* p) {
  if (n < FMD_LANES) {
    for (Index i = 0; i < rows; ++i) short_softmax(z + i * n, n, p + i * n);
    return;
  }
  V fresh = {};
  for (Index l = 0; l < n % FMD_LANES; ++l) fresh[FMD_LANES - 1 - l] = 1;
  for (Index i = 0; i < rows; ++i) shift_row(z + i * n, n, p + i * n);
  exp_nonpositive(p, rows * n);
  for (Index i = 0; i < rows; ++i) normalise_row(p + i * n, n, fresh);
}

FMD_INLINE void sigmoid_at(const double* z, double* p, double* q) {
  const V x = load(z);
  const V e = exp_of_one(-magnitude(x));
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
  const V e = exp_of_one(-magnitude(x));
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
