#include "fmd/model/encoder_backbone.h"

#include <algorithm>
#include <vector>

#include "core/index.h"
#include "fmd/core/error.h"
#include "model/patched.h"

namespace fmd {
namespace {

// Dense rows are faster when at least half of the entries are there: one entry for each
// column. The encoder alone decides, never the rows: both sides of a pair must be summed in
// the same order, otherwise equal answers would differ in their last bits.
bool dense(const Encoder& encoder) {
  return 2 * std::ssize(encoder.columns()) >= encoder.features();
}

std::unique_ptr<Features> as_dense(const CsrRows& csr) {
  const Index rows = csr.rows(), cols = csr.cols;
  std::vector<float> values(at(rows * cols), 0.0f);
  for (Index i = 0; i < rows; ++i)
    for (Index e = csr.start[at(i)]; e < csr.start[at(i) + 1]; ++e)
      values[at(i * cols + csr.column[at(e)])] =
          csr.value.empty() ? 1.0f : csr.value[at(e)];
  return make_dense(std::move(values), rows, cols);
}

}  // namespace

EncoderBackbone::EncoderBackbone(Encoder encoder) : encoder_(std::move(encoder)) {
  for (const EncodedColumn& c : encoder_.columns()) {
    inputs_.columns.push_back({c.name, c.kind, c.levels, true, c.notation, c.counted});
    columns_.columns.push_back({c.name, c.kind, c.first, c.features, c.scale});
  }
  columns_.feature_names = encoder_.feature_names();
}

Hash EncoderBackbone::hash() const {
  const std::string text = encoder_.to_json();
  return sha256({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

Sparsity EncoderBackbone::sparsity() const {
  if (dense(encoder_)) return {};
  const std::vector<EncodedColumn>& columns = encoder_.columns();
  return {.entries = std::ssize(columns), .ones = encoder_.only_ones()};
}

std::unique_ptr<Features> EncoderBackbone::features(const Inputs& inputs,
                                                    std::span<const Index> rows,
                                                    const Exec&) const {
  CsrRows csr = encoder_.encode(*inputs.table, rows);
  return dense(encoder_) ? as_dense(csr) : make_sparse(std::move(csr));
}

std::unique_ptr<Features> EncoderBackbone::flipped(const Inputs*, const Features& X,
                                                   const Attribute& attribute,
                                                   const PairPlan& plan,
                                                   const Exec& exec) const {
  return internal::make_patched(X, plan.row, encoder_.patch(attribute, plan.to), plan.to,
                                exec);
}

const Encoder& encoder_of(const Backbone& backbone) {
  if (const auto* own = dynamic_cast<const EncoderBackbone*>(&backbone))
    return own->encoder();
  throw Error(ErrorKind::unsupported, "the model does not read a table through an encoder",
              "use a model that fmd train has written");
}

}  // namespace fmd
