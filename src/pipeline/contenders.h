#pragma once

#include <memory>
#include <span>
#include <vector>

#include "fmd/pipeline/debias.h"
#include "pipeline/repair_parts.h"

namespace fmd::internal {

// A model to compare the result with, or the reason why there is none.
struct Control {
  std::string name, title, reason;
  std::optional<Model> model;
  // The audited rows as this model sees them, where it has a backbone of its own.
  std::shared_ptr<const Study> rows = {};
};
[[nodiscard]] std::vector<Control> make_controls(const Model& whole, const Model& before,
                                                 const Model& after,
                                                 const RepairParts& parts,
                                                 const Exec& exec);

// Before, repaired and every control, audited on the same rows. folds: the repaired one is
// cross-fitted. Controls keep the rows that were made for them.
[[nodiscard]] std::vector<Contender> audit_all(const Model& before, const Model& after,
                                               std::span<Control> controls,
                                               const Study& study,
                                               const AuditOptions& options,
                                               const Exec& exec,
                                               const FoldModels* folds = nullptr);

// The controls that drop the column, beside the repaired model's answers to the same rows.
// all: what audit_all() made of them. repaired: attributes.
[[nodiscard]] std::vector<DroppedColumn> dropped_columns(
    const std::vector<Control>& controls, const std::vector<Contender>& all,
    const Study& study, const Scored& after, const std::vector<std::string>& repaired,
    const std::string& measure, const AuditOptions& options, const Exec& exec);

}  // namespace fmd::internal
