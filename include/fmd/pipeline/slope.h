#pragma once

#include <optional>
#include <span>
#include <vector>

#include "fmd/core/bytes.h"
#include "fmd/core/exact_sum.h"
#include "fmd/core/exec.h"
#include "fmd/data/attribute.h"
#include "fmd/metrics/flip_tally.h"
#include "fmd/model/model.h"
#include "fmd/report/audit_report.h"

namespace fmd {

struct AuditOptions;
struct Study;

// The slope of an attribute that is ranges of a number, counted block by block. Sizes are
// shares of the largest slope that this model can have, in sums that are exact in any
// order. Up to 200,000 rows are kept, for their bootstrap. Above that the bootstrap is that
// of GapBins.
class SlopeTally {
 public:
  // None where the model does not read the column as a number.
  [[nodiscard]] static std::optional<SlopeTally> of(const Model& model,
                                                    const Attribute& attribute);

  // p: rows x classes of the rows. code: of the attribute; rows with -1 have no number and
  // are left out. Throws Error(bad_shape).
  void add(const Model& model, const Rows& rows, const Matrix& p,
           std::span<const std::int32_t> code, const Exec& exec);

  void merge(const SlopeTally& other);  // throws Error(bad_shape): of another slope
  void save(ByteWriter& out) const;
  [[nodiscard]] static SlopeTally load(ByteReader& in);  // throws Error(bad_model)

  // None without a row.
  [[nodiscard]] std::optional<SlopeReport> report(const AuditOptions& options,
                                                  const Exec& exec) const;

 private:
  Index feature_ = 0;
  double deviation_ = 1, most_ = 0;
  int favorable_ = -1;
  GapBins sizes_;
  ExactSum rises_, falls_;
  bool keeping_ = true;
  std::vector<double> kept_;
};

// The slope of an attribute that is ranges of a number, by the derivative through the
// encoder and the head. None where the model does not read the column as a number. The
// interval comes from a bootstrap of the rows.
[[nodiscard]] std::optional<SlopeReport> measure_slope(const Model& model,
                                                       const Study& study,
                                                       const Attribute& attribute,
                                                       const AuditOptions& options,
                                                       const Exec& exec);

}  // namespace fmd
