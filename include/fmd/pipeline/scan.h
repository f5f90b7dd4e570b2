#pragma once

#include <set>
#include <string>
#include <vector>

#include "fmd/core/bytes.h"
#include "fmd/core/exec.h"
#include "fmd/core/fields.h"
#include "fmd/data/attribute.h"
#include "fmd/formats/model_source.h"
#include "fmd/metrics/scored.h"
#include "fmd/pipeline/fisher.h"
#include "fmd/pipeline/read.h"
#include "fmd/pipeline/scan_comparisons.h"
#include "fmd/pipeline/source.h"
#include "fmd/pipeline/study.h"
#include "fmd/report/scan_report.h"

// A scan looks at every column of a table: which of them go with the model's answers? It
// needs no attribute to be named.
namespace fmd {

struct ScanOptions {
  double confidence = 0.95;
  Adjust adjust = Adjust::holm;
  Index top = 20;                    // lines of each list on the screen
  std::vector<std::string> columns;  // empty = all except label, weight and id
  Index most_values = 20;            // a category with more is left out, unless named
  Index most_numbers = 10;           // a number with more is divided into quantiles
  Index quantiles = 4;
  bool include_rows = false;  // groups and labels under kMaskedRows rows may be compared
  TaskChanges task = {};      // of the model's task
};

// Every field that is a setting. The list points into `options`.
[[nodiscard]] std::vector<OptionField> fields(ScanOptions& options);

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

// Sums over rows of what changing one column does.
struct FlipSums {
  double rows = 0, change = 0, square = 0, flipped = 0;

  [[nodiscard]] Interval mean_change(double confidence) const;  // +- z sd / sqrt(rows)
};

// The sums of every suspect. Blocks merge on the fixed tree.
struct ScanFlips {
  std::vector<FlipSums> of;

  void merge(const ScanFlips& other);  // throws Error(bad_shape)
  void save(ByteWriter& out) const;
  [[nodiscard]] static ScanFlips load(ByteReader& in);
};

// For each suspect that the model reads: flips to each other value or, for ranges of a
// number, the slope per deviation. Nothing for the others. Works block by block: except for
// the codes of its rows, memory does not grow with the table.
[[nodiscard]] ScanFlips scan_flips(const Model& model, const Table& table,
                                   const std::vector<Attribute>& attributes,
                                   const Exec& exec);

// Which columns go with the answers of a model, or with scores of another program (see
// ScoresSource). The rows are looked at twice, block by block. The first look drops a
// column as soon as it has more than 256 values, and begins again without it. So memory
// grows neither with the rows nor with the names and numbers of people. Throws
// Error(bad_option) when no class is favourable, Error(bad_data) when no column divides the
// rows.
[[nodiscard]] ScanReport scan(const ModelSource& model, const DataSource& data,
                              const ScanOptions& options, const Exec& exec);

}  // namespace fmd
