#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "core/index.h"
#include "fmd/fit/train.h"
#include "pipeline/tables.h"
#include "support/check_backbone.h"
#include "support/drive.h"

// A model that is a live object: its theta is in memory, it has no file, and only the
// thread that made it may call it. Nothing outside this file knows it.
namespace fmd {
namespace {

class LiveBackbone final : public Backbone {
 public:
  LiveBackbone() {
    inputs_.columns = {{"x", ColumnKind::number, {}, true},
                       {"group", ColumnKind::category, {}, true}};
  }
  [[nodiscard]] Index cols() const override { return 3; }
  [[nodiscard]] Hash hash() const override { return {1, 2, 3}; }
  [[nodiscard]] const InputSchema& inputs() const override { return inputs_; }
  [[nodiscard]] bool concurrent() const override { return false; }
  [[nodiscard]] std::unique_ptr<Features> features(const Inputs& inputs,
                                                   std::span<const Index> some,
                                                   const Exec&) const override {
    EXPECT_EQ(std::this_thread::get_id(), owner_) << "called from another thread";
    EXPECT_EQ(++running_, 1) << "called twice at a time";
    const std::vector<double>& x = inputs.table->column("x").numbers;
    const Column& group = inputs.table->column("group");
    const Index count = some.empty() ? inputs.rows() : std::ssize(some);
    std::vector<float> values;
    for (Index i = 0; i < count; ++i) {
      const Index row = some.empty() ? i : some[at(i)];
      const float b = group.text(row) == "b" ? 1 : 0, v = static_cast<float>(x[at(row)]);
      values.insert(values.end(), {v, b, v * b});
    }
    --running_;
    ++calls_;
    return make_dense(std::move(values), count, 3);
  }
  [[nodiscard]] int calls() const { return calls_; }

 private:
  InputSchema inputs_;
  std::thread::id owner_ = std::this_thread::get_id();
  mutable std::atomic<int> running_ = 0, calls_ = 0;
};

class LiveSource final : public ModelSource {
 public:
  explicit LiveSource(Model model) : model_(std::move(model)) {}
  [[nodiscard]] const Model& model() const override { return model_; }
  [[nodiscard]] std::unique_ptr<ModelSource> with_theta(
      const Vector& theta) const override {
    return std::make_unique<LiveSource>(fmd::with_theta(model_, theta));
  }

 private:
  Model model_;
};

LiveSource alive(const test::Parts& parts) {
  Model model;
  model.task = parts.task;
  model.task.attributes.pop_back();
  model.backbone = std::make_shared<const LiveBackbone>();
  const auto head = std::make_shared<const LinearHead>(3, 1);
  const auto X = model.backbone->features(parts.train, {}, {});
  const std::vector<std::int32_t> y = labels(parts.train, model.task);
  model.head = head;
  model.theta = train_linear(*head, {.X = X.get(), .y = y, .weight = {}, .subset = {}},
                             {.l2 = 1e-3}, {})
                    .theta;
  model.note.l2 = 1e-3;
  return LiveSource(std::move(model));
}

TEST(LiveSourceProof, TheBackbonePassesTheCheck) {
  const auto parts =
      test::split_table(test::number_of_columns(10000, 5), test::made_up_task(), 3);
  const LiveSource source = alive(parts);
  test::check_backbone(*source.model().backbone, parts.train,
                       {read_attribute(parts.train, source.model().task.attributes[0])});
}

TEST(LiveSourceProof, GoesThroughAuditExplainAndDebiasOnOneThread) {
  const auto parts =
      test::split_table(test::number_of_columns(10000, 5), test::made_up_task(), 3);
  const LiveSource source = alive(parts);
  ThreadPool pool(4);
  const test::Driven driven = test::drive(source, {parts.train, parts.repair, parts.test},
                                          "group", {.pool = &pool});
  EXPECT_GT(driven.gap(0), 0.05);
  EXPECT_LT(driven.gap(1), 0.1 * driven.gap(0));
  const Exec exec{.pool = &pool};
  const test::DriveTables tables{parts.train, parts.repair, parts.test};
  test::drive_methods(source.model(), tables, "group", exec);
  EXPECT_GT(test::drive_compare(source.model(), tables, exec).methods.size(), 5u);
  EXPECT_FALSE(test::drive_scan(source.model(), parts.train, exec).columns.empty());
  test::expect_same_audit(
      test::drive_features(source.model(), source.model(), parts.test, exec), driven.audit,
      "group");
  EXPECT_GT(dynamic_cast<const LiveBackbone&>(*source.model().backbone).calls(), 5);
}

}  // namespace
}  // namespace fmd
