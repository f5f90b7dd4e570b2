#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fmd/language/head_change.h"

namespace fmd {

// Edits W (I + M) of a vocabulary head that take back a preference between two sentences
// (Eq. 9), without a Hessian of the size of the vocabulary.
//
// For pair i: r_i = score(c_i) - score(cbar_i), and J_i = dr_i / dM, a sum over tokens of
// +-(w_y - mu) h' / (tokens of its sentence). The loss of neutral text in M has the
// curvature F (x) A:  A = E[h h'],  F = E[Cov_p(w)] = W' diag(pbar) W - E[mu mu'].

// Both damped: + damping x the mean eigenvalue.
struct HeadCurvature {
  Matrix A, F;
  Index states = 0;                     // it was measured on
  double damping = 0;                   // relative, of both
  double damping_A = 0, damping_F = 0;  // what was added to the diagonals
};

// The mean over all given states of neutral text. Throws Error(bad_option: damping <= 0;
// bad_data: no states; bad_shape).
[[nodiscard]] HeadCurvature head_curvature(const VocabularyHead& head,
                                           const FloatMatrix& states, double damping,
                                           const Exec& exec);
// F^-1 G A^-1. Throws Error(numerical).
[[nodiscard]] Matrix whitened_direction(const HeadCurvature& curvature, const Matrix& G);

// c is the sentence that goes with the stereotype. group: pairs that are left out together
// (a target term).
struct HeadPair {
  ScoredSequence c, cbar;
  Index group = 0;
};

// r and J of all pairs. J_i = sum over its rows of u_t v_t'; tokens that stand at the same
// state are one row.
struct PairGradients {
  Vector r;
  Matrix u, v;               // rows x d
  std::vector<Index> first;  // rows of pair i: [first[i], first[i + 1])
  std::vector<Index> group;

  [[nodiscard]] Index pairs() const { return r.size(); }
  // sum_i weight_i J_i
  [[nodiscard]] Matrix sum(const Vector& weight) const;
};
// outputs: of these states, with the mean. Throws Error(bad_data: no pairs, bad_shape).
[[nodiscard]] PairGradients pair_gradients(const VocabularyHead& head,
                                           const FloatMatrix& states,
                                           const HeadOutputs& outputs,
                                           const std::vector<HeadPair>& pairs);

// Some of the pairs, in this order; and the kernel of these.
[[nodiscard]] PairGradients some_pairs(const PairGradients& gradients,
                                       const std::vector<Index>& pairs);
[[nodiscard]] Matrix some_pairs(const Matrix& kernel, const std::vector<Index>& pairs);

// K_ij = <J_i, F^-1 J_j A^-1>. Cost: rows^2 x d x 4 products.
[[nodiscard]] Matrix pair_kernel(const HeadCurvature& curvature,
                                 const PairGradients& gradients, const Exec& exec);

// step: Eq. 9, M = -s F^-1 Jbar A^-1. solve: interpolates the pairs in the same metric,
// alpha = (K + m / (2 lambda) I)^-1 r. The others are controls: plain has no curvature,
// input_only A alone; random draws the sign of each pair; tempered makes all words more
// alike (M = -c I). random and tempered take the predicted KL that they are given.
enum class HeadMethod { step, solve, plain, input_only, random, tempered };
[[nodiscard]] std::string to_string(HeadMethod method);

// The curvature whose inverse a method multiplies by: its kernel is pair_kernel() of this.
[[nodiscard]] HeadCurvature metric_of(HeadMethod method, const HeadCurvature& curvature);

struct HeadEditOptions {
  HeadMethod method = HeadMethod::step;
  // Shares f of the mean preference that a step takes back; one is chosen.
  std::vector<double> shares = {0,   .1,  .2,  .3,  .4,  .5,  .6,  .7,  .8,  .9, 1.0,
                                1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0};
  // Of solve; one is chosen.
  std::vector<double> lambdas = {.001, .01, .1, 1, 10, 100, 1000};
  double max_kl = .01;  // predicted divergence per token on neutral text; must be > 0
  double kl = 0;        // of random and tempered
};

// What one setting would do to pairs that it was not made from, linearised.
struct HeadEditSetting {
  double value = 0;  // f, or lambda
  double s = 0;      // of the step from all pairs
  double kl = 0;     // predicted, from all pairs
  double score = 0;  // SS of the pairs left out: mean over groups of % with r > 0
};

struct HeadEdit {
  Matrix M;
  HeadMethod method = HeadMethod::step;
  double value = 0;                              // the chosen f or lambda
  double s = 0, kl = 0;                          // kl = <M, F M A> / 2
  double score_before = 0, score_predicted = 0;  // as HeadEditSetting::score
  Index pairs = 0, groups = 0;
  bool limited = false;  // max_kl kept a setting out that was nearer to 50
  std::vector<HeadEditSetting> settings;
};

// M for these pairs. kernel: of metric_of(method). Chosen is the setting within max_kl
// whose predicted score on left-out groups is nearest to 50; of equals the one with the
// smaller KL. No forward pass. exec.seed draws the signs of `random`. Throws
// Error(bad_data: fewer than two groups; bad_option; numerical).
[[nodiscard]] HeadEdit edit_head(const HeadCurvature& curvature,
                                 const PairGradients& gradients, const Matrix& kernel,
                                 const HeadEditOptions& options, const Exec& exec);

// <M, F M A> / 2: the second-order KL divergence per token of neutral text.
[[nodiscard]] double predicted_kl(const HeadCurvature& curvature, const Matrix& M);

// SS of preferences r: the mean over groups of the share with r > 0, in %.
[[nodiscard]] double preference_score(const Vector& r, const std::vector<Index>& group);

// For pairs that swap the word of a group: I + M = A (A + lambda Delta)^-1 with
// Delta = E[delta delta'] over the differences of states at aligned tokens. It minimises
// E|(I + M) h - h|^2 + lambda E|(I + M) delta|^2. Throws Error(bad_data: nothing is
// aligned; bad_option: lambda < 0).
[[nodiscard]] Matrix soft_projection(const HeadCurvature& curvature,
                                     const FloatMatrix& states,
                                     const std::vector<HeadPair>& pairs, double lambda);

// Rows of the two states before each token of the common ending of c and cbar, and before
// the first token in which they differ where that state differs. Equal states are left out.
[[nodiscard]] std::vector<std::pair<Index, Index>> aligned_states(const HeadPair& pair);

// Influence of sentences on the mean preference of pairs: what leaving one out of the text
// that the head was fitted to would change, (1/n) <Jbar, F^-1 G_k A^-1> with G_k the
// gradient of its summed loss and n the tokens of the text. Positive: without the sentence
// the preference is larger. outputs: of these states, with the mean.
[[nodiscard]] Vector sentence_influence(const HeadCurvature& curvature, const Matrix& Jbar,
                                        const VocabularyHead& head,
                                        const FloatMatrix& states,
                                        const HeadOutputs& outputs,
                                        const std::vector<ScoredSequence>& sentences);

}  // namespace fmd
