#include "fmd/language/head_refit.h"

#include <cmath>

#include "core/check.h"
#include "core/gemm.h"

namespace fmd {
namespace {

struct RefitProblem {
  const VocabularyHead& head;
  const FloatMatrix& states;
  std::vector<ScoredSequence> text;  // without the sentence that is left out
  double tokens = 0;                 // of the whole text
  const HeadCurvature& curvature;
  double ridge = 0;
};

struct RefitPoint {
  Matrix M, G;
  double loss = 0;
};

RefitPoint refit_point(const RefitProblem& p, Matrix M, const Exec& exec) {
  const Index d = p.states.cols();
  const FloatMatrix changed = changed_states(p.states, {.M = M, .shift = {}});
  const HeadOutputs outputs = head_outputs(p.head, changed, true, exec);
  const Vector mean = mean_log_probabilities(p.head, changed, outputs, p.text);
  const Matrix FMA = p.curvature.F * M * p.curvature.A;
  RefitPoint point{.M = std::move(M), .G = {}, .loss = 0};
  FloatMatrix slope = FloatMatrix::Zero(p.states.rows(), d);  // of the loss in W' z
  for (std::size_t k = 0; k < p.text.size(); ++k) {
    point.loss -= mean[static_cast<Index>(k)] * static_cast<double>(p.text[k].size());
    for (const ScoredToken& token : p.text[k])
      slope.row(token.state) +=
          outputs.mean.row(token.state) - p.head.weight.row(token.token);
  }
  const Matrix left = slope.cast<double>() / p.tokens, right = p.states.cast<double>();
  point.G = p.ridge * FMA;
  gemm(As::transposed, As::is, d, d, left.rows(), {left.data(), d}, {right.data(), d}, 1.0,
       {point.G.data(), d});
  point.loss = point.loss / p.tokens + .5 * p.ridge * (point.M.array() * FMA.array()).sum();
  return point;
}

}  // namespace

HeadRefit refit_head(const VocabularyHead& head, const FloatMatrix& states,
                     const std::vector<ScoredSequence>& text,
                     std::optional<std::size_t> left_out, const HeadCurvature& curvature,
                     const Matrix& start, const HeadRefitOptions& options,
                     const Exec& exec) {
  require_option(options.ridge > 0, "language", "ridge", options.ridge, "> 0");
  require_option(options.residual > 0, "language", "residual", options.residual, "> 0");
  require_size("language", "a state", states.cols(), curvature.A.rows());
  RefitProblem problem{head, states, {}, 0, curvature, options.ridge};
  for (std::size_t k = 0; k < text.size(); ++k) {
    problem.tokens += static_cast<double>(text[k].size());
    if (left_out != k) problem.text.push_back(text[k]);
  }
  if (problem.text.empty())
    throw Error(ErrorKind::bad_data, "language: there is no text to fit the head to",
                "give at least two sentences");
  const Index d = states.cols();
  const Matrix zero = Matrix::Zero(d, d);
  const auto size_of = [&](const Matrix& G) {
    return std::sqrt((G.array() * whitened_direction(curvature, G).array()).sum());
  };
  const double most = size_of(refit_point(problem, zero, exec).G);
  RefitPoint at = refit_point(problem, start.size() == 0 ? zero : start, exec);
  HeadRefit fit;
  double step = 1;
  for (; fit.rounds < options.rounds; ++fit.rounds) {
    const Matrix D = whitened_direction(curvature, at.G);
    const double slope = (at.G.array() * D.array()).sum();
    if (std::sqrt(slope) <= options.residual * most) break;
    RefitPoint next = refit_point(problem, at.M - step * D, exec);
    while (next.loss > at.loss - .25 * step * slope && step > 1e-6) {
      step /= 2;
      next = refit_point(problem, at.M - step * D, exec);
    }
    if (!(next.loss < at.loss)) break;  // rounding: no better point can be told apart
    at = std::move(next);
    step = std::min(1.0 / (1e-3 + options.ridge), 1.3 * step);
  }
  fit.size = most > 0 ? size_of(at.G) / most : 0;
  fit.loss = at.loss;
  fit.M = std::move(at.M);
  return fit;
}

}  // namespace fmd
