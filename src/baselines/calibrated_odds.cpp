#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "baselines/post_rows.h"
#include "fmd/core/error.h"

namespace fmd {
namespace {

struct Sums {
  double positives = 0, negatives = 0;
  double score_negatives = 0, miss_positives = 0;  // sums of score, and of 1 - score
};

double cost_of(const std::string& kind, double fpr, double fnr, double base_rate) {
  if (kind == "fpr") return fpr;
  if (kind == "fnr") return fnr;
  return 0.5 * fpr * (1 - base_rate) + 0.5 * fnr * base_rate;
}

}  // namespace

double CalibratedOdds::share(std::int32_t group) const {
  if (group < 0 || std::isnan(mix[group])) return 0;
  return std::clamp(mix[group], 0.0, 1.0);
}

double CalibratedOdds::score(double score, std::int32_t group) const {
  if (group < 0) return score;
  const double mixed = share(group);
  return (1 - mixed) * score + mixed * base_rate[group];
}

double CalibratedOdds::yes(double score, std::int32_t group, double threshold) const {
  const double decided = score >= threshold ? 1 : 0;
  if (group < 0) return decided;
  const double mixed = share(group);
  return (1 - mixed) * decided + (base_rate[group] >= threshold ? mixed : 0);
}

CalibratedOdds fit_calibrated_odds(const PostRows& rows, const std::string& cost) {
  constexpr const char* kWhere = "calibrated odds";
  if (cost != "fpr" && cost != "fnr" && cost != "weighted") {
    throw Error(ErrorKind::bad_option, fmt::format("{}: there is no cost {}", kWhere, cost),
                "costs: fpr, fnr, weighted");
  }
  require_post_rows(kWhere, rows, 2);
  Sums sums[2];
  for (Index i = 0; i < rows.size(); ++i) {
    const std::int32_t g = rows.group[at(i)];
    if (g < 0) continue;
    Sums& s = sums[g];
    if (rows.favorable[at(i)]) {
      s.positives += 1;
      s.miss_positives += 1 - rows.score[at(i)];
    } else {
      s.negatives += 1;
      s.score_negatives += rows.score[at(i)];
    }
  }
  CalibratedOdds result;
  for (std::size_t g = 0; g < 2; ++g) {
    const Sums& s = sums[g];
    const auto number = static_cast<Index>(g);
    if (s.positives == 0) throw_empty(kWhere, number, "a favourable label");
    if (s.negatives == 0) throw_empty(kWhere, number, "an unfavourable label");
    const double b = s.positives / (s.positives + s.negatives);
    result.base_rate[g] = b;
    result.cost[g] =
        cost_of(cost, s.score_negatives / s.negatives, s.miss_positives / s.positives, b);
    result.trivial[g] = cost_of(cost, b, 1 - b, b);
  }
  const std::size_t cheap = result.cost[0] > result.cost[1] ? 1 : 0;
  result.mix[cheap] = (result.cost[1 - cheap] - result.cost[cheap]) /
                      (result.trivial[cheap] - result.cost[cheap]);
  return result;
}

}  // namespace fmd
