#include "fmd/language/head_refit.h"

#include <cmath>

#include <gtest/gtest.h>

#include "fmd/core/rng.h"
#include "support/close.h"

namespace fmd {
namespace {

struct RefitCase {
  VocabularyHead head;
  FloatMatrix states = FloatMatrix(60, 5);
  std::vector<ScoredSequence> text;
  HeadCurvature curvature;

  RefitCase() {
    Rng rng(3, "refit");
    head.weight.resize(20, 5);
    for (Index i = 0; i < head.weight.size(); ++i)
      head.weight.data()[i] = static_cast<float>(rng.normal());
    for (Index i = 0; i < states.size(); ++i)
      states.data()[i] = static_cast<float>(rng.normal());
    for (Index k = 0; k < 12; ++k) {
      ScoredSequence sentence;
      for (Index t = 0; t < 5; ++t)
        sentence.push_back({5 * k + t, static_cast<TokenId>(rng.below(20))});
      text.push_back(sentence);
    }
    curvature = head_curvature(head, states, .01, {});
  }

  // The loss by its definition, in double.
  [[nodiscard]] double loss(const Matrix& M, std::size_t left_out, double ridge) const {
    const Matrix W = head.weight.cast<double>();
    double sum = 0, tokens = 0;
    for (std::size_t k = 0; k < text.size(); ++k)
      for (const ScoredToken& token : text[k]) {
        ++tokens;
        if (k == left_out) continue;
        const Vector h = states.row(token.state).cast<double>().transpose();
        const Vector z = W * (h + M * h);
        sum += std::log(z.array().exp().sum()) - z[token.token];
      }
    return sum / tokens + ridge * predicted_kl(curvature, M);
  }
};

TEST(HeadRefit, IsTheLeastLoss) {
  const RefitCase c;
  const HeadRefitOptions options{.ridge = .5, .residual = 1e-5, .rounds = 2000};
  for (const std::size_t left_out : {std::size_t{12}, std::size_t{4}}) {
    const HeadRefit fit = refit_head(
        c.head, c.states, c.text, left_out == 12 ? std::nullopt : std::optional(left_out),
        c.curvature, {}, options, {});
    EXPECT_LE(fit.size, 1e-3);  // float sums end it
    const double least = c.loss(fit.M, left_out, .5);
    EXPECT_NEAR(fit.loss, least, 1e-6);
    EXPECT_LT(least, c.loss(Matrix::Zero(5, 5), left_out, .5) - .01);
    Rng rng(7, "others");
    for (int round = 0; round < 20; ++round) {
      Matrix other = fit.M;
      for (Index i = 0; i < other.size(); ++i) other.data()[i] += .02 * rng.normal();
      EXPECT_GT(c.loss(other, left_out, .5), least);
    }
  }
}

TEST(HeadRefit, BadOptionsAreNamed) {
  const RefitCase c;
  const auto fit = [&](const std::vector<ScoredSequence>& text, double ridge) {
    return refit_head(c.head, c.states, text, std::nullopt, c.curvature, {},
                      {.ridge = ridge}, {});
  };
  EXPECT_ERROR(fit(c.text, 0), ErrorKind::bad_option, "ridge");
  EXPECT_ERROR(fit({}, 1), ErrorKind::bad_data, "no text");
}

}  // namespace
}  // namespace fmd
