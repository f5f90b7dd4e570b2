// Takes the flip gap of sex out of a model and prints what that did, and what it cost.

#include <cstdio>

#include "fmd/core/blas.h"
#include "fmd/data/datasets.h"
#include "fmd/data/split.h"
#include "fmd/pipeline/debias.h"
#include "fmd/pipeline/train_model.h"

int main() {
  fmd::setup_blas();
  const fmd::Table table = fmd::load_dataset("demo", "");
  const fmd::Task task = fmd::find_dataset("demo").task;
  const auto parts = fmd::split_rows(fmd::labels(table, task),
                                     fmd::parse_parts("train=.5,repair=.2,test=.3"), 1);
  fmd::ThreadPool pool;
  const fmd::Exec exec{.pool = &pool};
  const fmd::Table train = fmd::select(table, parts[0]);

  const fmd::ModelInMemory model(fmd::train_model(train, task, "", {}, exec).model);

  fmd::DebiasOptions options;
  options.repair = {"sex"};
  options.max_accuracy_loss = 0.01;
  options.audit.intersections = false;
  options.train = fmd::DataSource::table(train);                        // curvature
  options.test = fmd::DataSource::table(fmd::select(table, parts[2]));  // only reported on
  // Rows that the model was not trained on: some to edit with, some to choose on.
  const auto data = fmd::DataSource::table(fmd::select(table, parts[1]));
  const fmd::Repair repair = fmd::debias(model, data, options, exec);
  if (!repair.found()) {
    std::printf("no candidate met the rule\n");
    return 1;
  }
  // model.with_theta(repair.theta) is the new model; the one that came in is unchanged.
  const fmd::DebiasReport& report = repair.report;
  std::printf("rule: %s\n", report.rule.c_str());
  std::printf("on test rows  accuracy  flip gap of sex  yes, Male - Female\n");
  for (const fmd::Contender& contender : report.figures()) {
    if (contender.name != "before" && contender.name != "repaired") continue;
    const fmd::AttributeAudit& sex = *contender.audit->find("sex");
    const fmd::GroupMeasure* parity = sex.groups.find("demographic_parity");
    std::printf("%-8s          %.2f             %.2f                %.2f\n",
                contender.name.c_str(), contender.audit->accuracy.value, sex.flip->co.value,
                parity->comparisons.at(0).difference.value);
  }
  return 0;
}
