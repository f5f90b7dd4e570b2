#include "fmd/model/cut_leaves.h"

#include <algorithm>

#include "core/check.h"
#include "core/index.h"
#include "fmd/core/bytes.h"
#include "fmd/model/tree_backbone.h"

namespace fmd {
namespace {

// Which leaves are in the head: their numbers there, -1 = held.
struct LeafPlan {
  std::vector<std::int32_t> place;
  Index changed = 0;
};

LeafPlan plan_leaves(const Model& model, const std::vector<std::string>& columns) {
  LeafPlan plan;
  const TreeEnsemble* trees = trees_of(*model.backbone);
  if (trees == nullptr) return plan;
  for (const bool below : leaves_below(*trees, columns))
    plan.place.push_back(below ? static_cast<std::int32_t>(plan.changed++) : -1);
  return plan;
}

// Leaves of trees, some of which are held.
class LeavesBackbone final : public Backbone {
 public:
  LeavesBackbone(const Model& model, LeafPlan plan)
      : base_(model.backbone),
        plan_(std::move(plan)),
        theta_(model.theta),
        output_of_(linear_head(model).options().output_of),
        outputs_(model.head->outputs()) {}

  [[nodiscard]] Index cols() const override { return plan_.changed; }
  [[nodiscard]] Hash hash() const override {
    const Hash below = base_->hash();
    ByteWriter all;
    all.put_raw(below.data(), below.size());
    all.put_array(std::span<const std::int32_t>(plan_.place));
    for (std::size_t j = 0; j < plan_.place.size(); ++j)
      if (plan_.place[j] < 0) all.put(theta_[static_cast<Index>(j)]);
    return sha256(all.take());
  }
  [[nodiscard]] const InputSchema& inputs() const override { return base_->inputs(); }
  [[nodiscard]] Sparsity sparsity() const override { return base_->sparsity(); }
  [[nodiscard]] std::unique_ptr<Features> features(const Inputs& inputs,
                                                   std::span<const Index> rows,
                                                   const Exec& exec) const override {
    return hold(*base_->features(inputs, rows, exec), exec);
  }
  [[nodiscard]] const Backbone& kept() const override { return base_->kept(); }
  [[nodiscard]] std::unique_ptr<Features> of_kept(std::unique_ptr<Features> X,
                                                  const Exec& exec) const override {
    return hold(*base_->of_kept(std::move(X), exec), exec);
  }

 private:
  [[nodiscard]] std::unique_ptr<Features> hold(const Features& X, const Exec& exec) const {
    const Index rows = X.rows();
    CsrRows csr;
    csr.cols = plan_.changed;
    csr.start.resize(at(rows) + 1);
    std::vector<double> offset(at(rows * outputs_));
    std::vector<std::vector<std::int32_t>> parts(at(block_count(rows)));
    exec.for_each(block_count(rows), [&](Index b) {
      Scratch scratch;
      const FeatureBlock block = X.block(b, scratch);
      std::vector<std::int32_t>& part = parts[at(b)];
      for (Index i = 0; i < block.rows; ++i) {
        double* const z = offset.data() + (block.first + i) * outputs_;
        if (block.offset != nullptr) std::copy_n(block.offset + i * outputs_, outputs_, z);
        for (Index e = block.start[at(i)]; e < block.start[at(i) + 1]; ++e) {
          const std::int32_t leaf = block.column[at(e)], place = plan_.place[at(leaf)];
          if (place >= 0)
            part.push_back(place);
          else
            z[output_of_[at(leaf)]] += theta_[leaf];
        }
        csr.start[at(block.first + i) + 1] = std::ssize(part);
      }
    });
    for (Index b = 0; b < block_count(rows); ++b) {
      const Index before = std::ssize(csr.column);
      for (Index i = b * kBlockRows; i < std::min(rows, (b + 1) * kBlockRows); ++i)
        csr.start[at(i) + 1] += before;
      csr.column.insert(csr.column.end(), parts[at(b)].begin(), parts[at(b)].end());
    }
    return make_offset(make_sparse(std::move(csr)), std::move(offset), outputs_);
  }

  std::shared_ptr<const Backbone> base_;
  LeafPlan plan_;
  Vector theta_;
  std::vector<std::int32_t> output_of_;
  Index outputs_;
};

}  // namespace

Model cut_leaves(const Model& model, const std::vector<std::string>& columns) {
  LeafPlan plan = plan_leaves(model, columns);
  if (plan.changed == 0) return model;
  const LinearHead& head = linear_head(model);
  LinearHeadOptions options = head.options();
  options.output_of.clear();
  Vector theta(plan.changed);
  for (std::size_t j = 0; j < plan.place.size(); ++j) {
    if (plan.place[j] < 0) continue;
    options.output_of.push_back(head.options().output_of[j]);
    theta[plan.place[j]] = model.theta[static_cast<Index>(j)];
  }
  Model top = model;
  top.head =
      std::make_shared<const LinearHead>(plan.changed, head.outputs(), std::move(options));
  top.theta = std::move(theta);
  top.backbone = std::make_shared<const LeavesBackbone>(model, std::move(plan));
  return top;
}

Model with_leaves(const Model& whole, const std::vector<std::string>& columns,
                  const Vector& top) {
  const LeafPlan plan = plan_leaves(whole, columns);
  if (plan.changed == 0) return with_theta(whole, top);
  require_size("model", "theta", top.size(), plan.changed);
  Vector theta = whole.theta;
  for (std::size_t j = 0; j < plan.place.size(); ++j)
    if (plan.place[j] >= 0) theta[static_cast<Index>(j)] = top[plan.place[j]];
  return with_theta(whole, std::move(theta));
}

}  // namespace fmd
