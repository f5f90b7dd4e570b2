#include "fmd/pipeline/audit.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/named_field.h"
#include "data/number.h"
#include "fmd/core/error.h"
#include "fmd/core/hash.h"
#include "fmd/data/table_stream.h"
#include "fmd/metrics/distortion.h"
#include "fmd/pipeline/audit_state.h"
#include "fmd/pipeline/complete_task.h"
#include "fmd/pipeline/previous_model.h"
#include "fmd/pipeline/study_stream.h"
#include "pipeline/audit_warnings.h"
#include "pipeline/neighbours.h"
#include "pipeline/score_files.h"
#include "pipeline/study_parts.h"

namespace fmd {
namespace {

// Whether all pairs of a row can be made from the row alone.
bool pairs_in_blocks(const Task& task) {
  return std::all_of(task.attributes.begin(), task.attributes.end(),
                     [&](const AttributeSpec& spec) { return spec.pairs == "flip"; });
}

bool has_flips(const Attribute& attribute, Reads reads) {
  return reads == Reads::yes && attribute.flips();
}

// Rows with scores and their pairs, block after block.
class BlockScorer {
 public:
  BlockScorer(const Model& model, const StudyStream& stream, const Exec& exec)
      : model_(model), exec_(exec) {
    const ScoresBackbone* scores = scores_of(model);
    for (std::size_t a = 0; a < stream.attributes().size(); ++a) {
      const Attribute& attribute = stream.attributes()[a];
      const bool read = scores != nullptr ? scores->pairs().has_value()
                                          : has_flips(attribute, stream.reads()[a]);
      kinds_.emplace_back(read ? std::optional(PairKind::flip) : std::nullopt);
      readers_.emplace_back();
      if (scores != nullptr && read)
        readers_.back().emplace(*scores, attribute, stream.rows(), exec);
    }
  }

  [[nodiscard]] const std::vector<std::optional<PairKind>>& kinds() const { return kinds_; }

  std::vector<std::optional<PairScores>> pairs(const Study& block, const Scored& scored) {
    std::vector<std::optional<PairScores>> all(kinds_.size());
    for (std::size_t a = 0; a < all.size(); ++a) {
      if (!kinds_[a]) continue;
      if (readers_[a]) {
        all[a] = readers_[a]->next(scored, block.first);
        continue;
      }
      const std::vector<std::int32_t>& code = block.attributes[a].code;
      const auto known = [](std::int32_t c) { return c >= 0; };
      if (std::any_of(code.begin(), code.end(), known))
        all[a] =
            score_pairs(model_, block, make_flip_pairs(model_, block, a, {}, exec_), exec_);
    }
    return all;
  }

 private:
  const Model& model_;
  const Exec& exec_;
  std::vector<std::optional<PairKind>> kinds_;
  std::vector<std::optional<PairScoreReader>> readers_;
};

AuditState count_blocks(const Model& model, StudyStream& stream, double threshold,
                        const AuditOptions& options, const Exec& exec) {
  BlockScorer scorer(model, stream, exec);
  AuditState state(model, stream.attributes(), stream.reads(), scorer.kinds(),
                   stream.labelled(), options, exec.seed);
  state.set_model_threshold(threshold);
  for (Study block; stream.next(block, "auditing");) {
    const Scored scored = score(model, block, {}, exec);
    state.add(model, block, scored, scorer.pairs(block, scored), exec);
  }
  return state;
}

std::vector<std::optional<MatchReport>> match_reports(
    const Model& model, const Study& study, const Scored& scored, const MatchPlans* plans,
    const AuditOptions& options, const Exec& exec) {
  MatchPlans own;
  if (plans == nullptr) {
    own = make_matches(model, study, model.task, exec);
    plans = &own;
  }
  std::vector<std::optional<MatchReport>> reports(plans->size());
  for (std::size_t a = 0; a < plans->size(); ++a)
    if ((*plans)[a])
      reports[a] = match_report(*(*plans)[a], match_input(model, study, model.task, a),
                                scored, options.confidence);
  return reports;
}

AuditReport audit_whole(const Model& model, StudyStream& stream, double threshold,
                        const AuditOptions& options, const Exec& exec) {
  Study study;
  stream.next(study, "reading");
  if (scores_of(model) != nullptr) {
    BlockScorer scorer(model, stream, exec);
    AuditState state(model, study.attributes, study.reads, scorer.kinds(),
                     stream.labelled(), options, exec.seed);
    const Scored scored = score(model, study, {}, exec);
    state.add(model, study, scored, scorer.pairs(study, scored), exec);
    return state.report(exec, match_reports(model, study, scored, nullptr, options, exec));
  }
  const auto pairs = make_pairs(model, study, model.task, {}, exec);
  AuditReport report =
      audit_model(model, study, pairs, options, exec, nullptr, nullptr, threshold);
  if (options.previous_model == nullptr) return report;
  const ModelName previous = name_of(*options.previous_model);
  if (options.previous && options.previous->model_sha256 != previous.sha256) {
    throw Error(
        ErrorKind::wrong_model,
        fmt::format("{} is not an audit of {}", options.previous->file, previous.path),
        "give the model that was audited then, or leave --previous out");
  }
  Model before = options.previous_model->model();
  // A format without room for a task gets that of the audit.
  if (before.task.label.empty()) set_task(before, model.task, options.task.inputs);
  AuditChanges changes =
      compare_models(std::move(before), model, study, pairs, report, options, exec);
  changes.previous.file = changes.previous.model = previous.name;
  changes.previous.model_sha256 = previous.sha256;
  report.since_previous = std::move(changes);
  return report;
}

// The threshold that the model decides at; undefined where it has no task of its own.
double threshold_of(const ModelSource& source, const AuditOptions& options) {
  if (options.model_threshold) return *options.model_threshold;
  const Task& task = source.model().task;
  return task.label.empty() ? kUndefined : task.threshold;
}

Model audited_model(const ModelSource& source, const DataSource& data,
                    const AuditOptions& options, const Exec& exec) {
  Model model = complete_model(source.model(), data, options.task, exec);
  if (model.task.attributes.empty()) {
    throw Error(ErrorKind::bad_option, "audit: no attribute is named",
                "name the attribute to compare by: --attribute COLUMN");
  }
  require_limits(model.task);
  require_warnings(options.allow);
  const bool matches = std::any_of(
      model.task.attributes.begin(), model.task.attributes.end(),
      [](const AttributeSpec& spec) { return spec.pairs.starts_with("match"); });
  if (options.round > 0 &&
      (matches || options.previous || options.previous_model != nullptr))
    throw Error(ErrorKind::bad_option,
                "audit: matched pairs and an earlier audit are not rounded",
                "leave --round out, or --pairs match, --previous and --previous-model");
  if (options.weighted) require_weight(model.task);
  return model;
}

bool looks_across(const Task& task, const AuditOptions& options) {
  return options.previous_model != nullptr || options.neighbours > 0 ||
         !pairs_in_blocks(task);
}

void require_parts(const Task& task, const AuditOptions& options) {
  if (!looks_across(task, options)) return;
  throw Error(ErrorKind::unsupported,
              "audit: given and matched pairs, neighbours and a previous model look at "
              "all rows together",
              "audit all rows in one run, or leave these options out");
}

// What makes two states comparable: the features, the head and the task.
std::string model_id(const Model& model) {
  ByteWriter out;
  const Hash hash = model.backbone->hash();
  out.put_raw(hash.data(), hash.size());
  out.put_array(std::span<const double>(model.theta.data(), to_size(model.theta.size())));
  out.put_text(kind_of(model));
  out.put_text(to_json(model.task));
  return hex(sha256(out.bytes()));
}

constexpr Name<Bootstrap> kIntervalNames[] = {{Bootstrap::percentile, "percentile"},
                                              {Bootstrap::bca, "bca"}};

}  // namespace

std::vector<OptionField> fields(AuditOptions& o) {
  return {
      {.name = "confidence",
       .value = &o.confidence,
       .flag = "--confidence",
       .help = "Confidence of all intervals",
       .least = 0.5,
       .most = 0.9999},
      {.name = "replicates",
       .value = &o.replicates,
       .flag = "--replicates",
       .help = "Bootstrap replicates",
       .least = 50,
       .most = 1000000},
      // No flag: audits of earlier versions that chose bca are verified with it.
      {.name = "intervals",
       .value = named(o.intervals, kIntervalNames, "audit", "intervals")},
      {.name = "permutations",
       .value = &o.permutations,
       .flag = "--permutations",
       .help = "Permutations for the tests of group gaps (--metrics, JSON); 0: no tests",
       .least = 0,
       .most = 1000000},
      {.name = "intersections", .value = &o.intersections},
      {.name = "by_name", .value = &o.by_name},
      {.name = "weighted",
       .value = &o.weighted,
       .flag = "--weighted",
       .help = "Weight each row by the column that --weight names"},
      {.name = "include_rows",
       .value = &o.include_rows,
       .flag = "--include-rows",
       .help = "Show groups of fewer than 10 rows; without this option they are masked"},
      {.name = "round",
       .value = &o.round,
       .flag = "--round",
       .help = "Show counts as multiples of this, and figures with 2 decimals: for reports "
               "that are published more than once",
       .least = 2,
       .most = 1000,
       .shows_default = false},
      {.name = "neighbours",
       .value = &o.neighbours,
       .flag = "--neighbours",
       .help =
           "Also compare the answers of this many nearest rows, e.g. 5; cost grows with "
           "rows^2",
       .least = 1,
       .most = 1000,
       .shows_default = false},
  };
}

SurveyState survey_part(const ModelSource& source, const DataSource& data,
                        const AuditOptions& options, const Exec& exec) {
  const Model model = audited_model(source, data, options, exec);
  require_parts(model.task, options);
  exec.note(
      "an audit in parts does not look for columns that say the same as an attribute");
  CsvOptions csv = table_options(model, model.task);
  csv.keep = attribute_columns(model.task);
  TableStream stream = data.open(csv, exec);
  SurveyState state(model.task);
  for (Table block; stream.next(block);) {
    state.add(block);
    exec.report("looking at " + data.name(), state.rows(), 0);
  }
  return state;
}

AuditState audit_part(const ModelSource& source, const DataSource& data,
                      const SurveyState& survey, const AuditOptions& options,
                      const Exec& exec) {
  const Model model = audited_model(source, data, options, exec);
  require_parts(model.task, options);
  const std::vector<Attribute> attributes = survey.attributes();
  bool same = attributes.size() == model.task.attributes.size();
  for (std::size_t a = 0; same && a < attributes.size(); ++a)
    same = attributes[a].name == model.task.attributes[a].name;
  if (!same) {
    throw Error(ErrorKind::bad_option, "audit: the survey is of other attributes",
                "make the survey with the same task");
  }
  StudyStream stream(model, model.task, data,
                     {.weights = options.weighted, .attributes = &attributes}, exec);
  AuditState state =
      count_blocks(model, stream, threshold_of(source, options), options, exec);
  const ModelName name = name_of(source);
  state.model_ = name.name;
  state.model_sha256_ = name.sha256;
  state.model_id_ = model_id(model);
  state.survey_id_ = survey.id();
  state.survey_rows_ = survey.rows();
  state.pieces_ = {{data.name(), data.sha256(), stream.rows()}};
  return state;
}

AuditReport audit(const ModelSource& source, const DataSource& data,
                  const AuditOptions& options, const Exec& exec) {
  const Model model = audited_model(source, data, options, exec);
  if (options.previous_model != nullptr && scores_of(model) != nullptr) {
    throw Error(
        ErrorKind::bad_option,
        "audit: --previous-model needs MODEL and DATA: scores alone cannot be paired",
        "give --previous OLD.json");
  }
  const bool whole = looks_across(model.task, options);
  StudyStream stream(model, model.task, data, {.weights = options.weighted, .whole = whole},
                     exec);
  const double threshold = threshold_of(source, options);
  AuditReport report =
      whole ? audit_whole(model, stream, threshold, options, exec)
            : count_blocks(model, stream, threshold, options, exec).report(exec);
  const ModelName name = name_of(source);
  report.model = name.name;
  report.model_sha256 = name.sha256;
  report.data = data.name();
  report.data_sha256 = data.sha256();
  report.round = options.round;
  if (options.previous && !report.since_previous)
    report.since_previous =
        compare_audits(*options.previous, parse_audit(to_json(report), "this audit"));
  return report;
}

std::vector<std::optional<StudyPairs>> make_pairs(const Model& model, const Study& study,
                                                  const Task& task,
                                                  std::span<const Index> rows,
                                                  const Exec& exec) {
  std::vector<std::optional<StudyPairs>> pairs(study.attributes.size());
  for (std::size_t a = 0; a < pairs.size(); ++a) {
    const AttributeSpec& spec = task.attributes[a];
    const PairsText kind = pairs_of(spec);
    if (kind.kind == PairKind::given && kind.by != GivenBy::file) {
      pairs[a] = make_image_pairs(model, study, a, kind, rows, exec);
    } else if (kind.kind == PairKind::given) {
      CsvOptions csv;
      csv.types = model.backbone->inputs().types();
      csv.types[task.id] = ColumnKind::category;
      const Table given = read_table(pairs_file(spec), csv, exec);
      pairs[a] = make_given_pairs(model, study, a, given, task.id, rows, exec);
    } else if (has_flips(study.attributes[a], study.reads[a])) {
      pairs[a] = make_flip_pairs(model, study, a, rows, exec);
    }
  }
  return pairs;
}

namespace {

// What is done once all rows are counted.
AuditReport finished(const AuditState& state, const Model& model, const Study& study,
                     const Scored& scored, const AuditOptions& options, const Exec& exec,
                     const MatchPlans* matches) {
  AuditReport report =
      state.report(exec, match_reports(model, study, scored, matches, options, exec));
  if (options.neighbours > 0) add_neighbours(study, scored, options, exec, report);
  report.data = study.source;
  report.data_sha256 = study.sha256;
  return report;
}

}  // namespace

AuditReport audit_model(const Model& model, const Study& study,
                        const std::vector<std::optional<StudyPairs>>& pairs,
                        const AuditOptions& options, const Exec& exec,
                        const MatchPlans* matches, const FoldModels* folds,
                        double threshold) {
  std::vector<std::optional<PairKind>> kinds;
  std::vector<std::optional<PairScores>> twins;
  for (const std::optional<StudyPairs>& own : pairs) {
    kinds.emplace_back(own ? std::optional(own->kind) : std::nullopt);
    twins.emplace_back();
    if (own)
      twins.back() = folds == nullptr ? score_pairs(model, study, *own, exec)
                                      : score_pairs(*folds, study, *own, exec);
  }
  AuditState state(model, study.attributes, study.reads, kinds, !study.y.empty(), options,
                   exec.seed);
  state.set_model_threshold(threshold);
  const Scored scored =
      folds == nullptr ? score(model, study, {}, exec) : score(*folds, study, exec);
  state.add(model, study, scored, twins, exec);
  AuditReport report = finished(state, model, study, scored, options, exec, matches);
  for (std::size_t a = 0; a < pairs.size(); ++a)
    if (kinds[a] == PairKind::given && options.by_name)
      report.attributes[a].distortion = sample_distortion(
          pairs[a]->set(study), options.confidence, options.replicates, exec);
  return report;
}

std::vector<AuditReport> audit_models(std::span<const AuditedModel> models,
                                      const Study& study, const Exec& exec,
                                      const MatchPlans* matches, const FoldModels* folds) {
  const Model& first = *models[0].model;
  std::vector<AuditReport> reports;
  if (folds != nullptr || study.size() <= kFlippedRows || !pairs_in_blocks(first.task)) {
    const auto pairs = make_pairs(first, study, first.task, {}, exec);
    for (const AuditedModel& one : models)
      reports.push_back(
          audit_model(*one.model, study, pairs, one.options, exec, matches, folds));
    return reports;
  }
  std::vector<std::optional<PairKind>> kinds;
  for (std::size_t a = 0; a < study.attributes.size(); ++a)
    kinds.push_back(has_flips(study.attributes[a], study.reads[a])
                        ? std::optional(PairKind::flip)
                        : std::nullopt);
  std::vector<AuditState> states;
  for (const AuditedModel& one : models)
    states.emplace_back(*one.model, study.attributes, study.reads, kinds, !study.y.empty(),
                        one.options, exec.seed);
  std::vector<const Model*> scored_models;
  for (const AuditedModel& one : models) scored_models.push_back(one.model);
  for (std::size_t a = 0; a < kinds.size(); ++a) {
    if (!kinds[a]) continue;
    for_each_flips(first, study, a, exec, [&](const StudyPairs& pairs) {
      score_pairs_of_each(
          scored_models, study, pairs, exec,
          [&](std::size_t m, const PairScores& scores) { states[m].add_pairs(a, scores); });
    });
  }
  const std::vector<std::optional<PairScores>> added(kinds.size());
  for (std::size_t m = 0; m < models.size(); ++m) {
    const Model& model = *models[m].model;
    const Scored scored = score(model, study, {}, exec);
    states[m].add(model, study, scored, added, exec);
    reports.push_back(
        finished(states[m], model, study, scored, models[m].options, exec, matches));
  }
  return reports;
}

}  // namespace fmd
