#include "pipeline/pair_slices.h"

#include <algorithm>
#include <numeric>

#include "data/number.h"
#include "fmd/pipeline/audit.h"

namespace fmd::internal {
namespace {

// Part of the result's definition, as blocks are: sums over slices are added one by one.
constexpr Index kSliceRows = 64 * kBlockRows;

std::shared_ptr<const PairSet> with_owner(const Study& study, StudyPairs pairs) {
  struct Owner {
    StudyPairs pairs;
    PairSet set;
  };
  auto owner = std::make_shared<Owner>(Owner{std::move(pairs), {}});
  owner->set = owner->pairs.set(study);
  return {owner, &owner->set};
}

}  // namespace

PairSlices::PairSlices(const Model& model, const Study& study, std::size_t attribute,
                       bool flips, const Exec& exec)
    : model_(model), study_(study), attribute_(attribute), exec_(exec) {
  if (!flips) {
    auto all = make_pairs(model, study, model.task, {}, exec);
    first_ = {0};
    only_ = with_owner(study, std::move(all[attribute].value()));
    return;
  }
  const std::vector<std::int32_t>& code = study.attributes[attribute].code;
  for (Index row = 0; row < study.size(); row += kSliceRows) {
    const auto from = code.begin() + row;
    const auto to = code.begin() + std::min(row + kSliceRows, study.size());
    if (std::any_of(from, to, [](std::int32_t c) { return c >= 0; })) first_.push_back(row);
  }
  // Small data are asked for often, and are kept. Without any pair this is the error.
  if (first_.size() <= 1)
    only_ = with_owner(study, make_flip_pairs(model, study, attribute, {}, exec));
}

std::shared_ptr<const PairSet> PairSlices::part(Index number) const {
  if (only_ != nullptr) return only_;
  const Index first = first_[to_size(number)];
  std::vector<Index> rows(to_size(std::min(kSliceRows, study_.size() - first)));
  std::iota(rows.begin(), rows.end(), first);
  return with_owner(study_, make_flip_pairs(model_, study_, attribute_, rows, exec_));
}

}  // namespace fmd::internal
