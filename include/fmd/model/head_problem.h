#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/types.h"
#include "fmd/data/pair_kind.h"
#include "fmd/model/head.h"
#include "fmd/model/pairs.h"
#include "fmd/model/rows.h"

namespace fmd {

// What every repair, control and rival method works on: a head, rows as features, pairs and
// groups. Whoever makes one knows where the features come from; nobody who takes one does.
// All of it are views: tables, features and models must outlive it.

// An attribute's value for every row of some Rows.
struct GroupCodes {
  std::string name;
  std::span<const std::int32_t> code;  // per row of rows.X; -1 = not known
  Index values = 0;
};

// Some rows with their pairs and groups.
struct HeadPart {
  std::string source = "";  // name of the file, for messages
  Rows rows = {};
  // One set for each repaired attribute, in the order of HeadProblem::repaired. A matched
  // attribute has an empty set: its repair fits rows.
  std::vector<PairSet> pairs = {};
  std::vector<GroupCodes> attributes = {};  // all of the task
};

// Pairs together with what they point into.
struct KeptPairs {
  std::vector<PairSet> sets;
  std::shared_ptr<const void> owner;
};

struct RepairedAttribute {
  std::size_t attribute = 0;  // position in HeadPart::attributes
  PairKind kind = PairKind::flip;
};

struct HeadProblem {
  const Head* head = nullptr;
  Vector theta;
  double l2 = 0;           // of the head's training
  double threshold = 0.5;  // two classes: class 1 at p >= threshold
  int favorable = -1;      // class that is good for the person; -1 = none is named
  Index min_group = 100;   // values with fewer rows are not compared
  std::vector<RepairedAttribute> repaired;
  // Features that carry the repaired attributes. None: the head does not read columns.
  std::optional<std::vector<Index>> attribute_features;

  HeadPart edit;  // labelled rows that the head was not trained on
  // Rows that a choice is made on. With folds: the edit part itself.
  HeadPart holdout;
  // Cross-fitting: row numbers of the edit part, ascending. Every edit row is in one fold,
  // and its pairs with it. Candidates are judged on each fold as they come out without it.
  // Empty: they are judged on the hold-out.
  std::vector<std::vector<Index>> folds;
  std::optional<HeadPart> train;  // rows that it was trained on, with their weights
  // Given training rows, out: the rows, in: their counterparts (Eq. 8), one set for each
  // repaired attribute. Weights are those of the rows.
  std::function<KeptPairs(std::span<const Index> rows, const Exec& exec)> replaced;
  // Leaves of trees: the features, ascending, that can differ between the sides of a pair.
  // Repairs change these first; the others hold. Empty: every feature, or no trees.
  std::vector<Index> touched = {};
  // Pairs of parameters: the first must not be above the second, so that the answer never
  // falls, or never rises, with an input. keeps_rules tells whether parameters of this
  // problem do so; null: there are no rules.
  std::vector<std::pair<Index, Index>> ordered = {};
  std::function<bool(const Vector& theta)> keeps_rules = {};
  // Pairs of training rows for a repair of leaves: pairs need no labels. Null: none.
  std::shared_ptr<const KeptPairs> more_pairs = {};
  // Other pairs of the edit part for each epoch; null: there are none. Valid until the next
  // call.
  std::function<std::span<const PairSet>(int epoch)> redraw;

  [[nodiscard]] const GroupCodes& group(const HeadPart& part, std::size_t k) const {
    return part.attributes[repaired[k].attribute];
  }
  [[nodiscard]] bool all_of_kind(PairKind kind) const;
};

}  // namespace fmd
