#pragma once

#include <cmath>
#include <memory>
#include <vector>

#include "fmd/core/rng.h"
#include "fmd/fit/train.h"
#include "fmd/model/head_problem.h"
#include "fmd/model/linear_head.h"

namespace fmd::test {

// A head on three features. The first one is the group, which the labels lean on; a pair
// is a row and the row of the other group. No table, no file. Must not be moved.
struct SmallProblem {
  struct Owned {
    std::unique_ptr<Features> X, flipped;
    std::vector<std::int32_t> y, group;

    Owned(Index n, std::uint64_t seed) {
      Rng rng(seed, "small problem");
      std::vector<float> rows, other;
      for (Index i = 0; i < n; ++i) {
        group.push_back(static_cast<std::int32_t>(rng.below(2)));
        const double a = rng.normal(), b = rng.normal() + 0.5 * group.back();
        const double p = 1 / (1 + std::exp(-a - b - 1.5 * group.back() + 1));
        y.push_back(rng.uniform() < p ? 1 : 0);
        for (const double v : {static_cast<double>(group.back()), a, b})
          rows.push_back(static_cast<float>(v));
        for (const double v : {1.0 - group.back(), a, b})
          other.push_back(static_cast<float>(v));
      }
      X = make_dense(std::move(rows), n, 3);
      flipped = make_dense(std::move(other), n, 3);
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

  Owned train{1500, 1}, edit{800, 2}, holdout{800, 3};
  LinearHead head{3, 1};
  HeadProblem problem;

  SmallProblem() {
    problem.head = &head;
    problem.l2 = 1e-3;
    problem.favorable = 1;
    problem.repaired = {{0, PairKind::flip}};
    problem.attribute_features = std::vector<Index>{0};
    problem.edit = edit.part();
    problem.holdout = holdout.part();
    problem.train = train.part();
    problem.theta = train_linear(head, problem.train->rows, {.l2 = 1e-3}, {}).theta;
    problem.replaced = [this](std::span<const Index> rows, const Exec&) {
      KeptPairs kept{problem.train->pairs, nullptr};
      PairSet& set = kept.sets[0];
      set.unit.assign(rows.begin(), rows.end());
      set.weight.assign(rows.size(), 1);
      auto own = std::make_shared<std::vector<Index>>(rows.begin(), rows.end());
      set.c.subset = set.cbar.subset = *own;
      kept.owner = own;
      return kept;
    };
  }
  SmallProblem(const SmallProblem&) = delete;
  SmallProblem& operator=(const SmallProblem&) = delete;
};

}  // namespace fmd::test
