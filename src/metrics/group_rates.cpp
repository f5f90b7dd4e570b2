#include "metrics/group_rates.h"

#include <cmath>

#include "core/check.h"
#include "fmd/core/rng.h"

namespace fmd {
namespace {

constexpr double kTailReplicates =
    5;  // fewer in a tail: its end is taken from their spread

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

// value +- z sd: for levels whose quantiles lie beyond the replicates.
Interval from_spread(double value, const std::vector<double>& replicates,
                     double confidence) {
  double sum = 0, squares = 0, count = 0;
  for (const double x : replicates) {
    if (std::isnan(x)) continue;
    sum += x - value;
    squares += (x - value) * (x - value);
    ++count;
  }
  if (2 * count < static_cast<double>(replicates.size()) || count < 2)
    return {value, kUndefined, kUndefined};
  const double variance = (squares - sum * sum / count) / (count - 1);
  const double half = normal_quantile(confidence) * std::sqrt(std::max(0.0, variance));
  return {value, value - half, value + half};
}

Rate named(const char* name, std::string reason, std::string needs, std::size_t groups) {
  Rate rate;
  rate.name = name;
  rate.reason = std::move(reason);
  rate.needs = std::move(needs);
  rate.counts.resize(groups);
  rate.large.resize(groups);
  return rate;
}

Rates empty_rates(const Scored& scored, const GroupOptions& o, std::size_t groups) {
  const std::string unlabelled = scored.labelled() ? "" : "no labels";
  const std::string unnamed = scored.favorable < 0 ? "no favourable class" : "";
  const std::string both = unnamed.empty() ? unlabelled : unnamed;
  return {
      named("selection_rate", unnamed, fmt::format(">= {} rows", o.min_rows), groups),
      named("tpr", both,
            fmt::format(">= {} rows and >= {} favourable labels", o.min_rows, o.min_label),
            groups),
      named(
          "fpr", both,
          fmt::format(">= {} rows and >= {} unfavourable labels", o.min_rows, o.min_label),
          groups),
      named("accuracy", unlabelled, fmt::format(">= {} labelled rows", o.min_rows),
            groups)};
}

void count_row(const Scored& scored, Index row, std::size_t g, Rates& rates) {
  const std::int32_t decision = scored.decision[at(row)];
  const std::int32_t y = scored.labelled() ? scored.y[at(row)] : -1;
  const Index chosen = decision == scored.favorable ? 1 : 0;
  const auto count = [g](Rate& rate, Index hit) {
    rate.counts[g].hits += hit;
    ++rate.counts[g].of;
  };
  count(rates.selection, chosen);
  if (y < 0) return;
  count(rates.accuracy, decision == y ? 1 : 0);
  if (scored.favorable >= 0) count(y == scored.favorable ? rates.tpr : rates.fpr, chosen);
}

Group describe(const std::string& value, std::size_t g, const Rates& rates,
               double confidence) {
  const auto interval = [&](const Rate& rate) {
    return rate.reason.empty() ? wilson(rate.counts[g].hits, rate.counts[g].of, confidence)
                               : Interval{};
  };
  Group group;
  group.value = value;
  group.rows = rates.selection.counts[g].of;
  group.positives = rates.tpr.counts[g].of;
  group.negatives = rates.fpr.counts[g].of;
  group.selection_rate = interval(rates.selection);
  group.tpr = interval(rates.tpr);
  group.fpr = interval(rates.fpr);
  group.accuracy = interval(rates.accuracy);
  return group;
}

// Rows of one group: score, score if the label is favourable, whether it is.
Matrix soft_rows(const Scored& scored, const std::vector<Index>& rows) {
  Matrix statistics =
      Matrix::Zero(static_cast<Index>(rows.size()), scored.labelled() ? 3 : 1);
  for (Index k = 0; k < statistics.rows(); ++k) {
    const Index row = rows[at(k)];
    const double score = scored.p(row, scored.favorable);
    statistics(k, 0) = score;
    if (scored.labelled() && scored.y[at(row)] == scored.favorable)
      statistics(k, 1) = score, statistics(k, 2) = 1;
  }
  return statistics;
}

}  // namespace

double Rate::value(int group) const {
  if (means.size() > 0) return means(group);
  const RateCount& count = counts[at(group)];
  return static_cast<double>(count.hits) / static_cast<double>(count.of);
}

Interval Rate::difference(int first, int second, double confidence) const {
  if (means.size() == 0) {
    const RateCount &a = counts[at(first)], &b = counts[at(second)];
    return newcombe(a.hits, a.of, b.hits, b.of, confidence);
  }
  std::vector<double> values(at(replicates.cols()));
  for (Index r = 0; r < replicates.cols(); ++r)
    values[at(r)] = replicates(first, r) - replicates(second, r);
  const double gap = value(first) - value(second);
  const double tail = static_cast<double>(values.size()) * (1 - confidence) / 2;
  return tail < kTailReplicates ? from_spread(gap, values, confidence)
                                : percentile(gap, std::move(values), confidence);
}

Rates count_rates(const Scored& scored, const std::vector<std::string>& values,
                  const std::vector<std::int32_t>& code, const GroupOptions& options,
                  std::vector<Group>& groups) {
  Rates rates = empty_rates(scored, options, values.size());
  Vector score = Vector::Zero(static_cast<Index>(values.size()));
  for (Index i = 0; i < scored.rows(); ++i) {
    const std::int32_t g = code[at(i)];
    if (g < 0) continue;
    count_row(scored, i, at(g), rates);
    if (scored.favorable >= 0) score(g) += scored.p(i, scored.favorable);
  }
  for (std::size_t g = 0; g < values.size(); ++g) {
    Group group = describe(values[g], g, rates, options.confidence);
    group.compared = group.rows > 0 && group.rows >= options.min_rows;
    if (scored.favorable >= 0 && group.rows > 0)
      group.mean_score = score(static_cast<Index>(g)) / static_cast<double>(group.rows);
    const auto enough = [&](const Rate& rate, Index least) {
      return group.compared && rate.counts[g].of > 0 && rate.counts[g].of >= least;
    };
    rates.selection.large[g] = group.compared;
    rates.tpr.large[g] = enough(rates.tpr, options.min_label);
    rates.fpr.large[g] = enough(rates.fpr, options.min_label);
    rates.accuracy.large[g] = enough(rates.accuracy, options.min_rows);
    groups.push_back(std::move(group));
  }
  return rates;
}

SoftRates soft_rates(const Scored& scored, const std::vector<std::string>& values,
                     const std::vector<std::int32_t>& code, const Rates& rates,
                     const GroupOptions& options, const Exec& exec) {
  SoftRates soft{rates.selection, rates.tpr};
  const auto groups = static_cast<Index>(values.size());
  for (Rate* rate : {&soft.all, &soft.positives}) {
    rate->name = "mean_score";
    rate->means = Vector::Constant(groups, kUndefined);
    rate->replicates = Matrix::Constant(groups, options.replicates, kUndefined);
  }
  if (scored.favorable < 0) return soft;
  std::vector<std::vector<Index>> rows(values.size());
  for (Index i = 0; i < scored.rows(); ++i)
    if (code[at(i)] >= 0) rows[at(code[at(i)])].push_back(i);
  for (Index g = 0; g < groups; ++g) {
    if (!rates.selection.large[at(g)]) continue;
    const Matrix statistics = soft_rows(scored, rows[at(g)]);
    // A stream of its own for each group, by name: it stays the same when groups are
    // renumbered.
    Exec own = exec;
    own.seed = Rng(exec.seed, "group " + values[at(g)]).next();
    const Matrix sums = bootstrap_sums(statistics, options.replicates, own);
    soft.all.means(g) = statistics.col(0).mean();
    soft.all.replicates.row(g) =
        sums.col(0).transpose() / static_cast<double>(statistics.rows());
    if (!scored.labelled()) continue;
    soft.positives.means(g) = statistics.col(1).sum() / statistics.col(2).sum();
    for (Index r = 0; r < options.replicates; ++r)
      if (sums(r, 2) > 0) soft.positives.replicates(g, r) = sums(r, 1) / sums(r, 2);
  }
  return soft;
}

void require_codes(const char* where, const std::vector<std::int32_t>& code, Index rows,
                   Index values) {
  require_size(where, "code", static_cast<Index>(code.size()), rows);
  for (const std::int32_t c : code) {
    if (c >= -1 && c < values) continue;
    throw Error(ErrorKind::bad_shape,
                fmt::format("{}: a row has the group {}, there are {}", where, c, values),
                "number groups from 0, and rows without one -1");
  }
}

}  // namespace fmd
