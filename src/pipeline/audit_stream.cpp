#include "fmd/pipeline/audit_stream.h"

#include <algorithm>

#include "fmd/pipeline/slope.h"

namespace fmd {
namespace {

std::vector<const Attribute*> pointers(const std::vector<Attribute>& attributes) {
  std::vector<const Attribute*> all;
  for (const Attribute& a : attributes) all.push_back(&a);
  return all;
}

ScoredBlock with_groups(const Scored& scored, const std::vector<Attribute>& attributes,
                        std::span<const float> weight) {
  ScoredBlock block = block_of(scored);
  for (const Attribute& a : attributes) block.code.emplace_back(a.group);
  block.weight = weight;
  return block;
}

}  // namespace

bool streams(const Task& task) {
  return std::all_of(
      task.attributes.begin(), task.attributes.end(),
      [&](const AttributeSpec& spec) { return pairs_of(spec).kind == PairKind::flip; });
}

AuditReport audit_stream(const Model& model, StudyStream& stream,
                         const AuditOptions& options, const Exec& exec) {
  const std::vector<Attribute>& attributes = stream.attributes();
  Tally tally(audit_plan(model.task, pointers(attributes), stream.labelled(), options));
  std::vector<TalliedAttribute> tallied;
  std::vector<std::optional<SlopeTally>> slopes;
  for (std::size_t a = 0; a < attributes.size(); ++a) {
    TalliedAttribute own{&attributes[a], stream.reads()[a], std::nullopt,
                         PairKind::flip, std::nullopt,      std::nullopt};
    if (own.reads == Reads::yes && attributes[a].flips())
      own.flips.emplace(FlipPlan{.classes = static_cast<Index>(model.task.classes.size()),
                                 .values = static_cast<Index>(attributes[a].values.size()),
                                 .figures = options.by_name});
    tallied.push_back(std::move(own));
    slopes.push_back(SlopeTally::of(model, attributes[a]));
  }
  Index seen = 0, missing_numbers = 0;
  for (Study block; stream.next(block, "auditing");) {
    const Scored scored = score(model, block, {}, exec);
    tally.add(with_groups(scored, block.attributes, block.weight));
    for (std::size_t a = 0; a < tallied.size(); ++a) {
      if (slopes[a])
        slopes[a]->add(model, block.rows(), scored.p, block.attributes[a].code, exec);
      const bool known =
          std::any_of(block.attributes[a].code.begin(), block.attributes[a].code.end(),
                      [](std::int32_t code) { return code >= 0; });
      if (tallied[a].flips && known)
        tallied[a].flips->add(
            score_pairs(model, block, make_flip_pairs(model, block, a, {}), exec));
    }
    seen = block.seen < 0 || seen < 0 ? -1 : seen + block.seen;
    missing_numbers += block.missing_numbers;
  }
  for (std::size_t a = 0; a < tallied.size(); ++a)
    if (slopes[a]) tallied[a].slope = slopes[a]->report(options, exec);
  AuditReport report = audit_tallies(tally, model.task, tallied, options, exec);
  report.kind = kind_of(model);
  report.data = stream.source();
  report.seen = seen;
  report.seen_by_chance = stream.seen_by_chance();
  report.missing_numbers = missing_numbers;
  return report;
}

}  // namespace fmd
