#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/internal.h"
#include "fmd/baselines/baseline.h"
#include "fmd/pipeline/compare.h"
#include "fmd/pipeline/study.h"

namespace fmd::internal {

// The hold-out or the test rows, with the attribute set to each other value. It points into
// the study and must not be moved.
struct AskedPart {
  AskedPart(const Model& model, const Study& study, std::size_t attribute,
            std::vector<Index> rows);
  AskedPart(const AskedPart&) = delete;
  AskedPart& operator=(const AskedPart&) = delete;

  const Study& study;
  const Attribute& attribute;
  std::vector<Index> rows;
  BaselineRows c;
  bool flips = false;        // the attribute can be set to other values
  std::vector<Index> place;  // of each pair: position of its row in `rows`
  std::vector<float> weight;
  std::vector<std::int32_t> to;
  std::unique_ptr<Features> flipped;
  BaselineRows cbar;
};

// What a method answered on a part. bar is empty where flips are not needed.
struct Told {
  Answers c, bar;
};

struct CompareMeasureOptions {
  int favorable = -1;
  Index min_group = 100, min_label = 20;
  double confidence = 0.95;
  Index replicates = 0;  // 0: no intervals
};

// before: the answers of the unchanged model on the same rows.
[[nodiscard]] CompareFigures measure_answers(const AskedPart& part, const Told& told,
                                             const Told& before,
                                             const CompareMeasureOptions& options,
                                             const Exec& exec);

// A figure by the name of its measure. Throws Error(bad_option).
[[nodiscard]] const Interval& figure(const CompareFigures& figures,
                                     const std::string& name);

}  // namespace fmd::internal
