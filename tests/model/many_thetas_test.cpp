#include "model/many_thetas.h"

#include <gtest/gtest.h>

#include "fmd/model/linear_head.h"
#include "fmd/model/passes.h"
#include "support/problems.h"

namespace fmd {
namespace {

using test::random_problem;
using test::random_vector;

TEST(ManyThetas, GiveTheBitsOfEachAlone) {
  ThreadPool pool(3);
  for (const bool sparse : {false, true})
    for (const Index classes : {2, 3}) {
      const auto problem =
          random_problem({.rows = 9000, .cols = 7, .classes = classes, .sparse = sparse});
      const LinearHead head(7, classes == 2 ? 1 : classes);
      std::vector<Vector> thetas;
      std::vector<const Vector*> all;
      for (std::uint64_t k = 0; k < 35; ++k)
        thetas.push_back(random_vector(head.parameters(), k));
      for (const Vector& theta : thetas) all.push_back(&theta);
      const auto together =
          internal::probabilities_of_each(head, problem.rows(), all, {.pool = &pool});
      ASSERT_EQ(together.size(), thetas.size());
      for (std::size_t k = 0; k < thetas.size(); ++k)
        EXPECT_EQ(together[k], all_probabilities(head, problem.rows(), thetas[k], {}));
    }
}

}  // namespace
}  // namespace fmd
