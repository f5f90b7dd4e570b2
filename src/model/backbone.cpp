#include "fmd/model/backbone.h"

#include <vector>

namespace fmd {
namespace {

// Dense rows are faster when at least half of the entries are there: one entry for each
// column. The encoder alone decides, never the rows: both sides of a pair must be summed in
// the same order, otherwise equal answers would differ in their last bits.
bool dense(const Encoder& encoder) {
  return 2 * static_cast<Index>(encoder.columns().size()) >= encoder.features();
}

std::unique_ptr<Features> as_features(CsrRows csr, bool dense_rows) {
  if (!dense_rows) return make_sparse(std::move(csr));
  const Index rows = csr.rows(), cols = csr.cols;
  std::vector<float> values(static_cast<std::size_t>(rows * cols), 0.0f);
  for (Index i = 0; i < rows; ++i) {
    const auto from = static_cast<std::size_t>(csr.start[static_cast<std::size_t>(i)]);
    const auto to = static_cast<std::size_t>(csr.start[static_cast<std::size_t>(i) + 1]);
    for (std::size_t e = from; e < to; ++e)
      values[static_cast<std::size_t>(i * cols + csr.column[e])] =
          csr.value.empty() ? 1.0f : csr.value[e];
  }
  return make_dense(std::move(values), rows, cols);
}

}  // namespace

std::unique_ptr<Features> TableBackbone::features(const Table& table,
                                                  std::span<const Index> rows,
                                                  const Exec&) const {
  return as_features(encoder_.encode(table, rows), dense(encoder_));
}

std::unique_ptr<Features> TableBackbone::flipped(const Features& X,
                                                 const Attribute& attribute,
                                                 const PairPlan& plan, const Exec&) const {
  return make_patched(X, plan.row, encoder_.patch(attribute, plan.to), plan.to);
}

}  // namespace fmd
