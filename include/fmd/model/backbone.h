#pragma once

#include <memory>
#include <span>
#include <utility>

#include "fmd/core/exec.h"
#include "fmd/data/attribute.h"
#include "fmd/data/encoder.h"
#include "fmd/data/pair_plan.h"
#include "fmd/data/table.h"
#include "fmd/model/features.h"

namespace fmd {

// The frozen lower part of a model: rows of a table -> features.
class Backbone {
 public:
  virtual ~Backbone() = default;
  [[nodiscard]] virtual Index cols() const = 0;
  // What turns columns into numbers, below everything else.
  [[nodiscard]] virtual const Encoder& encoder() const = 0;
  [[nodiscard]] virtual bool reads(const Attribute& attribute) const = 0;
  // Features of the given rows (all when empty).
  [[nodiscard]] virtual std::unique_ptr<Features> features(const Table& table,
                                                           std::span<const Index> rows,
                                                           const Exec& exec) const = 0;
  // Features of rows that are already encoded, as files of features hold them.
  [[nodiscard]] virtual std::unique_ptr<Features> of_encoded(
      std::unique_ptr<Features> encoded, const Exec& exec) const = 0;
  // Rows plan.row[i] of X with the attribute set to plan.to[i]. This backbone must have
  // made X.
  [[nodiscard]] virtual std::unique_ptr<Features> flipped(const Features& X,
                                                          const Attribute& attribute,
                                                          const PairPlan& plan,
                                                          const Exec& exec) const = 0;
};

// Columns of a table through an Encoder. Features stay sparse unless most columns are
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

}  // namespace fmd
