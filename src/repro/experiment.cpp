#include "repro/experiment.h"

#include <limits>

#include <fmt/format.h>

#include "fmd/core/error.h"
#include "repro/adult.h"
#include "repro/coloured_mnist.h"
#include "repro/hessian_refresh.h"
#include "repro/samples.h"
#include "repro/toy.h"

namespace fmd::repro {
namespace {

// The row of a method that cannot answer here: no figures, but the reason.
Measured undefined_row(const std::string& id, const std::string& reason) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  return {id, {{"accuracy", kNone}, {"bias", kNone}, {"seconds", kNone}}, reason, true};
}

}  // namespace

const Digits& World::train_digits() {
  if (!train_) train_ = std::make_unique<Digits>(load_digits(folder_, "train"));
  return *train_;
}

const Digits& World::test_digits() {
  if (!test_) test_ = std::make_unique<Digits>(load_digits(folder_, "test"));
  return *test_;
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
  std::map<std::string, NewtonDirection>
      directions;  // shared by the scales of one equation
  for (const SpecRow& row : unit.spec->rows) {
    const Settings settings = unit.of(row);
    exec.report(fmt::format("{}, seed {}: {}", unit.c->name, unit.seed, row.title), 0, 0);
    const bool known = row.method == "vanilla" || row.method == "tempered" ||
                       row.method == "intercepts" || row.method == "newton" ||
                       row.method == "solve" || row.method == "finetune" ||
                       row.method == "dfr";
    if (!known) {
      rows.push_back(others(row, settings));
      continue;
    }
    const Index layers = settings.has("layers") ? settings.count("layers") : 1;
    const Stage& stage = stages(layers);
    Outcome outcome;
    if (row.method == "vanilla") {
      outcome.theta = stage.theta;
    } else if (row.method == "tempered") {
      outcome = tempered(stage, exec);
    } else if (row.method == "intercepts") {
      outcome = intercepts(stage, exec);
    } else if (row.method == "newton") {
      const std::string equation = settings.word("equation");
      const std::string key = equation + settings.word("hessian") +
                              settings.word("measure") +
                              fmt::format(" {} {}", settings.count("K"), layers);
      if (!directions.contains(key))
        directions[key] =
            equation == "9"
                ? pairs_direction(stage, settings.word("hessian") == "external", exec)
                : remove_direction(stage, settings, exec);
      outcome = take_step(stage, directions[key], settings.word("scale") == "printed",
                          rule_of(settings), exec);
    } else if (row.method == "solve") {
      outcome = solved(stage, settings, exec);
    } else if (row.method == "finetune") {
      outcome = fine_tuned(stage, settings, exec);
    } else {
      try {
        outcome = dfr(stage, settings, exec);
      } catch (const Error& error) {  // a class or a cell without rows
        if (error.kind() != ErrorKind::bad_data) throw;
        rows.push_back(undefined_row(row.id, error.what()));
        continue;
      }
    }
    rows.push_back(report(row.id, stage, outcome, exec));
  }
  return rows;
}

}  // namespace fmd::repro
