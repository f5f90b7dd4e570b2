#include "unlearn/pair_outer.h"

#include "core/lapack.h"

namespace fmd::internal {
namespace {

struct FeatureEntry {
  Index feature;
  double value;
};

// into[a, b] += weight left_a right_b.
void scatter(const std::vector<FeatureEntry>& left, const std::vector<FeatureEntry>& right,
             double weight, Index stride, double* into) {
  for (const FeatureEntry& a : left) {
    double* row = into + a.feature * stride;
    const double scaled = weight * a.value;
    for (const FeatureEntry& b : right) row[b.feature] += scaled * b.value;
  }
}

using LowerRows = std::vector<std::vector<double>>;

double* lower_row(LowerRows& rows, Index a) {
  std::vector<double>& row = rows[static_cast<std::size_t>(a)];
  if (row.empty()) row.assign(static_cast<std::size_t>(a) + 1, 0.0);
  return row.data();
}

// The lower triangle of weight x x^T, for entries in ascending order.
void scatter_lower(const std::vector<FeatureEntry>& x, double weight, LowerRows& into) {
  for (std::size_t a = 0; a < x.size(); ++a) {
    double* row = lower_row(into, x[a].feature);
    const double scaled = weight * x[a].value;
    for (std::size_t b = 0; b <= a; ++b) row[x[b].feature] += scaled * x[b].value;
  }
}

// The lower triangle of weight (x y^T + y x^T).
void scatter_cross(const std::vector<FeatureEntry>& x, const std::vector<FeatureEntry>& y,
                   double weight, LowerRows& into) {
  for (const FeatureEntry& b : y) {
    const double scaled = weight * b.value;
    for (const FeatureEntry& a : x) {
      const double term = scaled * a.value;
      if (a.feature > b.feature) {
        lower_row(into, a.feature)[b.feature] += term;
      } else {
        lower_row(into, b.feature)[a.feature] += a.feature == b.feature ? 2 * term : term;
      }
    }
  }
}

bool same_row(const FeatureBlock& block, Index i, Index j) {
  const auto u = [&](Index r) {
    return static_cast<std::size_t>(block.start[static_cast<std::size_t>(r)]);
  };
  const std::size_t a = u(i), b = u(j), size = u(i + 1) - a;
  if (u(j + 1) - b != size) return false;
  for (std::size_t e = 0; e < size; ++e) {
    if (block.column[a + e] != block.column[b + e]) return false;
    if (!block.value.empty() && block.value[a + e] != block.value[b + e]) return false;
  }
  return true;
}

}  // namespace

PairOuterSum::PairOuterSum(Index inputs, Index outputs)
    : stride_(inputs + 1), outputs_(outputs) {}

double* PairOuterSum::block(Index pair) {
  if (sum_.size() == 0) sum_ = Matrix::Zero(class_pairs(outputs_) * stride_, stride_);
  return sum_.data() + pair * stride_ * stride_;
}

void PairOuterSum::add(const FeatureBlock& c, const Delta& delta, Index first,
                       const PairWeights& weights) {
  if (delta.sparse && outputs_ == 1) {
    add_row_pairs(c, delta, first, weights);
  } else if (delta.sparse) {
    add_sparse(c, delta, first, weights);
  } else {
    add_dense(c, delta, first, weights);
  }
}

void PairOuterSum::add_dense(const FeatureBlock& c, const Delta& delta, Index first,
                             const PairWeights& weights) {
  const bool only_delta = weights.phi_phi.size() == 0;
  const Index rows = weights.delta_delta.rows();
  const Index stacked = only_delta ? rows : 2 * rows;
  Matrix x(stacked, stride_), scaled(stacked, stride_);  // delta rows, then phi rows
  for (Index i = 0; i < rows; ++i) {
    x.row(i) << delta.dense.row(first + i), 0.0;
    if (only_delta) continue;
    x.row(rows + i).setZero();
    x(rows + i, stride_ - 1) = 1;
    for_each_entry(c, first + i, [&](Index j, double value) { x(rows + i, j) = value; });
  }
  const int n = static_cast<int>(stride_), k = static_cast<int>(stacked);
  const double one = 1;
  for (Index pair = 0; pair < class_pairs(outputs_); ++pair) {
    for (Index i = 0; i < rows; ++i) {
      scaled.row(i) = weights.delta_delta(i, pair) * x.row(i);
      if (only_delta) continue;
      scaled.row(i) += weights.delta_phi(i, pair) * x.row(rows + i);
      scaled.row(rows + i) = weights.phi_phi(i, pair) * x.row(rows + i) +
                             weights.phi_delta(i, pair) * x.row(i);
    }
    dgemm_("N", "T", &n, &n, &k, &one, scaled.data(), &n, x.data(), &n, &one, block(pair),
           &n);
  }
}

void PairOuterSum::add_sparse(const FeatureBlock& c, const Delta& delta, Index first,
                              const PairWeights& weights) {
  const bool only_delta = weights.phi_phi.size() == 0;
  const Index rows = weights.delta_delta.rows();
  const Index pairs = class_pairs(outputs_);
  std::vector<FeatureEntry> phi, difference;
  // A row that is in several pairs adds its phi phi^T once, with the sum of the weights.
  Vector together = Vector::Zero(pairs);
  for (Index i = 0; i < rows; ++i) {
    difference.clear();
    delta.for_each(first + i, [&](Index j, double value) {
      difference.push_back({j, value});
    });
    if (!only_delta) {
      if (i == 0 || !same_row(c, first + i - 1, first + i)) {
        phi.clear();
        for_each_entry(c, first + i, [&](Index j, double value) {
          phi.push_back({j, value});
        });
        phi.push_back({stride_ - 1, 1.0});
      }
      together += weights.phi_phi.row(i).transpose();
    }
    const bool last = only_delta || i + 1 == rows || !same_row(c, first + i, first + i + 1);
    for (Index pair = 0; pair < pairs; ++pair) {
      double* into = block(pair);
      scatter(difference, difference, weights.delta_delta(i, pair), stride_, into);
      if (only_delta) continue;
      scatter(phi, difference, weights.phi_delta(i, pair), stride_, into);
      scatter(difference, phi, weights.delta_phi(i, pair), stride_, into);
      if (last) scatter(phi, phi, together[pair], stride_, into);
    }
    if (last) together.setZero();
  }
}

// One output: the same in the lower triangle alone.
void PairOuterSum::add_row_pairs(const FeatureBlock& c, const Delta& delta, Index first,
                                 const PairWeights& weights) {
  rows_.resize(static_cast<std::size_t>(stride_));
  const bool only_delta = weights.phi_phi.size() == 0;
  const Index rows = weights.delta_delta.rows();
  std::vector<FeatureEntry> phi, difference;
  double together = 0;
  for (Index i = 0; i < rows; ++i) {
    difference.clear();
    delta.for_each(first + i, [&](Index j, double value) {
      difference.push_back({j, value});
    });
    scatter_lower(difference, weights.delta_delta(i, 0), rows_);
    if (only_delta) continue;
    if (i == 0 || !same_row(c, first + i - 1, first + i)) {
      phi.clear();
      for_each_entry(c, first + i, [&](Index j, double value) {
        phi.push_back({j, value});
      });
      phi.push_back({stride_ - 1, 1.0});
    }
    together += weights.phi_phi(i, 0);
    scatter_cross(phi, difference, weights.phi_delta(i, 0), rows_);
    if (i + 1 < rows && same_row(c, first + i, first + i + 1)) continue;
    scatter_lower(phi, together, rows_);
    together = 0;
  }
}

void PairOuterSum::merge(const PairOuterSum& other) {
  if (sum_.size() == 0)
    sum_ = other.sum_;
  else if (other.sum_.size() > 0)
    sum_ += other.sum_;
  if (rows_.empty()) {
    rows_ = other.rows_;
    return;
  }
  for (std::size_t a = 0; a < other.rows_.size(); ++a) {
    const std::vector<double>& from = other.rows_[a];
    std::vector<double>& row = rows_[a];
    if (row.empty()) {
      row = from;
      continue;
    }
    for (std::size_t b = 0; b < from.size(); ++b) row[b] += from[b];
  }
}

Matrix PairOuterSum::matrix() const {
  Matrix full = Matrix::Zero(outputs_ * stride_, outputs_ * stride_);
  if (outputs_ == 1) {
    if (sum_.size() > 0) full = sum_;
    for (Index a = 0; a < std::ssize(rows_); ++a) {
      const std::vector<double>& row = rows_[static_cast<std::size_t>(a)];
      for (Index b = 0; b < std::ssize(row); ++b)
        full(a, b) += row[static_cast<std::size_t>(b)];
    }
    for (Index a = 0; a < stride_; ++a)
      for (Index b = 0; b < a; ++b) full(b, a) = full(a, b);
    return full;
  }
  if (sum_.size() == 0) return full;
  Index pair = 0;
  for (Index k = 0; k < outputs_; ++k)
    for (Index l = 0; l < k; ++l, ++pair) {
      const Matrix B = sum_.middleRows(pair * stride_, stride_);
      full.block(k * stride_, l * stride_, stride_, stride_) = B;
      full.block(l * stride_, k * stride_, stride_, stride_) = B.transpose();
      const Matrix half = 0.5 * (B + B.transpose());
      full.block(k * stride_, k * stride_, stride_, stride_) -= half;
      full.block(l * stride_, l * stride_, stride_, stride_) -= half;
    }
  return full;
}

void PairOuterSum::save(ByteWriter& out) const {
  out.put(stride_);
  out.put(outputs_);
  out.put_array(
      std::span<const double>(sum_.data(), static_cast<std::size_t>(sum_.size())));
  out.put(static_cast<std::uint64_t>(rows_.size()));
  for (const std::vector<double>& row : rows_) out.put_array(std::span<const double>(row));
}

PairOuterSum PairOuterSum::load(ByteReader& in) {
  PairOuterSum sum;
  sum.stride_ = in.get<Index>();
  sum.outputs_ = in.get<Index>();
  const auto values = in.get_array<double>();
  const Index cols = std::max<Index>(sum.stride_, 1);
  sum.sum_ = Eigen::Map<const Matrix>(values.data(),
                                      static_cast<Index>(values.size()) / cols, cols);
  sum.rows_.resize(static_cast<std::size_t>(in.get<std::uint64_t>()));
  for (std::vector<double>& row : sum.rows_) row = in.get_array<double>();
  return sum;
}

}  // namespace fmd::internal
