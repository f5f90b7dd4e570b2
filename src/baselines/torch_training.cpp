#include "baselines/torch_training.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/index.h"
#include "fmd/core/bytes.h"
#include "fmd/core/file.h"
#include "fmd/core/hash.h"
#include "fmd/core/output_files.h"
#include "fmd/core/safe_text.h"
#include "fmd/model/mlp_head.h"

namespace fmd::internal {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr Index kCheckpoints = 20;  // of a whole training
constexpr Index kWatched = 10;
constexpr double kSecondsBetween = 30;  // checkpoints, at most
constexpr Index kReported = 10;         // steps between two reports
constexpr std::uint64_t kMostNote = 1U << 20U;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double cpu_now() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

std::string text_of(const NetworkNote& note) {
  Json curve = Json::array();
  for (const auto& [step, figures] : note.curve) curve.push_back({step, figures});
  return Json{
      {"steps", note.steps}, {"seconds", note.seconds}, {"cpu", note.cpu}, {"curve", curve}}
      .dump();
}

NetworkNote read_note(std::string_view text) {
  const Json json = Json::parse(text);
  NetworkNote note{.steps = json.at("steps").get<Index>(),
                   .seconds = json.at("seconds").get<double>(),
                   .cpu = json.at("cpu").get<double>(),
                   .curve = {}};
  for (const Json& point : json.at("curve"))
    note.curve.emplace_back(point.at(0).get<Index>(),
                            point.at(1).get<std::vector<double>>());
  return note;
}

}  // namespace

FmdTorchRows TorchRows::view() const {
  return {.rows = size(),
          .cols = cols,
          .X = X.data(),
          .y = y.data(),
          .a = a.empty() ? nullptr : a.data(),
          .directions = std::ssize(directions) / cols,
          .direction = directions.data()};
}

TorchTraining::TorchTraining(std::string name, std::string settings, const TorchRows& rows,
                             const Exec& exec)
    : name_(std::move(name)), settings_(std::move(settings)), rows_(rows) {
  table_ = static_cast<const FmdTorch*>(open_backend(
      "torch", kFmdTorchVersion, exec.backends, "method " + name_,
      "install PyTorch's library and build the plug-in: ./dev setup torch, ./dev build"));
  const FmdTorchRows view = rows.view();
  it_ = table_->train_open(settings_.c_str(), &view, message_.data(), message_.size());
  if (it_ == nullptr) failed();
}

TorchTraining::~TorchTraining() {
  if (it_ != nullptr) table_->train_close(it_);
}

void TorchTraining::run(Index steps, const std::filesystem::path& folder,
                        const std::function<std::vector<double>()>& watch,
                        const Exec& exec) {
  const std::filesystem::path file = folder.empty() ? folder : folder / file_name(steps);
  Index done = file.empty() ? 0 : resume(file);
  const Index part = std::max<Index>(1, steps / kCheckpoints),
              watched = std::max<Index>(1, steps / kWatched);
  std::vector<double> losses(at(kReported));
  Clock::time_point saved = Clock::now();
  while (done < steps) {
    exec.report(name_, done, steps);
    const Index here =
        std::min({kReported, steps - done, part - done % part, watched - done % watched});
    const Clock::time_point start = Clock::now();
    const double cpu = cpu_now();
    if (table_->train_run(it_, here, losses.data(), message_.data(), message_.size()) == 0)
      failed();
    note_.seconds += seconds_since(start);
    note_.cpu += cpu_now() - cpu;
    done += here;
    note_.steps = done;
    if (watch && (done == steps || (done % watched == 0 && steps - done >= watched)))
      note_.curve.emplace_back(done, watch());
    if (file.empty()) continue;
    if (done % part == 0 || done == steps || seconds_since(saved) > kSecondsBetween) {
      save(file, done);
      saved = Clock::now();
    }
  }
  exec.report(name_, steps, steps);
}

std::pair<std::shared_ptr<const Head>, Vector> TorchTraining::network() {
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

Matrix TorchTraining::logits(std::span<const float> X, Index rows, Index classes) {
  std::vector<float> found(at(rows * classes));
  if (table_->train_answer(it_, X.data(), rows, std::ssize(X) / std::max<Index>(1, rows),
                           found.data(), message_.data(), message_.size()) == 0)
    failed();
  using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  return Eigen::Map<const Rows>(found.data(), rows, classes).cast<double>();
}

void TorchTraining::failed() const {
  throw Error(ErrorKind::bad_data,
              fmt::format("{}: PyTorch stops: {}", name_, safe_text(message_.data())),
              "leave this method out");
}

int TorchTraining::layer(std::int32_t index, Index& outputs, Index& inputs, double* into) {
  const int count = table_->train_layer(it_, index, &outputs, &inputs, into,
                                        message_.data(), message_.size());
  if (count < 1) failed();
  return count;
}

// Other rows, settings, steps or another PyTorch have another name.
std::string TorchTraining::file_name(Index steps) const {
  ByteWriter all;
  all.put_text(settings_);
  all.put_text(table_->models.library(nullptr));
  all.put(steps);
  all.put_array(std::span<const float>(rows_.X));
  all.put_array(std::span<const float>(rows_.directions));
  all.put_array(std::span<const std::int32_t>(rows_.y));
  all.put_array(std::span<const std::int32_t>(rows_.a));
  return fmt::format("{}-{}.checkpoint", name_, hex(sha256(all.take())).substr(0, 16));
}

// A checkpoint: the number of bytes of the note, the note as JSON, the plug-in's state.
// Gives the steps behind it; 0: there is none.
Index TorchTraining::resume(const std::filesystem::path& file) {
  std::error_code none;
  if (!std::filesystem::exists(file, none)) return 0;
  const FileView view = FileView::open(file);
  const std::string_view text = view.text();
  try {
    std::uint64_t size = 0;
    if (text.size() > sizeof(size)) std::memcpy(&size, text.data(), sizeof(size));
    if (size > 0 && size < kMostNote && size < text.size() - sizeof(size)) {
      NetworkNote note = read_note(text.substr(sizeof(size), size));
      const std::string_view state = text.substr(sizeof(size) + size);
      if (table_->train_load(it_, state.data(), state.size(), message_.data(),
                             message_.size()) != 0) {
        note_ = std::move(note);
        return note_.steps;
      }
    }
  } catch (const Json::exception&) {  // said below
  }
  throw Error(ErrorKind::bad_data,
              fmt::format("{}: this checkpoint cannot be read", safe_text(file.string())),
              "remove the file: the training then begins again");
}

void TorchTraining::save(const std::filesystem::path& file, Index done) {
  note_.steps = done;
  const std::string note = text_of(note_);
  const std::uint64_t size = note.size();
  std::string text(sizeof(size), '\0');
  std::memcpy(text.data(), &size, sizeof(size));
  text += note;
  const auto take = [](void* to, const char* bytes, std::uint64_t count) {
    static_cast<std::string*>(to)->append(bytes, count);
  };
  if (table_->train_save(it_, take, &text, message_.data(), message_.size()) == 0) failed();
  OutputFiles files({.force = true});
  files.write(file, text);
  files.commit();
}

}  // namespace fmd::internal
