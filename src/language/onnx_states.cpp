#include "language/onnx_states.h"

#include <array>
#include <atomic>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "core/index.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/core/plugin.h"
#include "fmd/core/safe_text.h"
#include "model/onnx_abi.h"

namespace fmd::internal {
namespace {

constexpr std::int32_t kWholeNumbers = 7;  // int64, as ONNX counts
constexpr Index kBatchTokens = 2048;

// A sequence to run, and which of its places give states.
struct Run {
  TokenIds tokens;
  std::vector<std::pair<Index, Index>> wanted;  // place, number of the state
};

// Each leaf of the tree is one sequence; a node's state is taken from the first of them.
std::vector<Run> runs_of_tree(const StatePlan& plan) {
  std::vector<bool> has_child(plan.nodes.size()), taken(plan.nodes.size());
  for (const StatePlan::Node& node : plan.nodes)
    if (node.parent >= 0) has_child[at(node.parent)] = true;
  std::vector<Run> runs;
  for (std::size_t leaf = 0; leaf < plan.nodes.size(); ++leaf) {
    if (has_child[leaf]) continue;
    std::vector<Index> path;
    for (auto up = static_cast<Index>(leaf); up >= 0; up = plan.nodes[at(up)].parent)
      path.push_back(up);
    std::reverse(path.begin(), path.end());
    Run run;
    for (const Index node : path) {
      if (!taken[at(node)]) run.wanted.emplace_back(std::ssize(run.tokens), node);
      taken[at(node)] = true;
      run.tokens.push_back(plan.nodes[at(node)].token);
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<Run> runs_of(const StatePlan& plan) {
  if (!plan.nodes.empty()) return runs_of_tree(plan);
  std::map<TokenIds, std::size_t> known;
  std::vector<Run> runs;
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
    const auto [found, fresh] = known.emplace(plan.inputs[i], runs.size());
    if (fresh) runs.push_back({plan.inputs[i], {}});
    runs[found->second].wanted.emplace_back(plan.position[i], static_cast<Index>(i));
  }
  return runs;
}

// Numbers of runs that have one length, as many as make a batch.
std::vector<std::vector<Index>> batches_of(const std::vector<Run>& runs) {
  std::map<std::size_t, std::vector<Index>> by_length;
  for (std::size_t r = 0; r < runs.size(); ++r)
    by_length[runs[r].tokens.size()].push_back(static_cast<Index>(r));
  std::vector<std::vector<Index>> batches;
  for (const auto& [length, all] : by_length) {
    const std::size_t rows =
        std::max<std::size_t>(1, at(kBatchTokens) / std::max<std::size_t>(1, length));
    for (std::size_t first = 0; first < all.size(); first += rows)
      batches.emplace_back(
          all.begin() + static_cast<std::ptrdiff_t>(first),
          all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), first + rows)));
  }
  return batches;
}

class OnnxStates final : public StateSource {
 public:
  OnnxStates(std::filesystem::path file, Index cols)
      : file_(std::move(file)), cols_(cols) {}
  OnnxStates(const OnnxStates&) = delete;
  OnnxStates& operator=(const OnnxStates&) = delete;
  ~OnnxStates() override {
    if (model_ != nullptr) table_->close(model_);
  }

  [[nodiscard]] FloatMatrix states(const StatePlan& plan, const Exec& exec) const override {
    open(exec);
    const std::vector<Run> runs = runs_of(plan);
    const std::vector<std::vector<Index>> batches = batches_of(runs);
    FloatMatrix states(plan.states(), cols_);
    std::atomic<Index> done = 0;
    exec.for_each(std::ssize(batches), [&](Index b) {
      run_batch(runs, batches[at(b)], states);
      exec.report("states", done += std::ssize(batches[at(b)]), std::ssize(runs));
    });
    return states;
  }

 private:
  [[nodiscard]] std::string libraries(const Exec& exec) const {
    if (exec.backends == nullptr || !exec.backends->contains("onnxruntime"))
      return "libonnxruntime.so.1\nlibonnxruntime.so";
    std::string lines;
    for (const std::string& file : exec.backends->at("onnxruntime"))
      lines += (lines.empty() ? "" : "\n") + file;
    return lines;
  }

  void open(const Exec& exec) const {
    const std::scoped_lock lock(mutex_);
    if (model_ != nullptr) return;
    table_ = static_cast<const FmdOnnx*>(
        open_backend("onnx", kFmdOnnxVersion, exec.backends,
                     fmt::format("{}: an ONNX model", file_.string()),
                     "build fmd with backends/onnx, or use a model of the Llama kind, "
                     "which needs none"));
    const FileView bytes = FileView::open(file_);
    std::array<char, 2048> message{};
    model_ = table_->open(libraries(exec).c_str(), bytes.bytes().data(),
                          bytes.bytes().size(), nullptr, message.data(), message.size());
    if (model_ != nullptr) return;
    const std::string reason = safe_text(message.data());
    const bool absent = reason.starts_with("ONNX Runtime cannot be opened");
    throw Error(absent ? ErrorKind::unsupported : ErrorKind::bad_model,
                fmt::format("{}: {}{}", file_.string(),
                            absent ? "" : "ONNX Runtime refuses it: ", reason),
                absent ? "install it (pip install onnxruntime) and name its library: "
                         "FMD_ORT_LIB=.../libonnxruntime.so.1.x"
                       : "write it again: tools/export_lm.py MODEL");
  }

  void run_batch(const std::vector<Run>& runs, const std::vector<Index>& batch,
                 FloatMatrix& states) const {
    const auto rows = std::ssize(batch);
    const auto length = std::ssize(runs[at(batch[0])].tokens);
    std::vector<std::int64_t> ids, mask(at(rows * length), 1);
    for (const Index r : batch)
      for (const TokenId token : runs[at(r)].tokens) ids.push_back(token);
    const std::array<std::int64_t, 2> shape{rows, length};
    const auto input = [&](const char* name, const std::vector<std::int64_t>& values) {
      return FmdOnnxTensor{.name = name,
                           .type = kWholeNumbers,
                           .rank = 2,
                           .shape = shape.data(),
                           .data = values.data(),
                           .size = values.size() * sizeof(std::int64_t)};
    };
    const std::array inputs{input("input_ids", ids), input("attention_mask", mask)};
    std::vector<float> hidden(at(rows * length * cols_));
    std::array<char, 2048> message{};
    if (table_->run(model_, inputs.data(), 2, "hidden", hidden.data(), std::ssize(hidden),
                    message.data(), message.size()) == 0)
      throw Error(ErrorKind::bad_model,
                  fmt::format("{}: {} sequences of {} tokens cannot be run: {}",
                              file_.string(), rows, length, safe_text(message.data())),
                  "backbone.onnx and config.json must be of one model: write it again by "
                  "tools/export_lm.py MODEL");
    for (Index k = 0; k < rows; ++k)
      for (const auto& [place, state] : runs[at(batch[at(k)])].wanted) {
        const float* from = hidden.data() + (k * length + place) * cols_;
        std::copy_n(from, cols_, states.data() + state * cols_);
      }
  }

  std::filesystem::path file_;
  Index cols_;
  mutable std::mutex mutex_;
  mutable const FmdOnnx* table_ = nullptr;
  mutable void* model_ = nullptr;
};

}  // namespace

std::unique_ptr<StateSource> make_onnx_states(std::filesystem::path file, Index cols) {
  return std::make_unique<OnnxStates>(std::move(file), cols);
}

}  // namespace fmd::internal
