#include "fmd/metrics/scored.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/check.h"
#include "fmd/metrics/tally.h"
#include "fmd/model/loss.h"
#include "metrics/scores/scored_rows.h"

namespace fmd {
namespace {

std::int32_t most_probable(const Matrix& p, Index row) {
  Index best = 0;
  for (Index k = 1; k < p.cols(); ++k)
    if (p(row, k) > p(row, best)) best = k;
  return static_cast<std::int32_t>(best);
}

// Rows that became right, became wrong, and stayed the same. A change of the accuracy
// depends on these alone.
struct Turned {
  Index gained = 0, lost = 0, same = 0;
};

Turned turned(const Scored& before, const Scored& after) {
  Turned t;
  for (std::size_t i = 0; i < before.y.size(); ++i) {
    if (before.y[i] < 0) continue;
    const bool was = before.decision[i] == before.y[i],
               is = after.decision[i] == after.y[i];
    ++(was == is ? t.same : is ? t.gained : t.lost);
  }
  return t;
}

Tally tally_of(const char* where, const Scored& scored) {
  require_scored(where, scored);
  const ScoredBlock block = block_of(scored);
  const TallyPlan plan{.classes = block.classes,
                       .values = {},
                       .labelled = scored.labelled(),
                       .weighted = !scored.weight.empty()};
  return tally(plan, block, {});
}

}  // namespace

std::vector<std::int32_t> decide(const Matrix& p, double threshold) {
  std::vector<std::int32_t> decision(static_cast<std::size_t>(p.rows()));
  for (Index i = 0; i < p.rows(); ++i)
    decision[static_cast<std::size_t>(i)] =
        p.cols() == 2 ? (p(i, 1) >= threshold ? 1 : 0) : most_probable(p, i);
  return decision;
}

double threshold_for_rate(const Matrix& p, double rate) {
  require_option(rate >= 0 && rate <= 1, "threshold", "rate", rate, "between 0 and 1");
  if (p.rows() == 0 || p.cols() != 2) {
    throw Error(ErrorKind::bad_data,
                fmt::format("threshold: {} rows with {} classes, needs rows with two",
                            p.rows(), p.cols()),
                "give a rate only for a model of two classes");
  }
  std::vector<double> score(static_cast<std::size_t>(p.rows()));
  for (Index i = 0; i < p.rows(); ++i) {
    score[static_cast<std::size_t>(i)] = p(i, 1);
    if (std::isnan(p(i, 1)))
      throw Error(ErrorKind::bad_value, fmt::format("threshold: row {} has no score", i));
  }
  std::sort(score.begin(), score.end(), std::greater<>());

  // A cut must not divide equal scores: take the nearest end of the run of equal scores
  // around the wanted place.
  const double wanted = rate * static_cast<double>(score.size());
  auto fewer = static_cast<std::size_t>(wanted);
  while (fewer > 0 && fewer < score.size() && score[fewer - 1] == score[fewer]) --fewer;
  auto more = static_cast<std::size_t>(std::ceil(wanted));
  while (more > 0 && more < score.size() && score[more - 1] == score[more]) ++more;
  const std::size_t cut =
      wanted - static_cast<double>(fewer) <= static_cast<double>(more) - wanted ? fewer
                                                                                : more;

  const double above = cut == 0 ? std::max(1.0, score.front()) : score[cut - 1];
  const double below = cut == score.size() ? std::min(0.0, score.back()) : score[cut];
  const double middle = below + (above - below) / 2;
  if (middle > below) return middle;
  return cut == 0 ? std::nextafter(above, 2.0) : above;
}

Interval accuracy(const Scored& scored, double confidence) {
  return accuracy(tally_of("accuracy", scored), confidence);
}

double log_loss(const Scored& scored) { return log_loss(tally_of("log_loss", scored)); }

double calibration_error(const Scored& scored) {
  return calibration_error(tally_of("calibration_error", scored));
}

double auc(const std::vector<double>& score, const std::vector<bool>& positive) {
  require_size("auc", "positive", static_cast<Index>(positive.size()),
               static_cast<Index>(score.size()));
  const auto undefined = [](double x) { return std::isnan(x); };
  if (std::any_of(score.begin(), score.end(), undefined)) return kUndefined;
  std::vector<std::size_t> order(score.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return score[a] < score[b]; });

  // Twice the number of pairs (positive above negative, equal ones half): an exact count.
  Index twice = 0, positives = 0, negatives = 0;
  for (std::size_t first = 0; first < order.size();) {
    Index here[2] = {0, 0};
    std::size_t i = first;
    for (; i < order.size() && score[order[i]] == score[order[first]]; ++i)
      ++here[positive[order[i]] ? 1 : 0];
    twice += here[1] * (2 * negatives + here[0]);
    negatives += here[0];
    positives += here[1];
    first = i;
  }
  if (positives == 0 || negatives == 0) return kUndefined;
  return static_cast<double>(twice) /
         (2 * static_cast<double>(positives) * static_cast<double>(negatives));
}

Interval accuracy_change(const Scored& before, const Scored& after, double confidence,
                         Index replicates, const Exec& exec) {
  require_same_rows("accuracy_change", before, after);
  const Turned t = turned(before, after);
  const double known = static_cast<double>(t.gained + t.lost + t.same);
  if (known == 0) return {};
  std::vector<double> changes;
  const CountTables tables = bootstrap_counts({t.gained, t.lost, t.same}, replicates, exec);
  for (Index r = 0; r < tables.size(); ++r)
    changes.push_back(static_cast<double>(tables[r][0] - tables[r][1]) / known);
  return percentile(static_cast<double>(t.gained - t.lost) / known, std::move(changes),
                    confidence);
}

}  // namespace fmd
