#pragma once

#include <memory>
#include <utility>

#include "fmd/core/types.h"
#include "fmd/model/model.h"

namespace fmd {

// Where a model comes from: a file (ModelFile), an object in memory, an object of another
// language. Everything that measures or repairs takes one.
class ModelSource {
 public:
  virtual ~ModelSource() = default;
  [[nodiscard]] virtual const Model& model() const = 0;
  // The same with other parameters of its head. Figures after a repair are measured on what
  // this returns. Throws Error(bad_shape).
  [[nodiscard]] virtual std::unique_ptr<ModelSource> with_theta(
      const Vector& theta) const = 0;
};

// A model that is in memory and nowhere else.
class ModelInMemory final : public ModelSource {
 public:
  explicit ModelInMemory(Model model) : model_(std::move(model)) {}
  [[nodiscard]] const Model& model() const override { return model_; }
  [[nodiscard]] std::unique_ptr<ModelSource> with_theta(const Vector& theta) const override;

 private:
  Model model_;
};

}  // namespace fmd
