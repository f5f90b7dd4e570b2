#include "repro/samples.h"

#include <fmt/format.h>

#include "repro/coloured_mnist.h"

namespace fmd::repro {

UnitResult run_samples(World& world, const Unit& unit, const Exec& exec) {
  ColouredMnist colours(world, unit, exec);
  UnitResult result;
  for (const double size : unit.settings.list("sizes")) {
    colours.use(static_cast<Index>(size));
    std::vector<Measured> rows = run_rows(
        unit, [&](Index layers) -> const Stage& { return colours.stage(layers); },
        [&](const SpecRow& row, const Settings& settings) {
          return colours.from_scratch(row, settings);
        },
        exec);
    for (Measured& row : rows) {
      row.id += fmt::format("@{:.0f}", size);
      result.rows.push_back(std::move(row));
    }
  }
  result.facts = {{"vanilla_epochs", colours.facts().at("vanilla_epochs")}};
  return result;
}

}  // namespace fmd::repro
