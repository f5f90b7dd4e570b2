#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/data/attribute.h"
#include "fmd/metrics/flip_tally.h"
#include "fmd/metrics/tally.h"
#include "fmd/pipeline/audit.h"
#include "fmd/pipeline/slope.h"
#include "fmd/pipeline/study.h"
#include "fmd/report/audit_report.h"

namespace fmd {

// Tallies of one attribute. Its groups are counted in the tally of all rows.
struct TalliedAttribute {
  const Attribute* attribute = nullptr;  // its codes are not used
  Reads reads = Reads::unknown;
  std::optional<FlipTally> flips;
  PairKind pairs_kind = PairKind::flip;
  std::optional<SlopeReport> slope;
  std::optional<MatchReport> match = std::nullopt;
};

// Every figure of rows that were counted, in one part or in many. Attribute a of the
// tally's plan is attributes[a]; its codes are those of Attribute::group.
[[nodiscard]] AuditReport audit_tallies(const Tally& tally, const Task& task,
                                        const std::vector<TalliedAttribute>& attributes,
                                        const AuditOptions& options, const Exec& exec);

// What an audit has counted so far. Blocks are added to it; the figures come at the end.
// Every sum is exact, so blocks and states can come in any order.
class AuditState {
 public:
  // attributes: with all values that the rows have, without codes. reads: of each. kinds:
  // of each attribute's pairs; none: it has no pairs.
  AuditState(const Model& model, std::vector<Attribute> attributes,
             std::vector<Reads> reads, const std::vector<std::optional<PairKind>>& kinds,
             bool labelled, const AuditOptions& options);

  // pairs: of each attribute, of this block's rows; none where it has none. All pairs of a
  // row are in one block. Throws what Tally and FlipTally throw.
  void add(const Model& model, const Study& block, const Scored& scored,
           const std::vector<std::optional<PairScores>>& pairs, const Exec& exec);

  // Every figure that sums can tell. matches: of matched pairs, which sums cannot tell;
  // empty, or one for each attribute.
  [[nodiscard]] AuditReport report(
      const Exec& exec, const std::vector<std::optional<MatchReport>>& matches = {}) const;

 private:
  struct Counted {
    Attribute attribute;  // without codes
    Reads reads = Reads::unknown;
    PairKind pairs = PairKind::flip;
    std::optional<FlipTally> flips;
    std::optional<SlopeTally> slope;
  };

  Task task_;
  AuditOptions options_;
  std::string kind_;
  Tally tally_;
  std::vector<Counted> attributes_;
  Index seen_ = 0, missing_numbers_ = 0;  // seen: -1 = not known
  double twins_ = 0;  // share of the training rows that equal another one
};

}  // namespace fmd
