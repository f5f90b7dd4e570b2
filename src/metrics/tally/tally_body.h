// Compiled once for each instruction set, see core/simd.h. Plain loops over arrays that the
// compiler turns into vectors; no branch depends on a row.

namespace fmd::internal::kernels::FMD_ISA {
namespace {

// x in whole units of 2^-unit, for 0 <= x < 2^(52 - unit): the low bits of x + 2^(52 -
// unit).
FMD_TARGET inline std::uint64_t units(double x, double shift) {
  return std::bit_cast<std::uint64_t>(x + shift) & ((std::uint64_t{1} << 52) - 1);
}

// -log x for 2^-52 <= x <= 1: x = 2^e m with m in [sqrt(1/2), sqrt(2)), and log m = 2
// atanh(s), s = (m - 1) / (m + 1), |s| <= .172, by its series to below 2^-53.
FMD_TARGET inline double minus_log(double x) {
  constexpr std::uint64_t kHalfRoot = 0x3fe6a09e667f3bcd;  // sqrt(1/2)
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t shifted = bits - kHalfRoot + (std::uint64_t{1024} << 52);
  const std::uint64_t exponent = shifted >> 52;  // 1024 + e
  const double m = std::bit_cast<double>(bits - ((exponent - 1024) << 52));
  // exponent as a double: the low bits of 2^52 + exponent.
  const double e =
      std::bit_cast<double>(exponent | (std::uint64_t{1075} << 52)) - (0x1p52 + 1024);
  const double s = (m - 1) / (m + 1), q = s * s;
  double a = 1.0 / 21;
  a = a * q + 1.0 / 19;
  a = a * q + 1.0 / 17;
  a = a * q + 1.0 / 15;
  a = a * q + 1.0 / 13;
  a = a * q + 1.0 / 11;
  a = a * q + 1.0 / 9;
  a = a * q + 1.0 / 7;
  a = a * q + 1.0 / 5;
  a = a * q + 1.0 / 3;
  const double log_m = 2 * (s * q * a + s);
  return -(e * 0x1.62e42fefa39efp-1 + log_m);
}

FMD_TARGET void take_two(const TallyInput& in, TallyRows& rows) {
  const Index n = in.rows;
  const double use_1 = in.favorable == 1 ? 1 : 0, use_0 = in.favorable == 0 ? 1 : 0;
  for (Index i = 0; i < n; ++i) rows.top[i] = in.p[2 * i + 1];
  for (Index i = 0; i < n; ++i) rows.label_p[i] = in.p[2 * i];
  for (Index i = 0; i < n; ++i)
    rows.score[i] = use_1 * rows.top[i] + use_0 * rows.label_p[i];
  if (in.y == nullptr) {
    for (Index i = 0; i < n; ++i) rows.label_p[i] = 1;
    return;
  }
  for (Index i = 0; i < n; ++i) {
    const double other = in.y[i] < 0 ? 1.0 : rows.label_p[i];
    rows.label_p[i] = in.y[i] == 1 ? rows.top[i] : other;
  }
}

FMD_TARGET void take_many(const TallyInput& in, TallyRows& rows) {
  const Index classes = in.classes;
  for (Index i = 0; i < in.rows; ++i) {
    const double* p = in.p + i * classes;
    Index best = 0;
    for (Index k = 1; k < classes; ++k) best = p[k] > p[best] ? k : best;
    const std::int32_t y = in.y == nullptr ? -1 : in.y[i];
    const bool known = y >= 0 && y < classes;
    rows.top[i] = p[best];
    rows.score[i] = in.favorable < 0 ? 0.0 : p[in.favorable];
    rows.label_p[i] = known ? p[y] : 1.0;
    rows.hit[i] = y == static_cast<std::int32_t>(best) ? 1 : 0;
  }
}

// All three numbers of every row are probabilities (no NaN).
FMD_TARGET bool are_probabilities(const TallyRows& rows, Index n) {
  std::int64_t good = -1;
  for (Index i = 0; i < n; ++i) {
    const double a = rows.score[i], b = rows.label_p[i], c = rows.top[i];
    const std::int64_t ok = (a >= 0 ? -1 : 0) & (a <= 1 ? -1 : 0) & (b >= 0 ? -1 : 0) &
                            (b <= 1 ? -1 : 0) & (c >= 0 ? -1 : 0) & (c <= 1 ? -1 : 0);
    good &= ok;
  }
  return good != 0;
}

FMD_TARGET void fix_points(const TallyInput& in, TallyRows& rows) {
  const Index n = in.rows;
  constexpr double kScoreShift = 0x1p2, kLossShift = 0x1p7;  // 2^(52 - unit)
  for (Index i = 0; i < n; ++i) {
    const double s = rows.score[i];
    rows.p[i] = units(s, kScoreShift);
    rows.squares[i] = units(s * s, kScoreShift);
    rows.top_units[i] = units(rows.top[i], kScoreShift);
  }
  // Two loops: in one, the compiler would branch on the constant.
  alignas(64) double x[kTallyRows];
  for (Index i = 0; i < n; ++i)
    x[i] = rows.label_p[i] > 0x1p-52 ? rows.label_p[i] : 0x1p-52;
  for (Index i = 0; i < n; ++i) rows.loss[i] = units(minus_log(x[i]), kLossShift);
}

FMD_TARGET bool take_labels(const TallyInput& in, TallyRows& rows) {
  const Index n = in.rows;
  if (in.y == nullptr) {
    for (Index i = 0; i < n; ++i) rows.label[i] = 0;
    return true;
  }
  std::uint32_t most = 0;
  for (Index i = 0; i < n; ++i) {
    rows.label[i] = static_cast<std::uint32_t>(in.y[i]) + 1;
    most = rows.label[i] > most ? rows.label[i] : most;
  }
  return most <= static_cast<std::uint32_t>(in.classes);
}

FMD_TARGET void take_outcomes(const TallyInput& in, TallyRows& rows) {
  constexpr std::int32_t kFine = kScoreBins, kTenths = kCoarseBins;
  const Index n = in.rows;
  const auto favorable = static_cast<std::uint32_t>(in.favorable) + 1;
  const bool named = in.favorable >= 0;
  alignas(64) std::uint32_t shift[kTallyRows];
  for (Index i = 0; i < n; ++i) {
    const auto decided = static_cast<std::uint32_t>(in.decision[i]) + 1;
    const std::uint32_t chosen = decided == favorable ? 16 : 0;
    const std::uint32_t right = decided == rows.label[i] ? 32 : 0;
    shift[i] = (named ? chosen : 0) + (rows.label[i] == 0 ? 0 : right);
  }
  for (Index i = 0; i < n; ++i) rows.outcome[i] = std::uint64_t{1} << shift[i];
  for (Index i = 0; i < n; ++i) {
    const auto fine = static_cast<std::int32_t>(rows.score[i] * kFine);
    const auto bin = static_cast<std::uint32_t>(fine < kFine ? fine : kFine - 1);
    const std::uint32_t known = rows.label[i] == favorable ? 2 : 1;
    rows.bin[i] = (rows.label[i] == 0 ? 0 : known) * kFine + bin;
  }
  alignas(64) std::uint32_t bin[kTallyRows];
  for (Index i = 0; i < n; ++i) {
    const auto tenth = static_cast<std::int32_t>(rows.top[i] * kTenths);
    bin[i] = static_cast<std::uint32_t>(tenth < kTenths ? tenth : kTenths - 1);
  }
  for (Index i = 0; i < n; ++i) rows.coarse[i] = rows.label[i] == 0 ? kTenths : bin[i];
  if (in.classes == 2)
    for (Index i = 0; i < n; ++i) rows.hit[i] = rows.label[i] == 2 ? 1 : 0;
}

FMD_TARGET bool prepare(const TallyInput& in, TallyRows& rows) {
  if (!take_labels(in, rows)) return false;
  if (in.classes == 2)
    take_two(in, rows);
  else
    take_many(in, rows);
  if (!are_probabilities(rows, in.rows)) return false;
  fix_points(in, rows);
  take_outcomes(in, rows);
  return true;
}

FMD_TARGET bool add_codes(const std::int32_t* code, Index n, std::uint32_t values,
                          std::uint32_t stride, bool begin, TallyRows& to) {
  std::uint32_t most = 0;
  const std::uint32_t keep = begin ? 0 : 1;
  for (Index i = 0; i < n; ++i) {
    const std::uint32_t own = static_cast<std::uint32_t>(code[i]) + 1;
    most = own > most ? own : most;
    to.group[i] = to.group[i] * keep + own * stride;
  }
  return most <= values;
}

FMD_TARGET void scatter_sums(const TallyRows& rows, Index n, std::uint32_t labels,
                             std::uint64_t* sums) {
  for (Index i = 0; i < n; ++i) {
    std::uint64_t* to = sums + std::size_t{rows.group[i] * labels + rows.label[i]} * 4;
    to[0] += rows.p[i];
    to[1] += rows.squares[i];
    to[2] += rows.loss[i];
    to[3] += rows.outcome[i];
  }
}

}  // namespace
}  // namespace fmd::internal::kernels::FMD_ISA
