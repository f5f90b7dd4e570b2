// The leaves and the margins of made-up rows for a model of trees, one thread.
//
//   trees_bench MODEL ROWS TURNS
//
// Every number is drawn evenly from 0 to 1, as those that bench/rivals/trees_python.py
// trains on and times its libraries with. Prints one line of JSON: the shortest CPU seconds
// for the number of the leaf of every row in every tree, and for the margins from them.

#include <cstdio>
#include <cstdlib>

#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "fmd/formats/model_file.h"
#include "fmd/model/passes.h"
#include "fmd/model/tree_backbone.h"
#include "stopwatch.h"

namespace fmd::bench {
namespace {

Table made_up(const InputSchema& inputs, Index rows) {
  Rng rng(1, "trees bench");
  Table table;
  table.source = "made-up rows";
  for (const InputColumn& input : inputs.columns) {
    if (input.kind != ColumnKind::number)
      throw Error(ErrorKind::unsupported, "trees_bench: a column is no number");
    Column column{.name = input.name};
    column.numbers.resize(static_cast<std::size_t>(rows));
    for (double& value : column.numbers) value = rng.uniform();
    table.columns.push_back(std::move(column));
  }
  return table;
}

int measure_trees(const char* file, Index rows, int turns) {
  const Model model = open_model(file);
  const TreeEnsemble* trees = trees_of(*model.backbone);
  if (trees == nullptr)
    throw Error(ErrorKind::unsupported, "trees_bench: the model has no trees");
  const Table table = made_up(model.backbone->inputs(), rows);
  Seconds leaves, margins;
  for (int turn = 0; turn < turns; ++turn) {
    std::unique_ptr<Features> X;
    leaves.keep_shorter(
        time_of([&] { X = model.backbone->features(Inputs(table), {}, {}); }));
    Rows all;
    all.X = X.get();
    Matrix z;
    margins.keep_shorter(
        time_of([&] { z = all_logits(*model.head, all, model.theta, {}); }));
    benchmark::DoNotOptimize(z.data());
  }
  std::printf(
      "{\"rows\": %lld, \"trees\": %zu, \"leaves\": {\"cpu_s\": %.4f, \"wall_s\": "
      "%.4f}, \"margins\": {\"cpu_s\": %.4f, \"wall_s\": %.4f}}\n",
      static_cast<long long>(rows), trees->trees.size(), leaves.cpu, leaves.wall,
      leaves.cpu + margins.cpu, leaves.wall + margins.wall);
  return 0;
}

}  // namespace
}  // namespace fmd::bench

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "trees_bench MODEL ROWS TURNS\n");
    return 2;
  }
  try {
    return fmd::bench::measure_trees(argv[1], std::atoll(argv[2]), std::atoi(argv[3]));
  } catch (const fmd::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
