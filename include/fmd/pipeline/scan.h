#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "fmd/core/bytes.h"
#include "fmd/core/exec.h"
#include "fmd/data/attribute.h"
#include "fmd/data/csv.h"
#include "fmd/metrics/scored.h"
#include "fmd/pipeline/study.h"
#include "fmd/report/scan_report.h"

// Which columns of a table go with how a model answers, without being asked about any.
namespace fmd {

struct ScanOptions {
  double confidence = 0.95;
  Adjust adjust = Adjust::holm;
  Index top = 20;                    // lines of each list on the screen
  std::vector<std::string> columns;  // to look at; empty = all but label, weight and id
  Index most_values = 20;            // a category with more is left out, unless named
  Index most_numbers = 10;           // a number with more is divided into quantiles
  Index quantiles = 4;
  bool include_rows = false;  // groups and labels under kMaskedRows rows may be compared
};

// First look at the rows, block after block: which columns divide them into few groups.
class SuspectSurvey {
 public:
  // The task's label, weight and id are left out, and so are `others` (scores).
  SuspectSurvey(const Task& task, ScanOptions options,
                std::vector<std::string> others = {});
  // Throws Error(missing_column) for a named column, Error(bad_option) for the label.
  void add(const Table& block);

  struct Suspects {
    std::vector<Attribute> attributes;  // without codes
    std::vector<ScanReport::LeftOut> left_out;
  };
  [[nodiscard]] Suspects finish() const;

 private:
  struct Seen {
    std::string name;
    ColumnKind kind = ColumnKind::category;
    std::vector<AttributeSurvey> survey;  // of ranges or of categories: one
    std::set<std::string> texts;          // categories, some more than most_values
    std::set<double> numbers;             // some more than most_numbers
  };
  void begin(const Table& block);

  Task task_;
  ScanOptions options_;
  std::vector<std::string> others_;
  std::vector<Seen> columns_;
  bool begun_ = false;
};

// Rows by group, label and answer, of every suspect and of any two: all that the tests
// need. Whole numbers: the order of blocks changes nothing.
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

// Sums over rows of what flipping one column does.
struct FlipSums {
  double rows = 0, change = 0, square = 0, flipped = 0;

  [[nodiscard]] Interval mean_change(double confidence) const;  // +- z sd / sqrt(rows)
};

// The sums of every suspect; blocks merge on the fixed tree.
struct ScanFlips {
  std::vector<FlipSums> of;

  void merge(const ScanFlips& other);  // throws Error(bad_shape)
  void save(ByteWriter& out) const;
  [[nodiscard]] static ScanFlips load(ByteReader& in);
};

// Each suspect that the model reads: flips to each other value, or the slope of ranges of a
// number per deviation; nothing of the others. Block by block: beyond the codes of its rows
// memory does not grow with the table.
[[nodiscard]] ScanFlips scan_flips(const Model& model, const Table& table,
                                   const std::vector<Attribute>& attributes,
                                   const Exec& exec);

// Two-sided p-value of k1 of n1 against k2 of n2 by Fisher's exact test: the chance, when
// the rows are dealt out to the two groups at random, of a table that is as unlikely or
// less. 1 where it says nothing (n1 or n2 = 0). Throws Error(bad_option) for no shares.
[[nodiscard]] double fisher_test(Index k1, Index n1, Index k2, Index n2);

// Every comparison from the counts, adjusted, ranked. reads and flips as the columns'
// attributes; flips may be empty. min_group and min_label are the task's.
[[nodiscard]] ScanReport scan_report(const std::vector<Attribute>& attributes,
                                     const ScanCounts& counts, const Task& task,
                                     const ScanOptions& options);

// Throw Error(bad_option) when no class is favourable, Error(bad_data) when no column
// divides the rows.
[[nodiscard]] ScanReport scan_model(const Model& model, const Study& study,
                                    const ScanOptions& options, const Exec& exec);
[[nodiscard]] ScanReport scan_files(const Table& scores, const Scored& scored,
                                    const Task& task, const ScanOptions& options,
                                    const Exec& exec);

// The same of files of any size, block by block, to the same bits. A first look drops
// columns as soon as they have more than 256 values, and begins again without them, so that
// memory grows neither with the rows nor with the texts of names and numbers of people.
[[nodiscard]] ScanReport scan_model_file(const Model& model, const std::string& file,
                                         const ScanOptions& options, const Exec& exec);
[[nodiscard]] ScanReport scan_score_file(const std::string& file, const CsvOptions& csv,
                                         const Task& task, const ScanOptions& options,
                                         const Exec& exec);

}  // namespace fmd
