#include "pipeline/row_exchange.h"

#include <algorithm>

#include <fmt/format.h>

#include "fmd/core/error.h"
#include "fmd/influence/influence.h"
#include "fmd/influence/ranking.h"
#include "fmd/unlearn/newton.h"

namespace fmd::internal {
namespace {

// Training rows ranked by the predicted change of the mean flip gap of the repaired
// attributes on the edit part.
InfluenceResult ranking(const CandidateInput& input, const DebiasOptions& options,
                        const Exec& exec) {
  const auto measure = make_measure("co");
  const std::vector<PairSet> sets = input.edit.sets();
  std::vector<BiasTarget> targets;
  for (const PairSet& set : sets)
    targets.push_back(
        {.measure = measure.get(), .data = {.pairs = &set, .rows = {}, .group = {}}});
  InfluenceOptions how;
  how.curvature.l2 = input.model.note.l2;
  how.curvature.solver = options.newton.solver;
  return influence(*input.model.head, input.train->training_rows(), input.model.theta,
                   targets, how, exec);
}

// 10, 30, 100, ... up to a tenth of the rows, and what was asked for.
std::vector<Index> row_counts(Index rows, const DebiasOptions& options) {
  std::vector<Index> counts;
  if (options.newton.rows > 0) {
    counts.push_back(options.newton.rows);
  } else {
    const Index most = std::max<Index>(1, rows / 10);
    for (Index k = 10; k <= most; k *= 10) {
      counts.push_back(k);
      if (3 * k <= most) counts.push_back(3 * k);
    }
    if (counts.empty()) counts.push_back(most);
  }
  if (options.at.rows &&
      std::find(counts.begin(), counts.end(), *options.at.rows) == counts.end())
    counts.push_back(*options.at.rows);
  std::sort(counts.begin(), counts.end());
  return counts;
}

// At most `wanted`, fewer where there are not so many. A number that was asked for must
// be reached.
Index taken(Index wanted, Index available, const DebiasOptions& options) {
  const bool asked = options.newton.rows == wanted || options.at.rows == wanted;
  if (available > 0 && (wanted <= available || !asked)) return std::min(wanted, available);
  throw Error(ErrorKind::bad_data,
              fmt::format("{}: {} training rows raise the flip gap, {} are asked for",
                          to_string(options.method), available, wanted),
              "ask for fewer with --rows, or use --method step, which needs no such rows");
}

std::vector<StudyPairs> flips_of(const CandidateInput& input, std::span<const Index> rows,
                                 const Exec& exec) {
  std::vector<StudyPairs> pairs;
  auto all = make_pairs(input.model, *input.train, input.model.task, rows, exec);
  for (const StudyPairs& edit : input.edit.pairs)
    pairs.push_back(std::move(all[edit.attribute].value()));
  return pairs;
}

}  // namespace

Vector RowExchange::gradient(const Head& head, const Vector& theta,
                             const Exec& exec) const {
  if (edit != nullptr) return unlearn_gradient(head, theta, edit->sets(), exec);
  if (pairs.empty()) return unlearn_gradient(head, theta, study->training_rows(rows), exec);
  std::vector<PairSet> sets;
  for (const StudyPairs& p : pairs) {
    sets.push_back(p.set(*study));
    for (std::size_t i = 0; i < p.row.size() && !study->weight.empty(); ++i)
      sets.back().weight[i] *= study->weight[static_cast<std::size_t>(p.row[i])];
  }
  return unlearn_gradient(head, theta, sets, exec);
}

RowExchanges make_row_exchanges(const CandidateInput& input, const DebiasOptions& options,
                                const Exec& exec) {
  RowExchanges exchanges;
  if (options.method == RepairMethod::step) {
    exchanges.all.emplace_back().edit = &input.edit;
    return exchanges;
  }
  const InfluenceResult ranked = ranking(input, options, exec);
  exchanges.relative_gradient = ranked.relative_gradient;
  const Vector change = ranked.change.rowwise().mean();
  const auto counts = row_counts(change.size(), options);
  const std::vector<Index> harmful =
      most_harmful({change.data(), static_cast<std::size_t>(change.size())}, counts.back());
  for (const Index count : counts) {
    RowExchange exchange;
    exchange.K = taken(count, static_cast<Index>(harmful.size()), options);
    if (!exchanges.all.empty() && exchanges.all.back().K == exchange.K) break;
    exchange.study = input.train;
    exchange.rows.assign(harmful.begin(), harmful.begin() + exchange.K);
    // The ranking decides which rows are in. Sums go in the file's order.
    std::sort(exchange.rows.begin(), exchange.rows.end());
    if (options.method == RepairMethod::replace)
      exchange.pairs = flips_of(input, exchange.rows, exec);
    exchanges.all.push_back(std::move(exchange));
  }
  return exchanges;
}

}  // namespace fmd::internal
