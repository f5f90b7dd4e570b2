#pragma once

#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/index.h"
#include "fmd/core/parallel.h"
#include "fmd/model/backbone.h"
#include "support/close.h"

// What every Backbone must hold. A new one calls check_backbone() in its test.
namespace fmd::test {

// Features as numbers, and the offsets where there are some.
struct SeenFeatures {
  Matrix x, offset;

  bool operator==(const SeenFeatures& other) const {
    return x.rows() == other.x.rows() && x.cols() == other.x.cols() && x == other.x &&
           offset.rows() == other.offset.rows() && offset.cols() == other.offset.cols() &&
           offset == other.offset;
  }
  [[nodiscard]] SeenFeatures pick(std::span<const Index> rows) const {
    SeenFeatures some{Matrix(std::ssize(rows), x.cols()),
                      Matrix(offset.rows() == 0 ? 0 : std::ssize(rows), offset.cols())};
    for (Index i = 0; i < std::ssize(rows); ++i) {
      some.x.row(i) = x.row(rows[at(i)]);
      if (offset.rows() > 0) some.offset.row(i) = offset.row(rows[at(i)]);
    }
    return some;
  }
};

inline void see_block(const FeatureBlock& block, Index first, SeenFeatures& seen) {
  for (Index i = 0; i < block.rows; ++i) {
    if (!block.sparse()) {
      for (Index j = 0; j < block.cols; ++j)
        seen.x(first + i, j) = static_cast<double>(block.dense[i * block.cols + j]);
    } else {
      std::int32_t before = -1;
      for (Index e = block.start[at(i)]; e < block.start[at(i) + 1]; ++e) {
        const std::int32_t j = block.column[at(e)];
        ASSERT_GT(j, before) << "columns of a row must ascend";
        ASSERT_LT(j, block.cols);
        before = j;
        seen.x(first + i, j) =
            block.value.empty() ? 1.0 : static_cast<double>(block.value[at(e)]);
      }
    }
    if (block.offset == nullptr) continue;
    seen.offset.conservativeResize(seen.x.rows(), block.outputs);
    for (Index k = 0; k < block.outputs; ++k)
      seen.offset(first + i, k) = block.offset[i * block.outputs + k];
  }
}

inline SeenFeatures see(const Features& X) {
  SeenFeatures seen{Matrix::Zero(X.rows(), X.cols()), {}};
  Scratch scratch;
  for (Index b = 0; b < block_count(X.rows()); ++b) {
    const FeatureBlock block = X.block(b, scratch);
    EXPECT_EQ(block.first, b * kBlockRows);
    EXPECT_EQ(block.rows, std::min(kBlockRows, X.rows() - b * kBlockRows));
    see_block(block, b * kBlockRows, seen);
  }
  return seen;
}

inline SeenFeatures see(const Features& X, std::span<const Index> rows) {
  SeenFeatures seen{Matrix::Zero(std::ssize(rows), X.cols()), {}};
  Scratch scratch;
  see_block(X.gather(rows, scratch), 0, seen);
  return seen;
}

inline void check_sparsity(const Backbone& backbone, const Features& X) {
  const Sparsity sparsity = backbone.sparsity();
  Scratch scratch;
  for (Index b = 0; b < block_count(X.rows()); ++b) {
    const FeatureBlock block = X.block(b, scratch);
    ASSERT_EQ(block.sparse(), sparsity.entries > 0);
    if (!block.sparse()) continue;
    for (const float value : block.value) ASSERT_TRUE(!sparsity.ones || value == 1.0f);
    for (Index i = 0; i < block.rows; ++i)
      ASSERT_LE(block.start[at(i) + 1] - block.start[at(i)], sparsity.entries);
  }
}

// There: the rows with the attribute changed. Back: those rows with their own value again.
inline void check_flips(const Backbone& backbone, const Table& table, const Features& X,
                        const Attribute& attribute) {
  SCOPED_TRACE("attribute " + attribute.name);
  const Inputs inputs(table);
  const PairPlan plan = flip_plan(attribute);
  ASSERT_GT(plan.size(), 0) << "the table must have rows to flip";
  const Table there = flipped_rows(table, attribute, plan);
  const auto made = backbone.flipped(&inputs, X, attribute, plan, {});
  const SeenFeatures flipped = see(*made), own = see(X).pick(plan.row);
  EXPECT_TRUE(flipped == see(*backbone.features(there, {}, {})))
      << "flipped() must be features() of the changed rows";
  ThreadPool pool(4);
  EXPECT_TRUE(see(*backbone.flipped(&inputs, X, attribute, plan, {.pool = &pool})) ==
              flipped)
      << "threads must not change a bit";
  if (!backbone.inputs().reads(attribute)) {
    EXPECT_TRUE(flipped == own) << "a column that is not read changes no feature";
  }
  PairPlan back = plan;
  std::iota(back.row.begin(), back.row.end(), 0);
  std::swap(back.from, back.to);
  const Inputs changed(there);
  EXPECT_TRUE(see(*backbone.flipped(&changed, *made, attribute, back, {})) == own)
      << "there and back must be the original";
  if (backbone.flips_features()) {
    EXPECT_TRUE(see(*backbone.flipped(nullptr, X, attribute, plan, {})) == flipped)
        << "flips_features(): the inputs must not matter";
  } else {
    EXPECT_ERROR(backbone.flipped(nullptr, X, attribute, plan, {}), ErrorKind::unsupported,
                 attribute.name);
  }
  const ColumnMap* map = backbone.columns();
  if (map == nullptr) return;
  Matrix outside = flipped.x - own.x;
  for (const Index j : map->of(attribute)) outside.col(j).setZero();
  EXPECT_EQ(outside.cwiseAbs().maxCoeff(), 0) << "a flip must stay in its own columns";
}

// The table must have more rows than a block (4096) and the attributes' columns.
inline void check_backbone(const Backbone& backbone, const Table& table,
                           const std::vector<Attribute>& attributes) {
  ASSERT_GT(table.rows(), kBlockRows);
  const auto X = backbone.features(table, {}, {});
  ASSERT_EQ(X->rows(), table.rows());
  ASSERT_EQ(X->cols(), backbone.cols());
  const SeenFeatures whole = see(*X);
  EXPECT_TRUE(whole.x.allFinite());
  EXPECT_TRUE(see(*backbone.features(table, {}, {})) == whole) << "twice is the same";
  check_sparsity(backbone, *X);

  // Some rows, in another order and one of them twice.
  std::vector<Index> rows;
  for (Index row = table.rows() - 1; row >= 0; row -= 3) rows.push_back(row);
  rows.push_back(rows.front());
  EXPECT_TRUE(see(*X, rows) == whole.pick(rows)) << "gather() must agree with block()";
  EXPECT_TRUE(see(*backbone.features(table, rows, {})) == whole.pick(rows))
      << "features of some rows must be some of the features";
  EXPECT_TRUE(see(*backbone.features(select(table, rows), {}, {})) == whole.pick(rows))
      << "a row's features must not depend on the rows beside it";

  for (const int threads : {2, 4}) {
    ThreadPool pool(threads);
    const Exec exec{.pool = &pool};
    EXPECT_TRUE(see(*backbone.features(table, {}, exec)) == whole) << threads << " threads";
  }
  EXPECT_TRUE(see(*backbone.of_kept(backbone.kept().features(table, {}, {}), {})) == whole)
      << "of_kept() must give the features back";
  EXPECT_EQ(backbone.hash(), backbone.hash());
  for (const std::string& name : backbone.inputs().names())
    EXPECT_TRUE(table.find(name) != nullptr) << name;
  for (const Attribute& attribute : attributes) check_flips(backbone, table, *X, attribute);
}

// same: backbones of models that differ in their heads alone. others: backbones that differ
// from this one in anything.
inline void check_hashes(const Backbone& backbone, const std::vector<const Backbone*>& same,
                         const std::vector<const Backbone*>& others) {
  for (const Backbone* one : same) EXPECT_EQ(one->hash(), backbone.hash());
  for (const Backbone* one : others) EXPECT_NE(one->hash(), backbone.hash());
}

}  // namespace fmd::test
