#include "unlearn/split_cholesky.h"

#include <cmath>
#include <utility>

#include "core/lapack.h"

namespace fmd::internal {

void SplitCholesky::find_block(const Matrix& A) {
  const Index n = A.rows();
  first_ = count_ = 0;
  for (Index i = 0, start = 0; i < n; ++i) {
    for (Index j = i; j-- > start;)
      if (A(j, i) != 0) start = j + 1;
    if (i + 1 - start > count_) {
      first_ = start;
      count_ = i + 1 - start;
    }
  }
  if (4 * count_ < n) count_ = 0;
}

bool SplitCholesky::factor(Matrix& A) {
  find_block(A);
  int size = static_cast<int>(A.rows() - count_), info = 0;
  if (count_ == 0) {
    factor_ = std::move(A);
  } else {
    const Vector diagonal = A.diagonal().segment(first_, count_);
    if (!(diagonal.minCoeff() > 0)) return false;
    root_ = diagonal.cwiseSqrt().cwiseInverse();
    const Index rest = A.rows() - count_, after = rest - first_;
    side_.resize(rest, count_);
    side_.topRows(first_) = A.block(0, first_, first_, count_);
    side_.bottomRows(after) = A.block(first_, first_ + count_, count_, after).transpose();
    side_ *= root_.asDiagonal();
    factor_.resize(rest, rest);
    factor_.topLeftCorner(first_, first_) = A.topLeftCorner(first_, first_);
    factor_.topRightCorner(first_, after) = A.topRightCorner(first_, after);
    factor_.bottomRightCorner(after, after) = A.bottomRightCorner(after, after);
    if (size == 0) return true;
    const int block = static_cast<int>(count_);
    const double less = -1, one = 1;
    dsyrk_("L", "T", &size, &block, &less, side_.data(), &block, &one, factor_.data(),
           &size);
  }
  if (size > 0) dpotrf_("L", &size, factor_.data(), &size, &info);
  return info == 0;
}

void SplitCholesky::solve(Vector& v) const {
  const Index rest = factor_.rows(), after = rest - first_;
  const int size = static_cast<int>(rest), one = 1;
  const auto solve_rest = [&](Vector& b) {
    int info = 0;
    if (size > 0) dpotrs_("L", &size, &one, factor_.data(), &size, b.data(), &size, &info);
  };
  if (count_ == 0) return solve_rest(v);
  Vector block = v.segment(first_, count_).cwiseProduct(root_), b(rest);
  b << v.head(first_), v.tail(after);
  b.noalias() -= side_ * block;
  solve_rest(b);
  block.noalias() -= side_.transpose() * b;
  v.head(first_) = b.head(first_);
  v.segment(first_, count_) = block.cwiseProduct(root_);
  v.tail(after) = b.tail(after);
}

}  // namespace fmd::internal
