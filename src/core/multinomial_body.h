// Compiled once for each instruction set, see core/simd.h: the first try of
// BinomialByRejection for many n at a time, which succeeds for three of four.

namespace fmd::kernels::FMD_ISA {
namespace {

// 53 random bits as a number in [0, 1), by halves that doubles hold exactly.
FMD_TARGET inline double unit_of(std::uint64_t bits) {
  const std::uint64_t x = bits >> 11;
  const double high = std::bit_cast<double>((x >> 32) | 0x4530000000000000ULL) - 0x1p84;
  const double low =
      std::bit_cast<double>((x & 0xffffffffULL) | 0x4330000000000000ULL) - 0x1p52;
  return (high + low) * 0x1p-53;
}

FMD_TARGET void first_try(FirstTry& t, Index count, double p) {
  for (Index i = 0; i < count; ++i) {
    t.v[i] = unit_of(mix64(t.key[i] + kGoldenStep * (t.counter[i] + 1)));
    t.u[i] = unit_of(mix64(t.key[i] + kGoldenStep * (t.counter[i] + 2))) - 0.5;
  }
  for (Index i = 0; i < count; ++i) {
    const double n = t.n[i], variance = n * p * (1 - p);
    const double b = 1.15 + 2.53 * std::sqrt(variance);
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
    t.state[i] = (inside & 1) + (inside & sure & 1);  // 0 refused, 1 unsure, 2 accepted
  }
}

}  // namespace
}  // namespace fmd::kernels::FMD_ISA
