#pragma once

#include <memory>
#include <span>
#include <string>

#include "fmd/model/backbone.h"
#include "fmd/model/tree_ensemble.h"

namespace fmd {

// Decision trees: a feature for each leaf of each tree, 1 where the row falls into it. The
// base of the ensemble is the features' offset. hash() covers structure and base, not the
// values of the leaves.
class TreeBackbone final : public Backbone {
 public:
  // Throws what check_trees() throws. source: the file's name, for messages.
  TreeBackbone(TreeEnsemble ensemble, const std::string& source);
  ~TreeBackbone() override;
  [[nodiscard]] const TreeEnsemble& ensemble() const { return ensemble_; }

  [[nodiscard]] Index cols() const override;
  [[nodiscard]] Hash hash() const override { return hash_; }
  [[nodiscard]] const InputSchema& inputs() const override { return inputs_; }
  [[nodiscard]] Sparsity sparsity() const override;
  // Throws Error(missing_column), Error(bad_value) for a column of the wrong kind, and
  // Error(unknown_category) where the library refuses one too.
  [[nodiscard]] std::unique_ptr<Features> features(const Inputs& inputs,
                                                   std::span<const Index> rows,
                                                   const Exec& exec) const override;
  // Only trees that split on the attribute are run again.
  [[nodiscard]] std::unique_ptr<Features> flipped(const Inputs* inputs, const Features& X,
                                                  const Attribute& attribute,
                                                  const PairPlan& plan,
                                                  const Exec& exec) const override;
  // Names the columns of an ensemble that does not: one [[inputs]] with as many columns.
  // Throws Error(bad_task) for others.
  [[nodiscard]] std::shared_ptr<const Backbone> with_inputs(
      const std::vector<InputSpec>& specs, const InputFiles& files) const override;
  // A file of features has no offset.
  [[nodiscard]] std::unique_ptr<Features> of_kept(std::unique_ptr<Features> X,
                                                  const Exec& exec) const override;

 private:
  struct Runner;
  TreeEnsemble ensemble_;
  InputSchema inputs_;
  Hash hash_;
  std::unique_ptr<const Runner> runner_;
};

// The trees of a backbone that has some. Null for others.
[[nodiscard]] const TreeEnsemble* trees_of(const Backbone& backbone);

}  // namespace fmd
