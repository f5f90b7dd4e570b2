#include "fmd/pipeline/scan_comparisons.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "data/number.h"
#include "fmd/core/error.h"
#include "fmd/metrics/testing.h"
#include "fmd/pipeline/fisher.h"
#include "fmd/pipeline/scan.h"

namespace fmd {
namespace {

constexpr double kMostCounts = 2e7;  // of all suspects and pairs: 160 MB

}  // namespace

ScanCounts::ScanCounts(std::vector<Index> groups) : groups_(std::move(groups)) {
  double cells = 0, ones = 0;
  for (const Index g : groups_) {
    if (g < 1) throw Error(ErrorKind::bad_option, "scan: a suspect has no groups");
    cells += static_cast<double>(g) * (1 + ones);
    ones += static_cast<double>(g);
  }
  if (!(cells * static_cast<double>(kOutcomes) <= kMostCounts)) {
    throw Error(ErrorKind::bad_option,
                fmt::format("scan: {} columns have {:.3g} cells with all intersections",
                            groups_.size(), cells),
                "name fewer columns: --scan-columns a,b,c");
  }
  std::size_t at = 0;
  const auto next = [&](Index cell_count) {
    start_.push_back(at);
    at += to_size(cell_count) * kOutcomes;
  };
  for (const Index g : groups_) next(g);
  for (std::size_t a = 0; a < groups_.size(); ++a)
    for (std::size_t b = a + 1; b < groups_.size(); ++b) next(groups_[a] * groups_[b]);
  start_.push_back(at);
  counts_.assign(at, 0);
}

std::size_t ScanCounts::place(std::size_t a, std::size_t b) const {
  const std::size_t n = groups_.size();
  return n + a * n - a * (a + 1) / 2 + (b - a - 1);
}

std::span<const Index> ScanCounts::one(std::size_t a) const {
  return {counts_.data() + start_[a], start_[a + 1] - start_[a]};
}

std::span<const Index> ScanCounts::two(std::size_t a, std::size_t b) const {
  const std::size_t p = place(a, b);
  return {counts_.data() + start_[p], start_[p + 1] - start_[p]};
}

void ScanCounts::add(const std::vector<std::vector<std::int32_t>>& group,
                     std::span<const std::uint8_t> outcome, const Exec& exec) {
  if (group.size() != groups_.size())
    throw Error(ErrorKind::bad_shape, "scan: each suspect needs one list of groups");
  for (const auto& codes : group)
    if (codes.size() != outcome.size())
      throw Error(ErrorKind::bad_shape, "scan: each row needs one group and one outcome");
  // Every task writes only the tables of its own suspect, so no two tasks write to one
  // place.
  exec.for_each(static_cast<Index>(groups_.size()), [&](Index task) {
    const std::size_t a = to_size(task);
    const std::vector<std::int32_t>& first = group[a];
    Index* own = counts_.data() + start_[a];
    for (std::size_t i = 0; i < outcome.size(); ++i)
      if (first[i] >= 0) ++own[to_size(first[i]) * kOutcomes + outcome[i]];
    for (std::size_t b = a + 1; b < groups_.size(); ++b) {
      const std::vector<std::int32_t>& second = group[b];
      Index* cells = counts_.data() + start_[place(a, b)];
      const std::size_t width = to_size(groups_[b]);
      for (std::size_t i = 0; i < outcome.size(); ++i) {
        if (first[i] < 0 || second[i] < 0) continue;
        ++cells[(to_size(first[i]) * width + to_size(second[i])) * kOutcomes + outcome[i]];
      }
    }
  });
}

void ScanCounts::merge(const ScanCounts& other) {
  if (groups_ != other.groups_)
    throw Error(ErrorKind::bad_shape, "scan: counts of other columns cannot be merged");
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
}

void ScanCounts::save(ByteWriter& out) const {
  out.put_array<Index>(groups_);
  out.put_array<Index>(counts_);
}

ScanCounts ScanCounts::load(ByteReader& in) {
  const auto fail = [] {
    throw Error(ErrorKind::bad_model, "state: damaged counts of a scan",
                "the file is damaged: make it again");
  };
  std::vector<Index> groups = in.get_array<Index>();
  for (const Index g : groups)
    if (g < 1 || g > 1000000) fail();
  ScanCounts result(std::move(groups));
  const std::vector<Index> counts = in.get_array<Index>();
  if (counts.size() != result.counts_.size()) fail();
  for (const Index count : counts)
    if (count < 0) fail();
  result.counts_ = counts;
  return result;
}

std::vector<std::uint8_t> scan_outcomes(const Scored& scored) {
  std::vector<std::uint8_t> result(to_size(scored.rows()));
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::int32_t y = scored.labelled() ? scored.y[i] : -1;
    const int label = y < 0 ? 0 : y == scored.favorable ? 2 : 1;
    result[i] = static_cast<std::uint8_t>(2 * label +
                                          (scored.decision[i] == scored.favorable ? 1 : 0));
  }
  return result;
}

namespace {

struct Share {
  Index hits = 0, of = 0;
  [[nodiscard]] double rate() const {
    return static_cast<double>(hits) / static_cast<double>(of);
  }
};

constexpr std::array<const char*, 3> kRates = {"selection_rate", "tpr", "fpr"};

// The three rates of one group, from its counts by outcome.
std::array<Share, 3> shares(std::span<const Index> outcome) {
  const auto of = [&](std::size_t label) {
    return outcome[2 * label] + outcome[2 * label + 1];
  };
  return {Share{outcome[1] + outcome[3] + outcome[5], of(0) + of(1) + of(2)},
          Share{outcome[5], of(2)}, Share{outcome[3], of(1)}};
}

// One comparison before it is written out.
struct GroupTest {
  std::size_t rate = 0, group = 0, reference = 0;
  Share own, other;
  double p = 1, adjusted = 1;
  [[nodiscard]] double size() const { return std::abs(other.rate() - own.rate()); }
};

// A column or an intersection with its comparisons.
struct SuspectTests {
  std::size_t first = 0, second = 0;  // equal for a column
  std::vector<GroupTest> tests;
  Index groups = 0, compared = 0;
};

// Every group against the largest group whose value is known.
SuspectTests compare_groups(std::size_t first, std::size_t second,
                            std::span<const Index> counts, const std::vector<bool>& known,
                            const Task& task) {
  SuspectTests suspect{first, second, {}, static_cast<Index>(known.size()), 0};
  std::vector<std::array<Share, 3>> all;
  std::size_t reference = known.size();
  for (std::size_t g = 0; g < known.size(); ++g) {
    all.push_back(shares(counts.subspan(g * ScanCounts::kOutcomes, ScanCounts::kOutcomes)));
    const Index rows = all[g][0].of;
    if (rows == 0 || rows < task.min_group) continue;
    ++suspect.compared;
    if (known[g] && (reference == known.size() || rows > all[reference][0].of))
      reference = g;
  }
  if (reference == known.size()) return suspect;
  for (std::size_t rate = 0; rate < kRates.size(); ++rate) {
    const Index least = std::max<Index>(1, rate == 0 ? 0 : task.min_label);
    const Share other = all[reference][rate];
    if (other.of < least) continue;
    for (std::size_t g = 0; g < known.size(); ++g) {
      const Share own = all[g][rate];
      if (g == reference || all[g][0].of < task.min_group || own.of < least) continue;
      suspect.tests.push_back({rate, g, reference, own, other,
                               fisher_test(own.hits, own.of, other.hits, other.of), 1});
    }
  }
  return suspect;
}

// Over all comparisons of the scan.
Index adjust_tests(Adjust how, std::vector<SuspectTests>& suspects) {
  std::vector<GroupTest*> all;
  for (SuspectTests& suspect : suspects)
    for (GroupTest& test : suspect.tests) all.push_back(&test);
  std::vector<double> p;
  for (const GroupTest* test : all) p.push_back(test->p);
  const std::vector<double> adjusted = how == Adjust::holm ? holm(p)
                                       : how == Adjust::bh ? benjamini_hochberg(p)
                                                           : p;
  for (std::size_t i = 0; i < all.size(); ++i) all[i]->adjusted = adjusted[i];
  return static_cast<Index>(all.size());
}

std::string group_name(const std::vector<Attribute>& attributes,
                       const SuspectTests& suspect, std::size_t group) {
  const Attribute& first = attributes[suspect.first];
  if (suspect.first == suspect.second) return first.groups[group];
  const Attribute& second = attributes[suspect.second];
  const std::size_t width = second.groups.size();
  return first.groups[group / width] + " x " + second.groups[group % width];
}

ScanGap written(const std::vector<Attribute>& attributes, const SuspectTests& suspect,
                const GroupTest& test, double level, double confidence) {
  ScanGap gap;
  gap.rate = kRates[test.rate];
  gap.group = group_name(attributes, suspect, test.group);
  gap.reference = group_name(attributes, suspect, test.reference);
  gap.rows = test.own.of;
  gap.reference_rows = test.other.of;
  gap.group_rate = test.own.rate();
  gap.reference_rate = test.other.rate();
  gap.difference =
      newcombe(test.other.hits, test.other.of, test.own.hits, test.own.of, confidence);
  gap.p_value = test.p;
  gap.adjusted = test.adjusted;
  gap.finding = test.adjusted <= level;
  return gap;
}

// The widest finding comes first; without a finding, the least p-value.
bool comes_first(const GroupTest& a, const GroupTest& b, double level) {
  const bool found_a = a.adjusted <= level, found_b = b.adjusted <= level;
  if (found_a != found_b) return found_a;
  if (found_a && a.size() != b.size()) return a.size() > b.size();
  return a.p < b.p;
}

const GroupTest* find_test(const SuspectTests& suspect, std::size_t rate,
                           std::size_t group) {
  for (const GroupTest& test : suspect.tests)
    if (test.rate == rate && test.group == group) return &test;
  return nullptr;
}

ScanSuspect described(const std::vector<Attribute>& attributes, const SuspectTests& suspect,
                      double level, double confidence) {
  const bool one = suspect.first == suspect.second;
  const Attribute& first = attributes[suspect.first];
  ScanSuspect result;
  result.name = one ? first.name : first.name + " x " + attributes[suspect.second].name;
  result.columns = {first.name};
  if (!one) result.columns.push_back(attributes[suspect.second].name);
  if (one) result.cuts = first.cuts;
  result.groups = suspect.groups;
  result.compared = suspect.compared;
  result.tests = static_cast<Index>(suspect.tests.size());
  for (const GroupTest& test : suspect.tests) result.findings += test.adjusted <= level;
  for (std::size_t rate = 0; rate < kRates.size(); ++rate) {
    const GroupTest* worst = nullptr;
    for (const GroupTest& test : suspect.tests)
      if (test.rate == rate && (worst == nullptr || comes_first(test, *worst, level)))
        worst = &test;
    if (worst != nullptr)
      result.worst.push_back(written(attributes, suspect, *worst, level, confidence));
  }
  return result;
}

// How much wider the intersection's widest gap is than the gaps of its two values by
// themselves.
double beyond(const ScanSuspect& described, const SuspectTests& cross,
              const std::vector<SuspectTests>& columns, std::size_t width, double level) {
  const ScanGap* widest = described.widest();
  if (widest == nullptr) return kUndefined;
  const GroupTest* found = nullptr;
  for (const GroupTest& test : cross.tests)
    if (widest->rate == kRates[test.rate] &&
        (found == nullptr || comes_first(test, *found, level)))
      found = &test;
  double alone = 0;
  for (const auto& [column, group] :
       {std::pair{cross.first, found->group / width}, {cross.second, found->group % width}})
    if (const GroupTest* test = find_test(columns[column], found->rate, group))
      alone = std::max(alone, test->size());
  return found->size() - alone;
}

bool ranks_before(const ScanSuspect& a, const ScanSuspect& b) {
  const ScanGap *x = a.widest(), *y = b.widest();
  if ((x == nullptr) != (y == nullptr)) return x != nullptr;
  if (x != nullptr) return std::abs(x->difference.value) > std::abs(y->difference.value);
  const auto least = [](const ScanSuspect& s) {
    double p = 2;
    for (const ScanGap& gap : s.worst) p = std::min(p, gap.p_value);
    return p;
  };
  return least(a) < least(b);
}

std::vector<bool> known_groups(const Attribute& a) {
  std::vector<bool> known(a.groups.size(), true);
  if (a.groups.size() > a.values.size()) known.back() = false;
  return known;
}

// Confidence of the intervals of gaps. With bh it is chosen so that, among the intervals
// of findings, the expected share of those that miss stays below the level.
double gap_confidence(const ScanOptions& options, const std::vector<SuspectTests>& suspects,
                      Index tests) {
  if (options.adjust == Adjust::none) return options.confidence;
  if (options.adjust == Adjust::holm) return adjusted_confidence(options.confidence, tests);
  const double level = 1 - options.confidence;
  Index findings = 0;
  for (const SuspectTests& suspect : suspects)
    for (const GroupTest& test : suspect.tests) findings += test.adjusted <= level;
  return 1 - level * static_cast<double>(std::max<Index>(1, findings)) /
                 static_cast<double>(std::max<Index>(1, tests));
}

}  // namespace

ScanReport scan_report(const std::vector<Attribute>& attributes, const ScanCounts& counts,
                       const Task& task, const ScanOptions& options) {
  Task least = task;
  if (!options.include_rows) {
    least.min_group = std::max(task.min_group, kMaskedRows);
    least.min_label = std::max(task.min_label, kMaskedRows);
  }
  std::vector<SuspectTests> columns;
  for (std::size_t a = 0; a < attributes.size(); ++a)
    columns.push_back(
        compare_groups(a, a, counts.one(a), known_groups(attributes[a]), least));
  std::vector<SuspectTests> suspects = columns;
  for (std::size_t a = 0; a < attributes.size(); ++a) {
    for (std::size_t b = a + 1; b < attributes.size(); ++b) {
      std::vector<bool> known;
      for (const bool first : known_groups(attributes[a]))
        for (const bool second : known_groups(attributes[b]))
          known.push_back(first && second);
      suspects.push_back(compare_groups(a, b, counts.two(a, b), known, least));
    }
  }
  ScanReport report;
  report.task = least;
  report.confidence = options.confidence;
  report.top = options.top;
  report.adjust = options.adjust;
  report.tests = adjust_tests(options.adjust, suspects);
  const double level = 1 - options.confidence;
  const double confidence = gap_confidence(options, suspects, report.tests);
  for (const SuspectTests& suspect : suspects) {
    ScanSuspect one = described(attributes, suspect, level, confidence);
    if (suspect.first == suspect.second) {
      report.columns.push_back(std::move(one));
      continue;
    }
    const std::size_t width = attributes[suspect.second].groups.size();
    one.beyond = beyond(one, suspect, columns, width, level);
    report.intersections.push_back(std::move(one));
  }
  for (auto* list : {&report.columns, &report.intersections})
    std::stable_sort(list->begin(), list->end(), ranks_before);
  return report;
}

}  // namespace fmd
