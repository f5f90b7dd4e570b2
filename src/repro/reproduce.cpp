#include "fmd/repro/reproduce.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/disk.h"
#include "data/words.h"
#include "fmd/core/blas.h"
#include "fmd/core/error.h"
#include "fmd/core/machine.h"
#include "fmd/version.h"
#include "repro/cache.h"
#include "repro/specs.h"

namespace fmd {
namespace {

std::string describe_machine(const Exec& exec) {
  const MachineInfo info = machine_info();
  const int threads = exec.pool == nullptr ? 1 : exec.pool->threads();
  return fmt::format("{}, {} cores, {:.0f} GB; {} threads; BLAS kernel {}",
                     info.cpu.empty() ? "unknown CPU" : info.cpu, info.cores,
                     static_cast<double>(info.memory) / 1e9, threads, blas_info().kernel);
}

std::map<std::string, double> by_column(
    const std::vector<std::string>& columns,
    const std::map<std::string, std::vector<double>>& of, const std::string& id) {
  std::map<std::string, double> found;
  const auto values = of.find(id);
  if (values == of.end()) return found;
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (!std::isnan(values->second[i])) found[columns[i]] = values->second[i];
  return found;
}

ReproducedCase summarise(const repro::Spec& spec, const repro::SpecCase& c,
                         const std::vector<repro::UnitResult>& units) {
  ReproducedCase done{.name = c.name,
                      .title = c.title,
                      .rows = {},
                      .facts = {},
                      .pictures = units.front().pictures};
  std::map<std::string, std::vector<double>> facts;
  for (const repro::UnitResult& unit : units)
    for (const auto& [name, value] : unit.facts) facts[name].push_back(value);
  for (const auto& [name, values] : facts) done.facts[name] = seed_mean(values);
  for (const repro::Measured& first : units.front().rows) {
    ReproducedRow row;
    row.id = first.id;
    row.title = first.id;
    const std::size_t mark = first.id.find('@');  // of a row that is run at several sizes
    for (const repro::SpecRow& known : spec.rows)
      if (known.id == first.id.substr(0, mark)) row.title = known.title;
    if (mark != std::string::npos) row.title += ", " + first.id.substr(mark + 1) + " pairs";
    row.paper = by_column(spec.columns, c.paper, first.id);
    row.bar = by_column(spec.columns, c.bar, first.id);
    row.labels = first.labels;
    row.chosen = first.chosen;
    std::map<std::string, std::vector<double>> values;
    for (const repro::UnitResult& unit : units)
      for (const repro::Measured& measured : unit.rows)
        if (measured.id == first.id)
          for (const auto& [name, value] : measured.value) values[name].push_back(value);
    for (const auto& [name, list] : values) row.ours[name] = seed_mean(list);
    done.rows.push_back(std::move(row));
  }
  return done;
}

const repro::Spec& find_spec(const std::string& name) {
  for (const repro::Spec& spec : repro::specs())
    if (spec.name == name) return spec;
  throw Error(ErrorKind::bad_option,
              fmt::format("reproduce: no table \"{}\"; there are {}", shorten(name),
                          list_words(reproducible())));
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed)
    throw Error(ErrorKind::cannot_write,
                fmt::format("reproduce: the folder {} cannot be made: {}", folder.string(),
                            failed.message()),
                "choose another one: fmd reproduce TABLE -o FOLDER");
}

void remove_checkpoints(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> all;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".checkpoint") all.push_back(entry.path());
  for (const std::filesystem::path& file : all) internal::disk::remove(file);
  internal::disk::remove_empty_folder(folder);
}

}  // namespace

std::string shown_beside(const std::string& name) {
  return find_spec(name).settings.word("beside");
}

std::vector<std::string> reproducible() {
  std::vector<std::string> names;
  for (const repro::Spec& spec : repro::specs()) names.push_back(spec.name);
  return names;
}

ReproducedTable reproduce(const std::string& name, const ReproduceOptions& options,
                          const Exec& exec) {
  const repro::Spec& spec = find_spec(name);
  if (options.seeds.empty())
    throw Error(ErrorKind::bad_option, "reproduce: no seeds", "give at least one");
  const repro::Experiment run = repro::find_experiment(spec.experiment);
  const bool trains =
      std::any_of(spec.rows.begin(), spec.rows.end(),
                  [](const repro::SpecRow& row) { return row.method == "network"; });
  const std::filesystem::path checkpoints =
      trains ? options.checkpoints : std::filesystem::path();
  if (!checkpoints.empty()) make_folder(checkpoints);
  repro::World world(options.data, options.features, options.model, checkpoints);
  repro::UnitCache cache(options.cache, options.fresh);
  ReproducedTable table{.name = spec.name,
                        .title = spec.title,
                        .source = spec.source,
                        .columns = spec.columns,
                        .cases = {},
                        .notes = spec.notes,
                        .seeds = options.seeds,
                        .quick = options.quick,
                        .machine = describe_machine(exec),
                        .version = version()};
  for (const repro::SpecCase& c : spec.cases) {
    std::vector<repro::UnitResult> units;
    for (const std::uint64_t seed : options.seeds) {
      const repro::Unit unit{.spec = &spec,
                             .c = &c,
                             .settings = spec.all(c, options.quick),
                             .seed = seed,
                             .quick = options.quick};
      // Figures of one model are not those of another one.
      const std::string model = options.model.empty() || spec.experiment != "stereotypes"
                                    ? ""
                                    : " " + options.model.filename().string();
      const std::string key = repro::unit_key(unit) + model;
      if (const repro::UnitResult* known = cache.find(key)) {
        units.push_back(*known);
        continue;
      }
      const repro::Stopwatch start;
      Exec seeded = exec;
      seeded.seed = seed;
      units.push_back(run(world, unit, seeded));
      cache.add(key, units.back());
      if (options.say)
        options.say(fmt::format("{} {}, seed {} ({} of {}): {:.0f} s", spec.name, c.name,
                                seed, units.size(), options.seeds.size(), start.seconds()));
    }
    table.cases.push_back(summarise(spec, c, units));
  }
  if (!checkpoints.empty()) remove_checkpoints(checkpoints);
  return table;
}

}  // namespace fmd
