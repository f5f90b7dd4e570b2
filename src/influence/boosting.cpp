#include "fmd/influence/boosting.h"

#include <algorithm>
#include <cmath>

#include <Eigen/Dense>

#include "core/check.h"
#include "core/index.h"

namespace fmd {
namespace {

constexpr double kAllowed = 1e-3;   // of the largest leaf value: leaves that are refitted
constexpr int kRounds = 6;          // of finding which leaves have the larger lambda
constexpr double kSameBase = 1e-4;  // between a base and the log-odds of the labels
const char* const kUnlike =
    "explain knows boosting with a logistic loss on all rows: no subsampling, dart, alpha, "
    "max_delta_step or class weights; check that --train has all training rows and no "
    "others, and give --eta and --lambda if they are known";

double sigmoid(double z) { return 1 / (1 + std::exp(-z)); }

}  // namespace

Boosting::Boosting(const LinearHead& head, const Rows& train, const Vector& theta,
                   const BoostingOptions& options) {
  require_size("boosting", "theta", theta.size(), head.parameters());
  require_size("boosting", "y", std::ssize(train.y), train.X->rows());
  if (head.outputs() != 1 || head.link() != Link::sigmoid)
    throw Error(ErrorKind::unsupported,
                "explain: boosted trees are explained for two classes only",
                "use audit and debias, which take more classes");
  if (train.size() == 0)
    throw Error(ErrorKind::bad_data, "boosting: there are no training rows",
                "give at least one row");
  read_rows(train, theta);
  theta_ = own_ = theta;
  extra_ = Vector::Zero(theta.size());
  base_ = offset_;
  const double prior = base_of(weight_);
  base_fitted_ = std::abs(base_ - prior) < kSameBase;
  bool found = fits(options);
  if (!found && offset_ == 0) {  // a base may be in the first tree
    base_ = prior;
    base_fitted_ = true;
    own_.segment(first_[0], last_[0] - first_[0]).array() -= base_;
    found = fits(options) || fits_with_categories(options);
  }
  if (!found)
    throw Error(ErrorKind::unsupported,
                fmt::format("explain: the leaf values are not those of plain boosting on "
                            "these rows: fitted again (eta {:.4g}, lambda {:.4g}) they "
                            "differ by up to {:.2g}",
                            eta_, lambda_, residual_),
                kUnlike);
}

bool Boosting::fits(const BoostingOptions& options) {
  extra_ = Vector::Zero(theta_.size());
  solve_rates(options);
  residual_ = (fitted(weight_) - theta_).cwiseAbs().maxCoeff();
  return residual_ <= kAllowed * theta_.cwiseAbs().maxCoeff();
}

bool Boosting::fits_with_categories(const BoostingOptions& options) {
  const double more = options.category_lambda;
  for (int round = 0; round < kRounds && more > 0; ++round) {
    Vector z = Vector::Constant(static_cast<Index>(rows_), base_);
    for (std::size_t t = 0; t < trees_; ++t) {
      const Sums sums = sums_of(t, z, weight_);
      for (Index l = 0; l < sums.G.size(); ++l) {
        const Index leaf = first_[t] + l;
        const auto miss = [&](double extra) {
          return std::abs(own_[leaf] + eta_ * sums.G[l] / (sums.H[l] + lambda_ + extra));
        };
        extra_[leaf] = sums.H[l] > 0 && miss(more) < miss(0) ? more : 0;
      }
      const std::int32_t* const own = leaf_.data() + t * rows_;
      for (std::size_t i = 0; i < rows_; ++i) z[static_cast<Index>(i)] += own_[own[i]];
    }
    solve_rates(options);
    residual_ = (fitted(weight_) - theta_).cwiseAbs().maxCoeff();
    if (residual_ <= kAllowed * theta_.cwiseAbs().maxCoeff()) return true;
  }
  return false;
}

Index Boosting::category_leaves() const { return (extra_.array() > 0).count(); }

void Boosting::read_rows(const Rows& train, const Vector& theta) {
  rows_ = at(train.size());
  Scratch scratch;
  for (Index b = 0; b < block_count(train.size()); ++b) {
    const FeatureBlock block = train.block(b, scratch);
    const std::size_t first = at(b * kBlockRows);
    if (b == 0) {
      trees_ = at(block.start[1] - block.start[0]);
      leaf_.resize(trees_ * rows_);
      offset_ = block.offset == nullptr ? 0 : block.offset[0];
    }
    for (Index i = 0; i < block.rows; ++i) {
      const Index from = block.start[at(i)];
      require_size("boosting", "a row", block.start[at(i) + 1] - from,
                   static_cast<Index>(trees_));
      for (std::size_t t = 0; t < trees_; ++t)
        leaf_[t * rows_ + first + at(i)] = block.column[at(from) + t];
    }
  }
  for (std::size_t t = 0; t < trees_; ++t) {
    const auto own =
        std::minmax_element(leaf_.begin() + static_cast<Index>(t * rows_),
                            leaf_.begin() + static_cast<Index>((t + 1) * rows_));
    first_.push_back(*own.first);
    last_.push_back(*own.second + 1);
  }
  // Leaves that no row reaches belong to the tree before the next one.
  for (std::size_t t = 0; t < trees_; ++t) {
    first_[t] = t == 0 ? 0 : last_[t - 1];
    if (t + 1 == trees_) last_[t] = theta.size();
  }
  for (Index i = 0; i < train.size(); ++i) {
    y_.push_back(train.label(i) == 1 ? 1 : 0);
    weight_.push_back(train.label(i) < 0 ? 0 : train.weight_of(i));
  }
}

double Boosting::base_of(const std::vector<double>& weight) const {
  double all = 0, ones = 0;
  for (std::size_t i = 0; i < rows_; ++i) {
    all += weight[i];
    ones += weight[i] * y_[i];
  }
  const double mean = ones / all;
  return std::log(mean / (1 - mean));
}

Boosting::Sums Boosting::sums_of(std::size_t tree, const Vector& z,
                                 const std::vector<double>& weight) const {
  Sums sums{Vector::Zero(last_[tree] - first_[tree]),
            Vector::Zero(last_[tree] - first_[tree])};
  const std::int32_t* const leaf = leaf_.data() + tree * rows_;
  for (std::size_t i = 0; i < rows_; ++i) {
    const double p = sigmoid(z[static_cast<Index>(i)]);
    const Index l = leaf[i] - first_[tree];
    sums.G[l] += weight[i] * (p - y_[i]);
    sums.H[l] += weight[i] * p * (1 - p);
  }
  return sums;
}

// theta H = -lambda theta - eta G for every leaf: two unknowns, least squares.
void Boosting::solve_rates(const BoostingOptions& options) {
  eta_ = options.eta;
  lambda_ = options.lambda;
  if (eta_ > 0 && lambda_ >= 0) return;
  Vector z = Vector::Constant(static_cast<Index>(rows_), base_);
  Eigen::Matrix2d A = Eigen::Matrix2d::Zero();
  Eigen::Vector2d b = Eigen::Vector2d::Zero();
  for (std::size_t t = 0; t < trees_; ++t) {
    const Sums sums = sums_of(t, z, weight_);
    for (Index l = 0; l < sums.G.size(); ++l) {
      if (sums.H[l] == 0) continue;
      const double value = own_[first_[t] + l];
      const Eigen::Vector2d row(-value, -sums.G[l]);
      A += row * row.transpose();
      b += row * (value * (sums.H[l] + extra_[first_[t] + l]));
    }
    const std::int32_t* const leaf = leaf_.data() + t * rows_;
    for (std::size_t i = 0; i < rows_; ++i) z[static_cast<Index>(i)] += own_[leaf[i]];
  }
  if (eta_ > 0) {
    lambda_ = std::max(0.0, (b[0] - A(0, 1) * eta_) / A(0, 0));
  } else if (lambda_ >= 0) {
    eta_ = (b[1] - A(0, 1) * lambda_) / A(1, 1);
  } else {
    const Eigen::Vector2d x = A.ldlt().solve(b);
    lambda_ = std::max(0.0, x[0]);
    eta_ = x[1];
  }
}

Vector Boosting::fitted(const std::vector<double>& weight) const {
  Vector theta = theta_;
  const double base = base_fitted_ ? base_of(weight) : base_;
  Vector z = Vector::Constant(static_cast<Index>(rows_), base);
  for (std::size_t t = 0; t < trees_; ++t) {
    const Sums sums = sums_of(t, z, weight);
    const std::int32_t* const leaf = leaf_.data() + t * rows_;
    for (Index l = 0; l < sums.G.size(); ++l) {
      const double own = sums.H[l] + lambda_ + extra_[first_[t] + l];
      // A leaf that no row reaches keeps its value.
      if (sums.H[l] > 0) theta[first_[t] + l] = -eta_ * sums.G[l] / own;
    }
    for (std::size_t i = 0; i < rows_; ++i) z[static_cast<Index>(i)] += theta[leaf[i]];
  }
  // A base that was fitted anew has its place in the first tree.
  theta.segment(first_[0], last_[0] - first_[0]).array() += base - offset_;
  return theta;
}

Vector Boosting::refit(std::span<const Index> without) const {
  std::vector<double> weight = weight_;
  for (const Index entry : without) weight[at(entry)] = 0;
  return fitted(weight);
}

Matrix Boosting::changes(const Matrix& gradients) const {
  require_size("boosting", "a gradient", gradients.rows(), theta_.size());
  const auto rows = static_cast<Index>(rows_);
  const Index measures = gradients.cols();
  Matrix change = Matrix::Zero(rows, measures), a = Matrix::Zero(rows, measures);
  Vector z = Vector::Constant(rows, base_);
  for (std::size_t t = 0; t < trees_; ++t)
    for (std::size_t i = 0; i < rows_; ++i)
      z[static_cast<Index>(i)] += own_[leaf_[t * rows_ + i]];
  for (std::size_t t = trees_; t-- > 0;) {
    const std::int32_t* const leaf = leaf_.data() + t * rows_;
    for (std::size_t i = 0; i < rows_; ++i) z[static_cast<Index>(i)] -= own_[leaf[i]];
    const Sums sums = sums_of(t, z, weight_);
    Matrix tb = gradients.middleRows(first_[t], last_[t] - first_[t]);
    for (Index i = 0; i < rows; ++i) tb.row(leaf[i] - first_[t]) += a.row(i);
    for (Index l = 0; l < tb.rows(); ++l)
      tb.row(l) /= sums.H[l] + lambda_ + extra_[first_[t] + l];
    for (Index i = 0; i < rows; ++i) {
      const double p = sigmoid(z[i]), h = p * (1 - p), g = p - y_[at(i)];
      const double value = own_[leaf[i]];
      const auto c = tb.row(leaf[i] - first_[t]);
      change.row(i) -= (eta_ * g + value * h) * c;
      a.row(i) -= weight_[at(i)] * (eta_ * h + value * h * (1 - 2 * p)) * c;
    }
  }
  if (base_fitted_) {
    double all = 0, ones = 0;
    for (std::size_t i = 0; i < rows_; ++i) {
      all += weight_[i];
      ones += weight_[i] * y_[i];
    }
    const double mean = ones / all;
    const Eigen::RowVectorXd pull =
        a.colwise().sum() +
        gradients.middleRows(first_[0], last_[0] - first_[0]).colwise().sum();
    for (Index i = 0; i < rows; ++i)
      change.row(i) += (y_[at(i)] - mean) / (all * mean * (1 - mean)) * pull;
  }
  for (Index i = 0; i < rows; ++i) change.row(i) *= -weight_[at(i)];
  return change;
}

}  // namespace fmd
