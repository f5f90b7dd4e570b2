#include "fmd/pipeline/audit_state.h"

#include <algorithm>

#include <fmt/format.h>

#include "fmd/core/error.h"
#include "fmd/data/table_stream.h"
#include "pipeline/score_files.h"
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

// Codes of the plan are those of Attribute::group.
TallyPlan audit_plan(const Model& model, const std::vector<Attribute>& attributes,
                     bool labelled, const AuditOptions& options) {
  TallyPlan plan{.classes = static_cast<Index>(model.task.classes.size()),
                 .favorable = model.task.favorable_class(),
                 .values = {},
                 .crossed = options.intersections,
                 .labelled = labelled,
                 .weighted = options.weighted};
  for (const Attribute& attribute : attributes)
    plan.values.push_back(static_cast<Index>(attribute.groups.size()));
  return plan;
}

AttributeAudit audit_of(const Tally& tally, const Task& task, Index a,
                        const TalliedAttribute& own, const AuditOptions& options,
                        const Exec& exec) {
  const Attribute& attribute = *own.attribute;
  AttributeAudit audit;
  audit.name = attribute.name;
  audit.values = attribute.values;
  audit.cuts = attribute.cuts;
  for (const Mirror& mirror : attribute.mirrors)
    (mirror.flipped ? audit.mirrors : audit.mirrors_left).push_back(mirror.column);
  audit.reads = own.reads;
  audit.pairs = own.pairs_kind;
  if (own.flips) {
    audit.flip = flip_report(*own.flips,
                             {.confidence = options.confidence,
                              .replicates = options.replicates,
                              .min_rows = least_rows(task.min_group, options),
                              .intervals = options.intervals},
                             exec);
    for (FlipFigure& figure : audit.flip->figures)
      if (figure.label >= 0)
        figure.about = task.classes[static_cast<std::size_t>(figure.label)];
  } else {
    audit.flip_reason = own.reads == Reads::no ? "not_an_input"
                        : attribute.flips()    ? "no_pairs"
                                               : "ranges_of_a_number";
  }
  audit.slope = own.slope;
  if (!own.slope)
    audit.slope_reason = own.reads == Reads::no        ? "not_an_input"
                         : own.reads == Reads::unknown ? "no_model"
                                                       : "read_as_categories";
  audit.match = own.match;
  const Index alone[] = {a};
  const int reference = reference_of(attribute, tally.groups(alone), task);
  audit.groups = group_report(tally, alone, attribute.name, attribute.groups,
                              group_options(task, options, reference), exec);
  return audit;
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

}  // namespace

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
  for (std::size_t a = 0; a < attributes.size(); ++a)
    report.attributes.push_back(
        audit_of(tally, task, static_cast<Index>(a), attributes[a], options, exec));
  if (options.intersections)
    add_intersections(tally, task, attributes, options, exec, report);
  judge_limits(task, report);
  return report;
}

AuditState::AuditState(const Model& model, std::vector<Attribute> attributes,
                       std::vector<Reads> reads,
                       const std::vector<std::optional<PairKind>>& kinds, bool labelled,
                       const AuditOptions& options)
    : task_(model.task),
      options_(options),
      kind_(scores_of(model) != nullptr ? "" : kind_of(model)),
      tally_(audit_plan(model, attributes, labelled, options)),
      twins_(twin_share(model.note.row_hashes)) {
  for (std::size_t a = 0; a < attributes.size(); ++a) {
    Counted own;
    own.attribute = std::move(attributes[a]);
    own.attribute.code.clear(), own.attribute.group.clear();
    own.reads = reads[a];
    if (kinds[a]) {
      own.pairs = *kinds[a];
      own.flips.emplace(FlipPlan{.classes = static_cast<Index>(model.task.classes.size()),
                                 .values = static_cast<Index>(own.attribute.values.size()),
                                 .by_value = kinds[a] == PairKind::flip,
                                 .figures = options.by_name});
    }
    own.slope = SlopeTally::of(model, own.attribute);
    attributes_.push_back(std::move(own));
  }
}

void AuditState::add(const Model& model, const Study& block, const Scored& scored,
                     const std::vector<std::optional<PairScores>>& pairs,
                     const Exec& exec) {
  ScoredBlock rows = block_of(scored);
  for (const Attribute& a : block.attributes) rows.code.emplace_back(a.group);
  std::vector<float> weight;
  if (options_.weighted)
    weight = block.weight.empty() ? audit_weights(block.table, task_) : block.weight;
  rows.weight = weight;
  // A tally has to be made for each thread: that pays for many rows.
  if (rows.rows > 4 * kStreamRows) {
    tally_.merge(tally(tally_.plan(), rows, exec));
  } else {
    tally_.add(rows);
  }
  for (std::size_t a = 0; a < attributes_.size(); ++a) {
    Counted& own = attributes_[a];
    if (own.slope)
      own.slope->add(model, block.rows(), scored.p, block.attributes[a].code, exec);
    if (own.flips && pairs[a]) own.flips->add(*pairs[a]);
  }
  seen_ = block.seen < 0 || seen_ < 0 ? -1 : seen_ + block.seen;
  missing_numbers_ += block.missing_numbers;
}

AuditReport AuditState::report(
    const Exec& exec, const std::vector<std::optional<MatchReport>>& matches) const {
  std::vector<TalliedAttribute> tallied;
  for (std::size_t a = 0; a < attributes_.size(); ++a) {
    const Counted& own = attributes_[a];
    TalliedAttribute one{&own.attribute, own.reads, own.flips, own.pairs, std::nullopt};
    if (!matches.empty()) one.match = matches[a];
    // Scores of another program need not have pairs of every attribute.
    if (own.flips && own.reads == Reads::unknown && own.flips->pairs() == 0)
      one.flips.reset();
    if (own.slope) one.slope = own.slope->report(options_, exec);
    tallied.push_back(std::move(one));
  }
  AuditReport report = audit_tallies(tally_, task_, tallied, options_, exec);
  report.kind = kind_;
  report.seen = seen_;
  report.seen_by_chance = twins_ * static_cast<double>(tally_.rows());
  report.missing_numbers = missing_numbers_;
  return report;
}

}  // namespace fmd
