#include "fmd/pipeline/previous_model.h"

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/model/encoder_backbone.h"
#include "pipeline/tables.h"
#include "support/close.h"

namespace fmd {
namespace {

struct Audited {
  Study study;
  std::vector<std::optional<StudyPairs>> pairs;
  AuditReport report;
};

Audited audited(const Model& model, const Table& table) {
  Study study = make_study(model, table, model.task, false, {});
  auto pairs = make_pairs(model, study, model.task, {}, {});
  AuditReport report = audit_model(model, study, pairs, {}, {});
  return {std::move(study), std::move(pairs), std::move(report)};
}

Model made_up_model(std::uint64_t seed) {
  return train_model(test::number_of_columns(2000, seed), test::made_up_task(), "", {}, {})
      .model;
}

TEST(CompareModels, TheSameModelChangesNothing) {
  const Model model = made_up_model(1);
  const Audited now = audited(model, test::number_of_columns(1000, 2));
  const AuditChanges report =
      compare_models(model, model, now.study, now.pairs, now.report, {}, {});
  EXPECT_TRUE(report.paired);
  EXPECT_GT(report.changes.size(), 10U);
  EXPECT_EQ(report.count(Direction::unclear), static_cast<Index>(report.changes.size()));
  for (const FigureChange& change : report.changes) EXPECT_EQ(change.change.value, 0);
}

// A model whose weight of one column was doubled: the flip gap grows in every row.
TEST(CompareModels, AWiderFlipGapIsWorseInPairs) {
  const Model previous = made_up_model(1);
  const EncodedColumn* group = encoder_of(*previous.backbone).find("group");
  Vector theta = previous.theta;
  theta(group->first) *= 2;
  const Model now = with_theta(previous, theta);
  const Audited audit = audited(now, test::number_of_columns(1000, 2));
  const Audited was = audited(previous, test::number_of_columns(1000, 2));
  const AuditChanges report =
      compare_models(previous, now, audit.study, audit.pairs, audit.report, {}, {});
  int paired = 0, flip_gaps = 0;
  for (const FigureChange& change : report.changes) {
    paired += change.paired;
    if (change.after.measure != "co" || change.after.attribute != "group") continue;
    ++flip_gaps;
    EXPECT_TRUE(change.paired);
    EXPECT_EQ(change.direction, Direction::worse);
    EXPECT_CLOSE(change.change.value,
                 audit.report.find("group")->flip->co.value -
                     was.report.find("group")->flip->co.value,
                 1e-10);
  }
  EXPECT_EQ(flip_gaps, 1);
  EXPECT_GE(paired, 8);
}

TEST(CompareModels, OtherClassesAreAnotherTask) {
  const Model now = made_up_model(1);
  Model previous = now;
  previous.task.classes = {"refused", "granted"};
  const Audited audit = audited(now, test::number_of_columns(500, 2));
  EXPECT_ERROR(
      compare_models(previous, now, audit.study, audit.pairs, audit.report, {}, {}),
      ErrorKind::wrong_model, "answers refused, granted, this one no, yes");
}

}  // namespace
}  // namespace fmd
