#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "baselines/post_rows.h"
#include "core/check.h"
#include "fmd/core/error.h"

namespace fmd {
namespace {

constexpr const char* kWhere = "group thresholds";
constexpr Index kShares = 1000;

// A place where a group can be divided: between two different scores.
struct Cut {
  double threshold;
  double selected, true_positives;  // rows at or above it
};

struct GroupCuts {
  std::vector<Cut> cuts;  // selected ascending
  double rows = 0, positives = 0;

  [[nodiscard]] double correct(const Cut& c) const {
    const double false_positives = c.selected - c.true_positives;
    return c.true_positives + (rows - positives - false_positives);
  }
};

GroupCuts make_cuts(const PostRows& rows, std::int32_t group) {
  std::vector<std::pair<double, bool>> own;
  for (Index i = 0; i < rows.size(); ++i)
    if (rows.group[at(i)] == group)
      own.emplace_back(rows.score[at(i)], rows.favorable[at(i)] != 0);
  if (own.empty()) throw_empty(kWhere, group, "a label");
  std::sort(own.begin(), own.end(),
            [](const auto& a, const auto& b) { return a.first > b.first; });
  GroupCuts made;
  made.cuts.push_back({std::numeric_limits<double>::infinity(), 0, 0});
  Cut now{0, 0, 0};
  for (std::size_t i = 0; i < own.size(); ++i) {
    now.selected += 1;
    if (own[i].second) now.true_positives += 1;
    const bool last = i + 1 == own.size();
    if (!last && own[i + 1].first == own[i].first) continue;
    // Midway to the next score; that of the row itself where there is no number between.
    const double middle = last ? -std::numeric_limits<double>::infinity()
                               : own[i + 1].first + (own[i].first - own[i + 1].first) / 2;
    now.threshold = last || middle > own[i + 1].first ? middle : own[i].first;
    made.cuts.push_back(now);
  }
  made.rows = now.selected;
  made.positives = now.true_positives;
  return made;
}

// The cut whose share is nearest; of two equally near ones the more accurate.
const Cut& nearest(const GroupCuts& group, double share, bool among_positives) {
  const double of = among_positives ? group.positives : group.rows;
  const auto has = [&](const Cut& c) {
    return among_positives ? c.true_positives : c.selected;
  };
  const double wanted = share * of;
  const auto& cuts = group.cuts;
  const auto from = std::lower_bound(cuts.begin(), cuts.end(), wanted,
                                     [&](const Cut& c, double w) { return has(c) < w; });
  double best_distance = std::numeric_limits<double>::infinity();
  for (const auto it : {from, from == cuts.begin() ? from : from - 1})
    if (it != cuts.end())
      best_distance = std::min(best_distance, std::abs(has(*it) - wanted));
  // Several cuts have the same share of positives: the most accurate of them.
  const Cut* best = nullptr;
  const auto consider = [&](double count) {
    auto it = std::lower_bound(cuts.begin(), cuts.end(), count,
                               [&](const Cut& c, double w) { return has(c) < w; });
    for (; it != cuts.end() && has(*it) == count; ++it)
      if (best == nullptr || group.correct(*it) > group.correct(*best)) best = &*it;
  };
  for (const auto it : {from == cuts.begin() ? from : from - 1, from})
    if (it != cuts.end() && std::abs(has(*it) - wanted) == best_distance)
      consider(has(*it));
  return *best;
}

const Cut& most_accurate(const GroupCuts& group) {
  return *std::max_element(
      group.cuts.begin(), group.cuts.end(),
      [&](const Cut& a, const Cut& b) { return group.correct(a) < group.correct(b); });
}

}  // namespace

bool GroupThresholds::yes(double score, std::int32_t group) const {
  return score >= (group < 0 ? fallback : threshold[at(group)]);
}

GroupThresholds fit_group_thresholds(const PostRows& rows, Index groups,
                                     const std::string& criterion, double fallback) {
  const bool parity = criterion == "demographic_parity";
  const bool opportunity = criterion == "equal_opportunity";
  if (!parity && !opportunity && criterion != "accuracy") {
    throw Error(ErrorKind::bad_option,
                fmt::format("{}: there is no criterion {}", kWhere, criterion),
                "criteria: demographic_parity, equal_opportunity, accuracy");
  }
  require_option(groups >= 1, kWhere, "groups", groups, ">= 1");
  require_post_rows(kWhere, rows, groups);
  std::vector<GroupCuts> all;
  double total = 0;
  for (Index g = 0; g < groups; ++g) {
    all.push_back(make_cuts(rows, static_cast<std::int32_t>(g)));
    if (opportunity && all.back().positives == 0)
      throw_empty(kWhere, g, "a favourable label");
    total += all.back().rows;
  }
  GroupThresholds best;
  best.accuracy = -1;
  best.fallback = fallback;
  for (Index k = 0; k <= (criterion == "accuracy" ? 0 : kShares); ++k) {
    const double share = static_cast<double>(k) / static_cast<double>(kShares);
    GroupThresholds now;
    double correct = 0;
    for (const GroupCuts& group : all) {
      const Cut& cut =
          parity || opportunity ? nearest(group, share, opportunity) : most_accurate(group);
      correct += group.correct(cut);
      now.threshold.push_back(cut.threshold);
    }
    if (correct / total <= best.accuracy) continue;
    best.threshold = std::move(now.threshold);
    best.accuracy = correct / total;
    best.share = parity || opportunity ? share : std::numeric_limits<double>::quiet_NaN();
  }
  return best;
}

}  // namespace fmd
