// Trains a model on the built-in table and measures how it treats men and women.

#include <cstdio>

#include "fmd/core/blas.h"
#include "fmd/data/datasets.h"
#include "fmd/data/split.h"
#include "fmd/pipeline/audit.h"
#include "fmd/pipeline/train_model.h"

int main() {
  fmd::setup_blas();  // one BLAS thread, the right kernel
  // Half of the 30,000 rows to train on, half to measure on, with the same share of labels.
  const fmd::Table table = fmd::load_dataset("demo", "");
  const fmd::Task task = fmd::find_dataset("demo").task;
  const auto parts =
      fmd::split_rows(fmd::labels(table, task), fmd::parse_parts("train=.5,test=.5"), 1);
  const fmd::Table train = fmd::select(table, parts[0]);

  fmd::ThreadPool pool;
  const fmd::Exec exec{.pool = &pool};
  const fmd::Model model = fmd::train_model(train, task, "", {}, exec).model;

  // Every row as it is, and with sex (or race) changed.
  const fmd::AuditReport report =
      fmd::audit(fmd::ModelInMemory(model),
                 fmd::DataSource::table(fmd::select(table, parts[1])), {}, exec);

  const fmd::AttributeAudit& sex = *report.find("sex");
  const fmd::Interval co = sex.flip->co;
  std::printf("accuracy            %.2f\n", report.accuracy.value);
  std::printf("flip gap of sex     %.2f  (%.2f .. %.2f)\n", co.value, co.low, co.high);
  for (const fmd::Group& group : sex.groups.groups)
    std::printf("answered yes        %.2f  %s\n", group.selection_rate.value,
                group.value.c_str());
  const bool pass = fmd::judge(co, 0.02) == fmd::Verdict::pass;
  std::printf("flip gap <= 0.02    %s\n", pass ? "pass" : "fail");
  return 0;
}
