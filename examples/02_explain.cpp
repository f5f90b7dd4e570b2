// Which training rows does a flip gap come from? Predicted by one solve, checked by a
// refit.

#include <cstdio>

#include "fmd/core/blas.h"
#include "fmd/data/datasets.h"
#include "fmd/data/split.h"
#include "fmd/influence/ranking.h"
#include "fmd/influence/refit.h"
#include "fmd/pipeline/study.h"
#include "fmd/pipeline/train_model.h"

int main() {
  fmd::setup_blas();
  const fmd::Table table = fmd::load_dataset("demo", "");
  const fmd::Task task = fmd::find_dataset("demo").task;
  const auto parts =
      fmd::split_rows(fmd::labels(table, task), fmd::parse_parts("train=.5,test=.5"), 1);
  fmd::ThreadPool pool;
  const fmd::Exec exec{.pool = &pool};
  fmd::Table train_table = fmd::select(table, parts[0]);
  const fmd::Model model = fmd::train_model(train_table, task, "", {}, exec).model;
  const fmd::Study train = fmd::make_study(model, std::move(train_table), task, true, exec);
  const fmd::Study test =
      fmd::make_study(model, fmd::select(table, parts[1]), task, true, exec);

  // The flip gap of sex on the test rows, as a function of theta.
  const auto sex = static_cast<std::size_t>(test.find("sex"));
  const fmd::StudyPairs made = fmd::make_flip_pairs(model, test, sex, {});
  const fmd::PairSet pairs = made.set(test);
  const auto co = fmd::make_measure("co");
  const fmd::BiasTarget target{co.get(), {.pairs = &pairs, .rows = {}, .group = {}}};

  fmd::InfluenceOptions options;
  options.curvature.l2 = model.note.l2;
  const fmd::InfluenceResult found = fmd::influence(fmd::linear_head(model), train.rows(),
                                                    model.theta, {target}, options, exec);
  const std::span<const double> change(found.change.data(),
                                       static_cast<std::size_t>(found.change.rows()));
  std::printf("flip gap of sex %.2f, at an optimum: %s\n", found.value[0],
              found.at_optimum() ? "yes" : "no");

  std::printf("leave out 100 rows of    predicted change\n");
  const fmd::Attribute& groups = train.attributes[sex];
  for (const fmd::InfluenceCell& cell : fmd::influence_cells(change, train.y, groups.code))
    std::printf("  %-6s %-8s        %+.3f\n",
                groups.values[static_cast<std::size_t>(cell.group)].c_str(),
                task.classes[static_cast<std::size_t>(cell.label)].c_str(), cell.per_100());

  const std::vector<fmd::Index> top = fmd::most_harmful(change, 100);
  std::printf("strongest rows:");
  for (std::size_t i = 0; i < 3; ++i)
    std::printf(" %lld", static_cast<long long>(top[i] + 1));
  const fmd::RemovalCheck check =
      fmd::check_removal(fmd::linear_head(model), train.rows(), model.theta, target, change,
                         top, {.l2 = model.note.l2}, exec);
  std::printf(
      "\nwithout the %lld strongest: predicted %+.3f, one Newton step %+.3f, "
      "refitted %+.3f\n",
      static_cast<long long>(check.rows), check.predicted, check.newton, check.refitted);
  return 0;
}
