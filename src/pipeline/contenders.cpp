#include "pipeline/contenders.h"

#include <algorithm>

#include <fmt/format.h>

#include "fmd/model/tree_backbone.h"
#include "fmd/pipeline/train_model.h"
#include "fmd/repair/controls.h"

namespace fmd::internal {
namespace {

// Controls are only for comparison: their intervals need not be as exact as the result's.
AuditOptions coarse(AuditOptions options) {
  options.replicates = std::min<Index>(options.replicates, 200);
  options.intersections = false;
  return options;
}

// Receipts hold only the usual measures.
AuditReport audit_alone(const Model& model, const Study& study, AuditOptions options,
                        const Exec& exec, const MatchPlans* matches,
                        const FoldModels* folds = nullptr) {
  options.by_name = false;
  const AuditedModel one{&model, std::move(options)};
  return std::move(audit_models({&one, 1}, study, exec, matches, folds)[0]);
}

constexpr const char* kColumnAveraged = "column_averaged";
constexpr const char* kRetrainedWithout = "retrained_without_column";
constexpr const char* kNotRead = "the model does not read the column";
constexpr const char* kLayersBelow = "the column is read below the layers that are changed";

Control retrained(const Model& before, const std::vector<std::string>& columns,
                  const std::optional<Study>& train, bool reads, const Exec& exec) {
  Control control{
      .name = kRetrainedWithout, .title = "retrained without", .reason = "", .model = {}};
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
  control.model = train_without(before, train->table, columns, exec).model;
  // Only the head is compared, so it decides by the original's threshold.
  control.model->task.threshold = before.task.threshold;
  return control;
}

}  // namespace

std::vector<Control> make_controls(const Model& whole, const Model& before,
                                   const Model& after, const RepairParts& parts,
                                   const Exec& exec) {
  const HeadProblem& problem = parts.problem;
  std::vector<Control> controls;
  std::vector<std::string> columns;
  bool read = false;
  for (const std::size_t a : parts.repaired) {
    const Attribute& attribute = parts.data.attributes[a];
    columns.insert(columns.end(), attribute.columns.begin(), attribute.columns.end());
    read = read || before.backbone->inputs().reads(attribute);
  }
  const auto add = [&](const char* name, const std::string& title,
                       const std::string& reason, const auto& theta) {
    controls.push_back({name, title, reason, {}});
    if (reason.empty()) controls.back().model = with_theta(before, theta());
  };
  const bool features = !problem.attribute_features.value_or(std::vector<Index>{}).empty();
  add(kColumnAveraged, "column averaged", features ? "" : (read ? kLayersBelow : kNotRead),
      [&] { return column_averaged(problem, exec); });
  controls.push_back(retrained(whole, columns, parts.train, read, exec));
  if (!before.head->linear())
    add("fine_tuned", "fine-tuned on the pairs",
        problem.all_of_kind(PairKind::match) ? "matched pairs are repaired by rows" : "",
        [&] { return fine_tuned(problem, exec); });
  const Tempered cooled = tempered(problem, problem.holdout, exec);
  add("tempered", fmt::format("temperature scaled, T = {:.2f}", cooled.temperature), "",
      [&] { return cooled.theta; });
  // The original with the favourable rate of the repaired model. It shows what the change
  // of the rate alone would do.
  const bool intercept = !layers_of(*before.head).back().head.intercepts().empty();
  add("intercept_shift", "intercept shifted",
      problem.favorable < 0 ? "no favourable class is named"
      : !intercept          ? "the model has no intercept"
                            : "",
      [&] {
        const double rate = favorable_rate(problem, after.theta, problem.holdout, exec);
        return shifted(problem, before.theta, problem.holdout, rate, exec);
      });
  return controls;
}

std::vector<Contender> audit_all(const Model& before, const Model& after,
                                 std::span<Control> controls, const Study& study,
                                 const AuditOptions& options, const Exec& exec,
                                 const FoldModels* folds) {
  // Who is matched with whom depends on the features, which a repair does not change.
  const MatchPlans matches = make_matches(before, study, before.task, exec);
  std::vector<Contender> all;
  const Index total = 2 + std::ssize(controls);
  const auto next = [&] { exec.report("measuring", std::ssize(all), total); };
  next();
  // A repaired model that was read back has a backbone of its own, with the same features.
  const bool same_features = after.backbone->hash() == before.backbone->hash();
  const bool with_others = folds == nullptr && same_features;
  std::vector<AuditedModel> together = {{&before, options}};
  if (with_others) together.push_back({&after, options});
  for (const Control& control : controls)
    if (control.model && control.model->backbone == before.backbone)
      together.push_back({&*control.model, coarse(options)});
  for (AuditedModel& one : together) one.options.by_name = false;
  std::vector<AuditReport> reports = audit_models(together, study, exec, &matches);
  auto report = reports.begin();
  all.push_back({"before", "before", std::move(*report++), ""});
  all.push_back({"repaired", "repaired",
                 with_others ? std::move(*report++)
                             : audit_alone(after, study, options, exec, &matches, folds),
                 ""});
  for (Control& control : controls) {
    next();
    Contender contender{control.name, control.title, std::nullopt, control.reason};
    if (control.model) {
      if (control.model->backbone == before.backbone) {
        contender.audit = std::move(*report++);
      } else {  // other inputs: the rows must be encoded again
        control.rows = std::make_shared<const Study>(
            make_study(*control.model, study.table, control.model->task, true, exec));
        contender.audit =
            audit_alone(*control.model, *control.rows, coarse(options), exec, nullptr);
      }
    }
    all.push_back(std::move(contender));
  }
  return all;
}

std::vector<DroppedColumn> dropped_columns(const std::vector<Control>& controls,
                                           const std::vector<Contender>& all,
                                           const Study& study, const Scored& after,
                                           const std::vector<std::string>& repaired,
                                           const std::string& measure,
                                           const AuditOptions& options, const Exec& exec) {
  std::vector<DroppedColumn> dropped;
  for (std::size_t k = 0; k < controls.size(); ++k) {
    const Control& control = controls[k];
    const bool retrains = control.name == kRetrainedWithout;
    if (!control.model || (!retrains && control.name != kColumnAveraged)) continue;
    const Study& rows = control.rows ? *control.rows : study;
    const Interval accuracy = accuracy_change(after, score(*control.model, rows, {}, exec),
                                              options.confidence, options.replicates, exec);
    DroppedColumn one;
    for (std::size_t a = 0; a < repaired.size(); ++a) {
      const auto gap = [&](const Contender& contender) {
        const AttributeAudit* audit = contender.audit->find(repaired[a]);
        return audit == nullptr || !audit->flip ? Interval{} : audit->flip->co;
      };
      const auto widest = [&](const Contender& contender) {
        const AttributeAudit* audit = contender.audit->find(repaired[a]);
        const GroupMeasure* of_groups =
            audit == nullptr ? nullptr : audit->groups.find(measure);
        if (of_groups == nullptr) return Interval{};
        return of_groups->widest.difference.defined() ? of_groups->widest.difference
                                                      : of_groups->value;
      };
      DroppedColumn now =
          dropped_column(control.name, retrains, accuracy, gap(all[2 + k]), gap(all[1]));
      // Where the repair was made for a gap between groups, that counts too.
      if (const Interval other = widest(all[2 + k]); other.defined())
        now.as_well =
            now.as_well &&
            dropped_column(control.name, retrains, accuracy, other, widest(all[1])).as_well;
      now.as_well = now.as_well && (a == 0 || one.as_well);  // every attribute
      one = std::move(now);
    }
    dropped.push_back(std::move(one));
  }
  return dropped;
}

}  // namespace fmd::internal
