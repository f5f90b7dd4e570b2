#include "fmd/model/model.h"

#include "core/check.h"

namespace fmd {
namespace {

// Dense rows are faster when at least half of the entries are there: one entry a column,
// whatever the rows hold. The encoder alone decides, never the rows: both sides of a pair
// must be summed in the same order, or equal answers would differ in their last bits.
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

std::vector<std::string> Model::hashed_columns() const {
  std::vector<std::string> names;
  for (const EncodedColumn& column : backbone->encoder().columns())
    names.push_back(column.name);
  if (!task.label.empty()) names.push_back(task.label);
  return names;
}

std::string kind_of(const Model& model) {
  if (!model.head->linear()) return "mlp";
  return model.head->outputs() == 1 ? "logistic" : "softmax";
}

const LinearHead& linear_head(const Model& model) {
  if (const auto* head = dynamic_cast<const LinearHead*>(model.head.get())) return *head;
  throw Error(ErrorKind::unsupported,
              fmt::format("the head has {} layers; this works on the last layer alone",
                          model.head->widths().size() - 1),
              "keep the layers below as they are: --layers 1");
}

Model with_theta(const Model& model, Vector theta) {
  require_size("model", "theta", theta.size(), model.head->parameters());
  Model changed = model;
  changed.theta = std::move(theta);
  return changed;
}

}  // namespace fmd
