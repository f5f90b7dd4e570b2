#include "model/stacked_rows.h"

#include <gtest/gtest.h>

#include "fmd/data/encoder.h"

namespace fmd {
namespace {

std::unique_ptr<Features> sparse_rows(std::vector<float> value) {
  CsrRows csr;
  csr.cols = 3;
  csr.start = {0, 2, 3};
  csr.column = {0, 2, 1};
  csr.value = std::move(value);
  return make_sparse(std::move(csr));
}

// Row after row, dense.
std::vector<float> numbers(const Features& X) {
  Scratch scratch;
  const FeatureBlock block = X.block(0, scratch);
  if (!block.sparse()) return {block.dense, block.dense + block.rows * block.cols};
  std::vector<float> all(static_cast<std::size_t>(block.rows * block.cols));
  for (Index i = 0; i < block.rows; ++i)
    for (Index e = block.start[static_cast<std::size_t>(i)];
         e < block.start[static_cast<std::size_t>(i) + 1]; ++e)
      all[static_cast<std::size_t>(i * block.cols +
                                   block.column[static_cast<std::size_t>(e)])] =
          block.value.empty() ? 1.0F : block.value[static_cast<std::size_t>(e)];
  return all;
}

bool is_sparse(const Features& X) {
  Scratch scratch;
  return X.block(0, scratch).sparse();
}

TEST(StackedRows, KeepsTheOrderOfListsAndSubsets) {
  const auto ones = sparse_rows({}), valued = sparse_rows({4, 5, 6});
  const std::vector<Index> back{1, 0, 1};
  const std::vector<Rows> lists{{ones.get(), {}, {}, back}, {valued.get(), {}, {}, {}}};
  const std::vector<float> expected{0, 1, 0, 1, 0, 1, 0, 1, 0, 4, 0, 5, 0, 6, 0};
  const auto sparse = internal::stack_rows(lists),
             dense = internal::stack_rows(lists, true);
  EXPECT_TRUE(is_sparse(*sparse));
  EXPECT_FALSE(is_sparse(*dense));
  EXPECT_EQ(numbers(*sparse), expected);
  EXPECT_EQ(numbers(*dense), expected);
}

TEST(StackedRows, IsDenseWhereOneListIs) {
  const auto ones = sparse_rows({}), dense = make_dense({7, 8, 9}, 1, 3);
  const std::vector<Rows> lists{{ones.get(), {}, {}, {}}, {dense.get(), {}, {}, {}}};
  const auto both = internal::stack_rows(lists);
  EXPECT_FALSE(is_sparse(*both));
  EXPECT_EQ(numbers(*both), (std::vector<float>{1, 0, 1, 0, 1, 0, 7, 8, 9}));
}

}  // namespace
}  // namespace fmd
