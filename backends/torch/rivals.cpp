// The methods that train a network, each by the formulas of its paper and of its authors'
// program.
#include "rivals.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <torch/torch.h>

namespace fmd::torch_plugin {
namespace {

// Streams of random numbers; the networks have those from kNetworks on.
constexpr std::uint64_t kOrder = 1U << 20U, kGroups = 2U << 20U, kNoise = 3U << 20U,
                        kSwap = 4U << 20U, kNetworks = 5U << 20U;
constexpr double kTiny = 1e-8;

at::Tensor each_loss(const at::Tensor& logits, const at::Tensor& y) {
  return torch::nn::functional::cross_entropy(
      logits, y, torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kNone));
}

// Cross-entropy with the gradient of the generalised one: rows that the network is sure of
// count more.
at::Tensor generalised_loss(const at::Tensor& logits, const at::Tensor& y, double q) {
  const at::Tensor p = at::softmax(logits, 1).gather(1, y.unsqueeze(1)).squeeze(1);
  return each_loss(logits, y) * (p.detach().pow(q) * q);
}

class Plain final : public Rival {
 public:
  explicit Plain(const Plan& plan)
      : Rival(plan), net_(network("net")), optimizer_(optimizer(net_->parameters())) {}
  double step(const Batch& b) override {
    return descend(optimizer_, each_loss(net_->forward(b.x), b.y).mean());
  }
  [[nodiscard]] Layers layers() const override { return net_->layers(); }

 protected:
  at::Tensor logits(const at::Tensor& x) override { return net_->forward(x); }

 private:
  std::shared_ptr<Network> net_;
  torch::optim::Optimizer& optimizer_;
};

// GroupDRO: groups are label x attribute; the group with the largest loss gains weight.
class GroupDro final : public Rival {
 public:
  explicit GroupDro(const Plan& plan)
      : Rival(plan),
        net_(network("net")),
        optimizer_(optimizer(net_->parameters(), true)),
        weight_(at::ones(cells())) {
    weight_ /= static_cast<double>(cells());
    keep("weight", weight_);
    const at::Tensor cell = plan.y * plan.groups + plan.a;
    for (std::int64_t g = 0; g < cells(); ++g) {
      members_.push_back(at::nonzero(cell == g).squeeze(1));
      if (members_.back().numel() > 0) present_.push_back(g);
    }
  }

  double step(const Batch& b) override {
    const at::Tensor loss = each_loss(net_->forward(b.x), b.y);
    const at::Tensor member =
        at::one_hot(b.y * plan().groups + b.a, cells()).to(at::kFloat);
    const at::Tensor count = member.sum(0);
    const at::Tensor mean = member.t().matmul(loss) / count.clamp_min(1);
    {
      const torch::NoGradGuard guard;
      at::Tensor judged = mean.detach();
      const double adjustment = plan().number("adjustment", 0);
      if (adjustment > 0) judged = judged + adjustment / sizes().clamp_min(1).sqrt();
      weight_ = weight_ * at::exp(plan().number("eta", .01) * judged);
      weight_ = weight_ / weight_.sum();
    }
    return descend(optimizer_, (weight_ * mean).sum());
  }

  // Every group with rows is drawn equally often, with replacement.
  [[nodiscard]] at::Tensor draw(std::int64_t step, std::int64_t size) const override {
    at::Tensor rows = at::empty({size}, at::kLong);
    auto* into = rows.mutable_data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < size; ++i) {
      const auto place = static_cast<std::uint64_t>(2 * i);
      const std::uint64_t stream = kGroups + static_cast<std::uint64_t>(step);
      const at::Tensor& of = members_[static_cast<std::size_t>(
          present_[plan().draws.bits(stream, place) % present_.size()])];
      into[i] = of.const_data_ptr<std::int64_t>()[plan().draws.bits(stream, place + 1) %
                                                  static_cast<std::uint64_t>(of.numel())];
    }
    return rows;
  }
  [[nodiscard]] Layers layers() const override { return net_->layers(); }

 protected:
  at::Tensor logits(const at::Tensor& x) override { return net_->forward(x); }

 private:
  [[nodiscard]] std::int64_t cells() const { return plan().classes * plan().groups; }
  [[nodiscard]] at::Tensor sizes() const {
    std::vector<float> all;
    for (const at::Tensor& of : members_) all.push_back(static_cast<float>(of.numel()));
    return at::tensor(all);
  }

  std::shared_ptr<Network> net_;
  torch::optim::Optimizer& optimizer_;
  at::Tensor weight_;
  std::vector<at::Tensor> members_;
  std::vector<std::int64_t> present_;
};

// A running mean of every row's loss, relative to the largest of its class. The first
// value of a row is taken as it is.
class RunningLoss {
 public:
  explicit RunningLoss(const Plan& plan)
      : value(at::zeros(plan.y.size(0))), seen(at::zeros(plan.y.size(0))), plan_(plan) {}
  // The rows' values after their new losses.
  [[nodiscard]] at::Tensor update(const at::Tensor& rows, const at::Tensor& loss) {
    const double alpha = plan_.number("alpha", .7);
    const at::Tensor old = value.index_select(0, rows),
                     first = 1 - seen.index_select(0, rows);
    value.index_copy_(0, rows,
                      first * loss + (1 - first) * (alpha * old + (1 - alpha) * loss));
    seen.index_fill_(0, rows, 1);
    const at::Tensor relative = value.index_select(0, rows);
    const at::Tensor y = plan_.y.index_select(0, rows);
    // No loss is below 0: 0 stands for a class without rows.
    const at::Tensor largest =
        at::zeros(plan_.classes).scatter_reduce(0, plan_.y, value, "amax");
    return relative / (largest.index_select(0, y) + kTiny);
  }

  at::Tensor value, seen;

 private:
  const Plan& plan_;
};

// How hard a row is for the network that must not use the bias: near 1 where the biased
// network fails alone.
at::Tensor difficulty(RunningLoss& biased, RunningLoss& debiased, const Batch& b,
                      const at::Tensor& loss_biased, const at::Tensor& loss_debiased) {
  const torch::NoGradGuard guard;
  const at::Tensor of_biased = biased.update(b.rows, loss_biased.detach());
  const at::Tensor of_debiased = debiased.update(b.rows, loss_debiased.detach());
  return of_biased / (of_biased + of_debiased + kTiny);
}

// LfF: a biased network with the generalised loss, and one that learns from its failures.
class Lff final : public Rival {
 public:
  explicit Lff(const Plan& plan)
      : Rival(plan),
        biased_(network("biased")),
        net_(network("net")),
        biased_optimizer_(optimizer(biased_->parameters())),
        optimizer_(optimizer(net_->parameters())),
        biased_loss_(plan),
        loss_(plan) {
    keep("biased_value", biased_loss_.value);
    keep("biased_seen", biased_loss_.seen);
    keep("value", loss_.value);
    keep("seen", loss_.seen);
  }
  double step(const Batch& b) override {
    const at::Tensor by_biased = biased_->forward(b.x), by_net = net_->forward(b.x);
    const at::Tensor loss = each_loss(by_net, b.y);
    const at::Tensor weight =
        difficulty(biased_loss_, loss_, b, each_loss(by_biased, b.y), loss);
    const double q = plan().number("q", .7);
    return descend(biased_optimizer_, generalised_loss(by_biased, b.y, q).mean()) +
           descend(optimizer_, (weight * loss).mean());
  }
  [[nodiscard]] Layers layers() const override { return net_->layers(); }

 protected:
  at::Tensor logits(const at::Tensor& x) override { return net_->forward(x); }

 private:
  std::shared_ptr<Network> biased_, net_;
  torch::optim::Optimizer &biased_optimizer_, &optimizer_;
  RunningLoss biased_loss_, loss_;
};

// LDR: two encoders, one for the bias; the heads of both read both. Later the biased codes
// of a batch are exchanged among its rows.
class Ldr final : public Rival {
 public:
  explicit Ldr(const Plan& plan)
      : Rival(plan),
        inner_(part("inner", [&](Streams& s) { return plan.body(s, code()); })),
        biased_(part("biased", [&](Streams& s) { return plan.body(s, code()); })),
        inner_head_(part("inner_head", [&](Streams& s) { return head(s); })),
        biased_head_(part("biased_head", [&](Streams& s) { return head(s); })),
        optimizer_(optimizer(all_parameters())),
        biased_loss_(plan),
        loss_(plan) {
    keep("biased_value", biased_loss_.value);
    keep("biased_seen", biased_loss_.seen);
    keep("value", loss_.value);
    keep("seen", loss_.seen);
  }

  double step(const Batch& b) override {
    const double q = plan().number("q", .7);
    const at::Tensor z = inner_->forward(b.x), zb = biased_->forward(b.x);
    const at::Tensor inner = inner_head_->forward(at::cat({z, zb.detach()}, 1));
    const at::Tensor outer = biased_head_->forward(at::cat({z.detach(), zb}, 1));
    const at::Tensor loss = each_loss(inner, b.y);
    const at::Tensor weight =
        difficulty(biased_loss_, loss_, b, each_loss(outer, b.y), loss);
    at::Tensor all = (weight * loss).mean() + plan().number("lambda_dis", 10) *
                                                  generalised_loss(outer, b.y, q).mean();
    if (static_cast<double>(b.step) >= plan().number("swap_from", 10000)) {
      const at::Tensor order =
          plan().draws.permutation(kSwap + static_cast<std::uint64_t>(b.step), b.x.size(0));
      const at::Tensor swapped = zb.index_select(0, order), ys = b.y.index_select(0, order);
      const at::Tensor by_inner = inner_head_->forward(at::cat({z, swapped.detach()}, 1));
      const at::Tensor by_outer = biased_head_->forward(at::cat({z.detach(), swapped}, 1));
      all = all + plan().number("lambda_swap", 1) *
                      ((weight * each_loss(by_inner, b.y)).mean() +
                       plan().number("lambda_swap_biased", 10) *
                           generalised_loss(by_outer, ys, q).mean());
    }
    return descend(optimizer_, all);
  }

  // Both encoders side by side, then the inner head: an ordinary network.
  [[nodiscard]] Layers layers() const override {
    const Layers one = inner_->layers(), two = biased_->layers();
    Layers all;
    for (std::size_t l = 0; l < one.size(); ++l)
      all.emplace_back(l == 0 ? at::cat({one[0].first, two[0].first}, 0)
                              : at::block_diag({one[l].first, two[l].first}),
                       at::cat({one[l].second, two[l].second}, 0));
    all.emplace_back(inner_head_->weight.detach(), inner_head_->bias.detach());
    return all;
  }

 protected:
  at::Tensor logits(const at::Tensor& x) override {
    return inner_head_->forward(at::cat({inner_->forward(x), biased_->forward(x)}, 1));
  }

 private:
  [[nodiscard]] std::int64_t code() const { return plan().settings.value("code", 16); }
  [[nodiscard]] std::shared_ptr<torch::nn::LinearImpl> head(Streams& streams) const {
    return dense_layer(inner_->width() + biased_->width(), plan().classes, streams).ptr();
  }
  [[nodiscard]] std::vector<at::Tensor> all_parameters() const {
    std::vector<at::Tensor> all;
    const auto add = [&](const torch::nn::Module& module) {
      for (const at::Tensor& p : module.parameters()) all.push_back(p);
    };
    add(*inner_);
    add(*biased_);
    add(*inner_head_);
    add(*biased_head_);
    return all;
  }

  std::shared_ptr<Body> inner_, biased_;
  std::shared_ptr<torch::nn::LinearImpl> inner_head_, biased_head_;
  torch::optim::Optimizer& optimizer_;
  RunningLoss biased_loss_, loss_;
};

at::Tensor kernel_without_diagonal(const at::Tensor& z, double sigma) {
  const at::Tensor squared = z.pow(2).sum(1);
  const at::Tensor distance =
      squared.unsqueeze(1) + squared.unsqueeze(0) - 2 * z.matmul(z.t());
  const at::Tensor kernel = at::exp(distance / (-2 * sigma * sigma));
  return kernel - at::diag(kernel.diagonal());
}

// The unbiased estimate of the Hilbert-Schmidt independence criterion.
at::Tensor dependence(const at::Tensor& one, const at::Tensor& two, double sigma) {
  const auto m = static_cast<double>(one.size(0));
  const at::Tensor K = kernel_without_diagonal(one, sigma),
                   L = kernel_without_diagonal(two, sigma);
  const at::Tensor KL = K.matmul(L);
  return (KL.trace() + K.sum() * L.sum() / ((m - 1) * (m - 2)) - KL.sum() * 2 / (m - 2)) /
         (m * (m - 3));
}

// ReBias: a network whose features must not depend on those of a network that can only
// see the bias.
class Rebias final : public Rival {
 public:
  explicit Rebias(const Plan& plan)
      : Rival(plan),
        net_(network("net")),
        biased_(part("biased", [&](Streams& s) { return biased_network(s); })),
        biased_optimizer_(optimizer(biased_->parameters())),
        optimizer_(optimizer(net_->parameters())) {}
  double step(const Batch& b) override {
    const double lambda = plan().number("lambda", 1), sigma = plan().number("sigma", 1);
    double total = 0;
    {
      const at::Tensor z = biased_->features(b.x);
      total += descend(biased_optimizer_,
                       each_loss(biased_->last(z), b.y).mean() -
                           lambda * dependence(z, net_->features(b.x), sigma));
    }
    const at::Tensor z = net_->features(b.x);
    total += descend(optimizer_, each_loss(net_->last(z), b.y).mean() +
                                     lambda * dependence(z, biased_->features(b.x), sigma));
    return total;
  }
  [[nodiscard]] Layers layers() const override { return net_->layers(); }

 protected:
  at::Tensor logits(const at::Tensor& x) override { return net_->forward(x); }

 private:
  // One hidden layer; or, with "biased" = "pixels", one that knows nothing but colours.
  [[nodiscard]] std::shared_ptr<Network> biased_network(Streams& streams) const {
    const auto width = plan().settings.value("biased_width", std::int64_t{16});
    std::shared_ptr<Body> body = plan().settings.value("biased", "dense") == "pixels"
                                     ? pixel_body(plan().image(), {width, width}, streams)
                                     : dense_body({plan().X.size(1), width}, streams);
    return std::make_shared<Network>(std::move(body), plan().classes, streams);
  }
  std::shared_ptr<Network> net_, biased_;
  torch::optim::Optimizer &biased_optimizer_, &optimizer_;
};

// The squared length of what is left of a difference without the plan's directions.
class FairDistance {
 public:
  explicit FairDistance(const Plan& plan) {
    if (plan.directions.numel() == 0)
      throw std::runtime_error("no direction of the attribute is given");
    const auto [U, S, Vh] = at::linalg_svd(plan.directions.to(at::kDouble), false);
    const at::Tensor used = Vh.index_select(
        0, at::nonzero(S > 1e-6 * S.max()).squeeze(1));  // directions that are independent
    left_ = (at::eye(plan.X.size(1), at::kDouble) - used.t().matmul(used)).to(at::kFloat);
  }
  // One for each row.
  [[nodiscard]] at::Tensor operator()(const at::Tensor& difference) const {
    return (difference.matmul(left_) * difference).sum(1);
  }

 private:
  at::Tensor left_;
};

// Rows near those of a batch for which `gain` is largest: a few steps of Adam from a random
// place.
template <typename Gain>
at::Tensor worst_rows(const Plan& plan, const Batch& b, double rate, std::int64_t steps,
                      const Gain& gain) {
  at::Tensor delta = plan.draws.uniform(kNoise + static_cast<std::uint64_t>(b.step),
                                        b.x.sizes(), -.1F, .1F);
  delta.requires_grad_();
  torch::optim::Adam optimizer({delta}, torch::optim::AdamOptions(rate));
  for (std::int64_t k = 0; k < steps; ++k) {
    delta.mutable_grad() = torch::autograd::grad({-gain(delta)}, {delta})[0];
    optimizer.step();
  }
  return (b.x + delta).detach();
}

// What SenSR and SenSeI share: one network, the distance and lambda.
class Sensitive : public Rival {
 public:
  explicit Sensitive(const Plan& plan)
      : Rival(plan),
        net_(network("net")),
        optimizer_(optimizer(net_->parameters())),
        distance_(plan),
        lambda_(at::ones({}, at::kDouble)) {
    keep("lambda", lambda_);
  }
  [[nodiscard]] Layers layers() const override { return net_->layers(); }

 protected:
  [[nodiscard]] double attack_rate() const { return plan().number("attack_rate", 1e-3); }
  [[nodiscard]] std::int64_t attack_steps() const {
    return plan().settings.value("attack_steps", 100);
  }
  [[nodiscard]] double epsilon() const { return plan().number("epsilon", .1); }
  at::Tensor logits(const at::Tensor& x) override { return net_->forward(x); }
  [[nodiscard]] const FairDistance& distance() const { return distance_; }
  [[nodiscard]] torch::optim::Optimizer& own_optimizer() const { return optimizer_; }
  [[nodiscard]] double lambda() const { return lambda_.item<double>(); }
  void set_lambda(double value) { lambda_.fill_(value); }

 private:
  std::shared_ptr<Network> net_;
  torch::optim::Optimizer& optimizer_;
  FairDistance distance_;
  at::Tensor lambda_;
};

// SenSR: the loss of the worst rows that are near by the fair distance.
class Sensr final : public Sensitive {
 public:
  using Sensitive::Sensitive;
  double step(const Batch& b) override {
    const double held = lambda();
    const at::Tensor worst =
        worst_rows(plan(), b, attack_rate(), attack_steps(), [&](const at::Tensor& delta) {
          return (each_loss(logits(b.x + delta), b.y).mean() -
                  held * distance()(delta).mean());
        });
    const double apart = distance()(worst - b.x).mean().item<double>();
    set_lambda(std::max(0.0, held - plan().number("lambda_rate", 1) * (epsilon() - apart)));
    return descend(own_optimizer(), each_loss(logits(worst), b.y).mean());
  }
};

// SenSeI: rows that are near by the fair distance must get the same answers.
class Sensei final : public Sensitive {
 public:
  using Sensitive::Sensitive;
  double step(const Batch& b) override {
    const double held = lambda();
    const at::Tensor now = logits(b.x).detach();
    const at::Tensor worst =
        worst_rows(plan(), b, attack_rate(), attack_steps(), [&](const at::Tensor& delta) {
          return ((logits(b.x + delta) - now).pow(2).sum(1) - held * distance()(delta))
              .sum();
        });
    const double apart = distance()(worst - b.x).mean().item<double>();
    const double factor = std::max(apart, epsilon()) / std::min(apart, epsilon());
    set_lambda(std::max(1e-5, held + factor * (apart - epsilon())));
    const at::Tensor given = logits(b.x);
    const at::Tensor change = (given - logits(worst)).pow(2).sum(1);
    return descend(own_optimizer(),
                   (each_loss(given, b.y) + plan().number("rho", 5) * change).mean());
  }
};

template <typename Method>
std::unique_ptr<Rival> make(const Plan& plan) {
  return std::make_unique<Method>(plan);
}

}  // namespace

ImageShape Plan::image() const {
  const auto shape = settings.value("image", std::vector<std::int64_t>{});
  if (shape.size() != 3 || shape[0] * shape[1] * shape[2] != X.size(1))
    throw std::runtime_error("setting \"image\" is not the shape of the rows");
  return {shape[0], shape[1], shape[2]};
}

std::shared_ptr<Body> Plan::body(Streams& streams, std::int64_t code) const {
  const std::string kind = settings.value("network", "dense");
  if (kind == "resnet18")
    return resnet18_body(image(), settings.value("width", std::int64_t{64}), streams);
  if (kind != "dense") throw std::runtime_error("there is no network " + kind);
  std::vector<std::int64_t> widths = {X.size(1)};
  for (const auto& width : settings.at("hidden"))
    widths.push_back(width.get<std::int64_t>());
  if (code > 0 && widths.size() > 1) widths.back() = code;
  return dense_body(widths, streams);
}

at::Tensor Rival::draw(std::int64_t step, std::int64_t size) const {
  const std::int64_t rows = plan_.X.size(0),
                     per_epoch = std::max<std::int64_t>(1, rows / size);
  if (const std::int64_t epoch = step / per_epoch; epoch != epoch_) {
    order_ = plan_.draws.permutation(kOrder + static_cast<std::uint64_t>(epoch), rows);
    epoch_ = epoch;
  }
  const std::int64_t first = step % per_epoch * size;
  return order_.slice(0, first, std::min(rows, first + size)).clone();
}

std::uint64_t Rival::first_stream() {
  constexpr std::uint64_t kEach = 1000;
  return kNetworks + kEach * networks_++;
}

std::shared_ptr<Network> Rival::network(const std::string& name) {
  return part(name, [&](Streams& streams) {
    std::shared_ptr<Body> body = plan_.body(streams);
    return std::make_shared<Network>(std::move(body), plan_.classes, streams);
  });
}

at::Tensor Rival::answer(const at::Tensor& x) {
  const torch::NoGradGuard guard;
  for (const auto& [name, module] : modules_) module->eval();
  const at::Tensor found = logits(x);
  for (const auto& [name, module] : modules_) module->train();
  return found;
}

torch::optim::Optimizer& Rival::optimizer(std::vector<at::Tensor> parameters, bool sgd) {
  const double rate = plan_.number("rate", 1e-3), decay = plan_.number("decay", 0);
  if (sgd)
    optimizers_.push_back(std::make_unique<torch::optim::SGD>(
        std::move(parameters),
        torch::optim::SGDOptions(rate).momentum(.9).weight_decay(decay)));
  else
    optimizers_.push_back(std::make_unique<torch::optim::Adam>(
        std::move(parameters), torch::optim::AdamOptions(rate).weight_decay(decay)));
  return *optimizers_.back();
}

void Rival::set_rate(std::int64_t step) {
  const std::int64_t every = plan_.settings.value("rate_every", std::int64_t{0}),
                     from = plan_.settings.value("rate_from", std::int64_t{0});
  if (every <= 0 || step < from) return;
  const auto times = static_cast<double>((step - from) / every);
  const double rate =
      plan_.number("rate", 1e-3) * std::pow(plan_.number("rate_factor", .1), times);
  for (const auto& optimizer : optimizers_)
    for (auto& group : optimizer->param_groups()) group.options().set_lr(rate);
}

double Rival::descend(torch::optim::Optimizer& optimizer, const at::Tensor& loss) const {
  std::vector<at::Tensor> parameters;
  for (const auto& group : optimizer.param_groups())
    parameters.insert(parameters.end(), group.params().begin(), group.params().end());
  const auto slopes = torch::autograd::grad({loss}, parameters, {}, {}, false, true);
  for (std::size_t i = 0; i < parameters.size(); ++i)
    parameters[i].mutable_grad() = slopes[i];
  optimizer.step();
  return loss.item<double>();
}

void Rival::save(torch::serialize::OutputArchive& archive) const {
  const auto inner = [&](const std::string& name, const auto& write) {
    torch::serialize::OutputArchive part(archive.compilation_unit());
    write(part);
    archive.write(name, part);
  };
  for (const auto& [name, module] : modules_)
    inner("module_" + name, [&](auto& part) { module->save(part); });
  for (std::size_t k = 0; k < optimizers_.size(); ++k)
    inner("optimizer_" + std::to_string(k),
          [&](auto& part) { optimizers_[k]->save(part); });
  for (const auto& [name, state] : kept_) archive.write("state_" + name, *state);
}

void Rival::load(torch::serialize::InputArchive& archive) {
  const auto inner = [&](const std::string& name, const auto& read) {
    torch::serialize::InputArchive part;
    archive.read(name, part);
    read(part);
  };
  for (const auto& [name, module] : modules_)
    inner("module_" + name, [&](auto& part) { module->load(part); });
  for (std::size_t k = 0; k < optimizers_.size(); ++k)
    inner("optimizer_" + std::to_string(k),
          [&](auto& part) { optimizers_[k]->load(part); });
  for (const auto& [name, state] : kept_) {
    at::Tensor read;
    archive.read("state_" + name, read);
    state->copy_(read);
  }
}

std::unique_ptr<Rival> make_rival(const std::string& name, const Plan& plan) {
  using Make = std::unique_ptr<Rival> (*)(const Plan&);
  static const std::map<std::string, Make> all = {
      {"plain", make<Plain>},  {"groupdro", make<GroupDro>}, {"lff", make<Lff>},
      {"ldr", make<Ldr>},      {"rebias", make<Rebias>},     {"sensr", make<Sensr>},
      {"sensei", make<Sensei>}};
  const auto found = all.find(name);
  if (found == all.end()) throw std::runtime_error("there is no method " + name);
  return found->second(plan);
}

}  // namespace fmd::torch_plugin
