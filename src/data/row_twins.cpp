#include "fmd/data/row_twins.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>
#include <vector>

#include "fmd/core/error.h"

namespace fmd {
namespace {

int leading_zeros(std::uint64_t hash) {
  return std::countl_zero((hash ^ (hash >> 29)) * 0x9E3779B97F4A7C15U);
}

}  // namespace

void RowTwins::put(std::uint64_t hash, Index count) {
  if (leading_zeros(hash) < zeros_) return;
  count_[hash] += count;
  if (count_.size() > keep_) thin();
}

void RowTwins::thin() {
  while (count_.size() > keep_ && zeros_ < 60) {
    ++zeros_;
    std::erase_if(count_,
                  [&](const auto& entry) { return leading_zeros(entry.first) < zeros_; });
  }
}

void RowTwins::add(std::span<const std::uint64_t> hashes) {
  for (const std::uint64_t hash : hashes) put(hash, 1);
}

void RowTwins::merge(const RowTwins& other) {
  zeros_ = std::max(zeros_, other.zeros_);
  std::erase_if(count_,
                [&](const auto& entry) { return leading_zeros(entry.first) < zeros_; });
  for (const auto& [hash, count] : other.count_) put(hash, count);
}

void RowTwins::save(ByteWriter& out) const {
  out.put(static_cast<std::uint64_t>(keep_));
  out.put(static_cast<std::int32_t>(zeros_));
  out.put(static_cast<std::uint64_t>(count_.size()));
  // By hash, so that equal counts are equal bytes.
  std::vector<std::pair<std::uint64_t, Index>> sorted(count_.begin(), count_.end());
  std::sort(sorted.begin(), sorted.end());
  for (const auto& [hash, count] : sorted) {
    out.put(hash);
    out.put(count);
  }
}

RowTwins RowTwins::load(ByteReader& in) {
  const auto damaged = [] {
    throw Error(ErrorKind::bad_model, "the counts of equal rows are damaged",
                "make the state again");
  };
  RowTwins twins(static_cast<std::size_t>(in.get<std::uint64_t>()));
  twins.zeros_ = in.get<std::int32_t>();
  const auto entries = in.get<std::uint64_t>();
  if (twins.zeros_ < 0 || twins.zeros_ > 60 || entries > in.left() / 16) damaged();
  for (std::uint64_t k = 0; k < entries; ++k) {
    const auto hash = in.get<std::uint64_t>();
    const auto count = in.get<Index>();
    if (count < 1) damaged();
    twins.count_[hash] = count;
  }
  return twins;
}

Index RowTwins::rows() const {
  Index sum = 0;
  for (const auto& [hash, count] : count_) sum += count;
  return sum;
}

Index RowTwins::different() const { return static_cast<Index>(count_.size()); }

Index RowTwins::twins() const {
  Index sum = 0;
  for (const auto& [hash, count] : count_) sum += count > 1 ? count : 0;
  return sum;
}

Index RowTwins::times() const {
  constexpr Index kFew = 10;  // so few rows have a common divisor by chance
  if (different() < kFew) return 1;
  Index divisor = 0;
  for (const auto& [hash, count] : count_) divisor = std::gcd(divisor, count);
  return divisor;
}

}  // namespace fmd
