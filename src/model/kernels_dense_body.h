// Products of dense features with weights. Included several times by kernels.cpp, once for
// each instruction set, before kernels_exp_body.h; see core/simd.h.

namespace fmd::internal::kernels::FMD_ISA {
namespace {

using V = double __attribute__((vector_size(FMD_LANES * 8)));
using F = float __attribute__((vector_size(FMD_LANES * 4)));
using I = std::int64_t __attribute__((vector_size(FMD_LANES * 8)));
using U = std::uint64_t __attribute__((vector_size(FMD_LANES * 8)));

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

// Adds the rows' multiples to K outputs' sums of J vectors of features, which stay in
// registers while the rows pass by. `rest` is the number of features in the only vector
// when the row ends in it, otherwise 0.
template <int K, int J>
FMD_INLINE void outer(const float* x, Index rows, Index d, Index rest, const double* h,
                      Index outputs, double* g, Index stride) {
  V s[K * J];
  for (int k = 0; k < K; ++k)
    for (int l = 0; l < J; ++l) s[k * J + l] = load(g + k * stride + l * FMD_LANES);
  for (Index i = 0; i < rows; ++i) {
    V xv[J];
    for (int l = 0; l < J; ++l)
      xv[l] = rest > 0 ? load_rest(x + i * d, rest) : load(x + i * d + l * FMD_LANES);
    for (int k = 0; k < K; ++k) {
      const V slope = all(h[i * outputs + k]);
      for (int l = 0; l < J; ++l) s[k * J + l] = FMD_FMA(xv[l], slope, s[k * J + l]);
    }
  }
  for (int k = 0; k < K; ++k)
    for (int l = 0; l < J; ++l) store(g + k * stride + l * FMD_LANES, s[k * J + l]);
}

// All features of the rows, for K outputs from `first` on.
template <int K>
FMD_TARGET void outer_group(const float* x, Index rows, Index d, const double* h,
                            AlignedRows& g, Index first) {
  constexpr int kVectors = K > 2 ? 2 : 4;  // as many sums as hide the latency of one
  double* const to = g.row(first);
  const double* const from = h + first;
  Index j = 0;
  for (; j + kVectors * FMD_LANES <= d; j += kVectors * FMD_LANES)
    outer<K, kVectors>(x + j, rows, d, 0, from, g.rows, to + j, g.stride);
  for (; j + FMD_LANES <= d; j += FMD_LANES)
    outer<K, 1>(x + j, rows, d, 0, from, g.rows, to + j, g.stride);
  if (j < d) outer<K, 1>(x + j, rows, d, d - j, from, g.rows, to + j, g.stride);
}

FMD_TARGET void dense_vjp(const float* x, Index rows, Index d, const double* h,
                          AlignedRows& g) {
  constexpr Index kTile = 64;  // its features stay in the first-level cache
  for (Index i = 0; i < rows; i += kTile) {
    const Index n = rows - i < kTile ? rows - i : kTile;
    const float* const tile = x + i * d;
    const double* const from = h + i * g.rows;
    Index k = 0;
    for (; k + 5 <= g.rows; k += 5) outer_group<5>(tile, n, d, from, g, k);
    const Index left = g.rows - k;
    if (left == 4) outer_group<4>(tile, n, d, from, g, k);
    if (left == 3) outer_group<3>(tile, n, d, from, g, k);
    if (left == 2) outer_group<2>(tile, n, d, from, g, k);
    if (left == 1) outer_group<1>(tile, n, d, from, g, k);
  }
  for (Index r = 0; r < rows; ++r)
    for (Index k = 0; k < g.rows; ++k) g.intercept()[k] += h[r * g.rows + k];
}

FMD_TARGET void widen(const float* x, Index count, double scale, double* to) {
  Index j = 0;
  for (; j + FMD_LANES <= count; j += FMD_LANES) store(to + j, load(x + j) * scale);
  for (; j < count; ++j) to[j] = static_cast<double>(x[j]) * scale;
}

}  // namespace
}  // namespace fmd::internal::kernels::FMD_ISA
