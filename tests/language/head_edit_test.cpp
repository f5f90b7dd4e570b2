#include "fmd/language/head_edit.h"

#include <cmath>

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <gtest/gtest.h>

#include "fmd/core/rng.h"
#include "support/close.h"

namespace fmd {
namespace {

// d = 8, 50 words, random states; two target terms with three pairs each.
struct HeadProblem8 {
  VocabularyHead head;
  FloatMatrix states, neutral;
  std::vector<HeadPair> pairs;

  explicit HeadProblem8(bool bias = true, std::uint64_t seed = 3) {
    Rng rng(seed, "head problem");
    const auto fill = [&](FloatMatrix& m, Index rows, double scale) {
      m.resize(rows, 8);
      for (Index i = 0; i < m.size(); ++i)
        m.data()[i] = static_cast<float>(scale * rng.normal());
    };
    fill(head.weight, 50, .5);
    fill(states, 24, 1);
    fill(neutral, 150, 1);
    if (bias)
      for (int k = 0; k < 50; ++k)
        head.bias.push_back(static_cast<float>(.2 * rng.normal()));
    for (Index p = 0; p < 6; ++p) {
      HeadPair pair;
      pair.group = p / 3;
      const auto token = [&] { return static_cast<TokenId>(rng.below(50)); };
      const TokenId end = token();
      // A common first token, another word, a common ending, and different lengths.
      pair.c = {{4 * p, 7}, {4 * p + 1, token()}, {4 * p + 2, end}};
      pair.cbar = {
          {4 * p, 7}, {4 * p + 1, token()}, {4 * p + 1, token()}, {4 * p + 3, end}};
      pairs.push_back(pair);
    }
  }
};

// A dense reference in double: mean log p of a sequence under W (I + M).
double reference_score(const HeadProblem8& problem, const Matrix& M,
                       const ScoredSequence& tokens) {
  const Matrix W = problem.head.weight.cast<double>();
  double sum = 0;
  for (const ScoredToken& token : tokens) {
    const Vector h = problem.states.row(token.state).cast<double>();
    Vector z = W * (h + M * h);
    for (Index k = 0; k < z.size() && !problem.head.bias.empty(); ++k)
      z[k] += static_cast<double>(problem.head.bias[static_cast<std::size_t>(k)]);
    sum += z[token.token] - std::log(z.array().exp().sum());
  }
  return sum / static_cast<double>(tokens.size());
}

double reference_preference(const HeadProblem8& problem, const Matrix& M, std::size_t i) {
  return reference_score(problem, M, problem.pairs[i].c) -
         reference_score(problem, M, problem.pairs[i].cbar);
}

Vector unit(Index n, Index k) {
  Vector e = Vector::Zero(n);
  e[k] = 1;
  return e;
}

PairGradients gradients_of(const HeadProblem8& problem) {
  const HeadOutputs outputs = head_outputs(problem.head, problem.states, true, {});
  return pair_gradients(problem.head, problem.states, outputs, problem.pairs);
}

TEST(HeadEdit, GradientsAgreeWithFiniteDifferences) {
  for (const bool bias : {true, false}) {
    const HeadProblem8 problem(bias);
    const PairGradients gradients = gradients_of(problem);
    const Matrix zero = Matrix::Zero(8, 8);
    for (std::size_t i = 0; i < problem.pairs.size(); ++i) {
      const auto k = static_cast<Index>(i);
      EXPECT_NEAR(gradients.r[k], reference_preference(problem, zero, i), 1e-5);
      Matrix numeric(8, 8);
      for (Index a = 0; a < 64; ++a) {
        Matrix plus = zero, minus = zero;
        plus.data()[a] = 1e-5;
        minus.data()[a] = -1e-5;
        numeric.data()[a] = (reference_preference(problem, plus, i) -
                             reference_preference(problem, minus, i)) /
                            2e-5;
      }
      EXPECT_CLOSE(gradients.sum(unit(6, k)), numeric, 1e-5);
    }
    // The first token stands in both sentences at one state: one row for it.
    EXPECT_EQ(gradients.first, (std::vector<Index>{0, 4, 8, 12, 16, 20, 24}));
  }
}

TEST(HeadEdit, CurvatureIsThatOfItsDefinition) {
  const HeadProblem8 problem;
  const HeadCurvature curvature = head_curvature(problem.head, problem.neutral, .01, {});
  const Matrix W = problem.head.weight.cast<double>(), H = problem.neutral.cast<double>();
  Matrix A = Matrix::Zero(8, 8), F = Matrix::Zero(8, 8);
  for (Index i = 0; i < H.rows(); ++i) {
    Vector z = W * H.row(i).transpose();
    for (Index k = 0; k < 50; ++k)
      z[k] += static_cast<double>(problem.head.bias[static_cast<std::size_t>(k)]);
    const Vector p = z.array().exp() / z.array().exp().sum();
    const Vector mu = W.transpose() * p;
    A += H.row(i).transpose() * H.row(i) / 150;
    F += (W.transpose() * p.asDiagonal() * W - mu * mu.transpose()) / 150;
  }
  A += .01 * A.trace() / 8 * Matrix::Identity(8, 8);
  F += .01 * F.trace() / 8 * Matrix::Identity(8, 8);
  EXPECT_CLOSE(curvature.A, A, 1e-6);
  EXPECT_CLOSE(curvature.F, F, 1e-5);
  ThreadPool pool(3);
  const HeadCurvature threads =
      head_curvature(problem.head, problem.neutral, .01, {.pool = &pool});
  EXPECT_EQ(threads.A, curvature.A);
  EXPECT_EQ(threads.F, curvature.F);
}

TEST(HeadEdit, KernelAndDirectionAgreeWithTheDenseKronecker) {
  const HeadProblem8 problem;
  const HeadCurvature curvature = head_curvature(problem.head, problem.neutral, .01, {});
  const PairGradients gradients = gradients_of(problem);
  Eigen::MatrixXd kronecker(64, 64);  // of row-major vec(M): F (x) A
  for (Index i = 0; i < 8; ++i)
    for (Index j = 0; j < 8; ++j)
      kronecker.block(8 * i, 8 * j, 8, 8) = curvature.F(i, j) * curvature.A;
  Eigen::MatrixXd J(64, 6);
  for (Index i = 0; i < 6; ++i) {
    const Matrix G = gradients.sum(unit(6, i));
    J.col(i) = Eigen::Map<const Eigen::VectorXd>(G.data(), 64);
  }
  const Eigen::MatrixXd solved = kronecker.partialPivLu().solve(J);
  EXPECT_CLOSE(pair_kernel(curvature, gradients, {}), (J.transpose() * solved).eval(),
               1e-5);
  const Matrix D = whitened_direction(curvature, gradients.sum(unit(6, 2)));
  EXPECT_CLOSE(Eigen::Map<const Eigen::VectorXd>(D.data(), 64), solved.col(2), 1e-9);
  EXPECT_NEAR(predicted_kl(curvature, D), .5 * J.col(2).dot(solved.col(2)), 1e-9);
}

HeadEdit edit(const HeadProblem8& problem, const HeadEditOptions& options) {
  const HeadCurvature curvature = head_curvature(problem.head, problem.neutral, .01, {});
  const PairGradients gradients = gradients_of(problem);
  const HeadCurvature metric = metric_of(options.method, curvature);
  return edit_head(curvature, gradients, pair_kernel(metric, gradients, {}), options, {});
}

TEST(HeadEdit, AStepTakesBackItsShareOfTheMeanPreference) {
  const HeadProblem8 problem;
  const PairGradients gradients = gradients_of(problem);
  for (const HeadMethod method :
       {HeadMethod::step, HeadMethod::plain, HeadMethod::input_only}) {
    const HeadEdit found = edit(problem, {.method = method, .shares = {.5}, .max_kl = 1e9});
    double linear = 0;  // d mean r
    for (Index i = 0; i < 6; ++i)
      linear += (gradients.sum(unit(6, i)).array() * found.M.array()).sum() / 6;
    EXPECT_NEAR(linear, -.5 * gradients.r.mean(), 1e-9) << to_string(method);
    EXPECT_EQ(found.value, .5);
    EXPECT_EQ(found.groups, 2);
  }
}

TEST(HeadEdit, ThePredictedKlIsTheMeasuredOneForASmallStep) {
  const HeadProblem8 problem(false);
  const HeadCurvature curvature = head_curvature(problem.head, problem.neutral, 1e-9, {});
  const PairGradients gradients = gradients_of(problem);
  Matrix M = whitened_direction(curvature, gradients.sum(Vector::Constant(6, 1)));
  M *= std::sqrt(1e-4 / predicted_kl(curvature, M));
  const Matrix W = problem.head.weight.cast<double>();
  double exact = 0, kronecker = 0;
  for (Index i = 0; i < 150; ++i) {
    const Vector h = problem.neutral.row(i).cast<double>();
    const Vector z = W * h, y = z + W * (M * h);
    const Vector p = z.array().exp() / z.array().exp().sum();
    const double move = std::log(y.array().exp().sum()) - std::log(z.array().exp().sum());
    exact += (p.array() * (z - y).array()).sum() + move;
    kronecker += .5 * (p.dot((y - z).cwiseAbs2()) - std::pow(p.dot(y - z), 2));
  }
  EXPECT_NEAR(exact / 150, kronecker / 150, .02 * exact / 150);  // second order
  // F (x) A takes the word part and the state part for independent: the right size.
  EXPECT_NEAR(exact / 150, 1e-4, .5e-4);
}

TEST(HeadEdit, SolveInterpolatesAndChoosesWithinTheBudget) {
  const HeadProblem8 problem;
  const HeadEdit free =
      edit(problem, {.method = HeadMethod::solve, .lambdas = {1e9}, .max_kl = 1e9});
  const PairGradients gradients = gradients_of(problem);
  for (Index i = 0; i < 6; ++i) {
    const double linear = (gradients.sum(unit(6, i)).array() * free.M.array()).sum();
    EXPECT_NEAR(linear, -gradients.r[i], 1e-3);
  }
  const HeadEdit bounded =
      edit(problem,
           {.method = HeadMethod::solve, .lambdas = {1e-6, 1e9}, .max_kl = free.kl / 2});
  EXPECT_EQ(bounded.value, 1e-6);
  EXPECT_LE(bounded.kl, free.kl / 2);
  const HeadEdit none =
      edit(problem, {.method = HeadMethod::solve, .lambdas = {1e9}, .max_kl = free.kl / 2});
  EXPECT_EQ(none.M, Matrix::Zero(8, 8));
  EXPECT_TRUE(none.limited);
}

TEST(HeadEdit, LeftOutScoresComeFromTheOtherGroupsAlone) {
  const HeadProblem8 problem;
  const HeadCurvature curvature = head_curvature(problem.head, problem.neutral, .01, {});
  const PairGradients all = gradients_of(problem);
  const Matrix K = pair_kernel(curvature, all, {});
  const HeadEdit found = edit_head(curvature, all, K, {.shares = {1.7}, .max_kl = 1e9}, {});
  // By hand: each half after the step of the other half.
  Vector after = all.r;
  for (const Index first : {0, 3}) {
    Vector w = Vector::Zero(6);
    w.segment(first == 0 ? 3 : 0, 3).setConstant(1.0 / 3);
    const double s = 1.7 * w.dot(all.r) / w.dot(K * w);
    after.segment(first, 3) -= s * (K * w).segment(first, 3);
  }
  EXPECT_NEAR(found.score_predicted, preference_score(after, all.group), 1e-12);
  EXPECT_NEAR(found.score_before, preference_score(all.r, all.group), 1e-12);
}

TEST(HeadEdit, ControlsHaveTheKlThatTheyAreGiven) {
  const HeadProblem8 problem;
  for (const HeadMethod method : {HeadMethod::random, HeadMethod::tempered}) {
    const HeadEdit found = edit(problem, {.method = method, .kl = .004});
    EXPECT_NEAR(found.kl, .004, 1e-12) << to_string(method);
  }
}

TEST(HeadEdit, SoftProjectionIsItsClosedForm) {
  const HeadProblem8 problem;
  const HeadCurvature curvature = head_curvature(problem.head, problem.neutral, .01, {});
  Matrix Delta = Matrix::Zero(8, 8);
  for (Index p = 0; p < 6; ++p) {
    EXPECT_EQ(aligned_states(problem.pairs[static_cast<std::size_t>(p)]),
              (std::vector<std::pair<Index, Index>>{{4 * p + 2, 4 * p + 3}}));
    const Vector delta = (problem.states.row(4 * p + 2) - problem.states.row(4 * p + 3))
                             .cast<double>()
                             .transpose();
    Delta += delta * delta.transpose() / 6;
  }
  const Matrix M = soft_projection(curvature, problem.states, problem.pairs, 2);
  const Eigen::MatrixXd inverse = (curvature.A + 2 * Delta).inverse();
  EXPECT_CLOSE(M, (curvature.A * inverse - Eigen::MatrixXd::Identity(8, 8)).eval(), 1e-9);
  EXPECT_CLOSE(soft_projection(curvature, problem.states, problem.pairs, 0),
               Matrix::Zero(8, 8), 1e-12);
}

TEST(HeadEdit, AChangedHeadAndChangedStatesGiveTheSameLogits) {
  const HeadProblem8 problem;
  HeadChange change{.M = .1 * Matrix::Ones(8, 8), .shift = .2 * Vector::Ones(8)};
  const VocabularyHead changed = changed_head(problem.head, change, {});
  const FloatMatrix moved = changed_states(problem.states, change);
  std::vector<ScoredSequence> tokens;
  for (const HeadPair& pair : problem.pairs) tokens.push_back(pair.c);
  const Vector by_head = mean_log_probabilities(
      changed, problem.states, head_outputs(changed, problem.states, false, {}), tokens);
  const Vector by_states = mean_log_probabilities(
      problem.head, moved, head_outputs(problem.head, moved, false, {}), tokens);
  EXPECT_CLOSE(by_head, by_states, 1e-5);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    HeadProblem8 same = problem;
    same.states = moved;
    EXPECT_NEAR(by_states[static_cast<Index>(i)],
                reference_score(same, Matrix::Zero(8, 8), tokens[i]), 1e-5);
  }
}

// Refits M on the text with and without one sentence: the full loss, in double.
Matrix refitted(const HeadProblem8& problem, const std::vector<ScoredSequence>& text,
                std::size_t left_out, const HeadCurvature& ridge) {
  const Matrix W = problem.head.weight.cast<double>();
  Matrix M = Matrix::Zero(8, 8);
  for (int round = 0; round < 400; ++round) {
    Matrix G = Matrix::Zero(8, 8);
    double n = 0;
    for (std::size_t k = 0; k < text.size(); ++k)
      for (const ScoredToken& token : text[k]) {
        ++n;
        if (k == left_out) continue;
        const Vector h = problem.neutral.row(token.state).cast<double>();
        const Vector z = W * (h + M * h);
        const Vector p = z.array().exp() / z.array().exp().sum();
        G += (W.transpose() * p - W.row(token.token).transpose()) * h.transpose();
      }
    M -= .7 * whitened_direction(ridge, G / n + 1e-3 * ridge.F * M * ridge.A);
  }
  return M;
}

TEST(HeadEdit, InfluenceOfASentenceAgreesWithRefitting) {
  HeadProblem8 problem(false);
  std::vector<ScoredSequence> text;
  Rng rng(5, "text");
  for (Index k = 0; k < 30; ++k) {
    ScoredSequence sequence;
    for (Index t = 0; t < 5; ++t)
      sequence.push_back({5 * k + t, static_cast<TokenId>(rng.below(50))});
    text.push_back(sequence);
  }
  const HeadCurvature start = head_curvature(problem.head, problem.neutral, 1e-6, {});
  const Matrix fitted = refitted(problem, text, text.size(), start);
  const HeadProblem8 original = problem;
  problem.head = changed_head(problem.head, {.M = fitted, .shift = {}}, {});
  const HeadCurvature curvature = head_curvature(problem.head, problem.neutral, 1e-6, {});
  const PairGradients gradients = gradients_of(problem);
  const Vector influence = sentence_influence(
      curvature, gradients.sum(Vector::Constant(6, 1.0 / 6)), problem.head, problem.neutral,
      head_outputs(problem.head, problem.neutral, true, {}), text);
  // The head moves in M of the fitted head; both fits start from the original one.
  double dot = 0, one = 0, two = 0;
  const auto mean_preference = [&](const Matrix& M) {
    double sum = 0;
    for (std::size_t i = 0; i < 6; ++i) sum += reference_preference(original, M, i) / 6;
    return sum;
  };
  const double before = mean_preference(fitted);
  for (std::size_t k = 0; k < 8; ++k) {
    const double real = mean_preference(refitted(original, text, k, start)) - before;
    const double predicted = influence[static_cast<Index>(k)];
    dot += real * predicted;
    one += real * real;
    two += predicted * predicted;
  }
  EXPECT_GT(dot / std::sqrt(one * two), .9);
  EXPECT_NEAR(dot / one, 1, .35);  // the size too, not only the order
}

TEST(HeadEdit, BadInputIsNamed) {
  const HeadProblem8 problem;
  HeadProblem8 one = problem;
  for (HeadPair& pair : one.pairs) pair.group = 4;
  EXPECT_ERROR(edit(one, {}), ErrorKind::bad_data, "the pairs have 1 target");
  EXPECT_ERROR(edit(problem, {.max_kl = 0}), ErrorKind::bad_option, "option max_kl is 0");
  EXPECT_ERROR(head_curvature(problem.head, FloatMatrix(0, 8), .01, {}),
               ErrorKind::bad_data, "there is no neutral text");
  HeadProblem8 other = problem;
  other.pairs[0].c[0].token = 50;
  EXPECT_ERROR(gradients_of(other), ErrorKind::bad_shape,
               "token 50 is not one of 50 words");
  other.pairs[0].c.clear();
  EXPECT_ERROR(gradients_of(other), ErrorKind::bad_data, "a sentence has no token");
}

}  // namespace
}  // namespace fmd
