#include "baselines/box_lp.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/index.h"

namespace fmd::internal {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kTolerance = 1e-9;
constexpr int kMostPivots = 10000;

using Two = std::array<double, 2>;

// Variables 0 .. n-1 are x, n and n + 1 the slacks of the two rows, which are >= 0.
class DualSimplex {
 public:
  explicit DualSimplex(const BoxProgram& p) : p_(p), n_(p.c.size()), basis_{n_, n_ + 1} {
    scale_ = {row_scale(p.a0, p.b0), row_scale(p.a1, p.b1)};
    upper_.assign(static_cast<std::size_t>(n_), 0);
    for (Index j = 0; j < n_; ++j) upper_[at(j)] = p.c[j] < 0 ? 1 : 0;
  }

  [[nodiscard]] BoxSolution run() {
    BoxSolution solution;
    for (; solution.pivots < kMostPivots; ++solution.pivots) {
      refresh();
      const int row = leaving();
      if (row < 0) {
        finish(solution);
        return solution;
      }
      if (!pivot(row)) return solution;  // no feasible point
    }
    throw Error(ErrorKind::numerical, "reweigh: the linear program did not end");
  }

 private:
  static double row_scale(const Vector& a, double b) {
    const double size =
        std::max(a.size() == 0 ? 0.0 : a.cwiseAbs().maxCoeff(), std::abs(b));
    return size > 0 ? 1 / size : 1;
  }

  [[nodiscard]] Two column(Index j) const {
    if (j >= n_) return {j == n_ ? 1.0 : 0.0, j == n_ ? 0.0 : 1.0};
    return {scale_[0] * p_.a0[j], scale_[1] * p_.a1[j]};
  }
  [[nodiscard]] double cost(Index j) const { return j < n_ ? p_.c[j] : 0; }
  [[nodiscard]] bool basic(Index j) const { return j == basis_[0] || j == basis_[1]; }

  // Inverse of the basis, multipliers y, values of the basic variables.
  void refresh() {
    const Two first = column(basis_[0]), second = column(basis_[1]);
    const double det = first[0] * second[1] - second[0] * first[1];
    inverse_ = {{{second[1] / det, -second[0] / det}, {-first[1] / det, first[0] / det}}};
    const double c0 = cost(basis_[0]), c1 = cost(basis_[1]);
    y_ = {inverse_[0][0] * c0 + inverse_[1][0] * c1,
          inverse_[0][1] * c0 + inverse_[1][1] * c1};
    Two rest{scale_[0] * p_.b0, scale_[1] * p_.b1};
    for (Index j = 0; j < n_; ++j) {
      if (basic(j) || upper_[at(j)] == 0) continue;
      const Two a = column(j);
      rest[0] -= a[0];
      rest[1] -= a[1];
    }
    for (std::size_t r = 0; r < 2; ++r)
      value_[r] = inverse_[r][0] * rest[0] + inverse_[r][1] * rest[1];
  }

  // The basic variable that is furthest outside its bounds; -1: none is.
  [[nodiscard]] int leaving() const {
    int row = -1;
    double worst = kTolerance;
    for (int r = 0; r < 2; ++r) {
      const double high = basis_[at(r)] < n_ ? 1 : kInfinity;
      const double out = std::max(-value_[at(r)], value_[at(r)] - high);
      if (out > worst) {
        worst = out;
        row = r;
      }
    }
    return row;
  }

  struct Entry {
    double ratio, alpha;
    Index j;
  };

  bool pivot(int row) {
    const bool below = value_[at(row)] < 0;
    double slope = below ? -value_[at(row)] : value_[at(row)] - 1;
    std::vector<Entry> entries;
    for (Index j = 0; j < n_ + 2; ++j) {
      if (basic(j)) continue;
      const Two a = column(j);
      double alpha = inverse_[at(row)][0] * a[0] + inverse_[at(row)][1] * a[1];
      if (below) alpha = -alpha;
      const bool is_upper = j < n_ && upper_[at(j)] != 0;
      if (is_upper ? alpha > -1e-12 : alpha < 1e-12) continue;
      const double reduced = cost(j) - y_[0] * a[0] - y_[1] * a[1];
      entries.push_back({std::max(0.0, reduced / alpha), alpha, j});
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return a.ratio < b.ratio || (a.ratio == b.ratio && a.j < b.j);
    });
    for (const Entry& e : entries) {
      const double after = e.j < n_ ? slope - std::abs(e.alpha) : -kInfinity;
      if (after >= 0) {  // it goes to its other bound, and the pivot goes on
        upper_[at(e.j)] ^= 1;
        slope = after;
        continue;
      }
      const Index left = basis_[at(row)];
      if (left < n_) upper_[at(left)] = below ? 0 : 1;
      basis_[at(row)] = e.j;
      return true;
    }
    return false;
  }

  void finish(BoxSolution& solution) const {
    solution.feasible = true;
    solution.x.resize(n_);
    for (Index j = 0; j < n_; ++j) solution.x[j] = upper_[at(j)];
    for (std::size_t r = 0; r < 2; ++r)
      if (basis_[r] < n_) solution.x[basis_[r]] = std::clamp(value_[r], 0.0, 1.0);
    solution.objective = p_.c.dot(solution.x);
    solution.dual = y_[0] * scale_[0] * p_.b0 + y_[1] * scale_[1] * p_.b1;
    for (Index j = 0; j < n_; ++j) {
      const Two a = column(j);
      solution.dual += std::min(0.0, p_.c[j] - y_[0] * a[0] - y_[1] * a[1]);
    }
  }

  const BoxProgram& p_;
  Index n_;
  std::array<Index, 2> basis_;
  Two scale_{}, y_{}, value_{};
  std::array<Two, 2> inverse_{};
  std::vector<std::uint8_t> upper_;  // 1: at 1
};

}  // namespace

BoxSolution solve_box(const BoxProgram& program) {
  require_size("reweigh", "a0", program.a0.size(), program.c.size());
  require_size("reweigh", "a1", program.a1.size(), program.c.size());
  return DualSimplex(program).run();
}

}  // namespace fmd::internal
