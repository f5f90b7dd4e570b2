#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/data/attribute.h"
#include "fmd/data/encoder.h"
#include "fmd/data/pair_plan.h"
#include "fmd/data/table.h"
#include "fmd/data/task.h"
#include "fmd/model/features.h"
#include "fmd/model/head.h"
#include "fmd/model/rows.h"

namespace fmd {

// The frozen lower part of a model: rows of a table -> features.
class Backbone {
 public:
  virtual ~Backbone() = default;
  [[nodiscard]] virtual Index cols() const = 0;
  // What turns columns into numbers, at the bottom.
  [[nodiscard]] virtual const Encoder& encoder() const = 0;
  [[nodiscard]] virtual bool reads(const Attribute& attribute) const = 0;
  // Features of the given rows (all when empty).
  [[nodiscard]] virtual std::unique_ptr<Features> features(const Table& table,
                                                           std::span<const Index> rows,
                                                           const Exec& exec) const = 0;
  // Features of rows that the encoder has already been through, as files of features hold
  // them.
  [[nodiscard]] virtual std::unique_ptr<Features> of_encoded(
      std::unique_ptr<Features> encoded, const Exec& exec) const = 0;
  // Rows plan.row[i] of X with the attribute set to plan.to[i]. X: features that this
  // backbone made.
  [[nodiscard]] virtual std::unique_ptr<Features> flipped(const Features& X,
                                                          const Attribute& attribute,
                                                          const PairPlan& plan,
                                                          const Exec& exec) const = 0;
};

// Columns of a table through an Encoder; features stay sparse unless the table is mostly
// numbers.
class TableBackbone final : public Backbone {
 public:
  explicit TableBackbone(Encoder encoder) : encoder_(std::move(encoder)) {}
  [[nodiscard]] const Encoder& encoder() const override { return encoder_; }
  [[nodiscard]] Index cols() const override { return encoder_.features(); }
  [[nodiscard]] bool reads(const Attribute& attribute) const override {
    return encoder_.reads(attribute);
  }
  [[nodiscard]] std::unique_ptr<Features> features(const Table& table,
                                                   std::span<const Index> rows,
                                                   const Exec& exec) const override;
  [[nodiscard]] std::unique_ptr<Features> of_encoded(std::unique_ptr<Features> encoded,
                                                     const Exec&) const override {
    return encoded;
  }
  [[nodiscard]] std::unique_ptr<Features> flipped(const Features& X,
                                                  const Attribute& attribute,
                                                  const PairPlan& plan,
                                                  const Exec& exec) const override;

 private:
  Encoder encoder_;
};

// What is known of a model's training.
struct TrainingNote {
  Index rows = 0;
  double l2 = 0;
  double relative_gradient = 0;  // |grad F| / |grad F(0)| where training stopped
  std::string data;              // file name
  std::string data_sha256;
  std::uint64_t seed = 0;
  std::vector<std::uint64_t> row_hashes;  // sorted; of the inputs and the label
};

// A trained model. theta is a value: a repaired model is a new Model.
struct Model {
  Task task;
  std::shared_ptr<const Backbone> backbone;  // shared by the versions of one model
  std::shared_ptr<const Head> head;
  Vector theta;
  TrainingNote note;

  [[nodiscard]] std::vector<std::string> hashed_columns() const;  // inputs and label
};

// "logistic", "softmax", or "mlp" for a head with hidden layers.
[[nodiscard]] std::string kind_of(const Model& model);

// The head where only a linear one will do. Throws Error(unsupported) for others.
[[nodiscard]] const LinearHead& linear_head(const Model& model);

// The same model with other parameters. Throws Error(bad_shape).
[[nodiscard]] Model with_theta(const Model& model, Vector theta);

}  // namespace fmd
