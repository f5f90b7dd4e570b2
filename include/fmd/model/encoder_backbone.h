#pragma once

#include <memory>
#include <span>

#include "fmd/data/encoder.h"
#include "fmd/model/backbone.h"

namespace fmd {

// Columns of a table through an Encoder. Features stay sparse unless most columns are
// numbers. hash() is that of the encoder's JSON.
class EncoderBackbone final : public Backbone {
 public:
  explicit EncoderBackbone(Encoder encoder);
  [[nodiscard]] const Encoder& encoder() const { return encoder_; }
  [[nodiscard]] Index cols() const override { return encoder_.features(); }
  [[nodiscard]] Hash hash() const override;
  [[nodiscard]] const InputSchema& inputs() const override { return inputs_; }
  [[nodiscard]] bool flips_features() const override { return true; }
  [[nodiscard]] const ColumnMap* columns() const override { return &columns_; }
  [[nodiscard]] Sparsity sparsity() const override;
  [[nodiscard]] std::unique_ptr<Features> features(const Inputs& inputs,
                                                   std::span<const Index> rows,
                                                   const Exec& exec) const override;
  [[nodiscard]] std::unique_ptr<Features> flipped(const Inputs* inputs, const Features& X,
                                                  const Attribute& attribute,
                                                  const PairPlan& plan,
                                                  const Exec& exec) const override;

 private:
  Encoder encoder_;
  InputSchema inputs_;
  ColumnMap columns_;
};

// The encoder of a backbone that is one. Throws Error(unsupported) for others.
[[nodiscard]] const Encoder& encoder_of(const Backbone& backbone);

}  // namespace fmd
