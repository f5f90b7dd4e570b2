#pragma once

#include <memory>
#include <span>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/hash.h"
#include "fmd/data/input_spec.h"
#include "fmd/data/pair_plan.h"
#include "fmd/model/features.h"
#include "fmd/model/inputs.h"

namespace fmd {

// How sparse a backbone's features are, whatever the rows.
struct Sparsity {
  Index entries = 0;  // that a row has at most; 0 = dense
  bool ones = false;  // every entry is 1
};

// The frozen lower part of a model: inputs -> features. What stands above the features must
// not know what the inputs were.
class Backbone {
 public:
  virtual ~Backbone() = default;
  [[nodiscard]] virtual Index cols() const = 0;
  // Of all that is below the head, preprocessing too, and of nothing in the head: a
  // repaired model finds the features that were kept for the original.
  [[nodiscard]] virtual Hash hash() const = 0;
  [[nodiscard]] virtual const InputSchema& inputs() const = 0;
  // False: only the thread that calls a pipeline function may call this, one call at a
  // time.
  [[nodiscard]] virtual bool concurrent() const { return true; }
  // True: flipped() needs X alone.
  [[nodiscard]] virtual bool flips_features() const { return false; }
  // Null where features do not belong to columns: then no column can be averaged, and no
  // slope be told.
  [[nodiscard]] virtual const ColumnMap* columns() const { return nullptr; }
  [[nodiscard]] virtual Sparsity sparsity() const { return {}; }

  // Features of the given rows (all when empty). A row's features do not depend on the rows
  // beside it.
  [[nodiscard]] virtual std::unique_ptr<Features> features(const Inputs& inputs,
                                                           std::span<const Index> rows,
                                                           const Exec& exec) const = 0;
  // Rows plan.row[i] with the attribute set to plan.to[i]. X: what this backbone made of
  // the inputs. inputs may be null if flips_features(). By default the inputs are edited
  // and run again; Error(unsupported) without inputs.
  [[nodiscard]] virtual std::unique_ptr<Features> flipped(const Inputs* inputs,
                                                          const Features& X,
                                                          const Attribute& attribute,
                                                          const PairPlan& plan,
                                                          const Exec& exec) const;

  // This backbone with its inputs made as a task's [[inputs]] say, for models that do not
  // know columns by themselves. Null: nothing changes. Throws Error(bad_task) where the
  // inputs do not fit, and for specs that a model with columns of its own does not need.
  [[nodiscard]] virtual std::shared_ptr<const Backbone> with_inputs(
      const std::vector<InputSpec>& specs, const InputFiles& files) const;

  // This backbone on the images of the other side of pairs (InputFiles::pair_images). Null:
  // there are none.
  [[nodiscard]] virtual std::shared_ptr<const Backbone> on_pair_images() const {
    return nullptr;
  }

  // The backbone whose features are kept in files, and this one's features made of those.
  // Layers above another backbone are fast: files keep what is below.
  [[nodiscard]] virtual const Backbone& kept() const { return *this; }
  [[nodiscard]] virtual std::unique_ptr<Features> of_kept(std::unique_ptr<Features> X,
                                                          const Exec& /*exec*/) const {
    return X;
  }
};

}  // namespace fmd
