#include "pipeline/neighbours.h"

#include "fmd/metrics/individual.h"
#include "fmd/model/nearest.h"

namespace fmd::internal {
namespace {

std::vector<FlipTest> flip_tests(const Study& study, const Scored& scored,
                                 const Attribute& attribute, const GroupReport& groups,
                                 const AuditOptions& options, const Exec& exec) {
  std::vector<FlipTest> tests;
  if (groups.reference < 0 || scored.favorable < 0) return tests;
  std::vector<std::vector<Index>> rows(attribute.values.size());
  for (std::size_t i = 0; i < attribute.code.size(); ++i)
    if (attribute.code[i] >= 0)
      rows[static_cast<std::size_t>(attribute.code[i])].push_back(static_cast<Index>(i));
  const auto reference = static_cast<std::size_t>(groups.reference);
  for (std::size_t g = 0; g < rows.size(); ++g) {
    if (g == reference || !groups.groups[g].compared || !groups.groups[reference].compared)
      continue;
    const Neighbours near = nearest(study.rows(rows[g]), study.rows(rows[reference]),
                                    {.k = options.neighbours}, exec);
    tests.push_back({attribute.values[g], attribute.values[reference], std::ssize(rows[g]),
                     flip_test(scored, rows[g], near, options.confidence,
                               options.replicates, exec, options.intervals)});
  }
  return tests;
}

}  // namespace

void add_neighbours(const Study& study, const Scored& scored, const AuditOptions& options,
                    const Exec& exec, AuditReport& report) {
  const Neighbours near =
      nearest(study.rows(), study.rows(), {.k = options.neighbours}, exec);
  report.neighbours = {
      .k = options.neighbours,
      .consistency = consistency(scored, near, options.confidence, options.replicates, exec,
                                 options.intervals)};
  for (std::size_t a = 0; a < report.attributes.size(); ++a)
    report.attributes[a].flip_test = flip_tests(study, scored, study.attributes[a],
                                                report.attributes[a].groups, options, exec);
}

}  // namespace fmd::internal
