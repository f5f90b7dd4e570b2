#include "core/multinomial.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/binomial.h"
#include "core/simd.h"

namespace fmd::internal::kernels {
namespace {

constexpr Index kTables = 64;  // at a time: everything stays in the first-level cache

struct FirstTry {
  std::uint64_t key[kTables], counter[kTables];
  double n[kTables], v[kTables], u[kTables], k[kTables];
  std::int64_t state[kTables];
};

}  // namespace
}  // namespace fmd::internal::kernels

#define FMD_BODY "core/multinomial_body.h"
#include "core/simd_each.h"

namespace fmd::internal::kernels {
namespace {

void try_once(FirstTry& t, Index count, double p) { FMD_SELECT(first_try)(t, count, p); }

}  // namespace
}  // namespace fmd::internal::kernels

namespace fmd::internal {
namespace {

using kernels::FirstTry;
using kernels::kTables;

// One cell of all tables: binomial numbers of n[i] and p, by the same uniforms as
// draw_binomial.
void draw_cell(FirstTry& t, Index tables, double p, Index* counts, std::size_t cells) {
  const bool turned = p > 0.5;
  const double q = turned ? 1 - p : p;
  kernels::try_once(t, tables, q);
  for (Index i = 0; i < tables; ++i) {
    const auto n = static_cast<Index>(t.n[i]);
    Stream stream{t.key[i], t.counter[i]};
    Index k = 0;
    if (t.n[i] * q < 10) {
      k = n == 0 ? 0 : binomial_by_inversion(n, q, stream);
    } else {
      stream.counter += 2;
      k = static_cast<Index>(t.k[i]);
      if (t.state[i] < 2) {
        const BinomialByRejection draw(n, q);
        const double edge = 0.5 - std::abs(t.u[i]);
        if (t.state[i] < 1 || !draw.accepted(t.k[i], t.v[i], edge)) k = draw.draw(stream);
      }
    }
    t.counter[i] = stream.counter;
    const Index hits = turned ? n - k : k;
    counts[static_cast<std::size_t>(i) * cells] = hits;
    t.n[i] = static_cast<double>(n - hits);
  }
}

}  // namespace

void draw_tables(Index total, const std::vector<double>& probability, std::uint64_t seed,
                 std::string_view purpose, Index first, Index tables, Index* counts) {
  const std::size_t cells = probability.size();
  const std::uint64_t key = key_of(seed, purpose);
  std::vector<double> rest(cells + 1, 0.0);
  for (std::size_t c = cells; c-- > 0;) rest[c] = rest[c + 1] + probability[c];
  FirstTry t;
  for (Index begin = 0; begin < tables; begin += kTables) {
    const Index count = std::min(kTables, tables - begin);
    Index* to = counts + static_cast<std::size_t>(begin) * cells;
    for (Index i = 0; i < count; ++i) {
      const auto number = static_cast<std::uint64_t>(first + begin + i);
      t.key[i] = mix64(key ^ mix64(number + 2 * kGoldenStep));
      t.counter[i] = 0;
      t.n[i] = static_cast<double>(total);
    }
    for (std::size_t c = 0; c < cells; ++c) {
      if (probability[c] <= 0) continue;
      if (rest[c + 1] <= 0) {
        for (Index i = 0; i < count; ++i)
          to[static_cast<std::size_t>(i) * cells + c] = static_cast<Index>(t.n[i]);
        break;
      }
      draw_cell(t, count, std::min(1.0, probability[c] / rest[c]), to + c, cells);
    }
  }
}

}  // namespace fmd::internal
