#include "baselines/network_training.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/index.h"
#include "fmd/core/bytes.h"
#include "fmd/core/file.h"
#include "fmd/core/hash.h"
#include "fmd/core/output_files.h"
#include "fmd/core/safe_text.h"
#include "fmd/fit/train.h"
#include "fmd/metrics/scored.h"
#include "fmd/model/loss.h"
#include "fmd/model/mlp_head.h"
#include "fmd/model/passes.h"
#include "model/dense_rows.h"
#include "model/torch_abi.h"

namespace fmd::internal {
namespace {

using Json = nlohmann::json;

constexpr Index kNetworkBatch = 256;
constexpr double kLeastSteps = 300;
constexpr Index kCheckpoints = 20;  // of a whole training

// How long a method is trained, and what it has of its own.
struct Recipe {
  std::string name;
  double epochs;
  std::vector<Json> settings;  // one for each candidate
};

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> all = {
      {"plain-network", 20, {Json{{"method", "plain"}}}},
      {"groupdro",
       20,
       {Json{{"method", "groupdro"}, {"eta", .01}, {"adjustment", 0.0}, {"rate", .01}},
        Json{{"method", "groupdro"}, {"eta", .01}, {"adjustment", 2.0}, {"rate", .01}}}},
      {"lff", 20, {Json{{"method", "lff"}, {"q", .7}, {"alpha", .7}}}},
      {"ldr",
       20,
       {Json{{"method", "ldr"},
             {"q", .7},
             {"alpha", .7},
             {"code", 16},
             {"lambda_dis", 10.0},
             {"lambda_swap", 1.0},
             {"lambda_swap_biased", 10.0}}}},
      {"rebias", 20, {Json{{"method", "rebias"}, {"lambda", 1.0}, {"decay", 1e-4}}}},
      {"sensr",
       5,
       {Json{{"method", "sensr"},
             {"epsilon", .1},
             {"attack_steps", 20},
             {"attack_rate", .01},
             {"lambda_rate", 1.0}}}},
      {"sensei",
       5,
       {Json{{"method", "sensei"},
             {"rho", 1.0},
             {"epsilon", .1},
             {"attack_steps", 20},
             {"attack_rate", .01}},
        Json{{"method", "sensei"},
             {"rho", 5.0},
             {"epsilon", .1},
             {"attack_steps", 20},
             {"attack_rate", .01}}}}};
  return all;
}

// The training rows as the plug-in takes them.
struct TrainingRows {
  std::vector<float> X, directions;
  std::vector<std::int32_t> y, a;
  Index cols = 0;

  [[nodiscard]] FmdTorchRows view() const {
    return {.rows = std::ssize(y),
            .cols = cols,
            .X = X.data(),
            .y = y.data(),
            .a = a.data(),
            .directions = std::ssize(directions) / cols,
            .direction = directions.data()};
  }
};

// Directions in which answers must not change: the features that carry the attribute, and
// the weights of linear models that predict each of its values from all features.
std::vector<float> fair_directions(const HeadProblem& problem, const Exec& exec) {
  const Rows& rows = problem.train->rows;
  const GroupCodes& group = problem.group(*problem.train, 0);
  const Index d = rows.X->cols();
  std::vector<float> all;
  for (const Index feature : problem.attribute_features.value_or(std::vector<Index>{})) {
    all.resize(all.size() + at(d), 0.0F);
    all[all.size() - at(d) + at(feature)] = 1;
  }
  std::vector<Index> known;
  for (Index i = 0; i < rows.size(); ++i)
    if (group.code[at(rows.row(i))] >= 0) known.push_back(rows.row(i));
  const Rows by_group{rows.X, group.code, {}, known};
  const LinearHead head(d, group.values == 2 ? 1 : group.values);
  const Vector theta = train_linear(head, by_group, {}, exec).theta;
  const Matrix W = head.W(theta);
  for (Index k = 0; k < W.rows(); ++k)
    for (Index j = 0; j < d; ++j) all.push_back(static_cast<float>(W(k, j)));
  return all;
}

TrainingRows training_rows(const HeadProblem& problem, bool directions, const Exec& exec) {
  const Rows& rows = problem.train->rows;
  const std::span<const std::int32_t> group = problem.group(*problem.train, 0).code;
  TrainingRows made;
  made.cols = rows.X->cols();
  std::vector<Index> used;
  for (Index i = 0; i < rows.size(); ++i) {
    const Index row = rows.row(i);
    if (rows.label(i) < 0 || group[at(row)] < 0) continue;
    used.push_back(row);
    made.y.push_back(rows.label(i));
    made.a.push_back(group[at(row)]);
  }
  if (used.empty())
    throw Error(ErrorKind::bad_data, "no training row has a label and a known attribute",
                "give other training rows");
  Scratch scratch;
  expand(*rows.X, used, scratch, made.X);
  if (directions) made.directions = fair_directions(problem, exec);
  return made;
}

// A training that the plug-in has open.
class Training {
 public:
  Training(const std::string& name, const Json& settings, const TrainingRows& rows,
           const Exec& exec)
      : name_(name), settings_(settings.dump()), rows_(rows) {
    table_ = static_cast<const FmdTorch*>(open_backend(
        "torch", kFmdTorchVersion, exec.backends, "method " + name,
        "install PyTorch's library and build the plug-in: ./dev setup torch, ./dev build"));
    const FmdTorchRows view = rows.view();
    it_ = table_->train_open(settings_.c_str(), &view, message_.data(), message_.size());
    if (it_ == nullptr) failed();
  }
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;
  ~Training() {
    if (it_ != nullptr) table_->train_close(it_);
  }

  // Runs all steps, with checkpoints where a folder is given.
  void run(Index steps, const std::filesystem::path& folder, const Exec& exec) {
    const std::filesystem::path file = folder.empty() ? folder : folder / file_name(steps);
    Index done = file.empty() ? 0 : resume(file);
    const Index part = std::max<Index>(1, steps / kCheckpoints);
    constexpr Index kReported = 10;
    std::vector<double> losses(at(kReported));
    while (done < steps) {
      exec.report(name_, done, steps);
      const Index here = std::min({kReported, steps - done, part - done % part});
      if (table_->train_run(it_, here, losses.data(), message_.data(), message_.size()) ==
          0)
        failed();
      done += here;
      if (!file.empty() && (done % part == 0 || done == steps)) save(file, done);
    }
    exec.report(name_, steps, steps);
  }

  // The trained network as a head of ours.
  [[nodiscard]] std::pair<std::shared_ptr<const Head>, Vector> network() {
    std::vector<Index> widths;
    std::vector<std::vector<double>> layers;
    for (std::int32_t l = 0, count = 1; l < count; ++l) {
      Index outputs = 0, inputs = 0;
      count = layer(l, outputs, inputs, nullptr);
      layers.emplace_back(at(outputs * (inputs + 1)));
      layer(l, outputs, inputs, layers.back().data());
      if (widths.empty()) widths.push_back(inputs);
      widths.push_back(outputs);
    }
    auto head = make_head(widths, Activation::relu);
    Vector theta(head->parameters());
    const std::vector<HeadLayer> own = fmd::layers_of(*head);
    for (std::size_t l = 0; l < own.size(); ++l) {
      const Index outputs = widths[l + 1], inputs = widths[l];
      theta.segment(own[l].start, own[l].head.parameters()) = own[l].head.from(
          Eigen::Map<const Matrix>(layers[l].data(), outputs, inputs),
          Eigen::Map<const Vector>(layers[l].data() + outputs * inputs, outputs));
    }
    return {std::move(head), std::move(theta)};
  }

 private:
  [[noreturn]] void failed() const {
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: PyTorch stops: {}", name_, safe_text(message_.data())),
                "leave this method out");
  }

  int layer(std::int32_t index, Index& outputs, Index& inputs, double* into) {
    const int count = table_->train_layer(it_, index, &outputs, &inputs, into,
                                          message_.data(), message_.size());
    if (count < 1) failed();
    return count;
  }

  // Other rows, settings or steps have another name.
  [[nodiscard]] std::string file_name(Index steps) const {
    ByteWriter all;
    all.put_text(settings_);
    all.put(steps);
    all.put_array(std::span<const float>(rows_.X));
    all.put_array(std::span<const float>(rows_.directions));
    all.put_array(std::span<const std::int32_t>(rows_.y));
    all.put_array(std::span<const std::int32_t>(rows_.a));
    return fmt::format("{}-{}.checkpoint", name_, hex(sha256(all.take())).substr(0, 16));
  }

  // Steps that the checkpoint has behind it; 0: there is none.
  Index resume(const std::filesystem::path& file) {
    std::error_code none;
    if (!std::filesystem::exists(file, none)) return 0;
    const FileView view = FileView::open(file);
    const std::string_view text = view.text();
    Index done = 0;
    if (text.size() > sizeof(done)) {
      std::memcpy(&done, text.data(), sizeof(done));
      const std::string_view state = text.substr(sizeof(done));
      if (table_->train_load(it_, state.data(), state.size(), message_.data(),
                             message_.size()) != 0)
        return done;
    }
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: this checkpoint cannot be read", safe_text(file.string())),
                "remove the file: the training then begins again");
  }

  void save(const std::filesystem::path& file, Index done) {
    std::string text(sizeof(done), '\0');
    std::memcpy(text.data(), &done, sizeof(done));
    const auto take = [](void* to, const char* bytes, std::uint64_t size) {
      static_cast<std::string*>(to)->append(bytes, size);
    };
    if (table_->train_save(it_, take, &text, message_.data(), message_.size()) == 0)
      failed();
    OutputFiles files({.force = true});
    files.write(file, text);
    files.commit();
  }

  const FmdTorch* table_ = nullptr;
  void* it_ = nullptr;
  std::string name_, settings_;
  const TrainingRows& rows_;
  std::array<char, 2048> message_{};
};

BaselineCandidate network_candidate(const HeadProblem& problem, std::string setting,
                                    std::shared_ptr<const Head> head, Vector theta) {
  return {std::move(setting),
          [head = std::move(head), theta = std::move(theta), threshold = problem.threshold](
              const BaselineRows& asked, const Exec& exec) {
            Answers answers;
            answers.p = all_probabilities(*head, asked.rows, theta, exec);
            answers.decision = one_hot(decide(answers.p, threshold), answers.p.cols());
            return answers;
          }};
}

// What tells the candidates of a method apart.
std::string setting_name(const Json& settings) {
  for (const char* name : {"adjustment", "rho"})
    if (settings.contains(name))
      return fmt::format("{}={:g}", name, settings.at(name).get<double>());
  return "";
}

}  // namespace

FittedMethod fit_network(const std::string& name, const HeadProblem& problem,
                         const BaselineOptions& options, const Exec& exec) {
  const auto recipe = std::find_if(recipes().begin(), recipes().end(),
                                   [&](const Recipe& r) { return r.name == name; });
  const bool fair = name == "sensr" || name == "sensei";
  const TrainingRows rows = training_rows(problem, fair, exec);
  const auto count = static_cast<double>(rows.y.size());
  const Index batch = std::min<Index>(kNetworkBatch, std::ssize(rows.y));
  const double wanted =
      std::max(recipe->epochs * count / static_cast<double>(batch), kLeastSteps);
  const auto steps = static_cast<Index>(std::max(1.0, options.effort * wanted));
  FittedMethod candidates;
  for (Json settings : recipe->settings) {
    settings["hidden"] = options.hidden;
    settings["classes"] = classes_of(problem.head->outputs());
    settings["groups"] = problem.group(*problem.train, 0).values;
    settings["batch"] = batch;
    settings["seed"] = exec.seed;
    if (name == "ldr") settings["swap_from"] = steps / 5;
    Training training(name, settings, rows, exec);
    training.run(steps, options.checkpoints, exec);
    auto [head, theta] = training.network();
    candidates.push_back(network_candidate(problem, setting_name(settings), std::move(head),
                                           std::move(theta)));
  }
  return candidates;
}

}  // namespace fmd::internal
