#include <cmath>
#include <cstdio>

#include <gtest/gtest.h>

#include "fmd/core/parallel.h"
#include "fmd/fit/train.h"
#include "fmd/influence/influence.h"
#include "fmd/influence/ranking.h"
#include "fmd/influence/refit.h"
#include "fmd/pipeline/study.h"
#include "pipeline/tables.h"

namespace fmd {
namespace {

struct Agreement {
  double correlation = 0, slope = 0;  // of refitted on predicted, through the means
};

Agreement agreement(const std::vector<double>& predicted, const std::vector<double>& real) {
  const auto n = static_cast<Index>(real.size());
  const Eigen::Map<const Vector> x(predicted.data(), n), y(real.data(), n);
  const Vector dx = x.array() - x.mean(), dy = y.array() - y.mean();
  return {dx.dot(dy) / (dx.norm() * dy.norm()), dx.dot(dy) / dx.squaredNorm()};
}

// A logistic regression on the rows that Adult publishes for training; its gaps on the
// others. Rows are really left out one at a time and the head is fitted to its optimum.
class AdultProofSlow : public testing::Test {
 protected:
  void SetUp() override {
    if (test::data_folder().empty()) GTEST_SKIP() << "FMD_DATA is not set";
    task_ = find_dataset("adult").task;
    task_.unseen = Unseen::bucket;
    Table train = load_dataset("adult", test::data_folder(), "train");
    model_ = train_model(train, task_, "", {.relative_gradient = 1e-12}, exec()).model;
    train_ = make_study(model_, std::move(train), task_, true, exec());
    test_ = make_study(model_, load_dataset("adult", test::data_folder(), "test"), task_,
                       true, exec());
    const auto sex = static_cast<std::size_t>(test_.find("sex"));
    pairs_ = make_flip_pairs(model_, test_, sex, {});
    set_ = pairs_.set(test_);
    for (const char* name : {"co", "demographic_parity_soft", "equal_opportunity_soft"}) {
      measures_.push_back(make_measure(name));
      targets_.push_back(
          {measures_.back().get(), {&set_, test_.rows(), test_.attributes[sex].code}});
    }
    result_ = influence(linear_head(model_), train_.rows(), model_.theta, targets_,
                        {{.l2 = model_.note.l2}}, exec());
  }

  [[nodiscard]] Exec exec() { return {.pool = &pool_}; }

  // Changes of every measure when each of the rows alone is left out.
  std::vector<std::vector<double>> refit_each(const std::vector<Index>& rows) {
    std::vector<std::vector<double>> real(targets_.size());
    for (const Index row : rows) {
      const Vector theta =
          refit_without(linear_head(model_), train_.rows(), model_.theta, std::vector{row},
                        {.l2 = model_.note.l2, .relative_gradient = 1e-12}, exec());
      for (std::size_t j = 0; j < targets_.size(); ++j)
        real[j].push_back(gap_of(targets_[j], *model_.head, theta, false, exec()).value -
                          result_.value[j]);
    }
    return real;
  }

  std::vector<double> predicted(const std::vector<Index>& rows, std::size_t j) {
    std::vector<double> changes;
    for (const Index row : rows)
      changes.push_back(result_.change(row, static_cast<Index>(j)));
    return changes;
  }

  ThreadPool pool_;
  Task task_;
  Model model_;
  Study train_, test_;
  StudyPairs pairs_;
  PairSet set_;
  std::vector<std::unique_ptr<BiasMeasure>> measures_;
  std::vector<BiasTarget> targets_;
  InfluenceResult result_;
};

TEST_F(AdultProofSlow, HundredRandomRows) {
  Rng rng(1, "proof");
  std::vector<Index> rows;
  for (int i = 0; i < 100; ++i) rows.push_back(rng.below(train_.table.rows()));
  const auto real = refit_each(rows);
  for (std::size_t j = 0; j < targets_.size(); ++j) {
    const Agreement a = agreement(predicted(rows, j), real[j]);
    std::printf("100 random rows, %s: correlation %.6f, slope %.4f\n",
                measures_[j]->name().c_str(), a.correlation, a.slope);
    EXPECT_GE(a.correlation, .999);
    EXPECT_NEAR(a.slope, 1, .02);
  }
}

TEST_F(AdultProofSlow, TheHundredStrongest) {
  for (std::size_t j = 0; j < targets_.size(); ++j) {
    const Vector column = result_.change.col(static_cast<Index>(j));
    const auto rows =
        most_harmful({column.data(), static_cast<std::size_t>(column.size())}, 100);
    const auto real = refit_each(rows);
    const Agreement a = agreement(predicted(rows, j), real[j]);
    std::printf("100 strongest rows, %s: correlation %.6f, slope %.4f\n",
                measures_[j]->name().c_str(), a.correlation, a.slope);
    EXPECT_NEAR(a.slope, 1, .15);
  }
}

}  // namespace
}  // namespace fmd
