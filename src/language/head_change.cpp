#include "fmd/language/head_change.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/gemm.h"
#include "language/head_block.h"

namespace fmd {
namespace {

void require_states(const VocabularyHead& head, const FloatMatrix& states) {
  require_size("language", "a state", states.cols(), head.cols());
  if (!head.bias.empty())
    require_size("language", "the bias", static_cast<Index>(head.bias.size()),
                 head.vocabulary());
}

void require_change(const HeadChange& change, Index d) {
  if (change.M.size() != 0) {
    require_size("language", "a row of M", change.M.cols(), d);
    require_size("language", "M", change.M.rows(), d);
  }
  if (change.shift.size() != 0)
    require_size("language", "the shift", change.shift.size(), d);
}

void require_sequence(const VocabularyHead& head, const FloatMatrix& states,
                      const ScoredSequence& sentence) {
  if (sentence.empty())
    throw Error(ErrorKind::bad_data, "language: a sentence has no token",
                "leave out empty sentences");
  for (const ScoredToken& token : sentence) {
    if (token.state < 0 || token.state >= states.rows())
      throw Error(ErrorKind::bad_shape,
                  fmt::format("language: state {} is not one of {} states", token.state,
                              states.rows()));
    if (token.token < 0 || token.token >= head.vocabulary())
      throw Error(ErrorKind::bad_shape,
                  fmt::format("language: token {} is not one of {} words of the head",
                              token.token, head.vocabulary()),
                  "the tokenizer belongs to another model");
  }
}

double log_probability(const VocabularyHead& head, const FloatMatrix& states,
                       const HeadOutputs& outputs, const ScoredToken& token) {
  double logit = head.bias.empty() ? 0 : head.bias[static_cast<std::size_t>(token.token)];
  const float* w = head.weight.data() + token.token * head.cols();
  const float* h = states.data() + token.state * states.cols();
  for (Index k = 0; k < states.cols(); ++k)
    logit += static_cast<double>(w[k]) * static_cast<double>(h[k]);
  return logit - outputs.log_sum[token.state];
}

}  // namespace

FloatMatrix changed_states(const FloatMatrix& states, const HeadChange& change) {
  require_change(change, states.cols());
  FloatMatrix changed = states;
  if (change.M.size() != 0) {
    const FloatMatrix M = change.M.cast<float>();
    gemm(As::is, As::transposed, states.rows(), M.rows(), M.cols(),
         {states.data(), states.cols()}, {M.data(), M.cols()}, 1.0F,
         {changed.data(), changed.cols()});
  }
  if (change.shift.size() != 0) changed.rowwise() += change.shift.cast<float>().transpose();
  return changed;
}

VocabularyHead changed_head(const VocabularyHead& head, const HeadChange& change,
                            const Exec& exec) {
  const Index d = head.cols();
  require_change(change, d);
  VocabularyHead changed = head;
  if (change.M.size() != 0) {
    const FloatMatrix M = change.M.cast<float>();
    exec.for_each(block_count(head.vocabulary()), [&](Index block) {
      const Index first = block * kBlockRows;
      const Index rows = std::min(kBlockRows, head.vocabulary() - first);
      gemm(As::is, As::is, rows, d, d, {head.weight.data() + first * d, d}, {M.data(), d},
           1.0F, {changed.weight.data() + first * d, d});
    });
  }
  if (change.shift.size() != 0) {
    const Eigen::VectorXf moved = head.weight * change.shift.cast<float>();
    changed.bias.resize(static_cast<std::size_t>(moved.size()), 0.0F);
    for (Index k = 0; k < moved.size(); ++k)
      changed.bias[static_cast<std::size_t>(k)] += moved[k];
  }
  return changed;
}

HeadOutputs head_outputs(const VocabularyHead& head, const FloatMatrix& states,
                         bool with_mean, const Exec& exec) {
  require_states(head, states);
  const Index rows = states.rows(), d = states.cols();
  HeadOutputs outputs;
  outputs.log_sum.resize(rows);
  if (with_mean) outputs.mean.resize(rows, d);
  const Index blocks = (rows + kStateRows - 1) / kStateRows;
  exec.report("vocabulary", 0, blocks);
  exec.for_each(blocks, [&](Index block) {
    const Index first = block * kStateRows;
    const Index count = std::min(kStateRows, rows - first);
    FloatMatrix p;
    outputs.log_sum.segment(first, count) = probabilities(head, states, first, count, p);
    if (with_mean)
      gemm(As::is, As::is, count, d, p.cols(), {p.data(), p.cols()},
           {head.weight.data(), d}, 0.0F, {outputs.mean.data() + first * d, d});
    exec.report("vocabulary", block + 1, blocks);
  });
  return outputs;
}

Vector mean_log_probabilities(const VocabularyHead& head, const FloatMatrix& states,
                              const HeadOutputs& outputs,
                              std::span<const ScoredSequence> sequences) {
  require_size("language", "the outputs", outputs.log_sum.size(), states.rows());
  Vector means(static_cast<Index>(sequences.size()));
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    require_sequence(head, states, sequences[i]);
    double sum = 0;
    for (const ScoredToken& token : sequences[i])
      sum += log_probability(head, states, outputs, token);
    means[static_cast<Index>(i)] = sum / static_cast<double>(sequences[i].size());
  }
  return means;
}

}  // namespace fmd
