#include <cmath>

#include <gtest/gtest.h>

#include "fmd/model/mlp_head.h"
#include "fmd/model/passes.h"
#include "fmd/unlearn/solve.h"
#include "support/close.h"
#include "unlearn/solve_cases.h"
#include "unlearn/solve_problem.h"

namespace fmd {
namespace {

using namespace test;

constexpr Activation kActivations[] = {Activation::relu, Activation::tanh,
                                       Activation::gelu};

// A small problem with hidden layers on top of its features.
struct NetworkProblem {
  SmallProblem p;
  MlpHead head;
  Vector theta0;

  NetworkProblem(const ProblemShape& shape, Activation activation,
                 std::vector<Index> hidden = {4, 3})
      : p(small_problem(shape)), head(widths(p, hidden), activation) {
    Rng rng(shape.seed, "network");
    theta0.resize(head.parameters());
    for (Index j = 0; j < theta0.size(); ++j) theta0[j] = 0.7 * rng.normal();
  }

  static std::vector<Index> widths(const SmallProblem& p,
                                   const std::vector<Index>& hidden) {
    std::vector<Index> all = {p.head.inputs()};
    all.insert(all.end(), hidden.begin(), hidden.end());
    all.push_back(p.head.outputs());
    return all;
  }

  [[nodiscard]] SolveObjective objective(const SolveOptions& options, const Vector& at,
                                         const Exec& exec = {}) const {
    return solve_objective(head, theta0, p.rows, p.pairs, options, at, exec);
  }
  [[nodiscard]] SolveResult solved(const SolveOptions& options,
                                   const Exec& exec = {}) const {
    return solve(head, theta0, p.rows, p.pairs, options, exec);
  }
};

SolveOptions all_terms(const SmallProblem& p) {
  return {
      .anchor = 1.1, .fit = 0.6, .lambda = 1.9, .mu = 0.2, .gaps = {parity_gap(p, 0.9)}};
}

// Scores of the classes at theta, one entry at a time.
Matrix scores(const Head& head, const Rows& rows, const Vector& theta) {
  return all_probabilities(head, rows, theta, {});
}

TEST(SolveNetwork, TheObjectiveIsTheDefinition) {
  for (const Activation activation : kActivations)
    for (const auto& shape : shapes()) {
      const NetworkProblem n(shape, activation);
      SolveOptions o = all_terms(n.p);
      o.gaps.clear();
      const Vector theta = moved(n.theta0, 0.3);
      const Matrix old = scores(n.head, n.p.rows, n.theta0),
                   now = scores(n.head, n.p.rows, theta);
      double value = o.mu / 2 * (theta - n.theta0).squaredNorm(), kl = 0, total = 0;
      for (Index i = 0; i < old.rows(); ++i) {
        total += n.p.rows.weight_of(i);
        for (Index k = 0; k < old.cols(); ++k)
          kl += n.p.rows.weight_of(i) * old(i, k) * std::log(old(i, k) / now(i, k));
      }
      value += o.anchor * kl / total;
      for (const PairSet& set : n.p.pairs) {
        const Matrix c = scores(n.head, set.c, theta),
                     bar = scores(n.head, set.cbar, theta);
        double sum = 0;
        for (Index i = 0; i < set.size(); ++i) {
          const Index y = set.c.label(i);
          sum += static_cast<double>(set.weight[static_cast<std::size_t>(i)]) *
                 (o.lambda * (c.row(i) - bar.row(i)).squaredNorm() -
                  o.fit / 2 * (std::log(c(i, y)) + std::log(bar(i, y))));
        }
        value += sum / set.total_weight() / static_cast<double>(n.p.pairs.size());
      }
      EXPECT_CLOSE(n.objective(o, theta).value, value, 1e-11);
    }
}

TEST(SolveNetwork, GradientAgreesWithFiniteDifferences) {
  for (const Activation activation : kActivations)
    for (const auto& shape : shapes()) {
      const NetworkProblem n(shape, activation);
      const SolveOptions options = all_terms(n.p);
      const Vector theta = moved(n.theta0, 0.3);
      Vector difference(theta.size());
      for (Index j = 0; j < theta.size(); ++j) {
        Vector up = theta, down = theta;
        up[j] += 1e-6;
        down[j] -= 1e-6;
        difference[j] =
            (n.objective(options, up).value - n.objective(options, down).value) / 2e-6;
      }
      EXPECT_CLOSE(n.objective(options, theta).gradient, difference, 1e-6);
    }
}

// dz / dtheta of one side of the pairs, or of the rows, by differences: rows of outputs of
// the first entry come first.
Matrix jacobian(const Head& head, const Rows& rows, const Vector& theta) {
  Matrix J(rows.size() * head.outputs(), theta.size());
  for (Index j = 0; j < theta.size(); ++j) {
    Vector up = theta, down = theta;
    up[j] += 1e-6;
    down[j] -= 1e-6;
    const Matrix difference =
        (all_logits(head, rows, up, {}) - all_logits(head, rows, down, {})) / 2e-6;
    J.col(j) = Eigen::Map<const Vector>(difference.data(), difference.size());
  }
  return J;
}

Matrix slope_of(const Matrix& p, Index i, Index outputs) {
  Matrix S = -p.row(i).transpose() * p.row(i);
  S.diagonal() += p.row(i).transpose();
  if (outputs == 1) return S.bottomRightCorner(1, 1);
  return S;
}

// J^T M J from its parts, with M from the scores alone.
Matrix explicit_matrix(const NetworkProblem& n, const SolveOptions& o, const Vector& theta,
                       double hold_scale) {
  const Index outputs = n.head.outputs();
  const double classes = outputs == 1 ? 2 : 1;
  Matrix all = hold_scale * o.mu * Matrix::Identity(theta.size(), theta.size());
  const Matrix rows = jacobian(n.head, n.p.rows, theta),
               p = scores(n.head, n.p.rows, theta);
  double total = 0;
  for (Index i = 0; i < p.rows(); ++i) total += n.p.rows.weight_of(i);
  for (Index i = 0; i < p.rows(); ++i) {
    const Matrix J = rows.middleRows(i * outputs, outputs);
    all += hold_scale * o.anchor * n.p.rows.weight_of(i) / total * J.transpose() *
           slope_of(p, i, outputs) * J;
  }
  for (const PairSet& set : n.p.pairs) {
    const Matrix Jc = jacobian(n.head, set.c, theta),
                 Jb = jacobian(n.head, set.cbar, theta);
    const Matrix pc = scores(n.head, set.c, theta), pb = scores(n.head, set.cbar, theta);
    for (Index i = 0; i < set.size(); ++i) {
      const double w = static_cast<double>(set.weight[static_cast<std::size_t>(i)]) /
                       set.total_weight() / static_cast<double>(n.p.pairs.size());
      const Matrix c = Jc.middleRows(i * outputs, outputs),
                   b = Jb.middleRows(i * outputs, outputs);
      const Matrix Sc = slope_of(pc, i, outputs), Sb = slope_of(pb, i, outputs);
      const Matrix r = Sc * c - Sb * b;
      all +=
          w * (hold_scale * o.fit / 2 * (c.transpose() * Sc * c + b.transpose() * Sb * b) +
               2 * o.lambda * classes * r.transpose() * r);
    }
  }
  const auto gap = evaluate(*o.gaps[0].measure,
                            {.pairs = nullptr, .rows = n.p.rows, .group = o.gaps[0].group},
                            n.head, theta, true, {});
  all += 2 * o.gaps[0].gamma * gap.gradient * gap.gradient.transpose();
  return all;
}

TEST(SolveNetwork, TheProductIsGaussNewtons) {
  for (const Activation activation : kActivations)
    for (const Index outputs : {1, 3}) {
      const NetworkProblem n({.rows = 20, .outputs = outputs, .sets = 2}, activation);
      const SolveOptions options = all_terms(n.p);
      const Vector theta = moved(n.theta0, 0.2), v = moved(Vector::Zero(theta.size()), 1);
      const Exec exec;
      const SolveProblem problem(n.head, n.theta0, n.p.rows, n.p.pairs, options, exec);
      const Vector expected = explicit_matrix(n, options, theta, 1.7) * v;
      EXPECT_CLOSE(problem.product(problem.at(theta), v, 1.7, false), expected, 1e-6);
    }
}

// Sums of LayerCurvature from their definitions. The slopes by what a layer adds up are
// those by its intercepts; over random signs they are sums over the outputs.
Vector explicit_layers(const NetworkProblem& n, const SolveOptions& o,
                       const Vector& theta) {
  const Index outputs = n.head.outputs();
  const double classes = outputs == 1 ? 2 : 1;
  LayerCurvature all(n.head.widths());
  for (const PairSet& set : n.p.pairs) {
    const Matrix Jc = jacobian(n.head, set.c, theta),
                 Jb = jacobian(n.head, set.cbar, theta);
    const Matrix pc = scores(n.head, set.c, theta), pb = scores(n.head, set.cbar, theta);
    for (std::size_t l = 0; l < all.layers.size(); ++l) {
      const auto& layer = all.layers[l];
      const Index width = layer.hold.size, below = layer.inputs.size;
      const auto incoming = [&](const Rows& rows) {
        Scratch scratch;
        const FeatureBlock block = rows.block(0, scratch);
        Matrix a = Matrix::Zero(block.rows, below - 1);
        if (l > 0)
          n.head.hidden(block, theta, static_cast<Index>(l), a);
        else
          for (Index r = 0; r < block.rows; ++r)
            for_each_entry(block, r, [&](Index j, double x) { a(r, j) = x; });
        Matrix with_ones = Matrix::Ones(block.rows, below);
        with_ones.leftCols(below - 1) = a;
        return with_ones;
      };
      const Matrix into_c = incoming(set.c), into_bar = incoming(set.cbar);
      for (Index i = 0; i < set.size(); ++i) {
        const double w = static_cast<double>(set.weight[static_cast<std::size_t>(i)]) /
                         set.total_weight() / static_cast<double>(n.p.pairs.size());
        Matrix c(outputs, width), b(outputs, width);
        for (Index k = 0; k < width; ++k) {
          const Index intercept = layer.start + k * below + below - 1;
          c.col(k) = Jc.col(intercept).segment(i * outputs, outputs);
          b.col(k) = Jb.col(intercept).segment(i * outputs, outputs);
        }
        const Matrix Sc = slope_of(pc, i, outputs), Sb = slope_of(pb, i, outputs);
        const auto add = [&](const Gram& gram, const Matrix& sum) {
          Eigen::Map<Matrix>(all.sums.data() + gram.start, gram.size, gram.size) += w * sum;
        };
        const Matrix a = into_c.row(i), change = a - into_bar.row(i);
        add(layer.inputs, a.transpose() * a);
        add(layer.input_change, change.transpose() * change);
        add(layer.hold, (o.anchor + o.fit / 2) * c.transpose() * Sc * c +
                            o.fit / 2 * b.transpose() * Sb * b);
        const Matrix gc = Sc * c, gb = Sb * b, mean = (gc + gb) / 2, diff = gc - gb;
        const double pull = 2 * o.lambda * classes;
        add(layer.slope, pull * mean.transpose() * mean);
        add(layer.slope_change, pull * diff.transpose() * diff);
      }
    }
  }
  return all.sums;
}

TEST(SolveNetwork, LayersAreWhatTheirDefinitionSays) {
  const Exec exec;
  for (const bool sparse : {false, true}) {
    const NetworkProblem n({.rows = 30, .sparse = sparse, .sets = 2}, Activation::tanh);
    const SolveOptions options = all_terms(n.p);
    const Vector theta = moved(n.theta0, 0.2);
    const SolveProblem problem(n.head, n.theta0, n.p.rows, n.p.pairs, options, exec);
    EXPECT_CLOSE(problem.layers(problem.at(theta)).sums, explicit_layers(n, options, theta),
                 1e-6);
  }
}

// With several outputs one vector of signs stands for all: right in the mean.
TEST(SolveNetwork, SignsOfLayersAreRightInTheMean) {
  const Exec exec;
  const NetworkProblem n({.rows = 1500, .outputs = 3}, Activation::tanh, {3});
  const SolveOptions options = all_terms(n.p);
  const SolveProblem problem(n.head, n.theta0, n.p.rows, n.p.pairs, options, exec);
  const Vector found = problem.layers(problem.at(n.theta0)).sums,
               expected = explicit_layers(n, options, n.theta0);
  EXPECT_LT((found - expected).norm(), 0.05 * expected.norm());
  const LayerCurvature places(n.head.widths());
  for (const auto& layer : places.layers)
    for (const Gram& gram : {layer.hold, layer.slope, layer.slope_change})
      EXPECT_LT((gram.of(found) - gram.of(expected)).norm(),
                0.2 * gram.of(expected).norm());
}

// Rows that are the pairs' c side are swept once: the same as a copy of them.
TEST(SolveNetwork, RowsOfThePairsCountLikeAnyOthers) {
  for (const Index outputs : {1, 3}) {
    const NetworkProblem n({.rows = 600, .outputs = outputs}, Activation::tanh);
    const SmallProblem copy = small_problem({.rows = 600, .outputs = outputs});
    ASSERT_EQ(n.p.rows.X, n.p.pairs[0].c.X);
    ASSERT_NE(copy.rows.X, n.p.rows.X);
    const SolveOptions options{
        .anchor = 1.1, .fit = 0.6, .lambda = 1.9, .mu = 0.2, .gaps = {}};
    const Exec exec;
    const SolveProblem same(n.head, n.theta0, n.p.rows, n.p.pairs, options, exec),
        other(n.head, n.theta0, copy.rows, n.p.pairs, options, exec);
    const Vector theta = moved(n.theta0, 0.3), v = moved(Vector::Zero(theta.size()), 1);
    const auto a = same.at(theta), b = other.at(theta);
    EXPECT_CLOSE(a.value, b.value, 1e-12);
    EXPECT_CLOSE(a.gradient, b.gradient, 1e-11);
    EXPECT_CLOSE(same.product(a, v, 1.7, false), other.product(b, v, 1.7, false), 1e-11);
    EXPECT_TRUE(a.row_tapes.empty());
    EXPECT_FALSE(b.row_tapes.empty());
  }
}

// The last layer of a network is a linear head on what the layers below give: value and the
// last layer's part of gradient and product are the linear problem's.
TEST(SolveNetwork, TheLastLayerIsALinearProblem) {
  for (const Index outputs : {1, 3}) {
    const NetworkProblem n({.outputs = outputs}, Activation::tanh, {4});
    const Index below = n.head.layer_starts()[1], top = n.head.parameters() - below;
    const LinearHead linear(4, outputs);
    const auto hidden = [&](const Rows& rows) {
      std::vector<float> values;
      Scratch scratch;
      Matrix a;
      n.head.hidden(rows.block(0, scratch), n.theta0, 1, a);
      for (Index i = 0; i < a.size(); ++i)
        values.push_back(static_cast<float>(a.data()[i]));
      return make_dense(std::move(values), rows.size(), 4);
    };
    const auto X = hidden(n.p.rows), C = hidden(n.p.pairs[0].c),
               Cbar = hidden(n.p.pairs[0].cbar);
    const Rows rows{.X = X.get(), .y = n.p.y, .weight = n.p.weight, .subset = {}};
    PairSet set = n.p.pairs[0];
    set.c = {.X = C.get(), .y = n.p.y_pairs, .weight = {}, .subset = {}};
    set.cbar = {.X = Cbar.get(), .y = n.p.y_pairs, .weight = {}, .subset = {}};
    const std::vector<PairSet> pairs = {set};
    const SolveOptions options{
        .anchor = 1.1, .fit = 0.6, .lambda = 1.9, .mu = 0.2, .gaps = {}};
    Vector theta = n.theta0, v = Vector::Zero(theta.size());
    theta.tail(top) = moved(n.theta0.tail(top), 0.3);
    v.tail(top) = moved(Vector::Zero(top), 1);
    const Vector old = n.theta0.tail(top), now = theta.tail(top);
    const Exec exec;
    const SolveProblem network(n.head, n.theta0, n.p.rows, n.p.pairs, options, exec);
    const SolveProblem head(linear, old, rows, pairs, options, exec);
    const auto at = network.at(theta), linear_at = head.at(now);
    EXPECT_CLOSE(at.value, linear_at.value, 1e-6);  // features are float32
    EXPECT_CLOSE(Vector(at.gradient.tail(top)), linear_at.gradient, 1e-5);
    EXPECT_CLOSE(Vector(network.product(at, v, 1.7, false).tail(top)),
                 head.product(linear_at, Vector(v.tail(top)), 1.7, false), 1e-5);
  }
}

TEST(SolveNetwork, JFallsToAPointWithoutSlope) {
  for (const Activation activation : {Activation::tanh, Activation::gelu})
    for (const Index outputs : {1, 3}) {
      const NetworkProblem n({.outputs = outputs, .sets = 2}, activation);
      SolveOptions options = all_terms(n.p);
      double last = n.objective(options, n.theta0).value;
      for (const int steps : {1, 2, 4, 8, 16}) {
        options.max_iterations = steps;
        const SolveSummary s = n.solved(options).summary;
        EXPECT_LE(s.objective, last);
        EXPECT_LE(s.iterations, steps);
        last = s.objective;
      }
      options.max_iterations = 500;
      const auto result = n.solved(options);
      EXPECT_NE(result.summary.status, SolveStatus::stopped);
      EXPECT_LT(result.summary.gradient, 1e-5);
      EXPECT_CLOSE(n.objective(options, result.theta).value, result.summary.objective,
                   1e-12);
    }
}

TEST(SolveNetwork, ReluFallsToo) {
  const NetworkProblem n({.outputs = 3, .sets = 2}, Activation::relu, {8, 8});
  const SolveOptions options{.anchor = 1, .lambda = 30, .mu = 1e-3, .gaps = {}};
  const auto result = n.solved(options);
  EXPECT_LT(result.summary.objective, 0.5 * result.summary.start_objective);
  EXPECT_TRUE(result.theta.allFinite());
}

TEST(SolveNetwork, SameBitsForAnyNumberOfThreads) {
  const NetworkProblem n({.rows = 700, .outputs = 3}, Activation::relu);
  SolveOptions options = all_terms(n.p);
  options.max_iterations = 5;
  const Vector alone = n.solved(options).theta;
  for (const int threads : {2, 4}) {
    ThreadPool pool(threads);
    EXPECT_EQ(alone, n.solved(options, {.pool = &pool}).theta);
  }
}

}  // namespace
}  // namespace fmd
