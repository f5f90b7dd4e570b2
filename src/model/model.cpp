#include "fmd/model/model.h"

#include "core/check.h"

namespace fmd {
namespace {

// Dense rows are faster when at least this share of the entries is there.
constexpr double kDenseShare = 0.5;

std::unique_ptr<Features> as_features(CsrRows csr) {
  const auto entries = static_cast<double>(csr.column.size());
  const Index rows = csr.rows(), cols = csr.cols;
  if (entries < kDenseShare * static_cast<double>(rows) * static_cast<double>(cols))
    return make_sparse(std::move(csr));
  std::vector<float> dense(static_cast<std::size_t>(rows * cols), 0.0f);
  for (Index i = 0; i < rows; ++i) {
    const auto from = static_cast<std::size_t>(csr.start[static_cast<std::size_t>(i)]);
    const auto to = static_cast<std::size_t>(csr.start[static_cast<std::size_t>(i) + 1]);
    for (std::size_t e = from; e < to; ++e)
      dense[static_cast<std::size_t>(i * cols + csr.column[e])] =
          csr.value.empty() ? 1.0f : csr.value[e];
  }
  return make_dense(std::move(dense), rows, cols);
}

}  // namespace

std::unique_ptr<Features> TableBackbone::features(const Table& table,
                                                  std::span<const Index> rows,
                                                  const Exec&) const {
  return as_features(encoder_.encode(table, rows));
}

std::unique_ptr<Features> TableBackbone::flipped(const Table& table,
                                                 const Attribute& attribute,
                                                 const PairPlan& plan, const Exec&) const {
  return as_features(encoder_.encode_flipped(table, attribute, plan.row, plan.to));
}

std::vector<std::string> Model::hashed_columns() const {
  std::vector<std::string> names;
  for (const EncodedColumn& column : backbone->encoder().columns())
    names.push_back(column.name);
  if (!task.label.empty()) names.push_back(task.label);
  return names;
}

Model with_theta(const Model& model, Vector theta) {
  require_size("model", "theta", theta.size(), model.head->parameters());
  Model changed = model;
  changed.theta = std::move(theta);
  return changed;
}

}  // namespace fmd
