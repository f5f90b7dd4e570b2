#include "fmd/pipeline/audit.h"

#include <algorithm>

#include <fmt/format.h>

#include "fmd/core/error.h"
#include "fmd/data/table_stream.h"
#include "fmd/model/loss.h"
#include "pipeline/neighbours.h"
#include "pipeline/study_parts.h"

namespace fmd {
namespace {

// Small cells are not shown, so they are not compared.
Index least_rows(Index asked, const AuditOptions& options) {
  return options.include_rows ? asked : std::max(asked, kMaskedRows);
}

GroupOptions group_options(const Task& task, const AuditOptions& options, int reference) {
  return {.confidence = options.confidence,
          .replicates = options.replicates,
          .min_rows = least_rows(task.min_group, options),
          .min_label = least_rows(task.min_label, options),
          .reference = reference,
          .by_name = options.by_name,
          .intervals = options.intervals,
          .permutations = options.permutations};
}

// Nobody is compared with people whose value is missing, even when they are the largest
// group.
int reference_of(const Attribute& attribute, const std::vector<GroupTally>& groups,
                 const Task& task) {
  const bool missing = attribute.groups.size() > attribute.values.size();
  if (attribute.reference >= 0 || !missing) return attribute.reference;
  int largest = 0;
  const auto rows = [&](int g) { return groups[static_cast<std::size_t>(g)].all().rows; };
  for (int g = 1; g < static_cast<int>(attribute.values.size()); ++g)
    if (rows(g) > rows(largest)) largest = g;
  return rows(largest) < task.min_group ? -1 : largest;
}

void add_intersections(const Tally& tally, const Task& task,
                       const std::vector<TalliedAttribute>& attributes,
                       const AuditOptions& options, const Exec& exec, AuditReport& report) {
  for (Index a = 0; a < static_cast<Index>(attributes.size()); ++a) {
    for (Index b = a + 1; b < static_cast<Index>(attributes.size()); ++b) {
      const Attribute& first = *attributes[static_cast<std::size_t>(a)].attribute;
      const Attribute& second = *attributes[static_cast<std::size_t>(b)].attribute;
      std::vector<std::string> cells;
      for (const std::string& x : first.groups)
        for (const std::string& y : second.groups) cells.push_back(x + " x " + y);
      const Index both[] = {a, b};
      report.intersections.push_back(
          group_report(tally, both, fmt::format("{} x {}", first.name, second.name), cells,
                       group_options(task, options, -1), exec));
    }
  }
}

void judge_limits(const Task& task, AuditReport& report) {
  for (const Limit& limit : task.limits) {
    for (const AttributeAudit& audit : report.attributes)
      if (limit.attribute.empty() || limit.attribute == audit.name)
        report.limits.push_back(judge_limit(audit, limit));
    if (!limit.attribute.empty() && report.find(limit.attribute) == nullptr) {
      throw Error(ErrorKind::bad_option,
                  fmt::format("limit {}: {} is not an attribute of this audit",
                              to_string(limit), limit.attribute),
                  "name it with --attribute too");
    }
  }
  report.verdict = overall(report.limits);
}

}  // namespace

TallyPlan audit_plan(const Task& task, const std::vector<const Attribute*>& attributes,
                     bool labelled, const AuditOptions& options) {
  TallyPlan plan{.classes = static_cast<Index>(task.classes.size()),
                 .favorable = task.favorable_class(),
                 .values = {},
                 .crossed = options.intersections,
                 .labelled = labelled,
                 .weighted = options.weighted};
  for (const Attribute* attribute : attributes)
    plan.values.push_back(static_cast<Index>(attribute->groups.size()));
  return plan;
}

AuditReport audit_tallies(const Tally& tally, const Task& task,
                          const std::vector<TalliedAttribute>& attributes,
                          const AuditOptions& options, const Exec& exec) {
  AuditReport report;
  report.rows = tally.rows();
  report.task = task;
  report.confidence = options.confidence;
  report.replicates = options.replicates;
  report.permutations = options.permutations;
  report.include_rows = options.include_rows;
  report.intervals = options.intervals;
  report.seed = exec.seed;
  report.weighted = tally.plan().weighted;
  report.accuracy = accuracy(tally, options.confidence);
  report.log_loss = log_loss(tally);
  report.calibration_error = calibration_error(tally);
  for (std::size_t a = 0; a < attributes.size(); ++a) {
    const TalliedAttribute& input = attributes[a];
    const Attribute& attribute = *input.attribute;
    AttributeAudit audit;
    audit.name = attribute.name;
    audit.values = attribute.values;
    audit.cuts = attribute.cuts;
    for (const Mirror& mirror : attribute.mirrors)
      (mirror.flipped ? audit.mirrors : audit.mirrors_left).push_back(mirror.column);
    audit.reads = input.reads;
    audit.pairs = input.pairs_kind;
    if (input.flips) {
      audit.flip = flip_report(*input.flips,
                               {.confidence = options.confidence,
                                .replicates = options.replicates,
                                .min_rows = least_rows(task.min_group, options),
                                .intervals = options.intervals},
                               exec);
      for (FlipFigure& figure : audit.flip->figures)
        if (figure.label >= 0)
          figure.about = task.classes[static_cast<std::size_t>(figure.label)];
    } else {
      audit.flip_reason = input.reads == Reads::no ? "not_an_input"
                          : attribute.flips()      ? "no_pairs"
                                                   : "ranges_of_a_number";
    }
    audit.slope = input.slope;
    if (!input.slope)
      audit.slope_reason = input.reads == Reads::no        ? "not_an_input"
                           : input.reads == Reads::unknown ? "no_model"
                                                           : "read_as_categories";
    audit.match = input.match;
    const Index own[] = {static_cast<Index>(a)};
    const int reference = reference_of(attribute, tally.groups(own), task);
    audit.groups = group_report(tally, own, attribute.name, attribute.groups,
                                group_options(task, options, reference), exec);
    report.attributes.push_back(std::move(audit));
  }
  if (options.intersections)
    add_intersections(tally, task, attributes, options, exec, report);
  judge_limits(task, report);
  return report;
}

AuditReport audit_scores(const Scored& scored, const Task& task,
                         const std::vector<AuditedAttribute>& attributes,
                         const AuditOptions& options, const Exec& exec) {
  ScoredBlock block = block_of(scored);
  std::vector<const Attribute*> read;
  std::vector<TalliedAttribute> tallied;
  for (const AuditedAttribute& input : attributes) {
    block.code.emplace_back(input.attribute->group);
    read.push_back(input.attribute);
    TalliedAttribute own{input.attribute,  input.reads, std::nullopt,
                         input.pairs_kind, input.slope, std::nullopt};
    if (input.match != nullptr)
      own.match = match_report(*input.match, input.matching, scored, options.confidence);
    if (input.pairs) {
      own.flips.emplace(
          FlipPlan{.classes = block.classes,
                   .values = static_cast<Index>(input.attribute->values.size()),
                   .by_value = !input.pairs->from.empty(),
                   .figures = options.by_name});
      own.flips->add(*input.pairs);
    }
    tallied.push_back(std::move(own));
  }
  TallyPlan plan = audit_plan(task, read, scored.labelled(), options);
  plan.classes = block.classes;
  plan.favorable = scored.favorable;
  plan.weighted = !scored.weight.empty();
  AuditReport report =
      audit_tallies(tally(plan, block, exec), task, tallied, options, exec);
  for (std::size_t a = 0; a < attributes.size(); ++a)
    report.attributes[a].distortion = attributes[a].distortion;
  return report;
}

std::vector<std::optional<StudyPairs>> make_pairs(const Model& model, const Study& study,
                                                  const Task& task,
                                                  std::span<const Index> rows,
                                                  const Exec& exec) {
  std::vector<std::optional<StudyPairs>> pairs(study.attributes.size());
  for (std::size_t a = 0; a < pairs.size(); ++a) {
    const AttributeSpec& spec = task.attributes[a];
    if (spec.pairs.starts_with("given:")) {
      CsvOptions csv;
      csv.types = model.backbone->inputs().types();
      csv.types[task.id] = ColumnKind::category;
      const Table given = read_table(spec.pairs.substr(6), csv, exec);
      pairs[a] = make_given_pairs(model, study, a, given, task.id, rows, exec);
    } else if (study.reads[a] == Reads::yes && study.attributes[a].flips()) {
      pairs[a] = make_flip_pairs(model, study, a, rows);
    }
  }
  return pairs;
}

AuditReport audit_model(const Model& model, const Study& study,
                        const std::vector<std::optional<StudyPairs>>& pairs,
                        const AuditOptions& options, const Exec& exec,
                        const MatchPlans* matches) {
  MatchPlans own_matches;
  if (matches == nullptr) {
    own_matches = make_matches(model, study, model.task, exec);
    matches = &own_matches;
  }
  std::vector<AuditedAttribute> attributes;
  for (std::size_t a = 0; a < study.attributes.size(); ++a) {
    AuditedAttribute input{
        .attribute = &study.attributes[a],
        .reads = study.reads[a],
        .pairs = std::nullopt,
        .pairs_kind = "flip",
        .slope = measure_slope(model, study, study.attributes[a], options, exec)};
    if (pairs[a]) {
      input.pairs = score_pairs(model, study, *pairs[a], exec);
      input.pairs_kind = pairs[a]->kind;
      if (input.pairs_kind == "given" && options.by_name)
        input.distortion = sample_distortion(pairs[a]->set(study), options.confidence,
                                             options.replicates, exec);
    }
    if ((*matches)[a]) {
      input.match = &*(*matches)[a];
      input.matching = match_input(model, study, model.task, a);
    }
    attributes.push_back(std::move(input));
  }
  Scored scored = score(model, study, {}, exec);
  if (options.weighted)
    scored.weight =
        study.weight.empty() ? audit_weights(study.table, model.task) : study.weight;
  AuditReport report = audit_scores(scored, model.task, attributes, options, exec);
  if (options.neighbours > 0) add_neighbours(study, scored, options, exec, report);
  report.kind = kind_of(model);
  report.data = study.source;
  report.data_sha256 = study.sha256;
  report.seen = study.seen;
  report.seen_by_chance = study.seen_by_chance;
  report.missing_numbers = study.missing_numbers;
  return report;
}

}  // namespace fmd
