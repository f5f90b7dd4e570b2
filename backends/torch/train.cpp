// Trains networks for the core: opens, runs, saves and resumes a training.
#include "train.h"

#include <ATen/Parallel.h>
#include <sstream>
#include <stdexcept>
#include <torch/torch.h>

#include "guarded.h"
#include "rivals.h"

namespace fmd::torch_plugin {
namespace {

struct Training {
  Plan plan;
  std::unique_ptr<Rival> rival;
  std::int64_t done = 0, batch = 0;
};

at::Tensor numbers(const float* from, std::int64_t rows, std::int64_t cols) {
  return at::from_blob(const_cast<float*>(from), {rows, cols},
                       at::TensorOptions(at::kFloat));
}

at::Tensor codes(const std::int32_t* from, std::int64_t rows) {
  return at::from_blob(const_cast<std::int32_t*>(from), {rows}, at::TensorOptions(at::kInt))
      .to(at::kLong);
}

void require_range(const at::Tensor& codes, std::int64_t count, const char* what) {
  if (codes.min().item<std::int64_t>() < 0 || codes.max().item<std::int64_t>() >= count)
    throw std::runtime_error(std::string(what) + " outside 0 .. " +
                             std::to_string(count - 1));
}

std::unique_ptr<Training> open_training(const char* settings, const FmdTorchRows& rows) {
  at::set_num_threads(1);
  if (rows.rows < 1 || rows.cols < 1) throw std::runtime_error("no rows to train on");
  auto training = std::make_unique<Training>();
  Plan& plan = training->plan;
  plan.settings = nlohmann::json::parse(settings);
  plan.classes = plan.settings.at("classes").get<std::int64_t>();
  plan.groups = plan.settings.value("groups", std::int64_t{1});
  plan.draws = Draws(plan.settings.at("seed").get<std::uint64_t>());
  plan.X = numbers(rows.X, rows.rows, rows.cols);
  plan.y = codes(rows.y, rows.rows);
  plan.a = rows.a == nullptr ? at::zeros_like(plan.y) : codes(rows.a, rows.rows);
  require_range(plan.y, plan.classes, "a label");
  require_range(plan.a, plan.groups, "an attribute's value");
  if (rows.directions > 0)
    plan.directions = numbers(rows.direction, rows.directions, rows.cols);
  else
    plan.directions = at::empty({0, rows.cols});
  training->batch = plan.settings.at("batch").get<std::int64_t>();
  if (training->batch < 1) throw std::runtime_error("a batch needs rows");
  training->rival = make_rival(plan.settings.at("method").get<std::string>(), plan);
  return training;
}

void run(Training& training, std::int64_t steps, double* losses) {
  at::set_num_threads(1);
  const Plan& plan = training.plan;
  for (std::int64_t k = 0; k < steps; ++k) {
    Batch batch;
    batch.step = training.done;
    batch.rows = training.rival->draw(training.done, training.batch);
    batch.x = plan.X.index_select(0, batch.rows);
    batch.y = plan.y.index_select(0, batch.rows);
    batch.a = plan.a.index_select(0, batch.rows);
    training.rival->set_rate(training.done);
    losses[k] = training.rival->step(batch);
    ++training.done;
  }
}

void* train_open(const char* settings, const FmdTorchRows* rows, char* message,
                 std::size_t room) {
  return guarded<void*>(message, room, nullptr, [&]() -> void* {
    return open_training(settings, *rows).release();
  });
}

void train_close(void* training) { delete static_cast<Training*>(training); }

int train_run(void* training, std::int64_t steps, double* losses, char* message,
              std::size_t room) {
  return guarded(message, room, 0, [&] {
    run(*static_cast<Training*>(training), steps, losses);
    return 1;
  });
}

int train_save(void* training, void (*take)(void*, const char*, std::uint64_t), void* to,
               char* message, std::size_t room) {
  return guarded(message, room, 0, [&] {
    const auto& t = *static_cast<Training*>(training);
    torch::serialize::OutputArchive archive;
    archive.write("done", at::scalar_tensor(t.done, at::kLong));
    t.rival->save(archive);
    archive.save_to([&](const void* bytes, std::size_t size) {
      take(to, static_cast<const char*>(bytes), size);
      return size;
    });
    return 1;
  });
}

int train_load(void* training, const char* bytes, std::uint64_t size, char* message,
               std::size_t room) {
  return guarded(message, room, 0, [&] {
    auto& t = *static_cast<Training*>(training);
    torch::serialize::InputArchive archive;
    archive.load_from(bytes, size);
    at::Tensor done;
    archive.read("done", done);
    t.rival->load(archive);
    t.done = done.item<std::int64_t>();
    return 1;
  });
}

int train_layer(void* training, std::int32_t index, std::int64_t* outputs,
                std::int64_t* inputs, double* into, char* message, std::size_t room) {
  return guarded(message, room, -1, [&] {
    const Layers layers = static_cast<Training*>(training)->rival->layers();
    const auto& [W, b] = layers.at(static_cast<std::size_t>(index));
    *outputs = W.size(0);
    *inputs = W.size(1);
    if (into != nullptr) {
      const at::Tensor all =
          at::cat({W.reshape(-1), b.reshape(-1)}).to(at::kDouble).contiguous();
      std::copy_n(all.const_data_ptr<double>(), all.numel(), into);
    }
    return static_cast<int>(layers.size());
  });
}

int train_answer(void* training, const float* X, std::int64_t rows, std::int64_t cols,
                 float* logits, char* message, std::size_t room) {
  return guarded(message, room, 0, [&] {
    at::set_num_threads(1);
    auto& t = *static_cast<Training*>(training);
    if (cols != t.plan.X.size(1))
      throw std::runtime_error("rows have " + std::to_string(cols) + " numbers, not " +
                               std::to_string(t.plan.X.size(1)));
    const at::Tensor found = t.rival->answer(numbers(X, rows, cols)).contiguous();
    std::copy_n(found.const_data_ptr<float>(), found.numel(), logits);
    return 1;
  });
}

}  // namespace

void add_training(FmdTorch& table) {
  table.train_open = train_open;
  table.train_close = train_close;
  table.train_run = train_run;
  table.train_save = train_save;
  table.train_load = train_load;
  table.train_layer = train_layer;
  table.train_answer = train_answer;
}

}  // namespace fmd::torch_plugin
