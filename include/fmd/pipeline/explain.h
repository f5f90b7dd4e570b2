#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/fields.h"
#include "fmd/formats/model_source.h"
#include "fmd/pipeline/read.h"
#include "fmd/pipeline/source.h"
#include "fmd/pipeline/study.h"
#include "fmd/report/explain_report.h"

namespace fmd {

struct ExplainOptions {
  // "co", "co_tv", "demographic_parity_soft", "equal_opportunity_soft",
  // "false_positive_soft", each "MEASURE" (for every attribute it applies to) or
  // "MEASURE:ATTRIBUTE"; "loss".
  std::vector<std::string> measures = {"co"};
  Index check = 0;  // leave out this many of the strongest rows and refit; 0 = no check
  bool hessian_on_data = false;  // H over DATA's rows in place of the training rows
  Solver solver = Solver::automatic;
  double damping = -1;  // -1: by the rule
  // Of cg: |H x - b| / |b|. -1: 1e-3, where changes agree to r = 1.0000. With hidden layers
  // 3e-2 (r = .999): there the Gauss-Newton matrix and its damping are further from a
  // refit.
  double tolerance = -1;
  // Boosted trees: learning rate and l2 of leaves; solved from the leaf values where they
  // are 0 and -1.
  double eta = 0, lambda = -1;
  std::filesystem::path cache;  // folder for factors; empty = none is kept
  Index layers = 1;       // of a network: how many top layers are explained, see cut_layers
  TaskChanges task = {};  // of the model's task
  // Features in a temporary file instead of memory; always for files over 256 MB. It stands
  // beside `beside`, or in the folder for temporary files where that is empty.
  bool spill = false;
  std::filesystem::path beside = {};
};

// Every field that is a setting. The list points into `options`.
[[nodiscard]] std::vector<OptionField> fields(ExplainOptions& options);

struct Explanation {
  ExplainReport report;
  Matrix change;                    // training rows x measures of the report, in its order
  Study train;                      // as the model sees it
  std::vector<std::string> images;  // columns of its table that name the rows' images

  // Columns row, names of images, label, the attributes and change (one per measure). The
  // strongest row by the first measure comes first, equal ones by row. The text comes in
  // pieces.
  void write_csv(const std::function<void(std::string_view)>& sink, const Exec& exec,
                 CsvGuard guard = CsvGuard::none) const;
};

// Which rows of `train` (with its weights in F) the gaps of a model on `data` come from.
// Both need labels and the attributes of the model's task. The pairs of a measure are
// made slice by slice. Beyond the features, which can stay in a file, about 50 bytes are
// held for a training row. Throws Error(attribute_not_read) for a flip measure of an
// attribute that the model does not read, Error(bad_option) for unknown measures and
// attributes, and what reading, encoding and influence() throw.
[[nodiscard]] Explanation explain(const ModelSource& model, const DataSource& data,
                                  const DataSource& train, const ExplainOptions& options,
                                  const Exec& exec);

}  // namespace fmd
