#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/model/head_problem.h"
#include "fmd/model/linear_head.h"
#include "fmd/model/rows.h"

namespace fmd {

// One interface to the rival methods: what they are given (a HeadProblem with a linear head
// and one attribute), what they return, and what they need when they answer. The hold-out
// is not looked at: the caller chooses between the candidates. How to add a method: see the
// table in src/baselines/baseline.cpp.

// Rows that a fitted method answers, with their attribute. group: one entry per row of
// rows.X, -1 = not known.
struct BaselineRows {
  Rows rows;
  std::span<const std::int32_t> group;
};

// Answers to some rows. Where a method gives no probabilities, p = decision. The model's
// scores would be wrong there: the method does not use them to answer, and their flip gap
// would say that nothing changed. A method that draws lots gives the probability of each
// decision; figures computed from these are expected values.
struct Answers {
  Matrix p;         // rows x classes
  Matrix decision;  // rows x classes: probability that the class is decided
};

// The class of every row: the decided one, or a drawn one where the method draws lots.
[[nodiscard]] std::vector<std::int32_t> draw_decisions(const Answers& answers,
                                                       std::uint64_t seed);

// What the training of a network took.
struct NetworkNote {
  Index steps = 0;
  double seconds = 0, cpu = 0;
  // Some steps, each with the figures of BaselineOptions::watch.
  std::vector<std::pair<Index, std::vector<double>>> curve = {};
};

// A fitted method. answer() may be called by several threads, and after the problem's rows
// are gone. It depends only on its argument. Where the method looks at rows together, the
// answer to one row depends on all rows of the argument.
struct BaselineCandidate {
  std::string setting;  // "cost=fpr"; empty: the method has no settings
  std::function<Answers(const BaselineRows&, const Exec&)> answer;
  NetworkNote training = {};  // of methods that train a network
};

struct BaselineInfo {
  const char* name;   // "eqodd"
  const char* title;  // "equalised odds"
  const char* source;
  const char* needs;  // when it answers: "nothing", "the attribute", ...
  bool two_classes, two_groups, favorable, trains;  // what it requires of the problem
  bool decisions_only;                              // it gives no probabilities
  bool whole_head = false;                          // it needs all weights and an intercept
  // It trains a network of its own with PyTorch, which takes long: only where it is asked
  // for by name.
  bool network = false;
};

struct BaselineOptions {
  // Folder that exists, where trainings of networks leave their state, so that a run that
  // was stopped goes on. Empty: none is kept.
  std::filesystem::path checkpoints = {};
  std::vector<Index> hidden = {100, 100};  // widths of the networks' hidden layers
  double effort = 1;                       // multiplies the steps of a training
  // Rows are images: channels, height and width. The biased network of ReBias then sees
  // single pixels. Empty: they are not.
  std::vector<Index> image = {};
  // Called about ten times in each training with the network so far.
  std::function<std::vector<double>(const BaselineCandidate&)> watch = {};
};

// reweigh, influence-reweigh, eqodd, ceqodd, reject, group-thresholds, ppif, dfr; networks:
// plain-network, groupdro, lff, ldr, rebias, sensr, sensei.
[[nodiscard]] const std::vector<BaselineInfo>& baselines();
[[nodiscard]] const BaselineInfo* find_baseline(const std::string& name);  // null: none

// The reason why a method cannot be used here; empty: it can.
[[nodiscard]] std::string why_not(const BaselineInfo& info, const HeadProblem& problem);

// All candidates of a method, one for each setting. Throws Error(bad_option: no such
// method; unsupported: why_not; bad_data: a cell without rows; bad_shape).
[[nodiscard]] std::vector<BaselineCandidate> fit_baseline(
    const std::string& name, const HeadProblem& problem, const Exec& exec,
    const BaselineOptions& options = {});

// Answers of a linear head: its probabilities, and decisions by the threshold (two classes)
// or for the most probable class (more classes).
[[nodiscard]] Answers head_answers(const LinearHead& head, const Vector& theta,
                                   double threshold, const Rows& rows, const Exec& exec);

}  // namespace fmd
