#include "pipeline/proxies.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "core/index.h"
#include "fmd/core/error.h"
#include "fmd/data/encoder.h"
#include "fmd/fit/train.h"
#include "fmd/metrics/interval.h"
#include "fmd/model/features.h"
#include "fmd/model/linear_head.h"
#include "fmd/model/passes.h"
#include "fmd/model/rows.h"

namespace fmd::internal {
namespace {

constexpr Index kFewestTold = 50;  // rows of a value that is told from the others
constexpr Index kMostTellingTexts =
    256;  // texts of a column; more are names or numbers of people
constexpr Index kMostFormed = 300;        // features whose Hessian is formed
constexpr std::size_t kBins = 10;         // of a number
constexpr std::size_t kMostColumns = 10;  // in the report

// Rows of one half, with what tells them.
struct Half {
  std::vector<Index> rows;
  std::vector<std::int32_t> y;
};

struct Auc {
  double value = kUndefined, variance = kUndefined;
};

// The share of pairs of rows (one of each label) that the scores put in order, ties count
// half, with the variance of DeLong, DeLong and Clarke-Pearson: the spread of each row's
// share of rows of the other label that it is ordered with.
Auc delong(const std::vector<double>& score, const std::vector<std::int32_t>& y) {
  std::vector<std::size_t> order(score.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return score[a] < score[b]; });
  const auto ones = static_cast<double>(std::count(y.begin(), y.end(), 1));
  const double zeros = static_cast<double>(y.size()) - ones;
  if (ones < 2 || zeros < 2) return {};
  double below[2] = {0, 0};  // rows of each label with a smaller score
  double sum[2] = {0, 0}, square[2] = {0, 0};
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    double tied[2] = {0, 0};
    for (; last < order.size() && score[order[last]] == score[order[first]]; ++last)
      ++tied[y[order[last]]];
    const double place_of_one = (below[0] + tied[0] / 2) / zeros,
                 place_of_zero = 1 - (below[1] + tied[1] / 2) / ones;
    sum[1] += tied[1] * place_of_one;
    square[1] += tied[1] * place_of_one * place_of_one;
    sum[0] += tied[0] * place_of_zero;
    square[0] += tied[0] * place_of_zero * place_of_zero;
    below[0] += tied[0];
    below[1] += tied[1];
    first = last;
  }
  const double value = sum[1] / ones;
  const auto spread = [&](int label, double n) {
    return std::max(0.0, square[label] - sum[label] * sum[label] / n) / (n - 1) / n;
  };
  return {value, spread(1, ones) + spread(0, zeros)};
}

Interval interval_of(const Auc& first, const Auc& second, double confidence) {
  if (std::isnan(first.value) || std::isnan(second.value)) return {};
  const double value = (first.value + second.value) / 2;
  const double half =
      normal_quantile(confidence) * std::sqrt((first.variance + second.variance) / 4);
  return {value, std::max(0.0, value - half), std::min(1.0, value + half),
          IntervalKind::normal};
}

// The probability of each row of `to`, by a logistic regression on the rows of `from`.
std::vector<double> told(const Features& X, const Half& from, const Half& to,
                         const Exec& exec) {
  const LinearHead head(X.cols(), 1);
  std::vector<std::int32_t> y(at(X.rows()), 0);
  for (std::size_t i = 0; i < from.rows.size(); ++i) y[at(from.rows[i])] = from.y[i];
  const Rows fitted{.X = &X, .y = y, .weight = {}, .subset = from.rows};
  const TrainOptions how{.relative_gradient = 1e-5, .max_dense = kMostFormed};
  const Vector theta = train_linear(head, fitted, how, exec).theta;
  const Rows asked{.X = &X, .y = {}, .weight = {}, .subset = to.rows};
  const Matrix p = all_probabilities(head, asked, theta, exec);
  std::vector<double> out(at(p.rows()));
  for (Index i = 0; i < p.rows(); ++i) out[at(i)] = p(i, 1);
  return out;
}

// Each row's bin: a level of a category, a tenth of the numbers of `from`, or 0 where the
// cell is missing.
std::vector<std::size_t> bins(const Column& column, const Half& from, const Half& to) {
  std::vector<std::size_t> bin;
  if (column.kind == ColumnKind::category) {
    for (const Index row : to.rows) bin.push_back(at(column.codes[at(row)] + 1));
    return bin;
  }
  std::vector<double> known;
  for (const Index row : from.rows)
    if (!std::isnan(column.numbers[at(row)])) known.push_back(column.numbers[at(row)]);
  std::sort(known.begin(), known.end());
  std::vector<double> cuts;
  for (std::size_t k = 1; k < kBins && !known.empty(); ++k)
    cuts.push_back(known[k * known.size() / kBins]);
  for (const Index row : to.rows) {
    const double x = column.numbers[at(row)];
    const auto cut = std::upper_bound(cuts.begin(), cuts.end(), x);
    bin.push_back(std::isnan(x) ? 0 : 1 + static_cast<std::size_t>(cut - cuts.begin()));
  }
  return bin;
}

// Each row's score: how often the label is 1 in its bin, among the rows of `from`.
std::vector<double> told_by(const Column& column, const Half& from, const Half& to) {
  std::map<std::size_t, std::pair<double, double>> seen;  // ones, rows
  const std::vector<std::size_t> own = bins(column, from, from);
  const auto ones = static_cast<double>(std::count(from.y.begin(), from.y.end(), 1));
  const double share = ones / static_cast<double>(from.y.size());
  for (std::size_t i = 0; i < own.size(); ++i) {
    seen[own[i]].first += from.y[i];
    seen[own[i]].second += 1;
  }
  std::vector<double> score;
  for (const std::size_t bin : bins(column, from, to)) {
    const auto found = seen.find(bin);
    score.push_back(found == seen.end()
                        ? share
                        : (found->second.first + share) / (found->second.second + 1));
  }
  return score;
}

// A number with two different values, or a category with two levels or more but not one for
// each person.
bool tells_something(const Column& column) {
  if (column.kind == ColumnKind::category)
    return column.levels.size() > 1 && std::ssize(column.levels) <= kMostTellingTexts;
  double first = kUndefined;
  for (const double x : column.numbers) {
    if (std::isnan(x)) continue;
    if (std::isnan(first)) first = x;
    if (x != first) return true;
  }
  return false;
}

std::vector<std::string> usable(const Table& table, const Attribute& attribute,
                                const std::vector<std::string>& columns) {
  std::vector<std::string> names;
  for (const std::string& name : columns) {
    const bool own = std::find(attribute.columns.begin(), attribute.columns.end(), name) !=
                     attribute.columns.end();
    const Column* column = table.find(name);
    if (!own && column != nullptr && tells_something(*column)) names.push_back(name);
  }
  return names;
}

std::vector<Half> halves(const std::vector<std::int32_t>& code, const Exec& exec) {
  std::vector<Index> known;
  for (std::size_t i = 0; i < code.size(); ++i)
    if (code[i] >= 0) known.push_back(static_cast<Index>(i));
  Rng rng(exec.seed, "halves for proxies");
  const std::vector<Index> order = permutation(std::ssize(known), rng);
  std::vector<Half> two(2);
  for (std::size_t i = 0; i < order.size(); ++i)
    two[i % 2].rows.push_back(known[at(order[i])]);
  for (Half& half : two) std::sort(half.rows.begin(), half.rows.end());
  return two;
}

void label(std::vector<Half>& two, const std::vector<std::int32_t>& code,
           std::int32_t value) {
  for (Half& half : two) {
    half.y.clear();
    for (const Index row : half.rows) half.y.push_back(code[at(row)] == value ? 1 : 0);
  }
}

template <typename Tell>
Interval cross_told(const std::vector<Half>& two, double confidence, const Tell& tell) {
  return interval_of(delong(tell(two[1], two[0]), two[0].y),
                     delong(tell(two[0], two[1]), two[1].y), confidence);
}

}  // namespace

RowSample::RowSample(std::vector<std::string> columns, std::uint64_t seed, Index most)
    : names_(std::move(columns)), most_(most), rng_(seed, "rows for proxies") {
  std::sort(names_.begin(), names_.end());
  names_.erase(std::unique(names_.begin(), names_.end()), names_.end());
}

void RowSample::put(const Table& block, Index row, Index place) {
  for (Kept& kept : columns_) {
    const Column& column = block.column(kept.name);
    if (kept.kind == ColumnKind::number) {
      if (place == std::ssize(kept.numbers)) kept.numbers.emplace_back();
      kept.numbers[at(place)] = column.numbers[at(row)];
    } else {
      if (place == std::ssize(kept.texts)) kept.texts.emplace_back();
      const std::int32_t code = column.codes[at(row)];
      kept.texts[at(place)] = code < 0 ? "" : column.levels[at(code)];
    }
  }
}

void RowSample::add(const Table& block) {
  if (seen_ == 0) {
    source_ = block.source;
    for (const std::string& name : names_)
      if (const Column* column = block.find(name); column != nullptr)
        columns_.push_back({name, column->kind, {}, {}});
  }
  for (Index row = 0; row < block.rows(); ++row, ++seen_) {
    const Index place = seen_ < most_ ? seen_ : static_cast<Index>(rng_.below(seen_ + 1));
    if (place < most_) put(block, row, place);
  }
}

Table RowSample::table() const {
  Table table;
  table.source = source_;
  for (const Kept& kept : columns_) {
    Column column{.name = kept.name, .kind = kept.kind};
    column.numbers = kept.numbers;
    for (const double x : kept.numbers) column.missing += std::isnan(x);
    std::map<std::string, std::int32_t> codes;
    for (const std::string& text : kept.texts) {
      if (text.empty()) {
        column.codes.push_back(-1);
        ++column.missing;
        continue;
      }
      const auto [found, added] =
          codes.emplace(text, static_cast<std::int32_t>(column.levels.size()));
      if (added) column.levels.push_back(text);
      column.codes.push_back(found->second);
    }
    table.columns.push_back(std::move(column));
  }
  return table;
}

ProxyReport find_proxies(const Table& table, const Attribute& attribute,
                         const std::vector<std::string>& columns, double confidence,
                         const Exec& exec) {
  ProxyReport report{.attribute = attribute.name};
  const auto none = [&](std::string why) {
    report.reason = std::move(why);
    return report;
  };
  std::vector<std::int32_t> code;
  read_codes(attribute, table, code);
  std::vector<Index> rows(attribute.values.size(), 0);
  for (const std::int32_t c : code)
    if (c >= 0) ++rows[at(c)], ++report.rows;
  std::vector<std::int32_t> values;
  for (std::size_t v = 0; v < rows.size(); ++v)
    if (rows[v] >= kFewestTold && report.rows - rows[v] >= kFewestTold)
      values.push_back(static_cast<std::int32_t>(v));
  if (values.empty())
    return none(
        fmt::format("no value has {} rows, and {} others", kFewestTold, kFewestTold));
  // Two values: what tells one tells the other.
  if (rows.size() == 2) values.resize(1);
  const std::vector<std::string> names = usable(table, attribute, columns);
  if (names.empty()) return none("there are no other columns to tell it from");

  std::vector<Half> two = halves(code, exec);
  const Encoder encoder(table, names, {}, Unseen::counted);
  if (encoder.features() > kMostDense)
    return none(fmt::format("the other columns have more than {} features", kMostDense));
  const std::unique_ptr<Features> X = make_sparse(encoder.encode(table));
  const double level = adjusted_confidence(confidence, std::ssize(values));
  std::int32_t best = -1;
  for (const std::int32_t value : values) {
    label(two, code, value);
    const Interval auc = cross_told(two, level, [&](const Half& from, const Half& to) {
      return told(*X, from, to, exec);
    });
    if (!auc.defined() || (best >= 0 && auc.value <= report.auc.value)) continue;
    report.auc = auc;
    best = value;
  }
  if (best < 0) return none("a half of the rows lacks a value");
  report.value = attribute.values[at(best)];
  label(two, code, best);
  for (const std::string& name : names) {
    const Column& column = table.column(name);
    const Interval auc = cross_told(
        two, adjusted_confidence(confidence, std::ssize(names)),
        [&](const Half& from, const Half& to) { return told_by(column, from, to); });
    if (auc.defined() && auc.low > 0.5) report.columns.push_back({name, auc});
  }
  std::stable_sort(
      report.columns.begin(), report.columns.end(),
      [](const ProxyColumn& a, const ProxyColumn& b) { return a.auc.value > b.auc.value; });
  if (report.columns.size() > kMostColumns) report.columns.resize(kMostColumns);
  return report;
}

}  // namespace fmd::internal
