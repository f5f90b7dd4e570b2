// write_states FOLDER: the states of tests/compat, written with the library that this
// program is linked with. tools/make_compat.py compiles and runs it; it is no part of the
// build.
//
//   FOLDER/states   rows.csv.gz and pairs.csv.gz are there; NAME.{all,first,second}.state
//   and
//                   figures.csv are written
//   FOLDER/tasks    for each NAME.toml that is there NAME.json is written

#include <iterator>

#include "compat/states.h"
#include "fmd/core/output_files.h"
#include "fmd/data/task.h"

namespace fmd::test {
namespace {

std::string figure_lines;

void put(const std::filesystem::path& path, std::string_view text) {
  OutputFiles files({.force = true});
  files.write(path, text);
  files.commit();
}

template <typename State>
void put_state(const std::filesystem::path& path, const State& state) {
  ByteWriter out;
  state.save(out);
  OutputFiles files({.force = true});
  files.write(path, out.bytes());
  files.commit();
}

template <typename Kind, typename Rows>
void write(const Kind& kind, const Rows& rows, Index count, Index border,
           const std::filesystem::path& folder) {
  const auto whole = kind.make(rows, 0, count);
  put_state(folder / (kind.name + ".all.state"), whole);
  put_state(folder / (kind.name + ".first.state"), kind.make(rows, 0, border));
  put_state(folder / (kind.name + ".second.state"), kind.make(rows, border, count));
  for (const auto& [name, value] : figures_of(whole))
    figure_lines += fmt::format("{},{},{}\n", kind.name, name, value);
}

void write_all(const std::filesystem::path& folder) {
  const std::filesystem::path states = folder / "states";
  const StateRows rows = read_state_rows(states / "rows.csv.gz");
  const Index border = first_part(rows.size());
  for (const TallyState& kind : tally_states())
    write(kind, rows, rows.size(), border, states);
  for (const FlipState& kind : flip_states()) {
    const PairScores pairs = read_state_pairs(states / "pairs.csv.gz", kind.plan.classes);
    write(kind, pairs, pairs.p.rows(), first_part(pairs.p.rows()), states);
  }
  write(HistogramState{}, rows, rows.size(), border, states);
  write(ScanCountsState{}, rows, rows.size(), border, states);
  const Index blocks = ScanFlipsState::kRows * (border / ScanFlipsState::kRows);
  write(ScanFlipsState{}, rows, rows.size(), blocks, states);
  write(HessianState{}, rows, rows.size(), border, states);
  put(states / "figures.csv", "state,figure,value\n" + figure_lines);
  for (const auto& entry : std::filesystem::directory_iterator(folder / "tasks")) {
    if (entry.path().extension() != ".toml") continue;
    std::filesystem::path json = entry.path();
    put(json.replace_extension(".json"),
        to_json(merge(Task{}, read_task(entry.path()))) + "\n");
  }
}

}  // namespace
}  // namespace fmd::test

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  fmd::test::write_all(argv[1]);
  return 0;
}
