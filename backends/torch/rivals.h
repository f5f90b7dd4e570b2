#pragma once

#include <map>
#include <memory>
#include <string>
#include <torch/optim.h>
#include <torch/serialize.h>
#include <vector>

#include <nlohmann/json.hpp>

#include "network.h"

namespace fmd::torch_plugin {

// What a training is given.
struct Plan {
  nlohmann::json settings;
  at::Tensor X, y, a;     // rows x columns float; labels and attribute, long
  at::Tensor directions;  // each row: a direction in which answers must not change
  std::int64_t classes = 0, groups = 0;
  Draws draws{1};

  [[nodiscard]] double number(const char* name, double otherwise) const {
    return settings.value(name, otherwise);
  }
  // Setting "image": channels, height, width; throws where it is absent or not the rows'.
  [[nodiscard]] ImageShape image() const;
  // The body of a network by the settings: "network" is "dense" with "hidden" widths, or
  // "resnet18" with "image" and "width". code > 0: in the place of the last hidden width.
  [[nodiscard]] std::shared_ptr<Body> body(Streams& streams, std::int64_t code = 0) const;
};

struct Batch {
  at::Tensor rows, x, y, a;  // rows: which of the plan's
  std::int64_t step = 0;     // steps before this one
};

// One method of training.
class Rival {
 public:
  explicit Rival(const Plan& plan) : plan_(plan) {}
  virtual ~Rival() = default;
  Rival(const Rival&) = delete;
  Rival& operator=(const Rival&) = delete;

  // One step on a batch; the loss before it.
  [[nodiscard]] virtual double step(const Batch& batch) = 0;
  // The trained network as dense layers; throws std::runtime_error where it is none.
  [[nodiscard]] virtual Layers layers() const = 0;
  // The logits of the trained network.
  [[nodiscard]] at::Tensor answer(const at::Tensor& x);
  // Rows of a step; by default those of the epoch's random order.
  [[nodiscard]] virtual at::Tensor draw(std::int64_t step, std::int64_t size) const;
  // Sets the step size as the plan says: from step rate_from on, every rate_every steps it
  // is multiplied by rate_factor.
  void set_rate(std::int64_t step);
  // All that a later step depends on.
  void save(torch::serialize::OutputArchive& archive) const;
  void load(torch::serialize::InputArchive& archive);

 protected:
  [[nodiscard]] virtual at::Tensor logits(const at::Tensor& x) = 0;
  // A part of the method with a name and random numbers of its own; make takes Streams.
  template <typename Make>
  [[nodiscard]] auto part(const std::string& name, const Make& make) {
    Streams streams(plan_.draws, first_stream());
    auto made = make(streams);
    modules_[name] = made;
    return made;
  }
  // A network of the plan's shape.
  [[nodiscard]] std::shared_ptr<Network> network(const std::string& name);
  [[nodiscard]] torch::optim::Optimizer& optimizer(std::vector<at::Tensor> parameters,
                                                   bool sgd = false);
  void keep(const std::string& name, at::Tensor& state) { kept_[name] = &state; }
  // One step of an optimiser down a loss; the loss.
  double descend(torch::optim::Optimizer& optimizer, const at::Tensor& loss) const;
  const Plan& plan() const { return plan_; }

 private:
  [[nodiscard]] std::uint64_t first_stream();

  const Plan& plan_;
  std::uint64_t networks_ = 0;
  mutable std::int64_t epoch_ = -1;  // whose order is kept
  mutable at::Tensor order_;
  std::map<std::string, std::shared_ptr<torch::nn::Module>> modules_;
  std::vector<std::unique_ptr<torch::optim::Optimizer>> optimizers_;
  std::map<std::string, at::Tensor*> kept_;
};

// By its name: plain, groupdro, lff, ldr, rebias, sensr, sensei. The plan must outlive it.
// Throws std::runtime_error for another name.
[[nodiscard]] std::unique_ptr<Rival> make_rival(const std::string& name, const Plan& plan);

}  // namespace fmd::torch_plugin
