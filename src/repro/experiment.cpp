#include "repro/experiment.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "fmd/core/error.h"
#include "repro/adult.h"
#include "repro/coloured_mnist.h"
#include "repro/faces.h"
#include "repro/faces_trained.h"
#include "repro/hessian_refresh.h"
#include "repro/samples.h"
#include "repro/shown_pairs.h"
#include "repro/stereotypes.h"
#include "repro/toy.h"

namespace fmd::repro {
namespace {

// The row of a method that cannot answer here: no figures, but the reason.
Measured undefined_row(const std::string& id, const std::string& reason) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  return {id, {{"accuracy", kNone}, {"bias", kNone}, {"seconds", kNone}}, reason, true};
}

using Directions = std::map<std::string, TimedDirection>;  // shared by the scales

Outcome run_newton(const Stage& stage, const Settings& settings, Directions& directions,
                   const Exec& exec) {
  const std::string equation = settings.word("equation");
  const std::string key =
      equation + settings.word("hessian") + settings.word("measure") +
      fmt::format(" {} {}", settings.count("K"),
                  settings.has("layers") ? settings.count("layers") : 1);
  if (!directions.contains(key))
    directions[key] =
        equation == "9"
            ? pairs_direction(stage, settings.word("hessian") == "external", exec)
            : remove_direction(stage, settings, exec);
  return take_step(stage, directions[key], settings.word("scale") == "printed",
                   rule_of(settings), exec);
}

// The methods of a spec that need only a stage.
struct StageEdit {
  const char* name;
  Outcome (*run)(const Stage&, const Settings&, Directions&, const Exec&);
};

constexpr StageEdit kEdits[] = {
    {"vanilla",
     [](const Stage& stage, const Settings&, Directions&, const Exec&) {
       Outcome outcome;
       outcome.theta = stage.problem.theta;
       return outcome;
     }},
    {"tempered", [](const Stage& stage, const Settings&, Directions&,
                    const Exec& exec) { return tempered_head(stage, exec); }},
    {"intercepts", [](const Stage& stage, const Settings&, Directions&,
                      const Exec& exec) { return intercepts(stage, exec); }},
    {"newton", run_newton},
    {"solve", [](const Stage& stage, const Settings& settings, Directions&,
                 const Exec& exec) { return solved(stage, settings, exec); }},
    {"finetune", [](const Stage& stage, const Settings& settings, Directions&,
                    const Exec& exec) { return trained_on_pairs(stage, settings, exec); }},
    {"dfr", [](const Stage& stage, const Settings& settings, Directions&,
               const Exec& exec) { return dfr(stage, settings, exec); }},
};

}  // namespace

const Digits& World::train_digits() {
  if (!train_) train_ = std::make_unique<Digits>(load_digits(folder_, "train"));
  return *train_;
}

const Digits& World::test_digits() {
  if (!test_) test_ = std::make_unique<Digits>(load_digits(folder_, "test"));
  return *test_;
}

const FaceSet& World::faces(const std::string& network, const std::string& label,
                            const Exec& exec) {
  std::shared_ptr<const FaceSet>& set = faces_[network];
  if (set == nullptr)
    set = std::make_shared<const FaceSet>(
        read_faces(folder_, network, label, features_, exec));
  return *set;
}

Settings Unit::of(const SpecRow& row) const {
  Settings found = merged(settings, row.settings);
  return quick ? merged(std::move(found), spec->quick) : found;
}

Experiment find_experiment(const std::string& name) {
  if (name == "coloured") return run_coloured;
  if (name == "toy") return run_toy;
  if (name == "adult") return run_adult;
  if (name == "samples") return run_samples;
  if (name == "hessian") return run_hessian;
  if (name == "faces") return run_faces;
  if (name == "faces_trained") return run_faces_trained;
  if (name == "pairs") return run_shown_pairs;
  if (name == "stereotypes") return run_stereotypes;
  if (name == "overview")
    return [](World&, const Unit&, const Exec&) { return UnitResult{}; };
  throw Error(ErrorKind::bad_task, fmt::format("reproduce: no experiment \"{}\"", name));
}

Measured report(const std::string& id, const Stage& stage, const Outcome& outcome,
                const Exec& exec) {
  const Score reached = score(*stage.head, outcome.theta, stage.report, exec);
  Measured row{id,
               {{"accuracy", 100 * reached.accuracy},
                {"bias", reached.bias},
                {"seconds", outcome.seconds},
                {"cpu", outcome.cpu},
                {"choosing", outcome.choosing},
                {"rows", static_cast<double>(outcome.rows)}},
               outcome.chosen,
               outcome.labels};
  if (!stage.report.group.empty()) {
    row.value["parity"] = reached.parity;
    row.value["opportunity"] = reached.opportunity;
  }
  return row;
}

std::vector<Measured> run_rows(const Unit& unit, const StageOf& stages,
                               const OtherRow& others, const Exec& exec) {
  std::vector<Measured> rows;
  Directions directions;
  for (const SpecRow& row : unit.spec->rows) {
    const Settings settings = unit.of(row);
    exec.report(fmt::format("{}, seed {}: {}", unit.c->name, unit.seed, row.title), 0, 0);
    const auto edit =
        std::find_if(std::begin(kEdits), std::end(kEdits),
                     [&](const StageEdit& one) { return row.method == one.name; });
    if (edit == std::end(kEdits)) {
      rows.push_back(others(row, settings));
      continue;
    }
    const Stage& stage = stages(settings.has("layers") ? settings.count("layers") : 1);
    try {
      const Outcome outcome = edit->run(stage, settings, directions, exec);
      rows.push_back(report(row.id, stage, outcome, exec));
    } catch (const Error& error) {  // a class or a cell without rows
      if (row.method != "dfr" || error.kind() != ErrorKind::bad_data) throw;
      rows.push_back(undefined_row(row.id, error.what()));
    }
  }
  return rows;
}

}  // namespace fmd::repro
