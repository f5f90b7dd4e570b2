#include "pipeline/contenders.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "fmd/metrics/bias_measure.h"
#include "fmd/model/passes.h"
#include "fmd/model/tree_backbone.h"
#include "fmd/pipeline/train_model.h"
#include "fmd/unlearn/simple.h"
#include "pipeline/network_candidates.h"
#include "pipeline/study_parts.h"

namespace fmd::internal {
namespace {

// Controls are only for comparison: their intervals need not be as exact as the result's.
AuditOptions coarse(AuditOptions options) {
  options.replicates = std::min<Index>(options.replicates, 200);
  options.intersections = false;
  return options;
}

// Receipts hold only the usual measures.
AuditReport audit_on(const Model& model, const Study& study, AuditOptions options,
                     const Exec& exec, const MatchPlans* matches) {
  options.by_name = false;
  const auto pairs = make_pairs(model, study, model.task, {}, exec);
  return audit_model(model, study, pairs, options, exec, matches);
}

constexpr const char* kNotRead = "the model does not read the column";
constexpr const char* kLayersBelow = "the column is read below the layers that are changed";

Control retrained(const Model& before, const std::vector<std::string>& columns,
                  const std::optional<Table>& train, bool reads, const Exec& exec) {
  Control control{.name = "retrained_without_column",
                  .title = "retrained without",
                  .reason = "",
                  .model = {}};
  if (trees_of(*before.backbone) != nullptr) {
    control.reason = "its own library must retrain it";
    return control;
  }
  if (!train || !reads) {
    control.reason = reads ? "no training rows were given (--train)" : kNotRead;
    return control;
  }
  if (!can_train(before)) {
    control.reason = "this kind of model cannot be trained here";
    return control;
  }
  control.model = train_without(before, *train, columns, exec).model;
  // Only the head is compared, so it decides by the original's threshold.
  control.model->task.threshold = before.task.threshold;
  return control;
}

}  // namespace

std::vector<Control> make_controls(const Model& whole, const Model& before,
                                   const Model& after, const StudyPart& edit,
                                   const StudyPart& holdout,
                                   const std::optional<Table>& train, const Exec& exec) {
  std::vector<Control> controls;
  std::vector<const Attribute*> repaired;
  std::vector<std::string> columns;
  for (const StudyPairs& pairs : edit.pairs) {
    repaired.push_back(&edit.study->attributes[pairs.attribute]);
    for (const std::string& column : repaired.back()->columns) columns.push_back(column);
  }
  const std::vector<Index> features = attribute_features(before, repaired);
  const bool read = std::any_of(repaired.begin(), repaired.end(), [&](const Attribute* a) {
    return before.backbone->inputs().reads(*a);
  });
  controls.push_back(
      {"column_averaged", "column averaged", read ? kLayersBelow : kNotRead, {}});
  if (!features.empty()) {
    controls.back().reason.clear();
    controls.back().model = with_theta(
        before, average_features(*before.head, before.theta, edit.view(), features, exec));
  }
  controls.push_back(retrained(whole, columns, train, read, exec));

  if (!before.head->linear()) {
    Control tuned{.name = "fine_tuned",
                  .title = "fine-tuned on the pairs",
                  .reason = "",
                  .model = {}};
    if (edit.pairs[0].kind == PairKind::match)
      tuned.reason = "matched pairs are repaired by rows";
    else
      tuned.model = with_theta(before, fine_tuned(before, edit, exec));
    controls.push_back(std::move(tuned));
  }

  const double temperature =
      best_temperature(*before.head, before.theta, holdout.view(), exec);
  controls.push_back({"tempered",
                      fmt::format("temperature scaled, T = {:.2f}", temperature), "",
                      with_theta(before, temper(*before.head, before.theta, temperature))});

  // The original with the favourable rate of the repaired model. It shows what the change
  // of the rate alone would do.
  const int favorable = before.task.favorable_class();
  Control shift{
      .name = "intercept_shift", .title = "intercept shifted", .reason = "", .model = {}};
  if (favorable < 0) {
    shift.reason = "no favourable class is named";
  } else if (layers_of(*before.head).back().head.intercepts().empty()) {
    shift.reason = "the model has no intercept";
  } else {
    const Scored now = score(after, *holdout.study, holdout.rows, exec);
    const auto yes = std::count(now.decision.begin(), now.decision.end(), favorable);
    shift.model = with_theta(
        before,
        shift_to_rate(*before.head, before.theta, holdout.view(), before.task.threshold,
                      favorable, static_cast<double>(yes) / static_cast<double>(now.rows()),
                      exec));
  }
  controls.push_back(std::move(shift));
  return controls;
}

Predicted path_gap(const Model& before, const Vector& theta, const Study& study,
                   const StudyPairs& pairs, const Exec& exec) {
  if (before.head->outputs() != 1) return {};
  const PairSet set = pairs.set(study);
  const Vector was = all_logits(*before.head, set.c, before.theta, exec) -
                     all_logits(*before.head, set.cbar, before.theta, exec);
  const Vector is = all_logits(*before.head, set.c, theta, exec) -
                    all_logits(*before.head, set.cbar, theta, exec);
  const Matrix p = all_probabilities(*before.head, set.c, before.theta, exec);
  const Matrix pbar = all_probabilities(*before.head, set.cbar, before.theta, exec);
  double old_sum = 0, sum = 0;
  for (Index i = 0; i < set.size(); ++i) {
    const double slope = was[i] == 0 ? p(i, 0) * p(i, 1) : (p(i, 1) - pbar(i, 1)) / was[i];
    const double weight = set.weight[static_cast<std::size_t>(i)];
    old_sum += weight * std::abs(slope * was[i]);
    sum += weight * std::abs(slope * is[i]);
  }
  const double value = sum / set.total_weight();
  return {.value = value, .change = value - old_sum / set.total_weight(), .capped = false};
}

Predicted first_order_gap(const Model& before, const Vector& theta, const Study& study,
                          const StudyPairs& pairs, const Exec& exec) {
  const PairSet set = pairs.set(study);
  const MeasureValue now =
      evaluate(*make_measure("co"), {.pairs = &set, .rows = {}, .group = {}}, *before.head,
               before.theta, true, exec);
  const double change = now.gradient.dot(theta - before.theta);
  return {.value = std::max(0.0, now.value + change),
          .change = change,
          .capped = now.value + change < 0};
}

std::vector<Contender> audit_all(const Model& before, const Model& after,
                                 const std::vector<Control>& controls, const Study& study,
                                 const AuditOptions& options, const Exec& exec) {
  // Who is matched with whom depends on the features, which a repair does not change.
  const MatchPlans matches = make_matches(before, study, before.task, exec);
  std::vector<Contender> all;
  all.push_back({"before", "before", audit_on(before, study, options, exec, &matches), ""});
  all.push_back(
      {"repaired", "repaired", audit_on(after, study, options, exec, &matches), ""});
  for (const Control& control : controls) {
    Contender contender{control.name, control.title, std::nullopt, control.reason};
    if (control.model) {
      if (control.model->backbone == before.backbone) {
        contender.audit = audit_on(*control.model, study, coarse(options), exec, &matches);
      } else {  // other inputs: the rows must be encoded again
        const Study own =
            make_study(*control.model, study.table, control.model->task, true, exec);
        contender.audit = audit_on(*control.model, own, coarse(options), exec, nullptr);
      }
    }
    all.push_back(std::move(contender));
  }
  return all;
}

}  // namespace fmd::internal
