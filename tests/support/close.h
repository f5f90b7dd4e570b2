#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <Eigen/Core>
#include <gtest/gtest.h>

#include "fmd/core/error.h"

// EXPECT_CLOSE(actual, expected, tolerance): numbers, std::vector<double>, Eigen vectors
// and matrices. The largest difference must be at most tolerance times the largest
// magnitude that is expected (an expected zero: at most tolerance itself). Sizes must
// agree; NaN is never close.
#define EXPECT_CLOSE(actual, expected, tolerance) \
  EXPECT_PRED_FORMAT3(::fmd::test::close, actual, expected, tolerance)
#define ASSERT_CLOSE(actual, expected, tolerance) \
  ASSERT_PRED_FORMAT3(::fmd::test::close, actual, expected, tolerance)

// EXPECT_ERROR(expression, kind, text): throws fmd::Error of this kind whose message or
// hint contains the text.
#define EXPECT_ERROR(expression, kind, text) \
  EXPECT_TRUE(::fmd::test::throws_error([&] { static_cast<void>(expression); }, kind, text))

namespace fmd::test {

inline Eigen::MatrixXd as_matrix(double value) {
  return Eigen::MatrixXd::Constant(1, 1, value);
}
inline Eigen::MatrixXd as_matrix(const std::vector<double>& values) {
  return Eigen::Map<const Eigen::VectorXd>(values.data(),
                                           static_cast<Eigen::Index>(values.size()));
}
template <typename Derived>
Eigen::MatrixXd as_matrix(const Eigen::MatrixBase<Derived>& values) {
  return values.template cast<double>();
}

template <typename Actual, typename Expected>
testing::AssertionResult close(const char* actual_text, const char* expected_text,
                               const char* /*tolerance_text*/, const Actual& actual_values,
                               const Expected& expected_values, double tolerance) {
  const Eigen::MatrixXd actual = as_matrix(actual_values);
  const Eigen::MatrixXd expected = as_matrix(expected_values);
  if (actual.rows() != expected.rows() || actual.cols() != expected.cols()) {
    return testing::AssertionFailure()
           << actual_text << " is " << actual.rows() << " x " << actual.cols() << ", "
           << expected_text << " is " << expected.rows() << " x " << expected.cols();
  }
  double scale = 0;
  for (const double value : expected.reshaped())
    if (std::isfinite(value)) scale = std::max(scale, std::abs(value));
  const double allowed = tolerance * (scale > 0 ? scale : 1);
  for (Eigen::Index j = 0; j < actual.cols(); ++j) {
    for (Eigen::Index i = 0; i < actual.rows(); ++i) {
      const double difference = std::abs(actual(i, j) - expected(i, j));
      if (difference <= allowed || actual(i, j) == expected(i, j)) continue;
      return testing::AssertionFailure()
             << actual_text << " and " << expected_text << " differ at (" << i << ", " << j
             << "): " << testing::PrintToString(actual(i, j)) << " and "
             << testing::PrintToString(expected(i, j)) << ", difference " << difference
             << ", allowed " << allowed;
    }
  }
  return testing::AssertionSuccess();
}

template <typename Call>
testing::AssertionResult throws_error(const Call& call, ErrorKind kind,
                                      const std::string& text) {
  try {
    call();
  } catch (const Error& error) {
    const std::string all = std::string(error.what()) + "\n  hint: " + error.hint();
    if (error.kind() != kind) {
      return testing::AssertionFailure()
             << "got " << id(error.kind()) << " instead of " << id(kind) << ": " << all;
    }
    if (all.find(text) == std::string::npos) {
      return testing::AssertionFailure()
             << "the message does not contain \"" << text << "\": " << all;
    }
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "nothing was thrown, expected " << id(kind);
}

}  // namespace fmd::test
