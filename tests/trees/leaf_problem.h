#pragma once

#include <memory>
#include <vector>

#include "fmd/core/rng.h"
#include "fmd/model/head_problem.h"
#include "fmd/model/linear_head.h"

namespace fmd::test {

// Leaves of small trees: six trees of four leaves. A flip moves a row in the first three
// of them, from leaf 0 or 1 to leaf 2 or 3 and back. No table, no file. Must not be moved.
struct LeafProblem {
  static constexpr Index kTrees = 6, kLeaves = 4;

  struct Owned {
    std::unique_ptr<Features> X, flipped;
    std::vector<std::int32_t> y, group;

    Owned(Index n, std::uint64_t seed, Index outputs) {
      Rng rng(seed, "leaf problem");
      CsrRows rows, other;
      rows.cols = other.cols = kTrees * kLeaves;
      for (Index i = 0; i < n; ++i) {
        group.push_back(static_cast<std::int32_t>(rng.below(2)));
        double score = 0.8 * group.back() + rng.normal();
        for (Index t = 0; t < kTrees; ++t) {
          const auto place = static_cast<std::int32_t>(rng.below(2));
          score += place;
          const auto base = static_cast<std::int32_t>(t * kLeaves);
          const std::int32_t side = t < 3 ? group.back() : static_cast<std::int32_t>(i % 2);
          rows.column.push_back(base + 2 * side + place);
          // Below the other value of the attribute the tree asks another question.
          const std::int32_t there =
              t == 0 ? static_cast<std::int32_t>((i / 2) % 2) : place;
          other.column.push_back(t < 3 ? base + 2 * (1 - side) + there
                                       : rows.column.back());
        }
        rows.start.push_back(std::ssize(rows.column));
        other.start.push_back(std::ssize(other.column));
        y.push_back(outputs == 1 ? (score > 3.4 ? 1 : 0) : (score > 4.5) + (score > 2.5));
      }
      X = make_sparse(std::move(rows));
      flipped = make_sparse(std::move(other));
    }

    [[nodiscard]] HeadPart part() const {
      PairSet pairs;
      pairs.c = {X.get(), y, {}, {}};
      pairs.cbar = {flipped.get(), y, {}, {}};
      for (Index i = 0; i < X->rows(); ++i) pairs.unit.push_back(i);
      pairs.weight.assign(y.size(), 1);
      pairs.attribute = "group";
      return {.source = "rows",
              .rows = pairs.c,
              .pairs = {pairs},
              .attributes = {{"group", group, 2}}};
    }
  };

  Owned edit, train;
  LinearHead head;
  HeadProblem problem;

  explicit LeafProblem(Index outputs = 1, Index rows = 600)
      : edit(rows, 2, outputs), train(900, 3, outputs), head(make_head(outputs)) {
    Rng rng(9, "leaf values");
    problem.head = &head;
    problem.theta.resize(head.parameters());
    for (double& value : problem.theta) value = 0.7 * rng.normal();
    problem.l2 = 1e-2;
    problem.favorable = 1;
    problem.repaired = {{0, PairKind::flip}};
    problem.edit = problem.holdout = edit.part();
    for (Index leaf = 0; leaf < 3 * kLeaves; ++leaf) problem.touched.push_back(leaf);
  }
  LeafProblem(const LeafProblem&) = delete;
  LeafProblem& operator=(const LeafProblem&) = delete;

  // Each tree counts for one output, one after the other.
  static LinearHead make_head(Index outputs) {
    LinearHeadOptions options{.intercept = false};
    for (Index leaf = 0; leaf < kTrees * kLeaves; ++leaf)
      options.output_of.push_back(static_cast<std::int32_t>(leaf / kLeaves % outputs));
    return {kTrees * kLeaves, outputs, std::move(options)};
  }

  void add_folds(Index count) {
    problem.folds.resize(static_cast<std::size_t>(count));
    for (Index i = 0; i < problem.edit.rows.size(); ++i)
      problem.folds[static_cast<std::size_t>(i % count)].push_back(i);
  }
};

}  // namespace fmd::test
