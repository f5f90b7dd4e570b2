#pragma once

#include <span>
#include <vector>

#include "fmd/language/head_change.h"

namespace fmd {

// Rival methods for language models. The first three change the last state by a projection,
// so each is a HeadChange too. They are fitted to embeddings of sentences (the mean of a
// sentence's last states), one row each.

struct InlpResult {
  Matrix projection;             // d x d
  std::vector<double> accuracy;  // of each classifier on the rows it was fitted to
  Index removed = 0;             // dimensions
};
// Iterative null-space projection: fit a linear classifier of the group (squared hinge
// loss, no intercept, C = 1, one against the rest), remove the directions that it uses, fit
// again. label: 0 .. classes - 1. The projection is I - (projection on the row space of the
// sum of all removed). Throws Error(bad_data: one class only, no rows; bad_shape;
// bad_option).
[[nodiscard]] InlpResult inlp(const Matrix& X, const std::vector<int>& label,
                              int iterations, const Exec& exec);

// w of min |w|^2 / 2 + C sum max(0, 1 - y w'x)^2, y = +-1: LinearSVC without an intercept.
[[nodiscard]] Vector linear_svm(const Matrix& X, const Vector& y, double C);

// SentenceDebias: variants[k] has sentence j with the words of group k in row j. Rows are
// scaled to length 1, the mean over the variants of a sentence is taken off, and the first
// `components` principal directions are what is removed. Returns them as rows. Throws
// Error(bad_data: fewer than two variants, no rows; bad_shape; bad_option).
[[nodiscard]] Matrix sentence_directions(const std::vector<Matrix>& variants,
                                         int components);
// I - the projection on the rows, which need not be orthogonal.
[[nodiscard]] Matrix projection_without(const Matrix& directions);

// LEACE: the smallest change after which no linear classifier finds Z in X better than a
// constant. x - W^+ U U' W (x - mean) with W = cov(X)^(-1/2) and U the directions of
// W cov(X, Z). Z: one column per class. Throws Error(bad_data, bad_shape).
[[nodiscard]] HeadChange leace(const Matrix& X, const Matrix& Z);

struct SelfDebiasOptions {
  double lambda = 50;    // decay; >= 0
  double epsilon = .01;  // least factor; in (0, 1]
};
// Self-debias: p~(w) is in proportion to p(w) max(exp(-lambda m_w), epsilon), with
// m_w = max(0, p_b(w) - p(w)), and p_b the model after a sentence that asks for the bias.
// Row i of `asked` is the state of row i of `states` with that sentence in front. The
// log p~ of each scored token. Throws Error(bad_shape, bad_option).
[[nodiscard]] std::vector<std::vector<double>> self_debias(
    const VocabularyHead& head, const FloatMatrix& states, const FloatMatrix& asked,
    std::span<const ScoredSequence> sequences, const SelfDebiasOptions& options,
    const Exec& exec);

}  // namespace fmd
