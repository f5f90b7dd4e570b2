// Compiled once for each instruction set, see core/simd.h: the first try of
// BinomialByRejection for many n at a time. It succeeds for three of four.

namespace fmd::internal::kernels::FMD_ISA {
namespace {

// 53 random bits as a number in [0, 1), by halves that doubles hold exactly.
FMD_TARGET inline double unit_of(std::uint64_t bits) {
  const std::uint64_t x = bits >> 11;
  const double high = std::bit_cast<double>((x >> 32) | 0x4530000000000000ULL) - 0x1p84;
  const double low =
      std::bit_cast<double>((x & 0xffffffffULL) | 0x4330000000000000ULL) - 0x1p52;
  return (high + low) * 0x1p-53;
}

// log x of a normal number, as minus_log in metrics/tally/tally_body.h.
FMD_TARGET inline double log_of(double x) {
  constexpr std::uint64_t kHalfRoot = 0x3fe6a09e667f3bcd;  // sqrt(1/2)
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t exponent = (bits - kHalfRoot + (std::uint64_t{1024} << 52)) >> 52;
  const double m = std::bit_cast<double>(bits - ((exponent - 1024) << 52));
  const double e =
      std::bit_cast<double>(exponent | (std::uint64_t{1075} << 52)) - (0x1p52 + 1024);
  const double s = (m - 1) / (m + 1), q = s * s;
  double a = 1.0 / 21;
  for (const double c : {1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7,
                         1.0 / 5, 1.0 / 3})
    a = a * q + c;
  return e * 0x1.62e42fefa39efp-1 + 2 * (s * q * a + s);
}

FMD_TARGET void first_try(FirstTry& t, Index count, double p) {
  for (Index i = 0; i < count; ++i) {
    t.v[i] = unit_of(mix64(t.key[i] + kGoldenStep * (t.counter[i] + 1)));
    t.u[i] = unit_of(mix64(t.key[i] + kGoldenStep * (t.counter[i] + 2))) - 0.5;
  }
  for (Index i = 0; i < count; ++i) {
    const double n = t.n[i], variance = n * p * (1 - p);
    const double root = std::sqrt(variance), b = 1.15 + 2.53 * root;
    const double a = -0.0873 + 0.0248 * b + 0.01 * p;
    const double edge = 0.5 - std::abs(t.u[i]);
    const double x = (2 * a / edge + b) * t.u[i] + n * p + 0.5;
    // Masks, not branches: all bits of an integer set where a condition holds.
    const double near = (x + 0x1p52) - 0x1p52;
    const std::int64_t above = near > x ? -1 : 0;
    const std::int64_t one = std::bit_cast<std::int64_t>(1.0);
    t.k[i] = near - std::bit_cast<double>(above & one);
    const std::int64_t inside = (x >= 0 ? -1 : 0) & (x < n + 1 ? -1 : 0);
    const std::int64_t sure =
        (edge >= 0.07 ? -1 : 0) & ((0.92 - t.v[i]) * b >= 4.2 ? -1 : 0);
    // The bounds of BinomialByRejection::accepted decide most of the others.
    const double hat = (2.83 + 5.1 / b) * root / (a / (edge * edge) + b);
    const double height = log_of(t.v[i] * hat + 0x1p-1000);
    const double place = (n + 1) * p, whole = (place + 0x1p52) - 0x1p52;
    const std::int64_t over = whole > place ? -1 : 0;
    const double mode = whole - std::bit_cast<double>(over & one);
    const double far = std::abs(t.k[i] - mode);
    const double rho =
        1.001 * far / variance * ((far * (far / 3 + 0.625) + 1.0 / 6) / variance + 0.5);
    const double middle = -far * far / (2 * variance);
    const std::int64_t bounded = far < variance / 2 - 1 ? -1 : 0;
    const std::int64_t below = bounded & (height < middle - rho ? -1 : 0);
    const std::int64_t beyond = bounded & (height > middle + rho ? -1 : 0);
    const std::int64_t taken = inside & (sure | below);
    const std::int64_t refused = ~inside | (beyond & ~sure);
    t.state[i] = (~refused & 1) + (taken & 1);  // 0 refused, 1 unsure, 2 accepted
  }
}

}  // namespace
}  // namespace fmd::internal::kernels::FMD_ISA
