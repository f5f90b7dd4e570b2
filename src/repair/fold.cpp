#include "repair/fold.h"

#include <algorithm>

#include "core/index.h"

namespace fmd::internal {
namespace {

// The pairs whose source row is taken. Both sides keep their features; only the lists of
// rows are new.
void take_pairs(const PairSet& all, const std::vector<char>& taken, SomeRows& some) {
  PairSet set;
  set.attribute = all.attribute;
  some.c.emplace_back();
  some.cbar.emplace_back();
  some.unit_place.emplace_back();
  Index place = -1;
  for (Index i = 0; i < all.size(); ++i) {
    const Index unit = all.unit[at(i)];
    if (i == 0 || unit != all.unit[at(i - 1)]) ++place;
    if (taken[at(all.c.row(i))] == 0) continue;
    if (set.unit.empty() || set.unit.back() != unit)
      some.unit_place.back().push_back(place);
    some.c.back().push_back(all.c.row(i));
    some.cbar.back().push_back(all.cbar.row(i));
    set.unit.push_back(unit);
    set.weight.push_back(all.weight[at(i)]);
    if (!all.from.empty()) set.from.push_back(all.from[at(i)]);
    if (!all.to.empty()) set.to.push_back(all.to[at(i)]);
  }
  set.c = all.c;
  set.cbar = all.cbar;
  set.c.subset = some.c.back();
  set.cbar.subset = some.cbar.back();
  some.part.pairs.push_back(std::move(set));
}

SomeRows some_rows(const HeadPart& part, std::vector<Index> rows) {
  SomeRows some;
  some.rows = std::move(rows);
  some.part.source = part.source;
  some.part.attributes = part.attributes;
  some.part.rows = part.rows;
  some.part.rows.subset = some.rows;
  std::vector<char> taken(at(part.rows.X->rows()), 0);
  for (const Index row : some.rows) taken[at(row)] = 1;
  // The lists are not moved any more: sets point into them.
  some.c.reserve(part.pairs.size());
  some.cbar.reserve(part.pairs.size());
  for (const PairSet& set : part.pairs) {
    if (set.size() == 0) {  // a matched attribute
      some.part.pairs.push_back(set);
      some.unit_place.emplace_back();
      continue;
    }
    take_pairs(set, taken, some);
  }
  return some;
}

std::vector<Index> other_folds(const HeadProblem& whole, std::size_t fold) {
  std::vector<Index> rows;
  for (std::size_t k = 0; k < whole.folds.size(); ++k)
    if (k != fold) rows.insert(rows.end(), whole.folds[k].begin(), whole.folds[k].end());
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace

FoldProblem::FoldProblem(const HeadProblem& whole, std::size_t k)
    : others(some_rows(whole.edit, other_folds(whole, k))),
      fold(some_rows(whole.edit, whole.folds[k])),
      problem(whole) {
  problem.edit = others.part;
  problem.holdout = fold.part;
  problem.folds.clear();
  problem.redraw = nullptr;  // it draws rows of every fold
}

}  // namespace fmd::internal
