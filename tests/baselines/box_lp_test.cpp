#include "baselines/box_lp.h"

#include <gtest/gtest.h>

#include "baselines/golden.h"
#include "support/close.h"

namespace fmd {
namespace {

using nlohmann::json;
using test::baselines_golden;
using test::golden_vector;

TEST(BoxProgram, AgreesWithHighs) {
  int feasible = 0;
  for (const json& c : baselines_golden()["box_programs"]) {
    const BoxProgram program{golden_vector(c["c"]), golden_vector(c["a0"]),
                             golden_vector(c["a1"]), c["b"][0], c["b"][1]};
    const BoxSolution found = solve_box(program);
    ASSERT_EQ(found.feasible, c["feasible"].get<bool>()) << c;
    if (!found.feasible) continue;
    ++feasible;
    EXPECT_NEAR(found.objective, c["objective"].get<double>(), 1e-8) << c;
    EXPECT_NEAR(found.dual, found.objective, 1e-8);
    EXPECT_GE(found.x.minCoeff(), 0);
    EXPECT_LE(found.x.maxCoeff(), 1);
    EXPECT_LE(program.a0.dot(found.x), program.b0 + 1e-8);
    EXPECT_LE(program.a1.dot(found.x), program.b1 + 1e-8);
  }
  EXPECT_GE(feasible, 15);
}

// Equal ratios and rows that say the same: no cycle, and the dual proves the optimum.
TEST(BoxProgram, ManyTiesComeToAnEnd) {
  const Index n = 2000;
  Vector a(n);
  for (Index i = 0; i < n; ++i) a[i] = static_cast<double>(i % 5) - 2;
  const BoxSolution found = solve_box({Vector::Ones(n), a, a, -300, -310});
  ASSERT_TRUE(found.feasible);
  EXPECT_NEAR(found.objective, 155, 1e-9);  // 155 rows of -2
  EXPECT_NEAR(found.dual, 155, 1e-9);
}

}  // namespace
}  // namespace fmd
