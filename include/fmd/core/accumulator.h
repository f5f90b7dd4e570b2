#pragma once

#include <concepts>
#include <map>
#include <mutex>
#include <utility>

#include "fmd/core/bytes.h"
#include "fmd/core/exec.h"
#include "fmd/core/types.h"

namespace fmd {

// A sum over rows: merge adds what another one saw, save and load carry it between files
// and machines. Adding a block is the caller's function, see reduce().
template <typename A>
concept Accumulator = std::movable<A> &&
    requires(A a, const A& b, ByteWriter& out, ByteReader& in) {
  a.merge(b);
  b.save(out);
  { A::load(in) } -> std::same_as<A>;
};

// The sum over some blocks, as complete nodes of the fixed binary tree over block numbers:
// node (level l, index i) holds blocks [i 2^l, (i+1) 2^l). Floating-point sums depend on
// the order of additions; since every sum here follows this tree, threads, files and
// machines that each hold a part arrive at the same bits, whoever did what.
template <Accumulator A>
class Partial {
 public:
  // Adds a node and merges it upwards with the siblings that are there.
  void insert(int level, Index index, A state) {
    for (;;) {
      const auto sibling = nodes_.find({level, index ^ 1});
      if (sibling == nodes_.end()) break;
      A other = std::move(sibling->second);
      nodes_.erase(sibling);
      if (index & 1) std::swap(state, other);  // left takes right
      state.merge(other);
      ++level;
      index >>= 1;
    }
    nodes_.emplace(std::pair{level, index}, std::move(state));
  }

  // Takes over all nodes of another part. The two must not overlap.
  void merge(Partial other) {
    for (auto& [at, state] : other.nodes_) insert(at.first, at.second, std::move(state));
  }

  // The whole sum. Nodes without a sibling (the number of blocks is no power of two) are
  // merged from left to right, which is the same for every way of getting here. Needs at
  // least one node.
  [[nodiscard]] A finish() && {
    std::map<Index, A*> from_left;
    for (auto& [at, state] : nodes_) from_left.emplace(at.second << at.first, &state);
    A result = std::move(*from_left.begin()->second);
    for (auto it = std::next(from_left.begin()); it != from_left.end(); ++it)
      result.merge(*it->second);
    return result;
  }

  [[nodiscard]] bool empty() const { return nodes_.empty(); }

  void save(ByteWriter& out) const {
    out.put(static_cast<std::uint64_t>(nodes_.size()));
    for (const auto& [at, state] : nodes_) {
      out.put(static_cast<std::int32_t>(at.first));
      out.put(at.second);
      state.save(out);
    }
  }
  static Partial load(ByteReader& in) {
    Partial partial;
    const auto count = in.get<std::uint64_t>();
    for (std::uint64_t k = 0; k < count; ++k) {
      const auto level = in.get<std::int32_t>();
      const auto index = in.get<Index>();
      partial.nodes_.emplace(std::pair{static_cast<int>(level), index}, A::load(in));
    }
    return partial;
  }

 private:
  std::map<std::pair<int, Index>, A> nodes_;
};

// Sums blocks [first, last) on the pool: make() gives an empty state, add(state, b) adds
// block b. At most threads + log2(blocks) states live at a time.
template <Accumulator A, typename Make, typename Add>
[[nodiscard]] Partial<A> reduce_part(Index first, Index last, const Make& make,
                                     const Add& add, const Exec& exec) {
  Partial<A> partial;
  std::mutex mutex;
  exec.for_each(last - first, [&](Index i) {
    A state = make();
    add(state, first + i);
    const std::lock_guard lock(mutex);
    partial.insert(0, first + i, std::move(state));
  });
  return partial;
}

// The sum over blocks 0 .. blocks-1; make() itself when there are none.
template <Accumulator A, typename Make, typename Add>
[[nodiscard]] A reduce(Index blocks, const Make& make, const Add& add, const Exec& exec) {
  if (blocks == 0) return make();
  return reduce_part<A>(0, blocks, make, add, exec).finish();
}

}  // namespace fmd
