#include "fmd/pipeline/explain.h"

#include <algorithm>
#include <deque>

#include "core/check.h"
#include "fmd/influence/ranking.h"
#include "pipeline/pair_slices.h"

namespace fmd {
namespace {

// Of the gap: a larger predicted change is also gone about in rounds.
constexpr double kLargeRemoval = 0.25;

const char* const kDecisions[] = {"demographic_parity", "equal_opportunity",
                                  "equalized_odds", "flip_rate", "accuracy"};

// A measure with what it is taken on; owns what a BiasTarget points to.
struct Asked {
  std::string measure;
  std::size_t attribute = 0;
  bool has_attribute = false;
  std::unique_ptr<BiasMeasure> made;
  std::unique_ptr<PairSlices> pairs;  // null for measures on rows
};

struct Gatherer {
  const Model& model;
  const Study& data;
  const Exec& exec;
  std::deque<Asked> asked;  // stays in place: targets point into it

  [[nodiscard]] bool given(std::size_t a) const {
    return model.task.attributes[a].pairs.starts_with("given:");
  }
  [[nodiscard]] bool has_pairs(std::size_t a) const {
    return given(a) || (data.reads[a] == Reads::yes && data.attributes[a].flips());
  }

  void add(const std::string& text) {
    const std::size_t colon = text.find(':');
    const std::string name = text.substr(0, colon);
    for (const char* decision : kDecisions) {
      if (name != decision) continue;
      throw Error(ErrorKind::bad_option,
                  fmt::format("explain: {} counts decisions, which have no slope", name),
                  "take co, demographic_parity_soft or equal_opportunity_soft");
    }
    if (name == "loss") {
      if (colon != std::string::npos)
        throw Error(ErrorKind::bad_option, "explain: loss has no attribute",
                    "write loss alone");
      asked.push_back({name, 0, false, make_measure(name), nullptr});
      return;
    }
    const bool flips = make_measure(name)->on_pairs();  // throws for unknown names
    if (colon != std::string::npos) return add(name, flips, find(text.substr(colon + 1)));
    const std::size_t before = asked.size();
    for (std::size_t a = 0; a < data.attributes.size(); ++a)
      if (!flips || has_pairs(a)) add(name, flips, a);
    if (asked.size() > before) return;
    throw Error(
        ErrorKind::attribute_not_read,
        data.attributes.empty()
            ? "explain: no attribute is named"
            : fmt::format("{}: the model reads none of the task's attributes", name),
        "name one with --attribute, or take demographic_parity_soft");
  }

  [[nodiscard]] std::size_t find(const std::string& name) const {
    const Index a = data.find(name);
    if (a < 0) {
      throw Error(ErrorKind::bad_option,
                  fmt::format("explain: {} is no attribute of the task", name),
                  "name it with --attribute or in task.toml");
    }
    return static_cast<std::size_t>(a);
  }

  void add(const std::string& name, bool flips, std::size_t a) {
    const Attribute& attribute = data.attributes[a];
    if (flips && !attribute.flips()) {
      throw Error(ErrorKind::bad_option,
                  fmt::format("{}: ranges of {} have no single value to flip to", name,
                              attribute.name),
                  "take demographic_parity_soft, or name numbers by `values`");
    }
    if (flips && !has_pairs(a)) {
      throw Error(
          ErrorKind::attribute_not_read,
          fmt::format("{}: the model does not read {}", name, attribute.name),
          "a column that is no input has no flip gap; take demographic_parity_soft");
    }
    Asked one{name, a, true, nullptr, nullptr};
    const int favorable = model.task.favorable_class();
    if (!flips && favorable < 0) {
      throw Error(ErrorKind::bad_option,
                  fmt::format("{}: the task names no favourable class", name),
                  "say which label is good for the person: --favorable VALUE");
    }
    one.made = make_measure(name, {.favorable = std::max(favorable, 0),  // flips need none
                                   .groups = static_cast<Index>(attribute.values.size())});
    if (flips) one.pairs = std::make_unique<PairSlices>(model, data, a, !given(a), exec);
    asked.push_back(std::move(one));
  }

  [[nodiscard]] std::vector<BiasTarget> targets() const {
    std::vector<BiasTarget> all;
    for (const Asked& one : asked) {
      MeasureData taken;
      taken.rows = data.rows();
      taken.parts = one.pairs.get();
      if (one.has_attribute) taken.group = data.attributes[one.attribute].code;
      all.push_back({one.made.get(), taken});
    }
    return all;
  }
};

void require_labels(const Study& study) {
  const auto unknown = std::find(study.y.begin(), study.y.end(), -1);
  if (unknown == study.y.end()) return;
  throw Error(
      ErrorKind::bad_value,
      fmt::format("{}: the label is missing", study.where(unknown - study.y.begin())),
      "explain needs labelled rows: the loss of a training row depends on its label");
}

std::vector<double> column(const Matrix& change, std::size_t j) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(change.rows()));
  for (Index i = 0; i < change.rows(); ++i)
    values.push_back(change(i, static_cast<Index>(j)));
  return values;
}

ExplainedMeasure describe(const Asked& asked, const BiasTarget& target, double value,
                          const std::vector<double>& change, const Model& model,
                          const Study& train, const ExplainOptions& options,
                          const InfluenceOptions& how, const Exec& exec) {
  ExplainedMeasure measure;
  measure.measure = asked.measure;
  measure.value = value;
  for (const double c : change) {
    measure.rests_on += c < 0;
    measure.against += c > 0;
  }
  if (asked.has_attribute) {
    const Attribute& attribute = train.attributes[asked.attribute];
    measure.attribute = attribute.name;
    measure.values = attribute.values;
    measure.cells = influence_cells(change, train.y, attribute.code);
  }
  if (options.check == 0) return measure;
  exec.report("refitting without the strongest rows", 0, 0);
  const std::vector<Index> rows = most_harmful(change, options.check);
  const double l2 = how.curvature.l2, n = how.curvature.rows_in_mean;
  measure.check = check_removal(*model.head, train.training_rows(), model.theta, target,
                                change, rows, {.l2 = l2, .rows_in_mean = n}, exec);
  // Rounds of a network would add up what training on does by itself.
  if (!model.head->linear() || measure.check->predicted > -kLargeRemoval * value)
    return measure;
  measure.rounds = remove_in_rounds(
      linear_head(model), train.training_rows(), model.theta, target,
      {.count = static_cast<Index>(rows.size()), .curvature = how.curvature}, exec);
  return measure;
}

}  // namespace

Explanation explain(const Model& model, const Study& data, Study train_rows,
                    const ExplainOptions& options, const Exec& exec) {
  require_option(options.check >= 0, "explain", "check", options.check, ">= 0");
  Explanation result;
  result.train = std::move(train_rows);
  const Study& train = result.train;
  require_labels(data);
  require_labels(train);
  Gatherer gatherer{model, data, exec, {}};
  for (const std::string& measure : options.measures) gatherer.add(measure);
  const std::vector<BiasTarget> targets = gatherer.targets();

  InfluenceOptions how;
  how.curvature.solver = options.solver;
  how.curvature.l2 = model.note.l2;
  how.curvature.rows_in_mean = static_cast<double>(train.size());
  how.curvature.tolerance = options.tolerance != -1 ? options.tolerance
                            : model.head->linear()  ? 1e-3
                                                    : 3e-2;
  how.curvature.damping = {options.damping, options.hessian_on_data};
  how.curvature.cache = options.cache;
  if (options.hessian_on_data) how.curvature_rows = data.rows();
  exec.report("influence of the training rows", 0, 0);
  InfluenceResult found =
      influence(*model.head, train.training_rows(), model.theta, targets, how, exec);

  ExplainReport& report = result.report;
  report.data = data.source;
  report.train = train.source;
  report.data_rows = data.size();
  report.train_rows = train.size();
  report.known = train.seen;
  report.task = model.task;
  report.hessian_source = options.hessian_on_data ? "data" : "train";
  report.l2 = model.note.l2;
  report.solve = found.solve;
  report.relative_gradient = found.relative_gradient;
  report.at_optimum = found.at_optimum();
  report.seed = exec.seed;
  how.curvature_rows = {};
  how.curvature.damping.external = false;
  for (std::size_t j = 0; j < targets.size(); ++j)
    report.measures.push_back(describe(gatherer.asked[j], targets[j], found.value[j],
                                       column(found.change, j), model, train, options, how,
                                       exec));
  result.change = std::move(found.change);
  return result;
}

}  // namespace fmd
