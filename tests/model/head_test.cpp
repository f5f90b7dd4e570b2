#include "fmd/model/head.h"

#include <gtest/gtest.h>

#include "fmd/model/linear_head.h"
#include "fmd/model/mlp_head.h"
#include "support/check_head.h"

namespace fmd {
namespace {

constexpr Index kCols = 6, kRows = 9;

test::Problem rows_of(bool sparse, bool ones) {
  return test::random_problem(
      {.rows = kRows, .cols = kCols, .sparse = sparse, .ones = ones, .seed = 7});
}

TEST(HeadCheck, LinearHeadsWithEveryOption) {
  for (const Index outputs : {1, 2, 3})
    for (const bool intercept : {true, false})
      for (const bool one_class : {false, true})
        for (const bool sparse : {false, true}) {
          SCOPED_TRACE(testing::Message()
                       << outputs << " outputs, intercept " << intercept << ", output_of "
                       << one_class << ", sparse " << sparse);
          LinearHeadOptions options{.intercept = intercept};
          for (Index j = 0; one_class && j < kCols; ++j)
            options.output_of.push_back(static_cast<std::int32_t>(j % outputs));
          const LinearHead head(kCols, outputs, options);
          const Index weights = one_class ? kCols : kCols * outputs;
          EXPECT_EQ(head.parameters(), weights + (intercept ? outputs : 0));
          test::check_head(head, *rows_of(sparse, sparse).X,
                           test::random_vector(head.parameters(), 5));
        }
}

TEST(HeadCheck, Networks) {
  for (const Activation activation : {Activation::relu, Activation::tanh, Activation::gelu})
    for (const Index outputs : {1, 3})
      for (const bool sparse : {false, true}) {
        const MlpHead head({kCols, 5, 4, outputs}, activation);
        test::check_head(head, *rows_of(sparse, false).X,
                         test::random_vector(head.parameters(), 5));
      }
}

}  // namespace
}  // namespace fmd
