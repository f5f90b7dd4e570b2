#include "fmd/baselines/sparse_logistic.h"

#include <gtest/gtest.h>

#include "baselines/golden.h"
#include "support/close.h"

namespace fmd {
namespace {

using nlohmann::json;
using test::baselines_golden;
using test::golden_matrix;
using test::golden_vector;

TEST(SparseLogistic, AgreesWithScikitLearn) {
  const json& g = baselines_golden()["sparse_logistic"];
  const Matrix X = golden_matrix(g["X"], g["features"]);
  const auto y = g["y"].get<std::vector<std::int32_t>>();
  SparseLogistic warm;
  for (const json& c : g["cases"]) {
    const double penalty = 1 / (c["C"].get<double>() * static_cast<double>(X.rows()));
    const SparseLogistic found = fit_sparse_logistic(X, y, penalty);
    EXPECT_LE(found.violation, 1e-8);
    EXPECT_CLOSE(found.w, golden_vector(c["w"]), 1e-5);
    EXPECT_NEAR(found.b, c["b"].get<double>(), 1e-5);
    warm = fit_sparse_logistic(X, y, penalty, warm);
    EXPECT_CLOSE(warm.w, found.w, 1e-6);
  }
  const SparseLogistic none = fit_sparse_logistic(X, y, 10);
  EXPECT_EQ(none.w, Vector::Zero(X.cols()));  // a large penalty leaves the intercept alone
  EXPECT_ERROR(fit_sparse_logistic(X, y, -1), ErrorKind::bad_option, "penalty");
}

}  // namespace
}  // namespace fmd
