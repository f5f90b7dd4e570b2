#pragma once

#include <memory>
#include <vector>

#include "core/internal.h"
#include "fmd/metrics/bias_measure.h"
#include "fmd/pipeline/study.h"

namespace fmd::internal {

// Pairs of one attribute of a study, some hundred thousand rows at a time: all of them at
// once would take more memory than the rows. Model and study must outlive it.
class PairSlices final : public PairParts {
 public:
  // `flips`: changing the attribute; otherwise the task's given pairs, as one slice.
  PairSlices(const Model& model, const Study& study, std::size_t attribute, bool flips,
             const Exec& exec);
  [[nodiscard]] Index count() const override { return static_cast<Index>(first_.size()); }
  [[nodiscard]] std::shared_ptr<const PairSet> part(Index number) const override;

 private:
  const Model& model_;
  const Study& study_;
  std::size_t attribute_;
  Exec exec_;
  std::vector<Index> first_;             // rows that slices begin with
  std::shared_ptr<const PairSet> only_;  // where there is one
};

}  // namespace fmd::internal
