#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/model/head_problem.h"
#include "repro/spec.h"

namespace fmd::repro {

// Rows that own their features and labels. May be moved, not copied.
struct OwnedRows {
  std::shared_ptr<const Features> X;
  std::vector<std::int32_t> y;

  OwnedRows() = default;
  OwnedRows(std::shared_ptr<const Features> features, std::vector<std::int32_t> labels)
      : X(std::move(features)), y(std::move(labels)) {}
  OwnedRows(OwnedRows&&) = default;
  OwnedRows& operator=(OwnedRows&&) = default;
  [[nodiscard]] Rows rows() const { return {X.get(), y, {}, {}}; }
};

// Pairs that own their features and labels: entry i of c against each of its `copies`
// counterparts.
struct OwnedPairs {
  OwnedRows c, cbar;
  std::vector<Index> subset;
  std::vector<PairSet> sets;  // one

  OwnedPairs() = default;
  // cbar: row i * copies + k is counterpart k of row i of c.
  OwnedPairs(std::shared_ptr<const Features> factual,
             std::shared_ptr<const Features> counterpart, std::vector<std::int32_t> label);
  OwnedPairs(OwnedPairs&&) = default;
  OwnedPairs& operator=(OwnedPairs&&) = default;
};
[[nodiscard]] KeptPairs kept(OwnedPairs pairs);

// One part of the external rows: accuracy is measured on rows, bias on pairs.
struct Side {
  OwnedRows rows;
  OwnedPairs pairs;
  std::vector<std::int32_t> group = {};  // of the rows' attribute; empty: not looked at
};

// A head to be edited, with all that an edit may look at. All features come from the same
// frozen layers. `problem` is what repair works on: its edit part has the pairs and their
// factual rows, its hold-out the rows and the pairs. The rest owns what it points into, and
// has the rows that report.
struct Stage {
  HeadProblem problem;
  std::shared_ptr<const Head> head;
  OwnedRows train;  // X null: none
  Side edit, holdout, report;
  std::vector<std::int32_t> edit_group = {};  // of both sides of the edit pairs, for DFR
};
// Fills the head, the parts and the training rows of the problem.
void connect(Stage& stage);

struct Score {
  double accuracy = 0, bias = 0;  // share of right decisions, flip gap
  // Two classes and groups: differences of the shares of class 1, and of these among rows
  // of class 1. NaN where the side has no groups.
  double parity = std::numeric_limits<double>::quiet_NaN();
  double opportunity = std::numeric_limits<double>::quiet_NaN();
};
[[nodiscard]] Score score(const Head& head, const Vector& theta, const Side& side,
                          const Exec& exec);

// One setting of an edit.
struct EditCandidate {
  Vector theta;
  std::string setting;
  double seconds = 0, cpu = 0;  // to make this one, where each is made alone
};
// How a candidate is chosen on the hold-out: the most accurate one with bias <= target_bias
// that loses at most one point of accuracy against the trained head. Where there is none,
// `otherwise` decides. "accuracy": the most accurate one. "budget": the least biased one
// that loses at most one point, or the most accurate one where all lose more.
struct Rule {
  double target_bias = 0;
  bool budget = false;  // otherwise = "budget"
};
[[nodiscard]] Rule rule_of(const Settings& settings);
[[nodiscard]] std::size_t choose_edit(const Stage& stage,
                                      const std::vector<EditCandidate>& candidates,
                                      const Rule& rule, const Exec& exec);

// The time since it was made.
class Stopwatch {
 public:
  Stopwatch();
  [[nodiscard]] double seconds() const;  // by the wall clock
  [[nodiscard]] double cpu() const;      // of the process, all threads
 private:
  double wall_, cpu_;
};

// Both sides of the pairs as rows to learn from, c first.
[[nodiscard]] OwnedRows both_sides(const PairSet& pairs);

}  // namespace fmd::repro
