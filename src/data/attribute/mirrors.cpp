#include "data/attribute/mirrors.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "data/number.h"

namespace fmd::internal {
namespace {

constexpr std::size_t kMostTexts = 20;    // of a mirror
constexpr std::size_t kMostValues = 256;  // of an attribute
constexpr Index kFewRows = 10;            // of a value: too few to tell
constexpr double kLeastShare = 0.99;      // of the rows of each value

// Rows of each value of the attribute (first) with each text of the candidate (second).
using Counts = std::vector<std::vector<Index>>;

Index sum(const std::vector<Index>& counts) {
  Index all = 0;
  for (const Index count : counts) all += count;
  return all;
}

bool nearly(Index part, Index all) {
  return static_cast<double>(part) >= kLeastShare * static_cast<double>(all);
}

// The rows that the candidate tells wrongly, where it determines the attribute.
std::optional<Index> exceptions(const Counts& counts) {
  const std::size_t texts = counts.empty() ? 0 : counts[0].size();
  std::vector<Index> right(counts.size(), 0);
  for (std::size_t t = 0; t < texts; ++t) {
    std::size_t best = 0;
    for (std::size_t v = 1; v < counts.size(); ++v)
      if (counts[v][t] > counts[best][t]) best = v;
    right[best] += counts[best][t];
  }
  Index wrong = 0;
  int large = 0;
  for (std::size_t v = 0; v < counts.size(); ++v) {
    const Index all = sum(counts[v]);
    wrong += all - right[v];
    if (all < kFewRows) continue;
    ++large;
    if (!nearly(right[v], all)) return std::nullopt;
  }
  return large >= 2 ? std::optional(wrong) : std::nullopt;
}

// The text that belongs to each value; nothing where a value has several, or two values
// have the same.
std::optional<std::vector<std::size_t>> partners(const Counts& counts) {
  std::vector<std::size_t> result;
  for (const std::vector<Index>& row : counts) {
    const auto best = std::max_element(row.begin(), row.end());
    if (best == row.end() || *best == 0 || !nearly(*best, sum(row))) return std::nullopt;
    const auto text = static_cast<std::size_t>(best - row.begin());
    if (std::find(result.begin(), result.end(), text) != result.end()) return std::nullopt;
    result.push_back(text);
  }
  return result;
}

}  // namespace

std::int32_t MirrorSurvey::number_of(Texts& texts, const Cell& cell, std::size_t most) {
  const auto next = static_cast<std::int32_t>(texts.cells.size());
  const auto [at, fresh] = texts.of_text.emplace(cell.text, next);
  if (fresh) texts.cells.push_back(cell);
  if (texts.cells.size() > most) texts.open = false;
  return at->second;
}

// The number of each row's text; -1 where it is missing.
std::vector<std::int32_t> MirrorSurvey::read(const Column& column, Texts& texts,
                                             std::size_t most) {
  std::vector<std::int32_t> result;
  result.reserve(to_size(column.rows()));
  if (column.kind == ColumnKind::category) {
    std::vector<std::int32_t> of_level(column.levels.size(), -1);
    for (const std::int32_t code : column.codes) {
      if (code >= 0 && of_level[to_size(code)] < 0) {
        of_level[to_size(code)] =
            number_of(texts, {.text = column.levels[to_size(code)], .number = 0}, most);
        if (!texts.open) return result;
      }
      result.push_back(code < 0 ? -1 : of_level[to_size(code)]);
    }
    return result;
  }
  for (const double number : column.numbers) {
    if (std::isnan(number)) {
      result.push_back(-1);
      continue;
    }
    const auto known = texts.of_number.find(number);
    if (known != texts.of_number.end()) {
      result.push_back(known->second);
      continue;
    }
    result.push_back(
        number_of(texts, {.text = number_text(number), .number = number}, most));
    texts.of_number.emplace(number, result.back());
    if (!texts.open) return result;
  }
  return result;
}

void MirrorSurvey::add(const Table& block, const std::vector<std::string>& own) {
  if (!begun_) {
    begun_ = true;
    own_.resize(own.size());
    for (const std::string& name : inputs_)
      if (std::find(own.begin(), own.end(), name) == own.end())
        candidates_.push_back({.column = name, .texts = {}, .rows = {}});
  }
  std::vector<std::vector<std::int32_t>> parts;
  for (std::size_t c = 0; c < own.size(); ++c) {
    parts.push_back(read(block.column(own[c]), own_[c], kMostValues));
    if (!own_[c].open) {
      candidates_.clear();
      return;
    }
  }
  std::vector<std::int32_t> value;
  std::vector<std::int32_t> cells(own.size());
  for (std::size_t row = 0; row < to_size(block.rows()); ++row) {
    for (std::size_t c = 0; c < own.size(); ++c) cells[c] = parts[c][row];
    const bool missing = std::find(cells.begin(), cells.end(), -1) != cells.end();
    value.push_back(missing
                        ? -1
                        : values_.emplace(cells, static_cast<std::int32_t>(values_.size()))
                              .first->second);
  }
  for (Candidate& one : candidates_)
    if (one.texts.open) count(block, value, one);
}

void MirrorSurvey::count(const Table& block, const std::vector<std::int32_t>& value,
                         Candidate& one) {
  const Column* column = block.find(one.column);
  if (column == nullptr) {
    one.texts.open = false;
    return;
  }
  const std::vector<std::int32_t> text = read(*column, one.texts, kMostTexts);
  if (!one.texts.open) return;
  const std::size_t width = kMostTexts + 1;
  std::vector<Index> rows(values_.size() * width, 0);
  for (std::size_t row = 0; row < value.size(); ++row)
    if (value[row] >= 0 && text[row] >= 0)
      ++rows[to_size(value[row]) * width + to_size(text[row])];
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i] > 0)
      one.rows[{static_cast<std::int32_t>(i / width),
                static_cast<std::int32_t>(i % width)}] += rows[i];
}

void MirrorSurvey::finish(Attribute& attribute) const {
  if (!attribute.flips() || candidates_.empty()) return;
  // Where each value of the attribute stands among those that were counted; -1: nowhere.
  std::vector<std::int32_t> place;
  for (const auto& cells : attribute.cells) {
    std::vector<std::int32_t> key;
    for (std::size_t c = 0; c < own_.size(); ++c) {
      const auto found = own_[c].of_text.find(cells[c].text);
      key.push_back(found == own_[c].of_text.end() ? -1 : found->second);
    }
    const auto found = values_.find(key);
    place.push_back(found == values_.end() ? -1 : found->second);
  }
  const std::size_t own = attribute.columns.size();
  for (const Candidate& one : candidates_) {
    if (!one.texts.open) continue;
    Counts counts(place.size(), std::vector<Index>(one.texts.cells.size(), 0));
    for (std::size_t v = 0; v < place.size(); ++v)
      for (std::size_t t = 0; t < one.texts.cells.size(); ++t) {
        const auto found = one.rows.find({place[v], static_cast<std::int32_t>(t)});
        if (place[v] >= 0 && found != one.rows.end()) counts[v][t] = found->second;
      }
    const std::optional<Index> wrong = exceptions(counts);
    if (!wrong) continue;
    const auto partner = partners(counts);
    attribute.mirrors.push_back({one.column, *wrong, partner.has_value()});
    if (!partner) continue;
    attribute.own = own;
    attribute.columns.push_back(one.column);
    for (std::size_t v = 0; v < place.size(); ++v)
      attribute.cells[v].push_back(one.texts.cells[(*partner)[v]]);
  }
}

}  // namespace fmd::internal
