#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fmd/data/task.h"
#include "fmd/influence/ranking.h"
#include "fmd/influence/refit.h"
#include "fmd/report/sheet.h"

namespace fmd {

// Where one measure comes from.
struct ExplainedMeasure {
  std::string measure;               // "co", "demographic_parity_soft", ...
  std::string attribute;             // empty for "loss"
  std::vector<std::string> values;   // of the attribute
  double value = 0;                  // size of the gap on DATA
  std::vector<InfluenceCell> cells;  // label x attribute of the training rows
  // Training rows with a negative change (they raise the gap) and with a positive one (they
  // lower it).
  Index rests_on = 0, against = 0;
  std::optional<RemovalCheck> check;  // --check K: the K strongest rows left out at once
  std::optional<Removal> rounds;      // the same in rounds, where K is large

  [[nodiscard]] std::string name() const {  // "co:sex"
    return attribute.empty() ? measure : measure + ":" + attribute;
  }
};

// How boosted trees were explained.
struct BoostingNote {
  double eta = 0, lambda = 0;
  double residual = 0;  // largest difference between a leaf value and the refitted one
};

// Which training rows a model's gaps come from, as plain data.
struct ExplainReport {
  std::string model, model_sha256;
  std::string data, data_sha256, train, train_sha256;
  Index data_rows = 0, train_rows = 0;
  Index known = -1;  // of these training rows: used to train the model; -1 = not known
  Task task;
  std::string hessian_source;  // "train" | "data"
  double l2 = 0;
  InverseSummary solve;
  std::optional<BoostingNote> boosting;  // of trees; solve is then empty
  double relative_gradient = 0;
  bool at_optimum = true;
  std::vector<ExplainedMeasure> measures;
  std::uint64_t seed = 0;
  std::vector<std::string> notes = {};  // what was left out, counted or taken for something

  // Some of the rows given as training rows were not used to train the model.
  [[nodiscard]] bool other_rows() const { return known >= 0 && known < train_rows; }
};

[[nodiscard]] Sheet sheet_of(const ExplainReport& report);
// The cells and the check of one measure, in the form that the demo shows.
[[nodiscard]] SheetSection explain_table(const ExplainReport& report, std::size_t measure);
[[nodiscard]] std::string to_json(const ExplainReport& report);

}  // namespace fmd
