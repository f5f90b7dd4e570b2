#include "fmd/language/head_rivals.h"

#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fmd/core/rng.h"
#include "support/close.h"

namespace fmd {
namespace {

using nlohmann::json;

// tests/golden/head_rivals.json, made by tools/golden/head_rivals.py.
const json& rival_cases() {
  static const json data = [] {
    std::ifstream file(FMD_TEST_DIR "/golden/head_rivals.json");
    return json::parse(file);
  }();
  return data["cases"];
}

Matrix rival_matrix(const json& values, Index cols) {
  const auto v = values.get<std::vector<double>>();
  return Eigen::Map<const Matrix>(v.data(), std::ssize(v) / cols, cols);
}

TEST(HeadRivals, LinearSvmAgreesWithScikitLearn) {
  for (const json& c : rival_cases()) {
    const Matrix X = rival_matrix(c["X"], c["features"]);
    const auto label = c["label"].get<std::vector<int>>();
    Vector y(X.rows());
    for (Index i = 0; i < y.size(); ++i)
      y[i] = label[static_cast<std::size_t>(i)] == c["svm_class"] ? 1 : -1;
    EXPECT_CLOSE(linear_svm(X, y, 1), rival_matrix(c["svm"], 1), 1e-6);
  }
}

TEST(HeadRivals, InlpAgreesWithScikitLearn) {
  for (const json& c : rival_cases()) {
    const Index d = c["features"];
    const InlpResult found = inlp(rival_matrix(c["X"], d),
                                  c["label"].get<std::vector<int>>(), c["iterations"], {});
    EXPECT_CLOSE(found.projection, rival_matrix(c["inlp"], d), 1e-5);
    EXPECT_CLOSE(found.accuracy, c["accuracy"].get<std::vector<double>>(), 1e-12);
    EXPECT_CLOSE(Matrix(found.projection * found.projection), found.projection, 1e-10);
  }
}

TEST(HeadRivals, SentenceDirectionsAgreeWithScikitLearn) {
  for (const json& c : rival_cases()) {
    const Index d = c["features"];
    std::vector<Matrix> variants;
    for (const json& values : c["variants"]) variants.push_back(rival_matrix(values, d));
    const Matrix found = sentence_directions(variants, 2);
    const Matrix reference = rival_matrix(c["directions"], d);
    for (Index k = 0; k < 2; ++k)  // the sign of a direction means nothing
      EXPECT_NEAR(std::abs(found.row(k).dot(reference.row(k))), 1, 1e-9);
    const Matrix P = projection_without(found);
    EXPECT_CLOSE(Matrix(P * found.transpose()), Matrix::Zero(d, 2), 1e-12);
  }
}

TEST(HeadRivals, LeaceAgreesWithConceptErasure) {
  for (const json& c : rival_cases()) {
    const Index d = c["features"];
    const Matrix X = rival_matrix(c["X"], d);
    Matrix Z = Matrix::Zero(X.rows(), c["classes"]);
    for (Index i = 0; i < X.rows(); ++i)
      Z(i, c["label"][static_cast<std::size_t>(i)].get<Index>()) = 1;
    const HeadChange change = leace(X, Z);
    const Matrix erased =
        (X + X * change.M.transpose()).rowwise() + change.shift.transpose();
    EXPECT_CLOSE(erased, rival_matrix(c["leace"], d), 1e-6);
    // What it is for: the classes have the same mean afterwards.
    const Matrix cross = erased.transpose() * (Z.rowwise() - Z.colwise().mean());
    EXPECT_CLOSE(cross, Matrix::Zero(d, Z.cols()), 1e-8);
  }
}

TEST(HeadRivals, SelfDebiasLowersOnlyWhatTheQuestionRaises) {
  VocabularyHead head;
  head.weight = FloatMatrix::Zero(3, 3);
  head.weight.setIdentity();
  FloatMatrix states(1, 3), asked(1, 3);
  states << 0, 0, 0;
  asked << 1, 0, 0;  // the question makes word 0 more likely
  const std::vector<ScoredSequence> tokens = {{{0, 0}, {0, 1}, {0, 2}}};
  const auto log_p =
      self_debias(head, states, asked, tokens, {.lambda = 10, .epsilon = .01}, {});
  const double asked0 = std::exp(1.0) / (std::exp(1.0) + 2);
  const double factor = std::max(std::exp(-10 * (asked0 - 1.0 / 3)), .01);
  EXPECT_NEAR(std::exp(log_p[0][0]), factor / (factor + 2), 1e-6);
  EXPECT_NEAR(std::exp(log_p[0][1]), 1 / (factor + 2), 1e-6);
  const auto same =
      self_debias(head, states, asked, tokens, {.lambda = 0, .epsilon = .01}, {});
  EXPECT_NEAR(std::exp(same[0][0]), 1.0 / 3, 1e-6);
}

TEST(HeadRivals, BadInputIsNamed) {
  const Matrix X = Matrix::Ones(4, 2);
  EXPECT_ERROR(inlp(X, {0, 0, 0, 0}, 1, {}), ErrorKind::bad_data,
               "inlp: a group has no sentence");
  EXPECT_ERROR(inlp(X, {0, 1}, 1, {}), ErrorKind::bad_shape, "the labels has 2 entries");
  EXPECT_ERROR(sentence_directions({X}, 1), ErrorKind::bad_data, "fewer than two variants");
  EXPECT_ERROR(sentence_directions({X, Matrix::Ones(3, 2)}, 1), ErrorKind::bad_shape,
               "a variant has 3 entries, needs 4");
}

}  // namespace
}  // namespace fmd
