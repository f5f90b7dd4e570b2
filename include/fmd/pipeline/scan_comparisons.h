#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fmd/core/bytes.h"
#include "fmd/core/exec.h"
#include "fmd/data/attribute.h"
#include "fmd/metrics/scored.h"
#include "fmd/report/scan_report.h"

namespace fmd {

struct ScanOptions;

// Rows by group, label and answer, of every suspect and of any two. That is all that the
// tests need. The counts are whole numbers: the order of blocks changes nothing.
class ScanCounts {
 public:
  // groups: of each suspect. Throws Error(bad_option) when there are too many cells.
  ScanCounts() = default;
  explicit ScanCounts(std::vector<Index> groups);

  // group[s]: of the block's rows for suspect s, -1 = none. outcome: see scan_outcomes.
  void add(const std::vector<std::vector<std::int32_t>>& group,
           std::span<const std::uint8_t> outcome, const Exec& exec);
  void merge(const ScanCounts& other);  // throws Error(bad_shape)
  void save(ByteWriter& out) const;
  [[nodiscard]] static ScanCounts load(ByteReader& in);

  static constexpr std::size_t kOutcomes = 6;
  // [group][outcome] of one suspect, [group a][group b][outcome] of two, a < b.
  [[nodiscard]] std::span<const Index> one(std::size_t a) const;
  [[nodiscard]] std::span<const Index> two(std::size_t a, std::size_t b) const;
  [[nodiscard]] const std::vector<Index>& groups() const { return groups_; }

 private:
  [[nodiscard]] std::size_t place(std::size_t a, std::size_t b) const;

  std::vector<Index> groups_;
  std::vector<std::size_t> start_;  // of each suspect, then of each pair; the end
  std::vector<Index> counts_;
};

// 2 x (0 no label, 1 unfavourable, 2 favourable) + (1 = answered favourably).
[[nodiscard]] std::vector<std::uint8_t> scan_outcomes(const Scored& scored);

// Every comparison that the counts allow, adjusted and ranked. min_group and min_label are
// the task's.
[[nodiscard]] ScanReport scan_report(const std::vector<Attribute>& attributes,
                                     const ScanCounts& counts, const Task& task,
                                     const ScanOptions& options);

}  // namespace fmd
