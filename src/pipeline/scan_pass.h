#pragma once

#include <string>
#include <vector>

#include "fmd/core/accumulator.h"
#include "fmd/pipeline/scan.h"

namespace fmd {

// The second look of a scan at the rows, block after block: counts of every suspect and of
// any two, and, where there is a model, what flipping each does.
class ScanPass {
 public:
  // model: null for scores of another program. All must outlive the pass. Throws
  // Error(bad_option) when no class is favourable, Error(bad_data) without suspects.
  ScanPass(const Model* model, const Task& task, const SuspectSurvey::Suspects& suspects,
           const std::string& source);

  // Blocks in order, each but the last of whole blocks of kBlockRows rows.
  void add(const Table& block, const Scored& scored, const Exec& exec);

  [[nodiscard]] ScanReport finish(const ScanOptions& options) &&;

 private:
  const Model* model_;
  const Task& task_;
  const SuspectSurvey::Suspects& suspects_;
  std::string source_;
  ScanCounts counts_;
  Partial<ScanFlips> flips_;
  std::vector<std::vector<std::int32_t>> groups_;
  Index rows_ = 0;
  bool labelled_ = false;
};

// Columns of scores that are no suspects.
[[nodiscard]] std::vector<std::string> score_columns(const Task& task);

}  // namespace fmd
