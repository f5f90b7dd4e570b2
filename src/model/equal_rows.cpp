#include "model/equal_rows.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>

#include "core/index.h"
#include "core/mix.h"
#include "fmd/core/exec.h"
#include "fmd/model/rows.h"

namespace fmd::internal {
namespace {

template <typename T>
std::span<const T> part(std::span<const T> all, const FeatureBlock& block, Index row) {
  const Index from = block.start[at(row)];
  return all.subspan(at(from), at(block.start[at(row) + 1] - from));
}

std::span<const float> dense_row(const FeatureBlock& block, Index row) {
  return {block.dense + row * block.cols, at(block.cols)};
}

std::uint64_t hash_of(const FeatureBlock& block, Index row) {
  std::uint64_t hash = kGoldenStep;
  const auto add = [&](std::uint64_t x) { hash = mix64(hash + kGoldenStep) ^ mix64(x); };
  if (!block.sparse()) {
    for (const float x : dense_row(block, row)) add(std::bit_cast<std::uint32_t>(x));
    return hash;
  }
  for (const std::int32_t column : part(block.column, block, row))
    add(static_cast<std::uint64_t>(column));
  if (!block.value.empty())
    for (const float x : part(block.value, block, row))
      add(std::bit_cast<std::uint32_t>(x));
  return hash;
}

template <typename T>
bool same_bytes(std::span<const T> a, std::span<const T> b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

bool equal(const FeatureBlock& a, Index i, const FeatureBlock& b, Index j) {
  if (!a.sparse()) return same_bytes(dense_row(a, i), dense_row(b, j));
  if (!same_bytes(part(a.column, a, i), part(b.column, b, j))) return false;
  return a.value.empty() || same_bytes(part(a.value, a, i), part(b.value, b, j));
}

}  // namespace

EqualRows equal_rows(const Features& X, std::span<const Index> rows) {
  EqualRows result;
  std::unordered_map<std::uint64_t, std::size_t> seen;  // hash -> kind
  Scratch scratch, other;
  for (Index from = 0; from < std::ssize(rows); from += kBlockRows) {
    const auto some =
        rows.subspan(at(from), at(std::min(kBlockRows, std::ssize(rows) - from)));
    const FeatureBlock block = X.gather(some, scratch);
    std::vector<std::size_t> kind;
    std::vector<Index> first;  // of the kind that has this row's hash
    for (Index i = 0; i < block.rows; ++i) {
      const auto [found, fresh] = seen.try_emplace(hash_of(block, i), result.first.size());
      if (fresh) {
        result.first.push_back(some[at(i)]);
        result.places.emplace_back();
      }
      kind.push_back(found->second);
      first.push_back(result.first[found->second]);
    }
    const FeatureBlock firsts = X.gather(first, other);
    for (Index i = 0; i < block.rows; ++i) {
      std::size_t own = kind[at(i)];
      if (!equal(block, i, firsts, i)) {  // two kinds of one hash: the row stays alone
        own = result.first.size();
        result.first.push_back(some[at(i)]);
        result.places.emplace_back();
      }
      result.places[own].push_back(from + i);
    }
  }
  return result;
}

}  // namespace fmd::internal
