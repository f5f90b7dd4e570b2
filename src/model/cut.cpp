#include "fmd/model/cut.h"

#include "core/check.h"
#include "core/index.h"
#include "fmd/core/bytes.h"
#include "fmd/model/mlp_head.h"

namespace fmd {
namespace {

// Outputs of a hidden layer, and the features that they were made from: a flip changes
// those.
class LayerFeatures final : public Features {
 public:
  LayerFeatures(std::unique_ptr<Features> values, std::unique_ptr<Features> below)
      : values_(std::move(values)), below_(std::move(below)) {}

  [[nodiscard]] Index rows() const override { return values_->rows(); }
  [[nodiscard]] Index cols() const override { return values_->cols(); }
  [[nodiscard]] FeatureBlock block(Index b, Scratch& scratch) const override {
    return values_->block(b, scratch);
  }
  [[nodiscard]] FeatureBlock gather(std::span<const Index> rows,
                                    Scratch& scratch) const override {
    return values_->gather(rows, scratch);
  }
  [[nodiscard]] const Features& below() const { return *below_; }

 private:
  std::unique_ptr<Features> values_, below_;
};

// Frozen layers over another backbone's features.
class LayersBackbone final : public Backbone {
 public:
  LayersBackbone(std::shared_ptr<const Backbone> base, MlpHead head, Vector theta,
                 Index layer)
      : base_(std::move(base)),
        head_(std::move(head)),
        theta_(std::move(theta)),
        layer_(layer) {}

  [[nodiscard]] Index cols() const override {
    return head_.widths()[static_cast<std::size_t>(layer_)];
  }
  [[nodiscard]] Hash hash() const override {
    const Hash below = base_->hash();
    ByteWriter all;
    all.put_raw(below.data(), below.size());
    all.put(static_cast<std::int32_t>(head_.activation()));
    all.put_array(std::span<const Index>(head_.widths()).first(at(layer_) + 1));
    all.put_array(std::span<const double>(theta_.data(), at(theta_.size())));
    return sha256(all.take());
  }
  [[nodiscard]] const InputSchema& inputs() const override { return base_->inputs(); }
  [[nodiscard]] bool concurrent() const override { return base_->concurrent(); }
  [[nodiscard]] bool flips_features() const override { return base_->flips_features(); }
  [[nodiscard]] std::unique_ptr<Features> features(const Inputs& inputs,
                                                   std::span<const Index> rows,
                                                   const Exec& exec) const override {
    return run(base_->features(inputs, rows, exec), exec);
  }
  [[nodiscard]] std::shared_ptr<const Backbone> on_pair_images() const override {
    auto base = base_->on_pair_images();
    if (base == nullptr) return nullptr;
    return std::make_shared<LayersBackbone>(std::move(base), head_, theta_, layer_);
  }
  [[nodiscard]] const Backbone& kept() const override { return base_->kept(); }
  [[nodiscard]] std::unique_ptr<Features> of_kept(std::unique_ptr<Features> X,
                                                  const Exec& exec) const override {
    return run(base_->of_kept(std::move(X), exec), exec);
  }
  [[nodiscard]] std::unique_ptr<Features> flipped(const Inputs* inputs, const Features& X,
                                                  const Attribute& attribute,
                                                  const PairPlan& plan,
                                                  const Exec& exec) const override {
    const auto* own = dynamic_cast<const LayerFeatures*>(&X);
    if (own == nullptr)
      throw Error(ErrorKind::bad_shape,
                  "flipped: the features were not made by this backbone");
    return run(base_->flipped(inputs, own->below(), attribute, plan, exec), exec);
  }

 private:
  [[nodiscard]] std::unique_ptr<Features> run(std::unique_ptr<Features> below,
                                              const Exec& exec) const {
    const Index rows = below->rows(), width = cols();
    std::vector<float> values(static_cast<std::size_t>(rows * width));
    exec.for_each(block_count(rows), [&](Index b) {
      Scratch scratch;
      Matrix a;
      head_.hidden(below->block(b, scratch), theta_, layer_, a);
      Eigen::Map<Eigen::MatrixXf>(values.data() + b * kBlockRows * width, width, a.rows()) =
          a.transpose().cast<float>();
    });
    auto made = keep_offset(make_dense(std::move(values), rows, width), *below);
    return std::make_unique<LayerFeatures>(std::move(made), std::move(below));
  }

  std::shared_ptr<const Backbone> base_;
  MlpHead head_;
  Vector theta_;  // of the layers up to layer_
  Index layer_;
};

}  // namespace

Model cut_layers(const Model& model, Index layers) {
  const std::vector<Index> widths = model.head->widths();
  const auto all = static_cast<Index>(widths.size()) - 1;
  if (layers < 1 || layers > all) {
    throw Error(ErrorKind::bad_option,
                fmt::format("layers is {}, the model has {}", layers, all),
                fmt::format("write a number from 1 to {}", all));
  }
  const auto* head = dynamic_cast<const MlpHead*>(model.head.get());
  if (layers == all || head == nullptr) return model;
  const Index below = all - layers;
  const Index start = head->layer_starts()[static_cast<std::size_t>(below)];
  Model top = model;
  top.backbone = std::make_shared<const LayersBackbone>(
      model.backbone, *head, Vector(model.theta.head(start)), below);
  top.head = make_head({widths.begin() + below, widths.end()}, head->activation());
  top.theta = model.theta.tail(model.theta.size() - start);
  return top;
}

Model with_top(const Model& whole, const Vector& top) {
  if (top.size() > whole.theta.size())
    require_size("model", "theta", top.size(), whole.theta.size());
  Vector theta = whole.theta;
  theta.tail(top.size()) = top;
  return with_theta(whole, std::move(theta));
}

}  // namespace fmd
