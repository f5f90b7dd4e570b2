// Which training rows does a flip gap come from? Predicted by one solve, checked by a
// refit.

#include <cstdio>

#include "fmd/core/blas.h"
#include "fmd/data/datasets.h"
#include "fmd/data/split.h"
#include "fmd/influence/ranking.h"
#include "fmd/pipeline/explain.h"
#include "fmd/pipeline/train_model.h"

int main() {
  fmd::setup_blas();
  const fmd::Table table = fmd::load_dataset("demo", "");
  const fmd::Task task = fmd::find_dataset("demo").task;
  const auto parts =
      fmd::split_rows(fmd::labels(table, task), fmd::parse_parts("train=.5,test=.5"), 1);
  fmd::ThreadPool pool;
  const fmd::Exec exec{.pool = &pool};
  const fmd::Table train = fmd::select(table, parts[0]);
  const fmd::ModelInMemory model(fmd::train_model(train, task, "", {}, exec).model);

  // The flip gap of sex on the test rows; 100 rows are left out to check the prediction.
  fmd::ExplainOptions options;
  options.measures = {"co:sex"};
  options.check = 100;
  const fmd::Explanation found =
      fmd::explain(model, fmd::DataSource::table(fmd::select(table, parts[1])),
                   fmd::DataSource::table(train), options, exec);
  const fmd::ExplainedMeasure& gap = found.report.measures[0];
  std::printf("flip gap of sex %.2f, at an optimum: %s\n", gap.value,
              found.report.at_optimum ? "yes" : "no");

  std::printf("leave out 100 rows of    predicted change\n");
  for (const fmd::InfluenceCell& cell : gap.cells)
    std::printf("  %-6s %-8s        %+.3f\n",
                gap.values[static_cast<std::size_t>(cell.group)].c_str(),
                task.classes[static_cast<std::size_t>(cell.label)].c_str(), cell.per_100());

  const std::span<const double> change(found.change.data(),
                                       static_cast<std::size_t>(found.change.rows()));
  std::printf("strongest rows:");
  for (const fmd::Index row : fmd::most_harmful(change, 3))
    std::printf(" %lld", static_cast<long long>(row + 1));
  std::printf(
      "\nwithout the %lld strongest: predicted %+.3f, one Newton step %+.3f, "
      "refitted %+.3f\n",
      static_cast<long long>(gap.check->rows), gap.check->predicted, gap.check->newton,
      gap.check->refitted);
  return 0;
}
