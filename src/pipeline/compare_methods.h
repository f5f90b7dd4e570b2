#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fmd/baselines/baseline.h"
#include "pipeline/candidates.h"

namespace fmd::internal {

// What methods are made from: the model, the rows, and the attribute in question.
struct CompareGround {
  const Model& model;
  const Study& study;  // all rows of DATA
  const Study* train;  // rows that the model was trained on; null: none are given
  std::size_t attribute = 0;
  StudyPart edit;      // with the flip pairs of the attribute where the model reads it
  bool reads = false;  // the model reads the attribute, and it can be flipped
  BaselineProblem problem;
};

struct CompareMethod {
  std::string name, title, kind, source, needs;
  bool decisions_only = false;
  bool needs_attribute = false;  // when it answers
  std::string reason;            // why it does not apply; empty: it does
  std::function<std::vector<BaselineCandidate>(const Exec&)> fit = {};
};

// All methods. One that does not apply has a reason. The ground must outlive the result.
[[nodiscard]] std::vector<CompareMethod> all_methods(const CompareGround& ground);

}  // namespace fmd::internal
