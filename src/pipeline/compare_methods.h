#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/internal.h"
#include "fmd/baselines/baseline.h"
#include "fmd/data/limit.h"
#include "fmd/model/head_problem.h"

namespace fmd::internal {

// What methods are made from: the problem of one attribute, with the flip pairs of the edit
// part where the model reads it.
struct CompareGround {
  HeadProblem problem;
  bool flips = false;                // the attribute's values can be set
  bool reads = false;                // the model reads the attribute, and it can be flipped
  bool trees = false;                // only their own library can fit them again
  std::optional<Limit> target = {};  // a gap between groups that solve aims at
  BaselineOptions baseline = {};
};

struct CompareMethod {
  std::string name, title, kind, source, needs;
  bool decisions_only = false;
  bool needs_attribute = false;  // when it answers
  std::string reason;            // why it does not apply; empty: it does
  bool by_name = false;          // only where it is asked for
  std::function<std::vector<BaselineCandidate>(const Exec&)> fit = {};
};

inline constexpr const char* kVanilla = "vanilla";

// All methods: controls, those of fmd debias, rivals. One that does not apply has a reason.
// The ground must outlive the result.
[[nodiscard]] std::vector<CompareMethod> all_methods(const CompareGround& ground);

}  // namespace fmd::internal
