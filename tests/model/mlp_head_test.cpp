#include "fmd/model/mlp_head.h"

#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fmd/core/parallel.h"
#include "fmd/model/linear_head.h"
#include "fmd/model/loss.h"
#include "fmd/model/passes.h"
#include "support/close.h"
#include "support/derivatives.h"
#include "support/flat.h"
#include "support/problems.h"

namespace fmd {
namespace {

using nlohmann::json;
using test::flat;
using test::random_problem;
using test::random_vector;

Vector numbers(const json& list) {
  const auto values = list.get<std::vector<double>>();
  return Eigen::Map<const Vector>(values.data(), static_cast<Index>(values.size()));
}

// A block's loss gradient and S u, row by row.
struct RowSums {
  Matrix gradient, slope_times_u;
};

RowSums row_sums(const Matrix& z, const Matrix& u, const std::vector<std::int32_t>& y) {
  RowSums sums{Matrix(z.rows(), z.cols()), Matrix(z.rows(), z.cols())};
  const auto outputs = static_cast<std::size_t>(z.cols());
  const auto classes = static_cast<std::size_t>(classes_of(z.cols()));
  for (Index i = 0; i < z.rows(); ++i) {
    const std::span<const double> row(z.data() + i * z.cols(), outputs);
    std::vector<double> p(classes);
    probabilities(row, p);
    log_loss_gradient(row, y[static_cast<std::size_t>(i)],
                      {sums.gradient.data() + i * z.cols(), outputs});
    apply_softmax_slope(p, {u.data() + i * z.cols(), outputs},
                        {sums.slope_times_u.data() + i * z.cols(), outputs});
  }
  return sums;
}

// ---- against PyTorch: tools/golden/mlp.py

struct Golden {
  json data;
  MlpHead head;
  Index rows;
  std::vector<float> x;
  std::vector<std::int32_t> y;
  Vector theta;

  explicit Golden(const json& g)
      : data(g),
        head(g["widths"].get<std::vector<Index>>(), parse_activation(g["activation"])),
        rows(g["rows"]),
        y(g["y"].get<std::vector<std::int32_t>>()),
        theta(numbers(g["theta"])) {
    for (const json& value : g["x"]) x.push_back(value.get<float>());
  }
  [[nodiscard]] std::unique_ptr<Features> features(bool sparse) const {
    if (!sparse) return make_dense(x, rows, head.inputs());
    return make_sparse(test::to_csr(x, rows, head.inputs(), false));
  }
};

std::vector<Golden> all_golden() {
  std::ifstream file(FMD_TEST_DIR "/golden/mlp.json");
  std::vector<Golden> all;
  const json cases = json::parse(file)["cases"];
  for (const json& g : cases) all.emplace_back(g);
  return all;
}

TEST(MlpGolden, SweepsAgreeWithAutomaticDifferentiation) {
  const auto all = all_golden();
  ASSERT_EQ(all.size(), 12u);
  for (const Golden& g : all) {
    for (const bool sparse : {false, true}) {
      SCOPED_TRACE(g.data["activation"].dump() + g.data["widths"].dump() +
                   (sparse ? " sparse" : " dense"));
      const auto X = g.features(sparse);
      Scratch scratch;
      const FeatureBlock block = X->block(0, scratch);
      const Vector v = numbers(g.data["v"]);
      Matrix z, u, h(g.rows, g.head.outputs());
      h = Eigen::Map<const Matrix>(numbers(g.data["h"]).eval().data(), h.rows(), h.cols());
      Tape tape;
      g.head.logits(block, g.theta, z, &tape);
      EXPECT_CLOSE(flat(z), numbers(g.data["logits"]), 1e-13);
      g.head.jvp(block, g.theta, tape, v, u);
      EXPECT_CLOSE(flat(u), numbers(g.data["jvp"]), 1e-13);
      Vector back = Vector::Zero(g.theta.size());
      g.head.vjp(block, g.theta, tape, h, back);
      EXPECT_CLOSE(back, numbers(g.data["vjp"]), 1e-13);

      const RowSums sums = row_sums(z, u, g.y);
      Vector product = Vector::Zero(g.theta.size());
      g.head.vjp(block, g.theta, tape, sums.slope_times_u, product);
      EXPECT_CLOSE(product, numbers(g.data["gauss_newton_product"]), 1e-12);
      g.head.second(block, g.theta, v, sums.gradient, product);
      EXPECT_CLOSE(product, numbers(g.data["hessian_product"]), 1e-12);
    }
  }
}

TEST(MlpGolden, ObjectiveAndInputSlopesAgreeWithAutomaticDifferentiation) {
  for (const Golden& g : all_golden()) {
    const auto X = g.features(false);
    const Rows rows{X.get(), g.y, {}, {}};
    const Objective F = objective(g.head, rows, g.theta, 0, 1, {});
    EXPECT_CLOSE(F.value, g.data["loss"].get<double>(), 1e-13);
    EXPECT_CLOSE(F.gradient, numbers(g.data["gradient"]), 1e-12);
    EXPECT_CLOSE(flat(all_input_slopes(g.head, rows, g.theta, 1, {})),
                 numbers(g.data["input_slope"]), 1e-13);
  }
}

// ---- against differences

class MlpShapes : public testing::TestWithParam<Activation> {};

TEST_P(MlpShapes, ProductsAreThoseOfTheJacobianAndItsDerivative) {
  const MlpHead head({5, 4, 3, 2}, GetParam());
  const auto problem = random_problem({.rows = 30, .cols = 5, .classes = 2, .seed = 3});
  Scratch scratch;
  const FeatureBlock block = problem.X->block(0, scratch);
  const Vector theta = random_vector(head.parameters(), 4, 0.6),
               v = random_vector(head.parameters(), 5);
  const Matrix h = Eigen::Map<const Matrix>(random_vector(60, 6).eval().data(), 30, 2);
  const auto logits = [&](const Vector& at) {
    Matrix z;
    head.logits(block, at, z);
    return flat(z);
  };
  const auto back = [&](const Vector& at) -> Vector {
    Matrix z;
    Tape tape;
    head.logits(block, at, z, &tape);
    Vector into = Vector::Zero(head.parameters());
    head.vjp(block, at, tape, h, into);
    return into;
  };
  const Matrix J = test::numeric_jacobian(logits, theta);
  Matrix z, u;
  Tape tape;
  head.logits(block, theta, z, &tape);
  head.jvp(block, theta, tape, v, u);
  EXPECT_CLOSE(flat(u), J * v, 1e-8);
  EXPECT_CLOSE(back(theta), J.transpose() * flat(h), 1e-8);
  Vector second = v;
  head.second(block, theta, v, h, second);
  EXPECT_CLOSE(second, v + (back(theta + 1e-5 * v) - back(theta - 1e-5 * v)) / 2e-5, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(All, MlpShapes,
                         testing::Values(Activation::relu, Activation::tanh,
                                         Activation::gelu),
                         [](const auto& info) { return to_string(info.param); });

TEST(MlpHead, RidgeLeavesTheInterceptsOfEveryLayerAlone) {
  const MlpHead head({3, 2, 4, 1}, Activation::tanh);
  ASSERT_EQ(head.parameters(), 8 + 12 + 5);
  const Vector ridge = ridge_gradient(head, Vector::Ones(25), 2);
  std::vector<Index> intercepts;
  for (Index j = 0; j < 25; ++j) {
    if (ridge[j] == 0) intercepts.push_back(j);
    EXPECT_TRUE(ridge[j] == 0 || ridge[j] == 2);
  }
  EXPECT_EQ(intercepts, (std::vector<Index>{3, 7, 10, 13, 16, 19, 24}));
}

TEST(MlpHead, SameBitsForAnyNumberOfThreads) {
  const MlpHead head({6, 8, 5, 3}, Activation::gelu);
  const auto problem =
      random_problem({.rows = 9000, .cols = 6, .classes = 3, .sparse = true});
  const Vector theta = random_vector(head.parameters(), 2, 0.4);
  const Objective alone = objective(head, problem.rows(), theta, 0.1, 0, {});
  for (const int threads : {2, 4}) {
    ThreadPool pool(threads);
    const Objective F = objective(head, problem.rows(), theta, 0.1, 0, Exec{.pool = &pool});
    EXPECT_EQ(F.value, alone.value);
    EXPECT_EQ(F.gradient, alone.gradient);
  }
}

TEST(MlpHead, HiddenLayersAreTheStepsOnTheWay) {
  const MlpHead head({4, 3, 5, 2}, Activation::relu);
  const auto problem = random_problem({.rows = 20, .cols = 4});
  Scratch scratch;
  const FeatureBlock block = problem.X->block(0, scratch);
  const Vector theta = random_vector(head.parameters(), 9);
  Matrix z, first, second;
  head.logits(block, theta, z);
  head.hidden(block, theta, 1, first);
  head.hidden(block, theta.head(head.layer_starts()[2]), 2, second);
  ASSERT_EQ(first.cols(), 3);
  ASSERT_EQ(second.cols(), 5);
  const Eigen::Map<const Matrix> W2(theta.data() + 15, 5, 4), W3(theta.data() + 35, 2, 6);
  const Matrix expected =
      ((first * W2.leftCols(3).transpose()).rowwise() + W2.col(3).transpose()).cwiseMax(0);
  EXPECT_CLOSE(second, expected, 1e-14);
  const Matrix last =
      (second * W3.leftCols(5).transpose()).rowwise() + W3.col(5).transpose();
  EXPECT_CLOSE(z, last, 1e-14);
}

TEST(MlpHead, WrongShapesAreNamed) {
  EXPECT_ERROR(MlpHead({4, 1}, Activation::relu), ErrorKind::bad_option,
               "option hidden layers is 0");
  EXPECT_ERROR(MlpHead({4, 0, 1}, Activation::relu), ErrorKind::bad_option,
               "option width is 0");
  EXPECT_ERROR((void)parse_activation("selu"), ErrorKind::bad_option,
               "write relu, tanh or gelu");
  const MlpHead head({4, 2, 1}, Activation::relu);
  const auto problem = random_problem({.rows = 3, .cols = 4});
  Scratch scratch;
  const FeatureBlock block = problem.X->block(0, scratch);
  Matrix z;
  EXPECT_ERROR(head.logits(block, Vector::Zero(3), z), ErrorKind::bad_shape,
               "theta has 3 entries, needs 13");
  EXPECT_ERROR(head.jvp(block, Vector::Zero(13), {}, Vector::Zero(13), z),
               ErrorKind::bad_shape, "the tape has 0 entries, needs 1");
}

}  // namespace
}  // namespace fmd
