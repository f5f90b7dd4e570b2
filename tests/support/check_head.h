#pragma once

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "core/index.h"
#include "fmd/model/linear_head.h"
#include "support/close.h"
#include "support/derivatives.h"
#include "support/problems.h"

// What every Head must hold. A new one calls check_head() in its test.
namespace fmd::test {

// Some rows at some theta.
struct HeadCase {
  const Head& head;
  FeatureBlock block;
  Vector theta;
  Tape tape = {};
  Matrix z = {};

  HeadCase(const Head& h, FeatureBlock b, Vector t)
      : head(h), block(b), theta(std::move(t)) {
    head.logits(block, theta, z, &tape);
  }
  [[nodiscard]] Vector flat_logits(const Vector& at) const {
    Matrix there;
    head.logits(block, at, there);
    return there.reshaped<Eigen::RowMajor>();
  }
  [[nodiscard]] Matrix jvp(const Vector& v) const {
    Matrix u;
    head.jvp(block, theta, tape, v, u);
    return u;
  }
  [[nodiscard]] Vector vjp(const Vector& at, const Matrix& h) const {
    Tape there;
    Matrix ignored;
    head.logits(block, at, ignored, &there);
    Vector into = Vector::Zero(head.parameters());
    head.vjp(block, at, there, h, into);
    return into;
  }
};

inline void check_derivatives(const HeadCase& c) {
  const Vector v = random_vector(c.head.parameters(), 21);
  const Matrix h =
      random_vector(c.z.size(), 22).reshaped<Eigen::RowMajor>(c.z.rows(), c.z.cols());
  const Matrix J =
      numeric_jacobian([&](const Vector& at) { return c.flat_logits(at); }, c.theta);
  const Matrix u = c.jvp(v);
  EXPECT_CLOSE(Vector(u.reshaped<Eigen::RowMajor>()), Vector(J * v), 1e-6);
  const Vector g = c.vjp(c.theta, h);
  EXPECT_CLOSE(g, Vector(J.transpose() * h.reshaped<Eigen::RowMajor>()), 1e-6);
  EXPECT_CLOSE(u.cwiseProduct(h).sum(), g.dot(v), 1e-12);  // adjoint

  // vjp and second add to what is there.
  Vector into = Vector::Ones(c.head.parameters());
  c.head.vjp(c.block, c.theta, c.tape, h, into);
  EXPECT_CLOSE(into, Vector(g.array() + 1), 1e-12);

  // d/dt J(theta + t v)^T h is what second() adds.
  constexpr double kStep = 1e-5;
  const Vector bend =
      (c.vjp(c.theta + kStep * v, h) - c.vjp(c.theta - kStep * v, h)) / (2 * kStep);
  Vector second = Vector::Ones(c.head.parameters());
  c.head.second(c.block, c.theta, v, h, second);
  EXPECT_LE((second - Vector::Ones(second.size()) - bend).cwiseAbs().maxCoeff(),
            1e-5 * std::max(1.0, bend.cwiseAbs().maxCoeff()));
}

// The offset stands in the logits once, and in no derivative.
inline void check_offset(const HeadCase& plain) {
  const Vector offset = random_vector(plain.z.size(), 23);
  FeatureBlock block = plain.block;
  block.offset = offset.data();
  block.outputs = plain.z.cols();
  const HeadCase with(plain.head, block, plain.theta);
  EXPECT_CLOSE(Vector(with.z.reshaped<Eigen::RowMajor>()),
               Vector(plain.z.reshaped<Eigen::RowMajor>() + offset), 1e-14);
  const Vector v = random_vector(plain.head.parameters(), 24);
  EXPECT_EQ(with.jvp(v), plain.jvp(v));
  EXPECT_EQ(with.vjp(with.theta, plain.z), plain.vjp(plain.theta, plain.z));
  block.outputs += 1;
  Matrix z;
  EXPECT_ERROR(plain.head.logits(block, plain.theta, z), ErrorKind::bad_shape, "offset");
}

// weight(), intercept(), W, b and from() tell of the same places.
inline void check_places(const LinearHead& head, const FeatureBlock& block) {
  std::vector<int> named(at(head.parameters()), 0);
  const Vector theta = random_vector(head.parameters(), 25);
  const Matrix W = head.W(theta);
  const Vector b = head.b(theta);
  ASSERT_EQ(W.rows(), head.outputs());
  ASSERT_EQ(W.cols(), head.inputs());
  for (Index k = 0; k < head.outputs(); ++k) {
    for (Index j = 0; j < head.inputs(); ++j) {
      const Index place = head.weight(k, j);
      EXPECT_EQ(W(k, j), place < 0 ? 0 : theta[place]);
      if (place >= 0) ++named[at(place)];
    }
    const Index place = head.intercept(k);
    EXPECT_EQ(b[k], place < 0 ? 0 : theta[place]);
    if (place >= 0) ++named[at(place)];
  }
  EXPECT_EQ(named, std::vector<int>(named.size(), 1)) << "each parameter has one place";
  EXPECT_EQ(head.from(W, b), theta);
  Vector spare;
  const Vector whole = head.expand(theta, spare);
  EXPECT_EQ(whole.size(), head.outputs() * (head.inputs() + 1));
  EXPECT_EQ(head.shrink(whole), theta);
  const Matrix outer = whole * whole.transpose();
  EXPECT_EQ(head.shrink_both(outer), Matrix(theta * theta.transpose()));

  Matrix z;
  head.logits(block, theta, z);
  const LinearHead all(head.inputs(), head.outputs());
  Matrix expected;
  all.logits(block, all.from(W, b), expected);
  EXPECT_CLOSE(z, expected, 1e-12);
}

// rows: few, for derivatives by finite differences.
inline void check_head(const Head& head, const Features& X, const Vector& theta) {
  ASSERT_EQ(theta.size(), head.parameters());
  ASSERT_EQ(head.widths().front(), head.inputs());
  ASSERT_EQ(head.widths().back(), head.outputs());
  ASSERT_EQ(head.inputs(), X.cols());
  Scratch scratch;
  FeatureBlock block = X.block(0, scratch);
  block.offset = nullptr;
  const HeadCase c(head, block, theta);
  ASSERT_EQ(c.z.rows(), block.rows);
  ASSERT_EQ(c.z.cols(), head.outputs());
  Matrix again;
  head.logits(block, theta, again);
  EXPECT_EQ(again, c.z) << "a tape changes no logit";
  check_derivatives(c);
  check_offset(c);
  Index parameters = 0;
  for (const HeadLayer& layer : layers_of(head)) {
    EXPECT_EQ(layer.start, parameters);
    parameters += layer.head.parameters();
  }
  EXPECT_EQ(parameters, head.parameters());
  EXPECT_EQ(head.linear(), head.as_linear() != nullptr);
  if (const LinearHead* linear = head.as_linear()) check_places(*linear, block);
}

}  // namespace fmd::test
