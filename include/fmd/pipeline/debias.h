#pragma once

#include <memory>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/formats/model_source.h"
#include "fmd/model/model.h"
#include "fmd/pipeline/debias_options.h"
#include "fmd/pipeline/source.h"
#include "fmd/report/debias_report.h"

namespace fmd {

struct Repair {
  DebiasReport report;
  RunNote run;
  Vector
      theta;  // of the whole model, see ModelSource::with_theta; empty: none met the rule

  [[nodiscard]] bool found() const { return theta.size() > 0; }
};

// Lowers a measured bias of `model`. Candidates are made on one part of `data` (labelled
// rows that the model was not trained on), and one is chosen on the other part. The figures
// are measured on the repaired model: on OUT after it was read back where options.save
// names one, otherwise on model.with_theta(). When no candidate meets the rule, nothing is
// written and the figures are those of the original. Nothing of the input is changed.
// Throws Error(attribute_not_read), Error(bad_data) (too few rows for a hold-out, one class
// only), Error(bad_option) (also: remove or replace without training rows),
// Error(unsupported) (OUT for a model that is no file), and what reading, encoding and
// writing throw.
[[nodiscard]] Repair debias(const ModelSource& model, const DataSource& data,
                            const DebiasOptions& options, const Exec& exec);

// The same in two steps, for work that looks at the candidates: the constructor makes and
// chooses, measure() measures. Nothing is written.
class DebiasRun {
 public:
  DebiasRun(const ModelSource& model, const DataSource& data, DebiasOptions options,
            const Exec& exec);
  ~DebiasRun();
  DebiasRun(const DebiasRun&) = delete;
  DebiasRun& operator=(const DebiasRun&) = delete;

  [[nodiscard]] bool found() const;  // a candidate met the rule
  // The chosen one with its completed task, or the original when none was found.
  [[nodiscard]] const Model& model() const;
  [[nodiscard]] const std::vector<Candidate>& candidates() const;

  // Figures of `repaired` (the file after it was read back) beside the original and the
  // controls.
  [[nodiscard]] DebiasReport measure(const Model& repaired) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fmd
