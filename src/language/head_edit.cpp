#include "fmd/language/head_edit.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/check.h"
#include "core/gemm.h"
#include "fmd/core/accumulator.h"
#include "fmd/core/rng.h"
#include "language/algebra.h"
#include "language/head_block.h"

namespace fmd {
namespace {

// E[h h'], E[mu mu'] and E[p] as sums.
struct CurvatureSums {
  Matrix A, mean;
  Vector p;

  void merge(const CurvatureSums& other) {
    A += other.A;
    mean += other.mean;
    p += other.p;
  }
  void save(ByteWriter& out) const {
    out.put_array(std::span(A.data(), static_cast<std::size_t>(A.size())));
    out.put_array(std::span(mean.data(), static_cast<std::size_t>(mean.size())));
    out.put_array(std::span(p.data(), static_cast<std::size_t>(p.size())));
  }
  static CurvatureSums load(ByteReader& in) {
    CurvatureSums sums;
    const auto square = [](const std::vector<double>& values) {
      const auto d = static_cast<Index>(std::llround(std::sqrt(values.size())));
      return Matrix(Eigen::Map<const Matrix>(values.data(), d, d));
    };
    sums.A = square(in.get_array<double>());
    sums.mean = square(in.get_array<double>());
    const std::vector<double> p = in.get_array<double>();
    sums.p = Eigen::Map<const Vector>(p.data(), static_cast<Index>(p.size()));
    return sums;
  }
};

void add_outer(const FloatMatrix& rows, Matrix& sum) {
  const Matrix wide = rows.cast<double>();
  gemm(As::transposed, As::is, sum.rows(), sum.cols(), wide.rows(),
       {wide.data(), wide.cols()}, {wide.data(), wide.cols()}, 1.0,
       {sum.data(), sum.cols()});
}

CurvatureSums curvature_sums(const VocabularyHead& head, const FloatMatrix& states,
                             const Exec& exec) {
  const Index d = states.cols(), words = head.vocabulary();
  // A unit of 512 rows: few enough that a short text keeps several threads busy.
  constexpr Index kUnit = 8 * kStateRows;
  const Index units = (states.rows() + kUnit - 1) / kUnit;
  const auto make = [&] {
    return CurvatureSums{Matrix::Zero(d, d), Matrix::Zero(d, d), Vector::Zero(words)};
  };
  const auto add = [&](CurvatureSums& sums, Index unit) {
    for (Index first = unit * kUnit; first < std::min(states.rows(), (unit + 1) * kUnit);
         first += kStateRows) {
      const Index count = std::min(kStateRows, states.rows() - first);
      FloatMatrix p;
      static_cast<void>(probabilities(head, states, first, count, p));
      FloatMatrix mean(count, d);
      gemm(As::is, As::is, count, d, words, {p.data(), words}, {head.weight.data(), d},
           0.0F, {mean.data(), d});
      for (Index i = 0; i < count; ++i) sums.p += p.row(i).transpose().cast<double>();
      add_outer(mean, sums.mean);
      add_outer(states.middleRows(first, count), sums.A);
    }
    exec.report("curvature", unit + 1, units);
  };
  return reduce<CurvatureSums>(units, make, add, exec);
}

// W' diag(p) W
Matrix weighted_words(const FloatMatrix& W, const Vector& p, const Exec& exec) {
  struct Sum {
    Matrix F;
    void merge(const Sum& other) { F += other.F; }
    void save(ByteWriter&) const {}
    static Sum load(ByteReader&) { return {}; }
  };
  const Index d = W.cols();
  const auto add = [&](Sum& sum, Index block) {
    const Index first = block * kBlockRows, rows = std::min(kBlockRows, W.rows() - first);
    const Matrix part = p.segment(first, rows).cwiseMax(0).cwiseSqrt().asDiagonal() *
                        W.middleRows(first, rows).cast<double>();
    gemm(As::transposed, As::is, d, d, rows, {part.data(), d}, {part.data(), d}, 1.0,
         {sum.F.data(), d});
  };
  return reduce<Sum>(
             block_count(W.rows()), [&] { return Sum{Matrix::Zero(d, d)}; }, add, exec)
      .F;
}

double add_damping(Matrix& S, double damping) {
  S = (0.5 * (S + S.transpose())).eval();
  const double added = damping * S.trace() / static_cast<double>(S.rows());
  S.diagonal().array() += added;
  return added;
}

CholeskyFactor factored(const Matrix& S, const char* name) {
  CholeskyFactor factor(S);
  if (!factor.ok())
    throw Error(ErrorKind::numerical,
                fmt::format("language: the curvature's part {} is not positive", name),
                "give more neutral text, or a larger --damping");
  return factor;
}

double inner(const Matrix& a, const Matrix& b) { return (a.array() * b.array()).sum(); }

void require_edit(const PairGradients& gradients, const Matrix& kernel,
                  const HeadEditOptions& options) {
  require_option(options.max_kl > 0, "language", "max_kl", options.max_kl, "> 0");
  require_option(options.kl >= 0, "language", "kl", options.kl, ">= 0");
  for (const double f : options.shares)
    require_option(f >= 0 && std::isfinite(f), "language", "shares", f, ">= 0");
  for (const double lambda : options.lambdas)
    require_option(lambda > 0 && std::isfinite(lambda), "language", "lambdas", lambda,
                   "> 0");
  require_size("language", "the kernel", kernel.rows(), gradients.pairs());
}

std::vector<Index> groups_of(const PairGradients& gradients) {
  std::vector<Index> groups = gradients.group;
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  if (groups.size() < 2)
    throw Error(ErrorKind::bad_data,
                fmt::format("language: the pairs have {} target, at least 2 are needed",
                            groups.size()),
                "the size of the edit is chosen by leaving one target out");
  return groups;
}

// Mean weights of the pairs outside a group.
Vector weights_without(const std::vector<Index>& group, Index left_out) {
  Vector w = Vector::Zero(static_cast<Index>(group.size()));
  double count = 0;
  for (std::size_t i = 0; i < group.size(); ++i)
    if (group[i] != left_out) {
      w[static_cast<Index>(i)] = 1;
      ++count;
    }
  return w / count;
}

// s of a share f: so that the mean of the linearised preference becomes (1 - f) of it.
double step_size(double f, double mean, double square) {
  return square > 0 ? f * mean / square : 0;
}

// r of each pair after the step (f = 1) that its own group had no part in is r - f change.
Vector left_out_change(const PairGradients& gradients, const Matrix& kernel,
                       const std::vector<Index>& groups) {
  Vector change = Vector::Zero(gradients.pairs());
  for (const Index group : groups) {
    const Vector w = weights_without(gradients.group, group);
    const Vector Kw = kernel * w;
    const double s = step_size(1, w.dot(gradients.r), w.dot(Kw));
    for (std::size_t i = 0; i < gradients.group.size(); ++i)
      if (gradients.group[i] == group)
        change[static_cast<Index>(i)] = s * Kw[static_cast<Index>(i)];
  }
  return change;
}

// alpha of solve, from these pairs alone; 0 for the others.
Vector solve_weights(const Matrix& kernel, const Vector& r, const std::vector<Index>& rows,
                     double lambda) {
  const auto m = static_cast<Index>(rows.size());
  Matrix K = some_pairs(kernel, rows);
  Vector part(m);
  for (Index i = 0; i < m; ++i) part[i] = r[rows[static_cast<std::size_t>(i)]];
  K.diagonal().array() += static_cast<double>(m) / (2 * lambda);
  const Vector solved = factored(K, "K").solve(part);
  Vector alpha = Vector::Zero(r.size());
  for (Index i = 0; i < m; ++i) alpha[rows[static_cast<std::size_t>(i)]] = solved[i];
  return alpha;
}

Vector left_out_solve(const PairGradients& gradients, const Matrix& kernel,
                      const std::vector<Index>& groups, double lambda) {
  Vector after = gradients.r;
  for (const Index group : groups) {
    std::vector<Index> rows;
    for (std::size_t i = 0; i < gradients.group.size(); ++i)
      if (gradients.group[i] != group) rows.push_back(static_cast<Index>(i));
    const Vector moved = kernel * solve_weights(kernel, gradients.r, rows, lambda);
    for (std::size_t i = 0; i < gradients.group.size(); ++i)
      if (gradients.group[i] == group)
        after[static_cast<Index>(i)] -= moved[static_cast<Index>(i)];
  }
  return after;
}

// The rule of edit_head(). All settings are too strong: none is taken.
std::size_t choose(const std::vector<HeadEditSetting>& settings, double max_kl,
                   bool& limited) {
  std::size_t best = settings.size(), free = settings.size();
  const auto better = [&](const HeadEditSetting& a, std::size_t than) {
    if (than == settings.size()) return true;
    const double gap = std::abs(a.score - 50), other = std::abs(settings[than].score - 50);
    return gap < other || (gap == other && a.kl < settings[than].kl);
  };
  for (std::size_t k = 0; k < settings.size(); ++k) {
    if (better(settings[k], free)) free = k;
    if (settings[k].kl <= max_kl && better(settings[k], best)) best = k;
  }
  limited = best != free;
  return best;
}

HeadEdit steps(const HeadCurvature& curvature, const PairGradients& gradients,
               const Matrix& kernel, const HeadEditOptions& options,
               const std::vector<Index>& groups) {
  HeadEdit edit;
  const Vector w =
      Vector::Constant(gradients.pairs(), 1 / static_cast<double>(gradients.pairs()));
  const Matrix G = gradients.sum(w);
  const Matrix D = whitened_direction(metric_of(options.method, curvature), G);
  const double square = inner(G, D), mean = gradients.r.mean();
  const double kl_one = predicted_kl(curvature, D);
  const Vector change = left_out_change(gradients, kernel, groups);
  for (const double f : options.shares) {
    const double s = step_size(f, mean, square);
    edit.settings.push_back(
        {.value = f,
         .s = s,
         .kl = s * s * kl_one,
         .score = preference_score(gradients.r - f * change, gradients.group)});
  }
  const std::size_t best = choose(edit.settings, options.max_kl, edit.limited);
  edit.M = Matrix::Zero(D.rows(), D.cols());
  if (best == edit.settings.size()) return edit;
  edit.value = edit.settings[best].value;
  edit.s = edit.settings[best].s;
  edit.score_predicted = edit.settings[best].score;
  edit.M = -edit.s * D;
  return edit;
}

HeadEdit solved(const HeadCurvature& curvature, const PairGradients& gradients,
                const Matrix& kernel, const HeadEditOptions& options,
                const std::vector<Index>& groups) {
  HeadEdit edit;
  std::vector<Index> all(static_cast<std::size_t>(gradients.pairs()));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Index>(i);
  std::vector<Vector> weights;
  for (const double lambda : options.lambdas) {
    weights.push_back(solve_weights(kernel, gradients.r, all, lambda));
    const Vector after = left_out_solve(gradients, kernel, groups, lambda);
    edit.settings.push_back({.value = lambda,
                             .s = 1,
                             .kl = .5 * weights.back().dot(kernel * weights.back()),
                             .score = preference_score(after, gradients.group)});
  }
  const std::size_t best = choose(edit.settings, options.max_kl, edit.limited);
  edit.M = Matrix::Zero(curvature.A.rows(), curvature.A.rows());
  if (best == edit.settings.size()) return edit;
  edit.value = edit.settings[best].value;
  edit.s = 1;
  edit.score_predicted = edit.settings[best].score;
  edit.M = -whitened_direction(curvature, gradients.sum(weights[best]));
  return edit;
}

Matrix control(const HeadCurvature& curvature, const PairGradients& gradients,
               const HeadEditOptions& options, const Exec& exec) {
  const Index d = curvature.A.rows();
  Matrix D = -Matrix::Identity(d, d);
  if (options.method == HeadMethod::random) {
    Rng rng(exec.seed, "random pairs");
    Vector w(gradients.pairs());
    for (Index i = 0; i < w.size(); ++i) w[i] = rng.below(2) == 0 ? -1 : 1;
    D = whitened_direction(curvature, gradients.sum(w));
  }
  const double kl = predicted_kl(curvature, D);
  return kl > 0 ? Matrix(std::sqrt(options.kl / kl) * D) : Matrix(0 * D);
}

}  // namespace

HeadCurvature head_curvature(const VocabularyHead& head, const FloatMatrix& states,
                             double damping, const Exec& exec) {
  require_option(damping > 0 && std::isfinite(damping), "language", "damping", damping,
                 "> 0");
  require_size("language", "a state", states.cols(), head.cols());
  if (states.rows() == 0)
    throw Error(ErrorKind::bad_data, "language: there is no neutral text",
                "give text that the model should keep: --text FILE");
  const auto n = static_cast<double>(states.rows());
  CurvatureSums sums = curvature_sums(head, states, exec);
  HeadCurvature curvature;
  curvature.states = states.rows();
  curvature.damping = damping;
  curvature.A = sums.A / n;
  curvature.F = weighted_words(head.weight, sums.p / n, exec) - sums.mean / n;
  curvature.damping_A = add_damping(curvature.A, damping);
  curvature.damping_F = add_damping(curvature.F, damping);
  return curvature;
}

Matrix whitened_direction(const HeadCurvature& curvature, const Matrix& G) {
  const Matrix left = factored(curvature.F, "F").solve_rows(G.transpose());
  return factored(curvature.A, "A").solve_rows(left.transpose());
}

Matrix PairGradients::sum(const Vector& weight) const {
  Matrix scaled = u;
  for (Index i = 0; i < pairs(); ++i) {
    const Index from = first[static_cast<std::size_t>(i)];
    scaled.middleRows(from, first[static_cast<std::size_t>(i) + 1] - from) *= weight[i];
  }
  Matrix G = Matrix::Zero(u.cols(), v.cols());
  gemm(As::transposed, As::is, G.rows(), G.cols(), u.rows(), {scaled.data(), u.cols()},
       {v.data(), v.cols()}, 0.0, {G.data(), G.cols()});
  return G;
}

PairGradients pair_gradients(const VocabularyHead& head, const FloatMatrix& states,
                             const HeadOutputs& outputs,
                             const std::vector<HeadPair>& pairs) {
  if (pairs.empty())
    throw Error(ErrorKind::bad_data, "language: there are no pairs",
                "give a file with at least two pairs of sentences");
  require_size("language", "the means", outputs.mean.rows(), states.rows());
  PairGradients gradients;
  std::vector<ScoredSequence> sentences;
  for (const HeadPair& pair : pairs) {
    sentences.push_back(pair.c);
    sentences.push_back(pair.cbar);
    gradients.group.push_back(pair.group);
  }
  const Vector scores = mean_log_probabilities(head, states, outputs, sentences);
  gradients.r.resize(static_cast<Index>(pairs.size()));
  std::vector<std::map<Index, Vector>> parts(pairs.size());  // by state: sum of +-(w - mu)
  Index rows = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto k = static_cast<Index>(i);
    gradients.r[k] = scores[2 * k] - scores[2 * k + 1];
    const auto add = [&](const ScoredSequence& sentence, double sign) {
      const double weight = sign / static_cast<double>(sentence.size());
      for (const ScoredToken& token : sentence) {
        const auto [at, fresh] =
            parts[i].try_emplace(token.state, Vector::Zero(head.cols()));
        at->second +=
            weight * (head.weight.row(token.token) - outputs.mean.row(token.state))
                         .cast<double>()
                         .transpose();
      }
    };
    add(pairs[i].c, 1);
    add(pairs[i].cbar, -1);
    rows += static_cast<Index>(parts[i].size());
  }
  gradients.u.resize(rows, head.cols());
  gradients.v.resize(rows, head.cols());
  Index row = 0;
  for (std::map<Index, Vector>& part : parts) {
    gradients.first.push_back(row);
    for (const auto& [state, u] : part) {
      gradients.u.row(row) = u.transpose();
      gradients.v.row(row++) = states.row(state).cast<double>();
    }
    part.clear();
  }
  gradients.first.push_back(row);
  return gradients;
}

PairGradients some_pairs(const PairGradients& gradients, const std::vector<Index>& pairs) {
  PairGradients some;
  some.r.resize(static_cast<Index>(pairs.size()));
  Index rows = 0;
  for (const Index i : pairs)
    rows += gradients.first[static_cast<std::size_t>(i) + 1] -
            gradients.first[static_cast<std::size_t>(i)];
  some.u.resize(rows, gradients.u.cols());
  some.v.resize(rows, gradients.v.cols());
  Index row = 0;
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    const auto i = static_cast<std::size_t>(pairs[k]);
    const Index from = gradients.first[i], count = gradients.first[i + 1] - from;
    some.r[static_cast<Index>(k)] = gradients.r[pairs[k]];
    some.group.push_back(gradients.group[i]);
    some.first.push_back(row);
    some.u.middleRows(row, count) = gradients.u.middleRows(from, count);
    some.v.middleRows(row, count) = gradients.v.middleRows(from, count);
    row += count;
  }
  some.first.push_back(row);
  return some;
}

Matrix some_pairs(const Matrix& kernel, const std::vector<Index>& pairs) {
  const auto m = static_cast<Index>(pairs.size());
  Matrix some(m, m);
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j < m; ++j)
      some(i, j) =
          kernel(pairs[static_cast<std::size_t>(i)], pairs[static_cast<std::size_t>(j)]);
  return some;
}

Matrix pair_kernel(const HeadCurvature& curvature, const PairGradients& gradients,
                   const Exec& exec) {
  require_size("language", "a state", gradients.v.cols(), curvature.A.rows());
  const Index m = gradients.pairs(), d = gradients.u.cols();
  // Rows a_t = L_F^-1 u_t and b_t = L_A^-1 v_t: K is a sum of (a_t . a_s) (b_t . b_s).
  const auto white = [](const Matrix& S, const char* name, const Matrix& rows) {
    return FloatMatrix(factored(S, name).whiten_rows(rows).cast<float>());
  };
  const FloatMatrix a = white(curvature.F, "F", gradients.u);
  const FloatMatrix b = white(curvature.A, "A", gradients.v);
  Matrix K = Matrix::Zero(m, m);
  exec.for_each(m, [&](Index i) {
    const Index from = gradients.first[static_cast<std::size_t>(i)],
                rows = gradients.first[static_cast<std::size_t>(i) + 1] - from;
    const Index others = gradients.first[static_cast<std::size_t>(i) + 1];
    FloatMatrix left(rows, others), right(rows, others);
    gemm(As::is, As::transposed, rows, others, d, {a.data() + from * d, d}, {a.data(), d},
         0.0F, {left.data(), others});
    gemm(As::is, As::transposed, rows, others, d, {b.data() + from * d, d}, {b.data(), d},
         0.0F, {right.data(), others});
    left.array() *= right.array();
    for (Index j = 0; j <= i; ++j) {
      const Index at = gradients.first[static_cast<std::size_t>(j)],
                  width = gradients.first[static_cast<std::size_t>(j) + 1] - at;
      K(i, j) = left.middleCols(at, width).cast<double>().sum();
    }
    exec.report("pairs", i + 1, m);
  });
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j < i; ++j) K(j, i) = K(i, j);
  return K;
}

HeadCurvature metric_of(HeadMethod method, const HeadCurvature& curvature) {
  HeadCurvature metric = curvature;
  if (method == HeadMethod::plain) metric.A.setIdentity();
  if (method == HeadMethod::plain || method == HeadMethod::input_only)
    metric.F.setIdentity();
  return metric;
}

std::string to_string(HeadMethod method) {
  switch (method) {
    case HeadMethod::step:
      return "step";
    case HeadMethod::solve:
      return "solve";
    case HeadMethod::plain:
      return "plain";
    case HeadMethod::input_only:
      return "input-only";
    case HeadMethod::random:
      return "random";
    case HeadMethod::tempered:
      return "tempered";
  }
  return "";
}

HeadEdit edit_head(const HeadCurvature& curvature, const PairGradients& gradients,
                   const Matrix& kernel, const HeadEditOptions& options, const Exec& exec) {
  require_edit(gradients, kernel, options);
  const std::vector<Index> groups = groups_of(gradients);
  HeadEdit edit;
  if (options.method == HeadMethod::solve)
    edit = solved(curvature, gradients, kernel, options, groups);
  else if (options.method == HeadMethod::random || options.method == HeadMethod::tempered)
    edit.M = control(curvature, gradients, options, exec);
  else
    edit = steps(curvature, gradients, kernel, options, groups);
  edit.method = options.method;
  edit.kl = predicted_kl(curvature, edit.M);
  edit.score_before = preference_score(gradients.r, gradients.group);
  edit.pairs = gradients.pairs();
  edit.groups = static_cast<Index>(groups.size());
  return edit;
}

double predicted_kl(const HeadCurvature& curvature, const Matrix& M) {
  return .5 * inner(M, product(product(curvature.F, M), curvature.A));
}

double preference_score(const Vector& r, const std::vector<Index>& group) {
  require_size("language", "the groups", static_cast<Index>(group.size()), r.size());
  std::map<Index, std::pair<Index, Index>> counts;  // preferred, all
  for (Index i = 0; i < r.size(); ++i) {
    auto& [preferred, all] = counts[group[static_cast<std::size_t>(i)]];
    preferred += r[i] > 0 ? 1 : 0;
    ++all;
  }
  double sum = 0;
  for (const auto& [key, count] : counts)
    sum += static_cast<double>(count.first) / static_cast<double>(count.second);
  return counts.empty() ? 50 : 100 * sum / static_cast<double>(counts.size());
}

std::vector<std::pair<Index, Index>> aligned_states(const HeadPair& pair) {
  std::vector<std::pair<Index, Index>> aligned;
  std::size_t i = pair.c.size(), j = pair.cbar.size();
  // The common ending; its states differ, because what stands before them does.
  while (i > 0 && j > 0 && pair.c[i - 1].token == pair.cbar[j - 1].token) {
    --i;
    --j;
    if (pair.c[i].state != pair.cbar[j].state)
      aligned.emplace_back(pair.c[i].state, pair.cbar[j].state);
  }
  return aligned;
}

Matrix soft_projection(const HeadCurvature& curvature, const FloatMatrix& states,
                       const std::vector<HeadPair>& pairs, double lambda) {
  require_option(lambda >= 0 && std::isfinite(lambda), "language", "lambda", lambda,
                 ">= 0");
  const Index d = curvature.A.rows();
  require_size("language", "a state", states.cols(), d);
  Matrix Delta = Matrix::Zero(d, d);
  double count = 0;
  for (const HeadPair& pair : pairs)
    for (const auto& [one, other] : aligned_states(pair)) {
      const Vector delta = (states.row(one) - states.row(other)).cast<double>().transpose();
      Delta += delta * delta.transpose();
      ++count;
    }
  if (count == 0)
    throw Error(ErrorKind::bad_data,
                "language: no pair has words in common after the "
                "word that differs",
                "the projection needs pairs that differ in the group's word: use step");
  Delta /= count;
  // I + M = A (A + lambda Delta)^-1, so its transpose solves (A + lambda Delta) X = A.
  return factored(curvature.A + lambda * Delta, "A + lambda Delta")
             .solve_rows(curvature.A) -
         Matrix::Identity(d, d);
}

Vector sentence_influence(const HeadCurvature& curvature, const Matrix& Jbar,
                          const VocabularyHead& head, const FloatMatrix& states,
                          const HeadOutputs& outputs,
                          const std::vector<ScoredSequence>& sentences) {
  require_size("language", "the means", outputs.mean.rows(), states.rows());
  static_cast<void>(
      mean_log_probabilities(head, states, outputs, sentences));  // checks them
  const FloatMatrix D = whitened_direction(curvature, Jbar).cast<float>();
  double tokens = 0;
  Vector influence = Vector::Zero(static_cast<Index>(sentences.size()));
  // The loss of a token has the gradient -(w - mu) h'.
  for (std::size_t k = 0; k < sentences.size(); ++k)
    for (const ScoredToken& token : sentences[k]) {
      const Eigen::VectorXf Dh = D * states.row(token.state).transpose();
      influence[static_cast<Index>(k)] -= static_cast<double>(
          (head.weight.row(token.token) - outputs.mean.row(token.state)).dot(Dh));
      ++tokens;
    }
  return influence / std::max(1.0, tokens);
}

}  // namespace fmd
