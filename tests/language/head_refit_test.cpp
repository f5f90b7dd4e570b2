#include "fmd/language/head_refit.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include <gtest/gtest.h>

#include "fmd/language/head_study.h"
#include "support/close.h"

namespace fmd {
namespace {

namespace fs = std::filesystem;

// Ranks, for Spearman's correlation.
Vector ranks_of(const Vector& values) {
  std::vector<Index> order(static_cast<std::size_t>(values.size()));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](Index a, Index b) { return values[a] < values[b]; });
  Vector ranks(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) ranks[order[i]] = static_cast<double>(i);
  return ranks;
}

double correlation(Vector a, Vector b) {
  a.array() -= a.mean();
  b.array() -= b.mean();
  return a.dot(b) / (a.norm() * b.norm());
}

// Real trained weights, 512 tokens: the head is fitted to sentences, and again without each
// of some of them. The influence says what that does to the preference of pairs.
TEST(HeadRefit, InfluenceOfSentencesOnStories260K) {
  const char* data = std::getenv("FMD_DATA");
  const fs::path file =
      fs::path(data == nullptr ? "" : data) / "lm_stories260K/stories260K.bin";
  if (data == nullptr || !fs::exists(file)) GTEST_SKIP() << "FMD_DATA has no stories260K";
  const LanguageModel model = LanguageModel::open(file);
  std::vector<std::string> lines;
  for (const char* who : {"mother", "father", "girl", "boy", "dog"})
    for (const char* what :
         {"was very happy and went to play in the park.", "saw a big red ball.",
          "said, \"I want to help you!\"", "was sad and did not know what to do.",
          "liked to cook, sing and run.", "found a box with a little toy."})
      lines.push_back(std::string("The ") + who + " " + what);
  const PrefixStates text = prefix_states(model, plan_text(model, lines), {}, {});
  SentenceItems items;
  items.source = SentenceSource::csv;
  const auto add = [&](const char* target, const char* one, const char* other) {
    SentenceItem item;
    item.id = target;
    item.domain = "gender";
    item.target = target;
    item.sentences = {{.role = SentenceRole::stereotype, .text = one},
                      {.role = SentenceRole::anti_stereotype, .text = other}};
    items.items.push_back(item);
  };
  add("girl", "The girl was sad.", "The girl was big.");
  add("boy", "The boy liked to run.", "The boy liked to cook.");
  add("mother", "The mother was happy.", "The mother was red.");
  const HeadStudy study = head_study(model, items, {}, {});
  const std::vector<HeadPair> pairs = head_pairs(study);

  const HeadCurvature around = head_curvature(model.head(), text.states, .01, {});
  const HeadRefitOptions options{.ridge = .1, .residual = 1e-5, .rounds = 2000};
  const auto refit = [&](std::optional<std::size_t> out, const Matrix& start) {
    HeadRefit fit = refit_head(model.head(), text.states, text.sequences, out, around,
                               start, options, {});
    EXPECT_LE(fit.size, 1e-4);
    return fit.M;
  };
  const Matrix fitted = refit({}, {});
  const auto preference = [&](const Matrix& M) {
    const FloatMatrix moved = changed_states(study.states.states, {.M = M, .shift = {}});
    return pair_gradients(model.head(), moved, head_outputs(model.head(), moved, true, {}),
                          pairs)
        .r.mean();
  };
  const double before = preference(fitted);

  // Influence at the fitted head, with the curvature there and the ridge in it.
  const FloatMatrix moved = changed_states(text.states, {.M = fitted, .shift = {}});
  HeadCurvature curvature = head_curvature(model.head(), moved, 1e-9, {});
  curvature.A = around.A;
  curvature.F += options.ridge * around.F;
  const FloatMatrix asked = changed_states(study.states.states, {.M = fitted, .shift = {}});
  PairGradients gradients = pair_gradients(
      model.head(), asked, head_outputs(model.head(), asked, true, {}), pairs);
  for (Index i = 0; i < gradients.v.rows(); ++i) {
    // J in M is by the states that M multiplies: the original ones.
    Index best = 0;
    (asked.cast<double>().rowwise() - gradients.v.row(i)).rowwise().norm().minCoeff(&best);
    gradients.v.row(i) = study.states.states.row(best).cast<double>();
  }
  const Vector all = sentence_influence(
      curvature, gradients.sum(Vector::Constant(gradients.pairs(), 1.0 / 3)), model.head(),
      text.states, head_outputs(model.head(), moved, true, {}), text.sequences);
  Vector predicted(10), real(10);
  for (Index k = 0; k < 10; ++k) {
    const auto sentence = static_cast<std::size_t>(3 * k);
    predicted[k] = all[3 * k];
    real[k] = preference(refit(sentence, fitted)) - before;
  }
  const double r = correlation(predicted, real),
               rank = correlation(ranks_of(predicted), ranks_of(real)),
               slope = predicted.dot(real) / real.squaredNorm();
  RecordProperty("correlation", std::to_string(r));
  std::printf(
      "influence against ten refits: r = %.3f, rank correlation %.3f, predicted/real "
      "%.3f\n",
      r, rank, slope);
  EXPECT_GT(r, .9);
  EXPECT_GT(rank, .8);
  EXPECT_NEAR(slope, 1, .5);
}

}  // namespace
}  // namespace fmd
