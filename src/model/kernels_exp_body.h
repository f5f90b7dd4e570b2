// Exponentials and the functions that use them. Included after kernels_dense_body.h, whose
// names it uses.

namespace fmd::internal::kernels::FMD_ISA {
namespace {

// x = exp(x) for x <= 0; 0 below -708. x = n log 2 + r with |r| <= log(2) / 2, and exp(r) =
// 1 + r + r^2 P(r), P the polynomial through the Chebyshev points (relative error 2e-17).
// n is read from the low bits of n + 1.5 2^52. Several vectors at a time share the
// constants' loads and hide each other's latency.
template <int N>
FMD_INLINE void exp_of(V (&x)[N]) {
  constexpr double kShift = 0x1.8p52, kLeast = -708;
  constexpr double kP[] = {
      0x1.28917ca046b86p-22, 0x1.71de0db2eafc6p-19, 0x1.a019b9148739fp-16,
      0x1.a01a01a7c2f2ep-13, 0x1.6c16c17889f40p-10, 0x1.11111111109b5p-7,
      0x1.5555555553d68p-5,  0x1.5555555555556p-3,  0x1.0000000000001p-1};
  const U bias =
      U{} + (std::uint64_t{1023} << 52);  // unsigned: what is thrown away may wrap
  V shifted[N], r[N], e[N];
  for (int l = 0; l < N; ++l) {
    shifted[l] = FMD_FMA(x[l], all(0x1.71547652b82fep0), all(kShift));
    const V n = shifted[l] - kShift;
    r[l] = FMD_FMA(n, all(-0x1.62e42fefa0000p-1), x[l]);
    r[l] = FMD_FMA(n, all(-0x1.cf79abc9e3b3ap-40), r[l]);
    e[l] = all(0x1.af389eeb9e5e9p-26);
  }
  for (const double c : kP)
    for (int l = 0; l < N; ++l) e[l] = FMD_FMA(e[l], r[l], all(c));
  for (int l = 0; l < N; ++l) {
    e[l] = FMD_FMA(e[l] * r[l], r[l], r[l]) + 1.0;
    const U power = ((U)shifted[l] << 52) + bias;
    x[l] = x[l] < kLeast ? V{} : e[l] * (V)power;  // NaN stays
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
  constexpr int kVectors = 4;
  Index j = 0;
  for (; j + kVectors * FMD_LANES <= count; j += kVectors * FMD_LANES) {
    V x[kVectors];
    for (int l = 0; l < kVectors; ++l) x[l] = load(v + j + l * FMD_LANES);
    exp_of(x);
    for (int l = 0; l < kVectors; ++l) store(v + j + l * FMD_LANES, x[l]);
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
}  // namespace fmd::internal::kernels::FMD_ISA
