#include "fmd/model/features.h"

#include <gtest/gtest.h>

#include "fmd/data/encoder.h"
#include "fmd/model/rows.h"
#include "support/close.h"
#include "support/problems.h"

namespace fmd {
namespace {

using test::random_problem;

TEST(DenseFeatures, ABlockPointsIntoMemoryAndTheLastOneIsShort) {
  const auto problem = random_problem({.rows = 5000, .cols = 3});
  Scratch scratch;
  const auto first = problem.X->block(0, scratch);
  const auto second = problem.X->block(1, scratch);
  EXPECT_EQ(first.rows, 4096);
  EXPECT_EQ(second.first, 4096);
  EXPECT_EQ(second.rows, 904);
  EXPECT_EQ(second.dense, first.dense + 4096 * 3);
  EXPECT_TRUE(scratch.dense.empty());
}

TEST(SparseFeatures, ABlockPointsIntoMemory) {
  const auto problem = random_problem({.rows = 5000, .cols = 3, .sparse = true});
  Scratch scratch;
  const auto second = problem.X->block(1, scratch);
  EXPECT_EQ(second.rows, 904);
  EXPECT_EQ(second.start.size(), 905u);
  EXPECT_GT(second.start[0], 0);
  EXPECT_TRUE(scratch.column.empty());
}

TEST(Features, GatherTakesRowsInAnyOrderWithRepeats) {
  for (const bool sparse : {false, true}) {
    const auto problem = random_problem({.rows = 20, .cols = 3, .sparse = sparse});
    const auto dense = random_problem({.rows = 20, .cols = 3, .sparse = sparse});
    const auto values = test::random_values({.rows = 20, .cols = 3, .sparse = sparse});
    const std::vector<Index> wanted = {7, 0, 7, 19};
    Scratch scratch;
    const auto block = problem.X->gather(wanted, scratch);
    ASSERT_EQ(block.rows, 4);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      std::vector<double> got(3, 0.0), expected;
      for (Index j = 0; j < 3; ++j)
        expected.push_back(values[static_cast<std::size_t>(wanted[i] * 3 + j)]);
      if (sparse) {
        for (Index e = block.start[i]; e < block.start[i + 1]; ++e)
          got[static_cast<std::size_t>(block.column[static_cast<std::size_t>(e)])] =
              block.value[static_cast<std::size_t>(e)];
      } else {
        for (std::size_t j = 0; j < 3; ++j) got[j] = block.dense[i * 3 + j];
      }
      EXPECT_EQ(got, expected) << "entry " << i;
    }
  }
}

TEST(Rows, ASubsetIsReadInBlocks) {
  const auto problem = random_problem({.rows = 6000, .cols = 1});
  std::vector<Index> subset;
  for (Index i = 0; i < 5000; ++i) subset.push_back(5999 - i);
  Rows rows = problem.rows();
  rows.subset = subset;
  Scratch scratch;
  EXPECT_EQ(rows.size(), 5000);
  const auto block = rows.block(1, scratch);
  EXPECT_EQ(block.first, 4096);
  EXPECT_EQ(block.rows, 904);
  Scratch other;
  EXPECT_EQ(block.dense[0], problem.X->block(0, other).dense[5999 - 4096]);
  EXPECT_EQ(rows.label(4096), problem.y[5999 - 4096]);
}

TEST(Features, WrongShapesAreErrors) {
  EXPECT_ERROR(make_dense({1, 2, 3}, 2, 2), ErrorKind::bad_shape, "has 3 entries, needs 4");
  CsrRows csr;
  csr.cols = 2;
  csr.start = {0, 2};
  csr.column = {1, 0};
  EXPECT_ERROR(make_sparse(csr), ErrorKind::bad_shape, "columns must ascend");
  csr.column = {0, 2};
  EXPECT_ERROR(make_sparse(csr), ErrorKind::bad_shape, "below 2");
  csr.column = {0, 1};
  csr.value = {1};
  EXPECT_ERROR(make_sparse(csr), ErrorKind::bad_shape, "value has 1 entries, needs 2");
  csr.start = {0, 3};
  EXPECT_ERROR(make_sparse(csr), ErrorKind::bad_shape, "row starts");
  const auto problem = random_problem({.rows = 4});
  Scratch scratch;
  const std::vector<Index> wanted = {4};
  EXPECT_ERROR(problem.X->gather(wanted, scratch), ErrorKind::bad_shape, "row 4");
}

}  // namespace
}  // namespace fmd
