#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/data/table.h"
#include "fmd/model/model.h"
#include "fmd/pipeline/debias_options.h"
#include "fmd/report/debias_report.h"

namespace fmd {

// The attributes' second file, joined to every table: what a receipt says about it.
struct GroupsNote {
  std::string name, sha256, key;
};

struct DebiasInput {
  Model model;
  std::string model_name;
  Table data;
  std::string data_sha256;
  std::optional<Table> holdout, train, test;
  std::string holdout_sha256, train_sha256, test_sha256;
  std::optional<GroupsNote> groups = {};
  InputFiles inputs = {};  // that the model's inputs are made of
};

// A repair: candidates are made on the edit part, and one is chosen on the hold-out.
// Nothing is written and the input is not changed. measure() measures the figures of the
// report.
class DebiasRun {
 public:
  // Throws Error(attribute_not_read), Error(bad_data) (too few rows for a hold-out, one
  // class only), Error(bad_option) (also: remove or replace without training rows), and
  // what reading and encoding throw.
  DebiasRun(DebiasInput input, DebiasOptions options, const Exec& exec);
  ~DebiasRun();
  DebiasRun(const DebiasRun&) = delete;
  DebiasRun& operator=(const DebiasRun&) = delete;

  [[nodiscard]] bool found() const;  // a candidate met the rule
  // The chosen one, or the original when none was found.
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
