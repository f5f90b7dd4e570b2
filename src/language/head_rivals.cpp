#include "fmd/language/head_rivals.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "language/algebra.h"
#include "language/head_block.h"

namespace fmd {
namespace {

// The loss of linear_svm() with its margins.
struct SvmPoint {
  Vector w, margin;
  double loss = 0;
};

SvmPoint svm_point(const Matrix& X, const Vector& y, double C, Vector w) {
  SvmPoint point{.w = std::move(w), .margin = {}, .loss = 0};
  point.margin = Vector::Ones(X.rows()) - y.cwiseProduct(X * point.w);
  point.loss = .5 * point.w.squaredNorm() + C * point.margin.cwiseMax(0).squaredNorm();
  return point;
}

// Rows inside the margin.
Matrix inside(const Matrix& X, const Vector& margin) {
  Matrix rows((margin.array() > 0).count(), X.cols());
  for (Index i = 0, k = 0; i < X.rows(); ++i)
    if (margin[i] > 0) rows.row(k++) = X.row(i);
  return rows;
}

// An orthonormal basis of the row space, as rows.
Matrix row_space(const Matrix& rows) {
  const RowSpace space = row_space_of(rows);
  const Vector& s = space.values;
  const double least =
      s.size() == 0 ? 0
                    : s[0] * static_cast<double>(std::max(rows.rows(), rows.cols())) *
                          std::numeric_limits<double>::epsilon();
  Index rank = 0;
  while (rank < s.size() && s[rank] > least) ++rank;
  return space.directions.topRows(rank);
}

void require_rows(const Matrix& X, const char* method) {
  if (X.rows() == 0 || X.cols() == 0)
    throw Error(ErrorKind::bad_data, fmt::format("{}: there are no rows", method),
                "give sentences of each group");
}

int classes_of(const std::vector<int>& label) {
  int classes = 0;
  for (const int k : label) {
    if (k < 0)
      throw Error(ErrorKind::bad_data, fmt::format("inlp: label {} is below 0", k));
    classes = std::max(classes, k + 1);
  }
  std::vector<Index> rows(static_cast<std::size_t>(classes), 0);
  for (const int k : label) ++rows[static_cast<std::size_t>(k)];
  if (classes < 2 || std::find(rows.begin(), rows.end(), 0) != rows.end())
    throw Error(ErrorKind::bad_data, "inlp: a group has no sentence",
                "at least two groups are needed, each with sentences");
  return classes;
}

// One row of weights for each class; one row for two classes.
Matrix fit_classes(const Matrix& X, const std::vector<int>& label, int classes,
                   double& accuracy, const Exec& exec) {
  const Index count = classes == 2 ? 1 : classes;
  Matrix W(count, X.cols());
  exec.for_each(count, [&](Index k) {
    Vector y(X.rows());
    const int positive = classes == 2 ? 1 : static_cast<int>(k);
    for (Index i = 0; i < y.size(); ++i)
      y[i] = label[static_cast<std::size_t>(i)] == positive ? 1 : -1;
    W.row(k) = linear_svm(X, y, 1).transpose();
  });
  const Matrix scores = product(X, W.transpose());
  Index right = 0;
  for (Index i = 0; i < X.rows(); ++i) {
    Index best = 0;
    if (count == 1)
      best = scores(i, 0) > 0 ? 1 : 0;
    else
      scores.row(i).maxCoeff(&best);
    right += best == label[static_cast<std::size_t>(i)] ? 1 : 0;
  }
  accuracy = static_cast<double>(right) / static_cast<double>(X.rows());
  return W;
}

}  // namespace

Vector linear_svm(const Matrix& X, const Vector& y, double C) {
  require_rows(X, "linear_svm");
  require_size("linear_svm", "y", y.size(), X.rows());
  require_option(C > 0, "linear_svm", "C", C, "> 0");
  SvmPoint at = svm_point(X, y, C, Vector::Zero(X.cols()));
  double start = 0;
  // Newton on a piecewise quadratic loss: it ends when no row changes its side.
  for (int round = 0; round < 100; ++round) {
    const Matrix rows = inside(X, at.margin);
    const Vector slack = at.margin.cwiseMax(0).cwiseProduct(y);
    const Vector gradient = at.w - 2 * C * (X.transpose() * slack);
    if (round == 0) start = gradient.norm();
    if (gradient.norm() <= 1e-12 * start) break;
    Matrix H = 2 * C * gram(rows);
    H.diagonal().array() += 1;
    const CholeskyFactor factor(std::move(H));
    if (!factor.ok()) break;  // numbers that are too large: as without progress
    const Vector step = -factor.solve(gradient);
    const double slope = gradient.dot(step);
    double t = 1;
    SvmPoint next = svm_point(X, y, C, at.w + step);
    while (next.loss > at.loss + 1e-4 * t * slope && t > 1e-9) {
      t /= 2;
      next = svm_point(X, y, C, at.w + t * step);
    }
    if (!(next.loss < at.loss)) break;  // rounding: no better point can be told apart
    at = std::move(next);
  }
  return at.w;
}

InlpResult inlp(const Matrix& X, const std::vector<int>& label, int iterations,
                const Exec& exec) {
  require_rows(X, "inlp");
  require_size("inlp", "the labels", static_cast<Index>(label.size()), X.rows());
  require_option(iterations > 0, "inlp", "iterations", iterations, "> 0");
  const int classes = classes_of(label);
  const Index d = X.cols();
  InlpResult result{.projection = Matrix::Identity(d, d), .accuracy = {}, .removed = 0};
  Matrix removed = Matrix::Zero(d, d);
  Matrix left = X;
  for (int k = 0; k < iterations; ++k) {
    double accuracy = 0;
    const Matrix W = fit_classes(left, label, classes, accuracy, exec);
    result.accuracy.push_back(accuracy);
    const Matrix basis = row_space(W);
    if (basis.rows() == 0) break;
    removed += gram(basis);
    const Matrix all = row_space(removed);
    result.removed = all.rows();
    result.projection = Matrix::Identity(d, d) - gram(all);
    left = product(X, result.projection);
    exec.report("INLP", k + 1, iterations);
    if (result.removed == d) break;
  }
  return result;
}

Matrix sentence_directions(const std::vector<Matrix>& variants, int components) {
  if (variants.size() < 2)
    throw Error(ErrorKind::bad_data, "SentenceDebias: fewer than two variants",
                "each sentence needs a variant for each group");
  require_rows(variants[0], "SentenceDebias");
  const Index n = variants[0].rows(), d = variants[0].cols();
  require_option(components > 0 && components <= d, "SentenceDebias", "components",
                 components, "1 .. length of a state");
  Matrix mean = Matrix::Zero(n, d);
  std::vector<Matrix> scaled;
  for (const Matrix& variant : variants) {
    require_size("SentenceDebias", "a variant", variant.rows(), n);
    require_size("SentenceDebias", "a row", variant.cols(), d);
    scaled.push_back(variant.rowwise().normalized());
    mean += scaled.back() / static_cast<double>(variants.size());
  }
  Matrix scatter = Matrix::Zero(d, d);
  for (const Matrix& variant : scaled) scatter += gram(variant - mean);
  const SymmetricEigen eigen = symmetric_eigen(std::move(scatter));
  Matrix directions(components, d);
  for (int k = 0; k < components; ++k)
    directions.row(k) = eigen.vectors.col(d - 1 - k).transpose();
  return directions;
}

Matrix projection_without(const Matrix& directions) {
  const Matrix basis = row_space(directions);
  return Matrix::Identity(directions.cols(), directions.cols()) - gram(basis);
}

HeadChange leace(const Matrix& X, const Matrix& Z) {
  require_rows(X, "LEACE");
  require_size("LEACE", "Z", Z.rows(), X.rows());
  const Index d = X.cols();
  const auto n = static_cast<double>(X.rows());
  const Vector mean = X.colwise().mean().transpose();
  const Matrix centred = X.rowwise() - mean.transpose();
  const Matrix cross = product(centred.transpose(), Z.rowwise() - Z.colwise().mean()) / n;
  const SymmetricEigen eigen = symmetric_eigen(gram(centred) / n);
  // Directions in which X does not vary hold nothing: they stay.
  const double least =
      eigen.values[d - 1] * static_cast<double>(d) * std::numeric_limits<double>::epsilon();
  Vector up = Vector::Zero(d), down = Vector::Zero(d);
  for (Index k = 0; k < d; ++k)
    if (eigen.values[k] > least) {
      up[k] = std::sqrt(eigen.values[k]);
      down[k] = 1 / up[k];
    }
  const Matrix& V = eigen.vectors;
  const Matrix whiten = product(V * down.asDiagonal(), V.transpose());
  const Matrix colour = product(V * up.asDiagonal(), V.transpose());
  const RowSpace space = row_space_of(product(whiten, cross).transpose());
  Index rank = 0;
  while (rank < space.values.size() && space.values[rank] > 1e-9) ++rank;
  const Matrix held = gram(space.directions.topRows(rank));
  HeadChange change;
  change.M = -product(colour, product(held, whiten));
  change.shift = -change.M * mean;
  return change;
}

std::vector<std::vector<double>> self_debias(const VocabularyHead& head,
                                             const FloatMatrix& states,
                                             const FloatMatrix& asked,
                                             std::span<const ScoredSequence> sequences,
                                             const SelfDebiasOptions& options,
                                             const Exec& exec) {
  require_size("self-debias", "the states that were asked", asked.rows(), states.rows());
  require_size("self-debias", "a state", states.cols(), head.cols());
  require_size("self-debias", "a state that was asked", asked.cols(), head.cols());
  require_option(options.lambda >= 0, "self-debias", "lambda", options.lambda, ">= 0");
  require_option(options.epsilon > 0 && options.epsilon <= 1, "self-debias", "epsilon",
                 options.epsilon, "in (0, 1]");
  // Where each state's tokens go.
  struct Place {
    TokenId token;
    std::size_t sequence, at;
  };
  std::vector<std::vector<Place>> wanted(static_cast<std::size_t>(states.rows()));
  std::vector<std::vector<double>> log_p(sequences.size());
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    log_p[s].resize(sequences[s].size());
    for (std::size_t t = 0; t < sequences[s].size(); ++t) {
      const ScoredToken& token = sequences[s][t];
      if (token.state < 0 || token.state >= states.rows() || token.token < 0 ||
          token.token >= head.vocabulary())
        throw Error(ErrorKind::bad_shape, "self-debias: a token has no state or no word");
      wanted[static_cast<std::size_t>(token.state)].push_back({token.token, s, t});
    }
  }
  const Index blocks = (states.rows() + kStateRows - 1) / kStateRows;
  exec.for_each(blocks, [&](Index block) {
    const Index first = block * kStateRows;
    const Index count = std::min(kStateRows, states.rows() - first);
    FloatMatrix p, biased;
    static_cast<void>(probabilities(head, states, first, count, p));
    static_cast<void>(probabilities(head, asked, first, count, biased));
    const auto lambda = static_cast<float>(options.lambda);
    biased = p.array() * (-lambda * (biased - p).array().max(0.0F))
                             .exp()
                             .max(static_cast<float>(options.epsilon));
    for (Index i = 0; i < count; ++i) {
      const double log_sum = std::log(biased.row(i).cast<double>().sum());
      for (const Place& place : wanted[static_cast<std::size_t>(first + i)])
        log_p[place.sequence][place.at] =
            std::log(static_cast<double>(biased(i, place.token))) - log_sum;
    }
    exec.report("self-debias", block + 1, blocks);
  });
  return log_p;
}

}  // namespace fmd
