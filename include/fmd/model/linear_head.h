#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "fmd/core/types.h"
#include "fmd/model/head.h"

namespace fmd {

// What of W and b a linear head has. The rest is 0 and no parameter: a file has no place
// for it.
struct LinearHeadOptions {
  bool intercept = true;
  // The one class that each feature counts for, as the leaves of a tree do. Empty = all.
  std::vector<std::int32_t> output_of = {};
  std::optional<Link> link = std::nullopt;  // none: by the number of outputs
};

// z = W phi + b. theta: rows W_k | b_k, or W_k without intercepts; with output_of the
// weights by feature, then the intercepts. Only this class knows these places.
class LinearHead final : public Head {
 public:
  LinearHead(Index inputs, Index outputs, LinearHeadOptions options = {});
  [[nodiscard]] Index inputs() const override { return inputs_; }
  [[nodiscard]] Index outputs() const override { return outputs_; }
  [[nodiscard]] Index parameters() const override;
  [[nodiscard]] Link link() const override {
    return options_.link ? *options_.link : Head::link();
  }
  [[nodiscard]] const LinearHead* as_linear() const override { return this; }
  [[nodiscard]] std::vector<Index> widths() const override { return {inputs_, outputs_}; }
  void jvp(const FeatureBlock& block, const Vector& theta, const Tape& tape,
           const Vector& v, Matrix& u) const override;
  void vjp(const FeatureBlock& block, const Vector& theta, const Tape& tape,
           const Matrix& h, Vector& into) const override;

  [[nodiscard]] const LinearHeadOptions& options() const { return options_; }
  // Every weight and every intercept is a parameter.
  [[nodiscard]] bool whole() const {
    return options_.intercept && options_.output_of.empty();
  }
  // Places in theta; -1: no parameter.
  [[nodiscard]] Index weight(Index output, Index feature) const;
  [[nodiscard]] Index intercept(Index output) const;
  [[nodiscard]] std::vector<Index> intercepts() const;  // of all outputs; empty = none
  [[nodiscard]] Matrix W(const Vector& theta) const;    // outputs x inputs
  [[nodiscard]] Vector b(const Vector& theta) const;    // outputs
  // theta of these; what is no parameter is left out. Throws Error(bad_shape).
  [[nodiscard]] Vector from(const Matrix& W, const Vector& b) const;

  // A whole head's parameters, rows W_k | b_k, and back. Sums and matrices are made for
  // whole heads; of those, this head keeps its own entries. Nothing is copied for a whole
  // head: `spare` is memory for the others.
  [[nodiscard]] const Vector& expand(const Vector& theta, Vector& spare) const;
  [[nodiscard]] Vector shrink(Vector whole) const;
  [[nodiscard]] Matrix shrink_both(Matrix whole) const;  // rows and columns
  // Adding the same to the weights of all classes changes no probability. True where such
  // directions are parameters.
  [[nodiscard]] bool gauge() const { return outputs_ > 1 && options_.output_of.empty(); }
  // matrix += scale 11^T (x) I over the classes: holds these directions.
  void add_gauge(double scale, Matrix& matrix) const;

 protected:
  void forward(const FeatureBlock& block, const Vector& theta, Matrix& z,
               Tape* tape) const override;

 private:
  [[nodiscard]] std::vector<Index> places() const;  // of theta in that of a whole head
  Index inputs_, outputs_;
  LinearHeadOptions options_;
};

// A layer of a head as a linear head, and where its parameters begin in theta.
struct HeadLayer {
  Index start = 0;
  LinearHead head;
};
// The lowest first; a linear head is its only layer.
[[nodiscard]] std::vector<HeadLayer> layers_of(const Head& head);

}  // namespace fmd
