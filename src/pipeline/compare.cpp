#include "fmd/pipeline/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/check.h"
#include "core/clock.h"
#include "core/index.h"
#include "fmd/baselines/baseline.h"
#include "fmd/metrics/measure_names.h"
#include "fmd/model/cut.h"
#include "fmd/model/tree_backbone.h"
#include "fmd/pipeline/complete_task.h"
#include "fmd/pipeline/train_model.h"
#include "fmd/pipeline/training_data.h"
#include "fmd/repair/choice.h"
#include "pipeline/compare_measure.h"
#include "pipeline/compare_methods.h"
#include "pipeline/compare_rows.h"
#include "pipeline/repair_parts.h"
#include "pipeline/study_parts.h"

namespace fmd {
namespace {

void require_valid(const CompareInput& input, const CompareOptions& options) {
  require_option(options.max_accuracy_loss >= 0 && options.max_accuracy_loss <= 1,
                 "compare", "max_accuracy_loss", options.max_accuracy_loss, "in [0, 1]");
  require_option(options.replicates >= 0, "compare", "replicates", options.replicates,
                 ">= 0");
  const std::vector<std::string> names = compare_methods();
  for (const std::string& name : options.methods)
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw Error(ErrorKind::bad_option,
                  fmt::format("compare: there is no method {}", name),
                  fmt::format("methods: {}", fmt::join(names, ", ")));
    }
  std::vector<std::string> taken = names;
  for (const OutsideTables& o : input.outside) {
    if (std::find(taken.begin(), taken.end(), o.name) != taken.end()) {
      throw Error(ErrorKind::bad_option,
                  fmt::format("compare: the name {} is already used", o.name),
                  "give the outside scores another name");
    }
    taken.push_back(o.name);
  }
}

std::vector<std::string> names_in(const std::string& list) {
  std::vector<std::string> names;
  std::size_t from = 0;
  while (from <= list.size() && !list.empty()) {
    const std::size_t comma = std::min(list.find(',', from), list.size());
    names.push_back(list.substr(from, comma - from));
    from = comma + 1;
  }
  return names;
}

constexpr const char* kAveraged = "average-column";
constexpr const char* kRetrained = "retrained-without";

bool is_between_groups(const std::string& measure) {
  return measure == "demographic_parity" || measure == "equal_opportunity" ||
         measure == "equalized_odds";
}

// The model that is given, or one trained on the train part. Of a network only the last
// layer is the head: the layers below give its features.
Model base_model(const CompareInput& input, const CompareRows& rows, const Exec& exec) {
  if (input.model) {
    Model model = cut_layers(*input.model, 1);
    // A file of trees tells no l2: as in a repair.
    if (trees_of(*model.backbone) != nullptr)
      model.note.l2 = 1 / static_cast<double>(input.train ? input.train->rows()
                                                          : std::ssize(rows.edit));
    return model;
  }
  Task task = input.task;
  return train_model(select(input.data, rows.train), task, "", {}, exec).model;
}

class Contest {
 public:
  Contest(const CompareInput& input, const CompareOptions& options, const Exec& exec)
      : input_(input),
        options_(options),
        exec_(exec),
        rows_(compare_rows(input, options, exec.seed)),
        model_(one_attribute(base_model(input, rows_, exec), rows_.attribute)),
        study_(labelled_study(model_, input.data, input.data_sha256, exec)),
        train_(train_study()),
        holdout_(model_, study_, 0, rows_.holdout),
        test_(model_, study_, 0, rows_.test),
        edit_(edit_part()),
        ground_{.problem =
                    head_problem(model_, edit_, nullptr, train_ ? &*train_ : nullptr, {0}),
                .flips = study_.attributes[0].flips(),
                .reads = !edit_.pairs.empty(),
                .trees = trees_of(*model_.backbone) != nullptr,
                .baseline = {.checkpoints = options.checkpoints}},
        measure_(options.target            ? options.target->measure
                 : options.measure.empty() ? (ground_.reads ? "co" : "equalized_odds")
                                           : measure_named(options.measure, "compare")) {
    if (options.target && is_between_groups(measure_)) ground_.target = options.target;
    (void)figure({}, measure_);  // throws when there is no such measure
  }

  [[nodiscard]] CompareReport run() {
    std::vector<CompareMethod> methods = wanted(all_methods(ground_));
    const std::vector<OutsideAnswers> outside = outside_answers();
    const auto total = static_cast<Index>(methods.size());
    CompareReport report = describe();
    for (Index k = 0; k < total; ++k) {
      exec_.report("comparing", k, total);
      report.methods.push_back(compete(methods[static_cast<std::size_t>(k)]));
    }
    for (const OutsideAnswers& o : outside) report.methods.push_back(compete(o));
    add_dropped(report);
    return report;
  }

 private:
  struct OutsideAnswers {
    std::string name;
    Told told;
  };

  // Only the attribute in question is flipped.
  static Model one_attribute(Model model, const AttributeSpec& spec) {
    model.task.attributes = {spec};
    return model;
  }

  [[nodiscard]] std::optional<Study> train_study() const {
    if (input_.model && !input_.train) return std::nullopt;
    Study study = labelled_study(
        model_, input_.model ? *input_.train : select(input_.data, rows_.train), "", exec_);
    study.weight = row_weights(study.table, model_.task.weight);
    return study;
  }

  [[nodiscard]] StudyPart edit_part() const {
    StudyPart part{.study = &study_, .rows = rows_.edit, .pairs = {}};
    if (study_.reads[0] == Reads::yes && study_.attributes[0].flips())
      part.pairs.push_back(make_flip_pairs(model_, study_, 0, part.rows));
    return part;
  }

  // The methods that were asked for, or all. The unchanged model always comes first.
  [[nodiscard]] std::vector<CompareMethod> wanted(std::vector<CompareMethod> all) const {
    if (options_.methods.empty()) {
      std::erase_if(all, [](const CompareMethod& method) { return method.by_name; });
      return all;
    }
    std::vector<CompareMethod> chosen;
    for (CompareMethod& method : all) {
      const bool asked = std::find(options_.methods.begin(), options_.methods.end(),
                                   method.name) != options_.methods.end();
      if (!asked && method.name != kVanilla) continue;
      if (!method.reason.empty()) {
        throw Error(
            ErrorKind::unsupported,
            fmt::format("compare: {} does not apply: {}", method.name, method.reason),
            "leave it out of --methods");
      }
      chosen.push_back(std::move(method));
    }
    return chosen;
  }

  [[nodiscard]] CompareReport describe() const {
    CompareReport report;
    report.data = input_.data.source;
    report.data_sha256 = input_.data_sha256;
    report.model = input_.model_name;
    report.model_sha256 = input_.model_sha256;
    report.task = model_.task;
    report.attribute = study_.attributes[0].name;
    report.values = study_.attributes[0].values;
    report.reads = study_.reads[0] == Reads::yes;
    report.optimistic = input_.model && study_.used_in_training();
    report.measure = measure_;
    report.max_accuracy_loss = options_.max_accuracy_loss;
    if (options_.target) {
      report.rule = "most accuracy with " + to_string(*options_.target);
    } else {
      report.rule = fmt::format("least {} for at most {:g} {} of accuracy",
                                measure_ == "co" ? "flip gap" : measure_,
                                100 * options_.max_accuracy_loss,
                                options_.max_accuracy_loss == 0.01 ? "point" : "points");
    }
    report.confidence = options_.confidence;
    report.replicates = options_.replicates;
    report.parts = rows_.parts();
    report.part_of_row = rows_.part_of_row(input_.data.rows());
    report.seed = exec_.seed;
    return report;
  }

  [[nodiscard]] CompareMeasureOptions how(Index replicates) const {
    return {.favorable = model_.task.favorable_class(),
            .min_group = model_.task.min_group,
            .min_label = model_.task.min_label,
            .confidence = options_.confidence,
            .replicates = replicates};
  }

  // A method has a flip gap only where its answer can depend on the attribute.
  [[nodiscard]] std::string flip_reason(const CompareMethod& method) const {
    if (!holdout_.flips) return "ranges_of_a_number";
    return ground_.reads || method.needs_attribute ? "" : "not_an_input";
  }

  [[nodiscard]] Told ask(const BaselineCandidate& candidate, const AskedPart& part,
                         bool flips) const {
    Told told;
    told.c = candidate.answer(part.c, exec_);
    if (flips) told.bar = candidate.answer(part.cbar, exec_);
    return told;
  }

  // Within the budget the candidate with the least bias is chosen, the more accurate one of
  // two equals. Where none is within the budget, the most accurate one is chosen.
  struct Choice {
    std::size_t at = 0;
    bool within = false;
    CompareFigures figures;
  };
  [[nodiscard]] Choice choose_on_holdout(
      const CompareMethod& method, const std::vector<BaselineCandidate>& candidates) const {
    const bool needs_flips = measure_ == "co" || measure_ == "flip_rate";
    const bool flips = flip_reason(method).empty() && needs_flips;
    std::vector<CompareFigures> all;
    std::vector<ChoiceFigures> figures;
    RuleStep within{{}, {Prefer::less_bias, Prefer::accuracy}}, any{{}, {Prefer::accuracy}};
    if (options_.target) {
      within.order = {Prefer::accuracy, Prefer::less_bias};
      any.order = {Prefer::less_bias, Prefer::accuracy};
    }
    for (const BaselineCandidate& candidate : candidates) {
      all.push_back(measure_answers(holdout_, ask(candidate, holdout_, flips),
                                    before_holdout_, how(0), exec_));
      const CompareFigures& now = all.back();
      const double bias = figure(now, measure_).value;
      figures.push_back({now.accuracy.value, std::isnan(bias)
                                                 ? std::numeric_limits<double>::infinity()
                                                 : bias});
      within.eligible.push_back(options_.target ? bias <= options_.target->value
                                                : now.accuracy_change.value >=
                                                      -options_.max_accuracy_loss);
      any.eligible.push_back(true);
    }
    const RuleStep rule[] = {within, any};
    const auto at = static_cast<std::size_t>(choose(figures, rule));
    return {at, within.eligible[at], all[at]};
  }

  [[nodiscard]] ComparedMethod compete(const CompareMethod& method) {
    ComparedMethod out;
    out.name = method.name;
    out.title = method.title;
    out.kind = method.kind;
    out.source = method.source;
    out.needs = method.needs;
    out.decisions_only = method.decisions_only;
    out.reason = method.reason;
    if (!out.reason.empty()) return out;
    try {
      measure_method(method, out);
    } catch (const Error& error) {
      // A cell without rows, or a matrix that cannot be factored, ends this method, not all
      // of them. It is an error only where the method was asked for.
      const bool of_method =
          error.kind() == ErrorKind::bad_data || error.kind() == ErrorKind::numerical;
      if (!of_method || !options_.methods.empty()) throw;
      out.reason = error.what();
    }
    return out;
  }

  void measure_method(const CompareMethod& method, ComparedMethod& out) {
    const Clock begun = Clock::now();
    const std::vector<BaselineCandidate> candidates = method.fit(exec_);
    const Clock fitted = Clock::now();
    out.seconds = fitted.wall - begun.wall;
    out.cpu_seconds = fitted.cpu - begun.cpu;
    out.candidates = static_cast<Index>(candidates.size());
    if (method.name == kVanilla) {
      before_holdout_ = ask(candidates[0], holdout_, false);
      before_test_ = ask(candidates[0], test_, false);
    }
    const Choice chosen = choose_on_holdout(method, candidates);
    out.setting = candidates[chosen.at].setting;
    out.within_budget = chosen.within;
    out.holdout = chosen.figures;
    const Clock asked = Clock::now();
    Told told = ask(candidates[chosen.at], test_, false);
    out.answer_cpu_seconds = Clock::now().cpu - asked.cpu;
    const std::string reason = flip_reason(method);
    if (reason.empty()) told.bar = candidates[chosen.at].answer(test_.cbar, exec_);
    correct_[method.name] = correct(told);
    out.test = measure_answers(test_, told, before_test_, how(options_.replicates), exec_);
    out.test.flip_reason = out.holdout.flip_reason = reason;
  }

  // Whether each test row is answered correctly; expected where a method draws lots.
  [[nodiscard]] Vector correct(const Told& told) const {
    Vector right(told.c.decision.rows());
    for (Index i = 0; i < right.size(); ++i)
      right[i] = told.c.decision(i, study_.y[at(test_.rows[at(i)])]);
    return right;
  }

  void add_dropped(CompareReport& report) const {
    const ComparedMethod* best = nullptr;
    const auto bias = [&](const ComparedMethod& m) {
      return figure(m.holdout, measure_).value;
    };
    for (const ComparedMethod& m : report.methods) {
      const bool repairs = m.kind == "fmd" || m.kind == "rival";
      if (!repairs || !m.reason.empty() || !m.within_budget || m.needs != "nothing" ||
          m.name == kAveraged || !(bias(m) >= 0))
        continue;
      if (best == nullptr || bias(m) < bias(*best)) best = &m;
    }
    if (best == nullptr || !ground_.reads) return;
    report.best = best->name;
    for (const ComparedMethod& m : report.methods) {
      const bool retrains = m.name == kRetrained;
      if (!m.reason.empty() || (!retrains && m.name != kAveraged)) continue;
      const Vector change = correct_.at(m.name) - correct_.at(best->name);
      report.dropped.push_back(dropped_column(
          retrains ? "retrained_without_column" : "column_averaged", retrains,
          bootstrap_mean(change, options_.confidence, options_.replicates, exec_),
          figure(m.test, measure_), figure(best->test, measure_)));
    }
  }

  [[nodiscard]] std::vector<OutsideAnswers> outside_answers() const {
    std::vector<std::pair<Index, std::int32_t>> pairs;
    for (std::size_t k = 0; k < test_.place.size(); ++k)
      pairs.emplace_back(test_.rows[static_cast<std::size_t>(test_.place[k])], test_.to[k]);
    std::vector<OutsideAnswers> all;
    for (const OutsideTables& o : input_.outside) {
      all.push_back({o.name, {}});
      all.back().told.c = outside_scores(o, model_.task, input_.data, rows_.test);
      if (o.pairs && test_.flips)
        all.back().told.bar = outside_pair_scores(o, model_.task, test_.attribute, pairs);
    }
    return all;
  }

  [[nodiscard]] ComparedMethod compete(const OutsideAnswers& outside) const {
    ComparedMethod out;
    out.name = outside.name;
    out.title = "scores of another program";
    out.kind = "outside";
    out.needs = "not known";
    out.candidates = 1;
    out.test =
        measure_answers(test_, outside.told, before_test_, how(options_.replicates), exec_);
    if (!out.test.co.defined()) out.test.flip_reason = "no_pair_scores";
    return out;
  }

  const CompareInput& input_;
  const CompareOptions& options_;
  const Exec& exec_;
  CompareRows rows_;
  Model model_;
  Study study_;
  std::optional<Study> train_;
  AskedPart holdout_, test_;
  StudyPart edit_;
  CompareGround ground_;
  std::string measure_;
  Told before_holdout_, before_test_;
  std::map<std::string, Vector> correct_;  // by method
};

// The attribute that a flag names is the one in question.
CompareOptions with_attribute(CompareOptions options) {
  const auto& asked = options.task.flags.attributes;
  if (!asked || asked->empty()) return options;
  if (asked->size() > 1) {
    throw Error(ErrorKind::bad_option, "compare: one attribute at a time",
                "give --attribute once");
  }
  options.attribute = parse_attribute(asked->front()).name;
  return options;
}

CompareInput read_outside(const CompareOptions& options, const DataSource& data,
                          const Exec& exec) {
  CompareInput input;
  input.data_sha256 = data.sha256();
  for (const OutsideScores& one : options.outside) {
    input.outside.push_back({one.name, one.scores.read({}, exec), {}});
    if (one.pairs) input.outside.back().pairs = one.pairs->read({}, exec);
  }
  return input;
}

CompareReport compare_read(const CompareInput& input, const CompareOptions& options,
                           const Exec& exec) {
  require_valid(input, options);
  return Contest(input, options, exec).run();
}

}  // namespace

std::vector<OptionField> fields(CompareOptions& o) {
  const auto methods =
      TextField{.get = [&o] { return fmt::format("{}", fmt::join(o.methods, ",")); },
                .set = [&o](const std::string& text) { o.methods = names_in(text); }};
  return {
      {.name = "methods",
       .value = methods,
       .flag = "--methods",
       .help = "Names separated by commas; without --methods, all that apply apart from "
               "those that "
               "train networks",
       .shows_default = false},
      {.name = "attribute", .value = &o.attribute},
      {.name = "measure",
       .value = &o.measure,
       .flag = "--measure",
       .help = "What the rule minimises: co, flip_rate, demographic_parity, "
               "equal_opportunity or equalized_odds",
       .shows_default = false},
      {.name = "target",
       .value = TextField{.get = [&o] { return o.target ? to_string(*o.target) : ""; },
                          .set =
                              [&o](const std::string& text) {
                                o.target = parse_limit(text);
                                o.target->measure =
                                    measure_named(o.target->measure, "target " + text);
                              }},
       .flag = "--target",
       .help = "In place of the budget: the most accurate setting whose measure is within "
               "this, e.g. demographic_parity=.05",
       .shows_default = false,
       .optional = true},
      {.name = "max_accuracy_loss",
       .value = &o.max_accuracy_loss,
       .flag = "--max-accuracy-loss",
       .help = "Largest loss of accuracy that the rule allows on the hold-out"},
      {.name = "parts",
       .value = &o.parts,
       .flag = "--parts",
       .help = "Shares: train=.4,edit=.15,holdout=.15,test=.3",
       .shows_default = false},
      {.name = "confidence", .value = &o.confidence},
      {.name = "replicates", .value = &o.replicates},
  };
}

CompareReport compare(const ModelSource& model, const DataSource& data,
                      const CompareOptions& options, const Exec& exec) {
  const CompareOptions wanted = with_attribute(options);
  CompareInput input = read_outside(wanted, data, exec);
  const ModelName name = name_of(model);
  input.model_name = name.name;
  input.model_sha256 = name.sha256;
  input.model = complete_model(model.model(), data, wanted.task, exec);
  input.task = input.model->task;
  input.data = read_for(*input.model, input.task, data, exec);
  if (wanted.train) input.train = read_for(*input.model, input.task, *wanted.train, exec);
  return compare_read(input, wanted, exec);
}

CompareReport compare(const DataSource& data, const CompareOptions& options,
                      const Exec& exec) {
  if (options.train)
    throw Error(ErrorKind::bad_option, "--train needs --model",
                "without a model the training rows are a part of DATA");
  const CompareOptions wanted = with_attribute(options);
  CompareInput input = read_outside(wanted, data, exec);
  // A rare category may have no training row.
  TrainingData read = read_training(data, wanted.task.file, wanted.task.flags,
                                    {.command = "compare", .unseen = Unseen::bucket}, exec);
  input.data = std::move(read.table);
  input.task = std::move(read.task);
  CompareReport report = compare_read(input, wanted, exec);
  report.columns = std::move(read.columns);
  return report;
}

}  // namespace fmd
