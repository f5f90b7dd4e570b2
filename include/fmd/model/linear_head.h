#pragma once

#include <vector>

#include "fmd/core/types.h"
#include "fmd/model/head.h"

namespace fmd {

// z = W phi + b. parameters = outputs (inputs + 1).
class LinearHead final : public Head {
 public:
  LinearHead(Index inputs, Index outputs);
  [[nodiscard]] Index inputs() const override { return inputs_; }
  [[nodiscard]] Index outputs() const override { return outputs_; }
  [[nodiscard]] Index parameters() const override { return outputs_ * (inputs_ + 1); }
  [[nodiscard]] bool linear() const override { return true; }
  [[nodiscard]] std::vector<Index> widths() const override { return {inputs_, outputs_}; }
  using Head::logits;
  void logits(const FeatureBlock& block, const Vector& theta, Matrix& z,
              Tape* tape) const override;
  void jvp(const FeatureBlock& block, const Vector& theta, const Tape& tape,
           const Vector& v, Matrix& u) const override;
  void vjp(const FeatureBlock& block, const Vector& theta, const Tape& tape,
           const Matrix& h, Vector& into) const override;

 private:
  Index inputs_, outputs_;
};

}  // namespace fmd
