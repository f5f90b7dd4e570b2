#include "fmd/pipeline/fisher.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "fmd/core/error.h"

namespace fmd {
namespace {

// Hits of the first group when n1 of all rows are dealt to it at random.
struct Hypergeometric {
  double n1, n2, hits;

  [[nodiscard]] double least() const { return std::max(0.0, hits - n2); }
  [[nodiscard]] double most() const { return std::min(n1, hits); }
  [[nodiscard]] double mode() const {
    return std::clamp(std::floor((n1 + 1) * (hits + 1) / (n1 + n2 + 2)), least(), most());
  }
  [[nodiscard]] double log_chance(double k) const {
    const auto choose = [](double n, double m) {
      return std::lgamma(n + 1) - std::lgamma(m + 1) - std::lgamma(n - m + 1);
    };
    return choose(n1, k) + choose(n2, hits - k) - choose(n1 + n2, hits);
  }
  // chance(k + 1) / chance(k)
  [[nodiscard]] double up(double k) const {
    return (n1 - k) * (hits - k) / ((k + 1) * (n2 - hits + k + 1));
  }

  // Chance of k and all beyond it, away from the mode.
  [[nodiscard]] double tail(double k, bool upwards) const {
    double term = 1, sum = 1;
    while (upwards ? k < most() : k > least()) {
      term *= upwards ? up(k) : 1 / up(k - 1);
      k += upwards ? 1 : -1;
      sum += term;
      if (term < 1e-17 * sum) break;
    }
    return sum;
  }
};

}  // namespace

double fisher_test(Index k1, Index n1, Index k2, Index n2) {
  if (k1 < 0 || k1 > n1 || k2 < 0 || k2 > n2) {
    throw Error(ErrorKind::bad_option,
                fmt::format("test: {} of {} and {} of {} are not shares", k1, n1, k2, n2),
                "hits are a part of the rows: give at most as many hits as rows");
  }
  if (n1 == 0 || n2 == 0) return 1;
  const Hypergeometric table{static_cast<double>(n1), static_cast<double>(n2),
                             static_cast<double>(k1 + k2)};
  const double k = static_cast<double>(k1), mode = table.mode();
  // Chances that differ only by rounding count as equal.
  const double own = table.log_chance(k), limit = own + 1e-7;
  if (table.log_chance(mode) <= limit) return 1;
  const bool above = k > mode;
  double sum = std::exp(own) * table.tail(k, above);
  // The nearest table on the other side that is as unlikely: chances fall from the mode on.
  double inside = mode, outside = above ? table.least() : table.most();
  if (table.log_chance(outside) <= limit) {
    while (std::abs(inside - outside) > 1) {
      const double middle = std::floor((inside + outside) / 2);
      (table.log_chance(middle) <= limit ? outside : inside) = middle;
    }
    sum += std::exp(table.log_chance(outside)) * table.tail(outside, !above);
  }
  return std::min(1.0, sum);
}

}  // namespace fmd
