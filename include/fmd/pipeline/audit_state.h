#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "fmd/core/bytes.h"
#include "fmd/core/exec.h"
#include "fmd/data/attribute.h"
#include "fmd/data/row_twins.h"
#include "fmd/metrics/flip_tally.h"
#include "fmd/metrics/tally.h"
#include "fmd/pipeline/audit.h"
#include "fmd/pipeline/slope.h"
#include "fmd/pipeline/study.h"
#include "fmd/pipeline/survey_state.h"
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

// The rows of one part of an audit.
struct AuditPiece {
  std::string name, sha256;  // sha256: empty where there is no file
  Index rows = 0;
};

// What an audit has counted so far. Blocks are added to it; the figures come at the end.
// Every sum is exact, so blocks and states can come in any order: one process, many threads
// and many machines get the same bits.
class AuditState {
 public:
  // attributes: with all values that the rows have, without codes. reads: of each. kinds:
  // of each attribute's pairs; none: it has no pairs.
  AuditState(const Model& model, std::vector<Attribute> attributes,
             std::vector<Reads> reads, const std::vector<std::optional<PairKind>>& kinds,
             bool labelled, const AuditOptions& options, std::uint64_t seed);

  // pairs: of each attribute, of this block's rows; none where it has none. All pairs of a
  // row are in one block. Throws what Tally and FlipTally throw.
  void add(const Model& model, const Study& block, const Scored& scored,
           const std::vector<std::optional<PairScores>>& pairs, const Exec& exec);

  // Pairs of an attribute alone, of rows whose scores come by add().
  void add_pairs(std::size_t attribute, const PairScores& pairs);

  // Throws Error(wrong_model) for a state of another model or task, Error(bad_option) for
  // one of another survey, other options, or rows that are in both.
  void merge(const AuditState& other);
  // The threshold that the model itself decides at, to warn of another one.
  void set_model_threshold(double threshold) { model_threshold_ = threshold; }
  void save(ByteWriter& out) const;
  // The bytes may come from anybody. Throws Error(bad_model).
  [[nodiscard]] static AuditState load(ByteReader& in);

  // Every figure that sums can tell. matches: of matched pairs, which sums cannot tell;
  // empty, or one for each attribute. Throws Error(bad_data) when rows of the survey are
  // missing.
  [[nodiscard]] AuditReport report(
      const Exec& exec, const std::vector<std::optional<MatchReport>>& matches = {}) const;

 private:
  friend AuditState audit_part(const ModelSource& source, const DataSource& data,
                               const SurveyState& survey, const AuditOptions& options,
                               const Exec& exec);
  struct Counted {
    Attribute attribute;  // without codes
    Reads reads = Reads::unknown;
    PairKind pairs = PairKind::flip;
    std::optional<FlipTally> flips;
    std::optional<SlopeTally> slope;
  };

  AuditState() = default;
  void put_options(ByteWriter& out) const;
  void get_options(ByteReader& in, std::uint32_t format);
  void check() const;  // after loading

  Task task_;
  AuditOptions options_;
  std::uint64_t seed_ = 1;
  std::string kind_;
  Tally tally_;
  std::vector<Counted> attributes_;
  Index seen_ = 0, missing_numbers_ = 0;  // seen: -1 = not known
  double twins_ = 0;      // share of the training rows that equal another one
  Index trained_on_ = 0;  // number of training rows; 0 = not known
  double model_threshold_ = kUndefined;
  RowTwins row_twins_;
  // Where it is a part. Rows of the survey; -1 = none was made.
  std::string model_, model_sha256_, model_id_, survey_id_;
  Index survey_rows_ = -1;
  std::vector<AuditPiece> pieces_;  // by name
};

// An audit in parts, of rows that need not be on one machine. First the survey of each
// part; merged, they tell the values of all rows. Then the count of each part; merged, its
// report() is that of one audit of all rows, bit for bit, whatever the cut and the order of
// merging. Only rows that can be counted one by one: no given or matched pairs, neighbours
// or previous model (Error(unsupported)), and no file of features. Throw what audit()
// throws.
[[nodiscard]] SurveyState survey_part(const ModelSource& source, const DataSource& data,
                                      const AuditOptions& options, const Exec& exec);
[[nodiscard]] AuditState audit_part(const ModelSource& source, const DataSource& data,
                                    const SurveyState& survey, const AuditOptions& options,
                                    const Exec& exec);

// Either as a file: what it is, the state, a checksum. Throws Error(bad_model) for anything
// else, with the name of the file.
[[nodiscard]] Bytes state_bytes(const SurveyState& state);
[[nodiscard]] Bytes state_bytes(const AuditState& state);
using SavedState = std::variant<SurveyState, AuditState>;
[[nodiscard]] SavedState parse_state(std::span<const std::uint8_t> bytes,
                                     const std::string& source);

}  // namespace fmd
