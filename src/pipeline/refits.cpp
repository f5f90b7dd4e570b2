#include "fmd/pipeline/refits.h"

#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/check.h"
#include "core/index.h"
#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "fmd/formats/model_source.h"
#include "fmd/pipeline/audit.h"
#include "fmd/pipeline/train_model.h"
#include "pipeline/study_parts.h"

namespace fmd {
namespace {

constexpr double kSame = 1e-4;  // of |theta|: training stops at such a distance

// The figures that people ask for first, by attribute and measure.
std::map<std::pair<std::string, std::string>, double> figures_of(
    const AuditReport& report) {
  std::map<std::pair<std::string, std::string>, double> figures;
  figures[{"", "accuracy"}] = report.accuracy.value;
  for (const AttributeAudit& audit : report.attributes) {
    if (audit.flip) figures[{audit.name, "co"}] = audit.flip->co.value;
    for (const char* name : {"demographic_parity", "equal_opportunity", "equalized_odds"})
      if (const GroupMeasure* measure = audit.groups.find(name); measure != nullptr)
        figures[{audit.name, name}] = measure->widest.difference.defined()
                                          ? measure->widest.difference.value
                                          : measure->value.value;
  }
  return figures;
}

// Refits say how training varies, so the model must be what training gives: a repaired
// one is not.
void require_as_trained(const Model& model, const Table& train, const Exec& exec) {
  const TrainModelResult again = train_without(model, train, {}, exec);
  if (again.model.theta.size() == model.theta.size() &&
      (again.model.theta - model.theta).norm() <= kSame * (1 + model.theta.norm()))
    return;
  throw Error(ErrorKind::wrong_model,
              fmt::format("refits: {} does not give this model again", train.source),
              "give the rows that it was trained on; a model that was repaired cannot be "
              "trained again");
}

}  // namespace

RefitReport refits(const ModelSource& source, const DataSource& train,
                   const DataSource& data, const AuditRefitOptions& options,
                   const Exec& exec) {
  require_option(options.refits >= 2 && options.refits <= 10000, "audit", "refits",
                 options.refits, "from 2 to 10000");
  const Model& model = source.model();
  if (!can_train(model) || !model.head->linear())
    throw Error(ErrorKind::unsupported,
                "refits: the model must be a logistic or softmax regression that `fmd "
                "train` made",
                "leave --refits out");
  const Table rows = train.read(table_options(model, model.task), exec);
  require_as_trained(model, rows, exec);
  AuditOptions how = options.audit;
  how.replicates = 50;  // values alone are needed
  how.permutations = 0;
  how.by_name = how.intersections = false;
  how.previous = std::nullopt;
  how.previous_model = nullptr;
  Exec quiet = exec;
  quiet.progress = nullptr;
  quiet.notes = nullptr;
  const auto measure = [&](Model one) {
    one.task = model.task;
    one.task.unseen = Unseen::counted;  // a sample may lack a category
    return figures_of(audit(ModelInMemory(std::move(one)), data, how, quiet));
  };
  const auto values = measure(model);
  std::map<std::pair<std::string, std::string>, std::pair<double, double>> sums;
  std::map<std::pair<std::string, std::string>, Index> counts;
  for (Index k = 0; k < options.refits; ++k) {
    exec.report("refitting", k, options.refits);
    Rng rng(exec.seed, "refit", static_cast<std::uint64_t>(k));
    std::vector<Index> drawn(at(rows.rows()));
    for (Index& row : drawn) row = rng.below(rows.rows());
    const TrainModelResult refit = train_without(model, select(rows, drawn), {}, quiet);
    for (const auto& [key, value] : measure(refit.model)) {
      if (std::isnan(value)) continue;
      sums[key].first += value;
      sums[key].second += value * value;
      ++counts[key];
    }
  }
  RefitReport report{.refits = options.refits};
  for (const auto& [key, value] : values) {
    const auto n = static_cast<double>(counts[key]);
    if (std::isnan(value) || n < 2) continue;
    const double mean = sums[key].first / n;
    const double spread =
        std::sqrt(std::max(0.0, sums[key].second - n * mean * mean) / (n - 1));
    const double half = normal_quantile(how.confidence) * spread;
    report.figures.push_back({key.first,
                              key.second,
                              {value, std::max(0.0, value - half),
                               std::min(1.0, value + half), IntervalKind::normal}});
  }
  return report;
}

}  // namespace fmd
