#include "repro/faces_trained.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "baselines/torch_training.h"
#include "core/index.h"
#include "data/images/image.h"
#include "data/images/image_files.h"
#include "fmd/core/error.h"
#include "repro/curves.h"
#include "repro/faces.h"

namespace fmd::repro {
namespace {

constexpr Index kSide = 64, kChannels = 3, kNumbers = kChannels * kSide * kSide;
constexpr Index kAnswered = 250;  // faces at a time
constexpr Index kWatchedFaces = 1000;

// The pixels of some faces, each channel about from -2 to 2.
std::vector<float> face_pixels(const std::filesystem::path& data_folder, const FaceSet& set,
                               std::span<const Index> rows, const Exec& exec) {
  const internal::ImageFiles files(data_folder / "celeba/celeba_test17476_64x64_jpeg.tar");
  const auto& decoder = *static_cast<const FmdImages*>(
      open_backend("images", kFmdImagesVersion, exec.backends, "faces",
                   "build fmd where libjpeg and libpng are installed"));
  InputSpec spec;
  spec.mean = {.5, .5, .5};
  spec.std = {.25, .25, .25};
  std::vector<float> values(rows.size() * at(kNumbers));
  const Column& names = set.table.columns.front();
  exec.for_each(std::ssize(rows), [&](Index i) {
    const std::string name = names.text(rows[at(i)]);
    const internal::Image image = internal::decode_image(decoder, files.read(name), name);
    if (image.height != kSide || image.width != kSide)
      throw Error(ErrorKind::bad_data, name + ": not an image of 64 x 64 pixels");
    internal::image_numbers(image, spec, true, values.data() + i * kNumbers);
  });
  return values;
}

std::vector<double> face_answers(internal::TorchTraining& training,
                                 std::span<const float> X) {
  std::vector<double> p1;
  const Index rows = std::ssize(X) / kNumbers;
  for (Index first = 0; first < rows; first += kAnswered) {
    const Index count = std::min(kAnswered, rows - first);
    const Matrix logits =
        training.logits(X.subspan(at(first * kNumbers), at(count * kNumbers)), count, 2);
    for (Index i = 0; i < count; ++i)
      p1.push_back(1 / (1 + std::exp(logits(i, 0) - logits(i, 1))));
  }
  return p1;
}

std::vector<Index> rows_of_part(const FaceSet& set, std::int32_t part, Index most) {
  std::vector<Index> rows;
  for (std::size_t i = 0; i < set.part.size(); ++i)
    if (set.part[i] == part && std::ssize(rows) < most)
      rows.push_back(static_cast<Index>(i));
  return rows;
}

// The settings of a row that the method knows, and what all have.
nlohmann::json training_settings(const Settings& settings, Index steps,
                                 std::uint64_t seed) {
  nlohmann::json json = {{"method", settings.word("network")},
                         {"network", "resnet18"},
                         {"image", {kChannels, kSide, kSide}},
                         {"width", settings.count("width")},
                         {"classes", 2},
                         {"batch", settings.count("batch")},
                         {"seed", seed},
                         {"swap_from", steps / 5}};
  for (const char* name : {"rate", "decay", "eta", "adjustment", "lambda_dis",
                           "lambda_swap", "lambda_swap_biased"})
    if (settings.has(name)) json[name] = settings.number(name);
  if (settings.word("network") == "groupdro") json["groups"] = 2;
  return json;
}

}  // namespace

UnitResult run_faces_trained(World& world, const Unit& unit, const Exec& exec) {
  const FaceSet set = read_face_table(world.folder(), unit.settings.word("label"), exec);
  const std::vector<Index> train = rows_of_part(set, 0, unit.settings.count("train_rows"));
  const FaceJudge judge(set, rows_of_part(set, 2, unit.settings.count("report_rows")),
                        exec);
  const FaceJudge watched(
      set,
      rows_of_part(set, 2,
                   std::min<Index>(kWatchedFaces, unit.settings.count("report_rows"))),
      exec);
  internal::TorchRows rows;
  rows.cols = kNumbers;
  rows.X = face_pixels(world.folder(), set, train, exec);
  std::vector<std::int32_t> male;
  for (const Index row : train) {
    rows.y.push_back(set.y[at(row)]);
    male.push_back(set.male[at(row)]);
  }
  const std::vector<float> shown = face_pixels(world.folder(), set, judge.rows(), exec);
  const std::span<const float> first(shown.data(), watched.rows().size() * at(kNumbers));
  UnitResult result;
  Curves curves({"unb", "wor", "avg"});
  for (const SpecRow& row : unit.spec->rows) {
    const Settings settings = unit.of(row);
    const std::string name = settings.word("network");
    const auto steps = std::max<Index>(
        1, static_cast<Index>(settings.number("epochs") * static_cast<double>(rows.size()) /
                              settings.number("batch")));
    rows.a = name == "groupdro" ? male : std::vector<std::int32_t>{};
    internal::TorchTraining training(
        name, training_settings(settings, steps, unit.seed).dump(), rows, exec);
    training.run(
        steps, world.checkpoints(),
        [&] {
          const auto found = watched.figures(face_answers(training, first));
          return std::vector<double>{found.at("unb"), found.at("wor"), found.at("avg")};
        },
        exec);
    Measured measured{row.id, judge.figures(face_answers(training, shown)), "", true};
    measured.value["seconds"] = training.note().seconds;
    measured.value["cpu"] = training.note().cpu;
    measured.value["choosing"] = 0;
    measured.value["rows"] = static_cast<double>(rows.size());
    BaselineCandidate note;
    note.training = training.note();
    measured.chosen = training_text(note);
    curves.add(row.id, training.note());
    result.rows.push_back(std::move(measured));
  }
  result.facts = {{"training_rows", static_cast<double>(rows.size())},
                  {"report_rows", static_cast<double>(judge.rows().size())}};
  result.pictures = curves.json();
  return result;
}

}  // namespace fmd::repro
