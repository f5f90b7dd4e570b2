#include "metrics/groups/counted_group.h"

#include <cmath>
#include <string_view>

#include "core/index.h"
#include "fmd/metrics/bca.h"
#include "metrics/groups/confusion_counts.h"
#include "metrics/statistics/rate_count.h"

namespace fmd::internal {
namespace {

// A group's table as whole rows: the counts, or with weights the effective number of rows.
Confusion whole_table(const Confusion& sums, const Confusion& squares) {
  const double rows = effective(0, sums.rows(), squares.rows()).of;
  const double scale = sums.rows() == 0 ? 0 : rows / sums.rows();
  const auto whole = [&](double x) { return std::round(x * scale); };
  return {whole(sums.tp),
          whole(sums.fp),
          whole(sums.tn),
          whole(sums.fn),
          whole(sums.selected_unlabelled),
          whole(sums.rejected_unlabelled)};
}

std::vector<Confusion> resampled_tables(const Confusion& whole, Index replicates,
                                        const Exec& exec) {
  const CountTables tables =
      bootstrap_counts(confusion_counts("bootstrap", whole), replicates, exec);
  std::vector<Confusion> out(at(replicates));
  for (Index r = 0; r < replicates; ++r) out[at(r)] = confusion_of(tables[r]);
  return out;
}

}  // namespace

CountedGroup::CountedGroup(const GroupTally& group, int favorable) {
  for (std::size_t k = 0; k < group.label.size(); ++k) {
    const LabelTally& l = group.label[k];
    const bool positive = static_cast<int>(k) == favorable;
    (positive ? sums.tp : sums.fp) += l.weight_chosen;
    (positive ? sums.fn : sums.tn) += l.weight - l.weight_chosen;
    (positive ? squares.tp : squares.fp) += l.weight_squares_chosen;
    (positive ? squares.fn : squares.tn) += l.weight_squares - l.weight_squares_chosen;
  }
  const LabelTally &u = group.unknown, known = group.known();
  sums.selected_unlabelled = u.weight_chosen;
  sums.rejected_unlabelled = u.weight - u.weight_chosen;
  squares.selected_unlabelled = u.weight_squares_chosen;
  squares.rejected_unlabelled = u.weight_squares - u.weight_squares_chosen;
  right.tp = known.weight_right;
  right.fp = known.weight - known.weight_right;
  right_squares.fp = known.weight_squares;  // only their sum is asked for
}

void CountedGroup::resample(Index count, bool also_right, const Exec& exec) {
  whole = whole_table(sums, squares);
  right_whole = whole_table(right, right_squares);
  replicates = resampled_tables(whole, count, exec);
  if (also_right) right_replicates = resampled_tables(right_whole, count, exec);
}

double table_acceleration(
    const std::vector<const Confusion*>& tables,
    const std::function<double(const std::vector<Confusion>&)>& figure) {
  std::vector<Index> counts;
  std::vector<int> stratum;
  for (std::size_t g = 0; g < tables.size(); ++g) {
    const std::vector<Index> own = confusion_counts("jackknife", *tables[g]);
    counts.insert(counts.end(), own.begin(), own.end());
    stratum.insert(stratum.end(), own.size(), static_cast<int>(g));
  }
  std::vector<Confusion> some(tables.size());
  return jackknife_acceleration(counts, stratum, [&](std::span<const Index> table) {
    for (std::size_t g = 0; g < some.size(); ++g)
      some[g] = confusion_of(table.subspan(g * kConfusionCells, kConfusionCells));
    return figure(some);
  });
}

bool FigureRules::of_right(const char* rate) const {
  const std::string_view name = rate == nullptr ? "" : rate;
  return (!two_classes || !named) && (name == "accuracy" || name == "error_rate");
}

std::string FigureRules::reason(const char* rate) const {
  const std::string_view name = rate == nullptr ? "" : rate;
  if (name == "accuracy" || name == "error_rate") return labelled ? "" : "no labels";
  if (!named) return "no favourable class";
  return labelled || name == "selection_rate" ? "" : "no labels";
}

}  // namespace fmd::internal
