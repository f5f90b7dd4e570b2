#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/repro/digits.h"
#include "repro/edits.h"
#include "repro/spec.h"
#include "repro/stage.h"

namespace fmd::repro {

// One row of a table, measured once: on the reporting half, with one seed.
struct Measured {
  std::string id;
  std::map<std::string, double> value;  // accuracy in %, bias, seconds, choosing, rows, ...
  std::string chosen;
  bool labels = false;  // labels of the external rows were used
};

// One case with one seed.
struct UnitResult {
  std::vector<Measured> rows;
  std::map<std::string, double> facts;  // about the case: epochs of the vanilla model, ...
  std::string pictures;                 // JSON of what a figure needs; "" = nothing
};

struct FaceSet;
struct StereotypeStage;

// Data that all seeds share. It is read at first use.
class World {
 public:
  // features: a folder that keeps the features of images; empty = they are not kept.
  // model: the folder of a language model, or none. checkpoints: a folder where trainings
  // leave their state, or none.
  explicit World(std::filesystem::path data_folder, std::filesystem::path features = {},
                 std::filesystem::path model = {}, std::filesystem::path checkpoints = {})
      : folder_(std::move(data_folder)),
        features_(std::move(features)),
        model_(std::move(model)),
        checkpoints_(std::move(checkpoints)) {}
  // Given digits, for tests.
  World(Digits train, Digits test)
      : train_(std::make_unique<Digits>(std::move(train))),
        test_(std::make_unique<Digits>(std::move(test))) {}
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  [[nodiscard]] const std::filesystem::path& features() const { return features_; }
  [[nodiscard]] const std::filesystem::path& model() const { return model_; }
  [[nodiscard]] const std::filesystem::path& checkpoints() const { return checkpoints_; }
  // What the seeds of a case share; null before it is made.
  [[nodiscard]] std::shared_ptr<StereotypeStage>& stereotypes(const std::string& name) {
    return stereotypes_[name];
  }
  [[nodiscard]] const Digits& train_digits();
  [[nodiscard]] const Digits& test_digits();
  // The faces as this network sees them, with this attribute as the label.
  [[nodiscard]] const FaceSet& faces(const std::string& network, const std::string& label,
                                     const Exec& exec);

 private:
  std::filesystem::path folder_, features_, model_, checkpoints_;
  std::map<std::string, std::shared_ptr<StereotypeStage>> stereotypes_;  // by case
  std::map<std::string, std::shared_ptr<const FaceSet>> faces_;          // by network
  std::unique_ptr<Digits> train_, test_;
};

struct Unit {
  const Spec* spec = nullptr;
  const SpecCase* c = nullptr;
  Settings settings;  // of the case, quick ones included
  std::uint64_t seed = 1;
  bool quick = false;

  [[nodiscard]] Settings of(const SpecRow& row) const;
};

// exec.seed is the unit's.
using Experiment = UnitResult (*)(World&, const Unit&, const Exec&);
// By the name that a spec gives. Throws Error(bad_task).
[[nodiscard]] Experiment find_experiment(const std::string& name);

// Runs all rows of the spec. Methods that need only a stage are run here: `stages` gives
// the stage for a number of top layers. Rows of other methods go to `others`.
using StageOf = std::function<const Stage&(Index layers)>;
using OtherRow = std::function<Measured(const SpecRow&, const Settings&)>;
[[nodiscard]] std::vector<Measured> run_rows(const Unit& unit, const StageOf& stages,
                                             const OtherRow& others, const Exec& exec);
// The figures of an edit on the reporting half.
[[nodiscard]] Measured report(const std::string& id, const Stage& stage,
                              const Outcome& outcome, const Exec& exec);

}  // namespace fmd::repro
