#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

#include "fmd/core/bytes.h"
#include "fmd/core/types.h"

namespace fmd {

// How often rows equal each other, from their hashes (row_hashes). Beyond `keep` different
// rows, only those are kept whose hash, mixed, begins with enough zeros: a sample that does
// not depend on the order of rows, so parts can be merged in any order.
class RowTwins {
 public:
  explicit RowTwins(std::size_t keep = 65'536) : keep_(keep) {}

  void add(std::span<const std::uint64_t> hashes);
  void merge(const RowTwins& other);
  void save(ByteWriter& out) const;
  [[nodiscard]] static RowTwins load(ByteReader& in);

  [[nodiscard]] Index rows() const;       // that were kept
  [[nodiscard]] Index different() const;  // kept rows that differ
  [[nodiscard]] Index twins() const;      // kept rows that equal another row
  // Every row stands there this often, or a multiple of it. 1 = no such number.
  [[nodiscard]] Index times() const;

 private:
  void put(std::uint64_t hash, Index count);
  void thin();

  std::size_t keep_;
  int zeros_ = 0;  // number of zeros that kept hashes begin with
  std::unordered_map<std::uint64_t, Index> count_;
};

}  // namespace fmd
