#include "fmd/baselines/dfr.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "baselines/dense_matrix.h"
#include "core/check.h"
#include "core/index.h"
#include "fmd/baselines/sparse_logistic.h"
#include "fmd/core/rng.h"

namespace fmd {
namespace {

constexpr std::size_t kSmallCell = 10;

using Cells = std::map<std::pair<std::int32_t, std::int32_t>, std::vector<Index>>;

// Balancing a cell of a few rows would leave only a few rows of every other cell. Such
// cells are dropped, as long as each label keeps a cell.
void drop_small(Cells& cells) {
  bool kept[2] = {false, false};
  for (const auto& [cell, rows] : cells)
    if (rows.size() >= kSmallCell) kept[cell.first] = true;
  if (!kept[0] || !kept[1]) return;
  std::erase_if(cells, [](const auto& cell) { return cell.second.size() < kSmallCell; });
}

// Rows of X by label and group. Cells without rows do not exist, so they are not balanced.
Cells make_cells(const Rows& rows, std::span<const std::int32_t> group) {
  Cells cells;
  bool has[2] = {false, false};
  for (Index i = 0; i < rows.size(); ++i) {
    const std::int32_t y = rows.label(i), g = group[at(rows.row(i))];
    if (y < 0 || g < 0) continue;
    has[y] = true;
    cells[{y, g}].push_back(rows.row(i));
  }
  drop_small(cells);
  for (int label = 0; label < 2; ++label)
    if (!has[label]) {
      throw Error(ErrorKind::bad_data, fmt::format("dfr: no row has label {}", label),
                  "give rows of both classes");
    }
  return cells;
}

// As many rows of every cell as the smallest one has, without replacement.
std::vector<Index> balanced_draw(const Cells& cells, Rng& rng) {
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const auto& [cell, rows] : cells) least = std::min(least, rows.size());
  std::vector<Index> drawn;
  for (const auto& [cell, rows] : cells) {
    const std::vector<Index> order = permutation(std::ssize(rows), rng);
    for (std::size_t k = 0; k < least; ++k) drawn.push_back(rows[at(order[k])]);
  }
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

// The features of a draw that vary, standardised. The others get no weight.
struct StandardRows {
  Matrix X;
  Vector mean, scale;
  std::vector<Index> varying;
};

StandardRows standardised(const Features& features, std::span<const Index> drawn) {
  Matrix X = dense_matrix(features, drawn);
  StandardRows rows;
  rows.mean = X.colwise().mean().transpose();
  X.rowwise() -= rows.mean.transpose();
  rows.scale = (X.colwise().squaredNorm() / static_cast<double>(X.rows())).cwiseSqrt();
  for (Index j = 0; j < X.cols(); ++j)
    if (rows.scale[j] > 1e-12) rows.varying.push_back(j);
  rows.X.resize(X.rows(), std::ssize(rows.varying));
  for (Index k = 0; k < rows.X.cols(); ++k) {
    const Index j = rows.varying[at(k)];
    rows.X.col(k) = X.col(j) / rows.scale[j];
  }
  return rows;
}

// Parameters for every C on one draw, in terms of the original features. From the smallest
// C, whose fit has the fewest weights, each fit starts where the one before ended.
std::vector<Vector> fit_draw(const LinearHead& head, const Rows& rows,
                             std::span<const Index> drawn, std::span<const double> C) {
  const StandardRows s = standardised(*rows.X, drawn);
  std::vector<std::int32_t> y;
  for (const Index row : drawn) y.push_back(rows.y[at(row)]);
  std::vector<std::size_t> order(C.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return C[a] < C[b]; });
  std::vector<Vector> thetas(C.size());
  SparseLogistic found;
  for (const std::size_t c : order) {
    found = fit_sparse_logistic(s.X, y, 1 / (C[c] * static_cast<double>(s.X.rows())), found,
                                1e-7);
    Vector w = Vector::Zero(head.inputs());
    for (std::size_t k = 0; k < s.varying.size(); ++k) {
      const Index j = s.varying[k];
      w[j] = found.w[static_cast<Index>(k)] / s.scale[j];
    }
    thetas[c] = head.from(w.transpose(), Vector::Constant(1, found.b - w.dot(s.mean)));
  }
  return thetas;
}

}  // namespace

std::vector<Vector> fit_dfr(const LinearHead& head, const Rows& rows,
                            std::span<const std::int32_t> group, std::span<const double> C,
                            Index draws, const Exec& exec) {
  if (head.outputs() != 1) {
    throw Error(ErrorKind::bad_shape, "dfr: needs a model of two classes");
  }
  if (!head.whole())
    throw Error(ErrorKind::unsupported, "dfr: needs a head with an intercept");
  require_option(draws >= 1, "dfr", "draws", draws, ">= 1");
  for (const double c : C) require_option(c > 0, "dfr", "C", c, "> 0");
  require_size("dfr", "group", std::ssize(group), rows.X->rows());
  require_size("dfr", "features", rows.X->cols(), head.inputs());
  const Cells cells = make_cells(rows, group);
  std::vector<std::vector<Vector>> all(at(draws));
  exec.for_each(draws, [&](Index k) {
    Rng rng(exec.seed, "dfr", static_cast<std::uint64_t>(k));
    const std::vector<Index> drawn = balanced_draw(cells, rng);
    all[at(k)] = fit_draw(head, rows, drawn, C);
  });
  std::vector<Vector> means(C.size(), Vector::Zero(head.parameters()));
  for (const auto& draw : all)
    for (std::size_t c = 0; c < C.size(); ++c) means[c] += draw[c];
  for (Vector& mean : means) mean /= static_cast<double>(draws);
  return means;
}

Vector fit_dfr(const LinearHead& head, const Rows& rows,
               std::span<const std::int32_t> group, const DfrOptions& options,
               const Exec& exec) {
  const double C[] = {options.C};
  return fit_dfr(head, rows, group, C, options.draws, exec)[0];
}

}  // namespace fmd
