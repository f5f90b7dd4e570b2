#pragma once

#include <cassert>
#include <concepts>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "fmd/core/bytes.h"
#include "fmd/core/error.h"
#include "fmd/core/exec.h"
#include "fmd/core/types.h"

namespace fmd {

// A sum over rows. merge adds another sum to it; save and load carry it between files and
// machines. The caller's function adds a block, see reduce().
template <typename A>
concept Accumulator = std::movable<A> &&
    requires(A a, const A& b, ByteWriter& out, ByteReader& in) {
  a.merge(b);
  b.save(out);
  { A::load(in) } -> std::same_as<A>;
};

// The sum over some blocks, as complete nodes of the fixed binary tree over block numbers:
// node (level l, index i) holds blocks [i 2^l, (i+1) 2^l). Floating-point sums depend on
// the order of additions. Every sum here follows this tree, so threads, files and machines
// that each hold a part get the same bits, however the work was shared.
template <Accumulator A>
class Partial {
 public:
  // Adds a node and merges it upwards with the siblings that are there. Throws
  // Error(bad_shape) when one of its blocks has been added before.
  void insert(int level, Index index, A state) {
    while (std::optional<A> sibling = take_sibling(level, index))
      join(level, index, state, *sibling);
    put(level, index, std::move(state));
  }

  // Takes over all nodes of another part. Throws Error(bad_shape) when the two overlap.
  void merge(Partial other) {
    for (auto& [first, node] : other.nodes_)
      insert(node.level, first >> node.level, std::move(node.state));
  }

  // The whole sum. Nodes without a sibling (the number of blocks is not a power of two) are
  // merged from left to right, always in the same way. Needs at least one node. The caller
  // checks by blocks() that no block is missing.
  [[nodiscard]] A finish() && {
    assert(!nodes_.empty());
    A result = std::move(nodes_.begin()->second.state);
    for (auto it = std::next(nodes_.begin()); it != nodes_.end(); ++it)
      result.merge(it->second.state);
    return result;
  }

  [[nodiscard]] bool empty() const { return nodes_.empty(); }

  // How many blocks have been added.
  [[nodiscard]] Index blocks() const {
    Index count = 0;
    for (const auto& [first, node] : nodes_) count += Index{1} << node.level;
    return count;
  }

  void save(ByteWriter& out) const {
    out.put(static_cast<std::uint64_t>(nodes_.size()));
    for (const auto& [first, node] : nodes_) {
      out.put(static_cast<std::int32_t>(node.level));
      out.put(static_cast<Index>(first >> node.level));
      node.state.save(out);
    }
  }

  // Throws Error(bad_model) when the bytes are damaged.
  [[nodiscard]] static Partial load(ByteReader& in) {
    Partial partial;
    const auto count = in.get<std::uint64_t>();
    for (std::uint64_t k = 0; k < count; ++k) {
      const auto level = in.get<std::int32_t>();
      const auto index = in.get<Index>();
      if (level < 0 || level > kMaxLevel || index < 0 || index >> (kMaxLevel - level) != 0)
        throw Error(ErrorKind::bad_model,
                    "state: a node lies outside of the tree of blocks",
                    "the file is damaged: make it again");
      if (partial.overlaps(level, index))
        throw Error(ErrorKind::bad_model, "state: two nodes hold the same blocks",
                    "the file is damaged: make it again");
      partial.put(level, index, A::load(in));
    }
    return partial;
  }

 private:
  template <Accumulator B, typename Make, typename Add>
  friend Partial<B> reduce_part(Index first, Index last, const Make& make, const Add& add,
                                const Exec& exec);

  static constexpr int kMaxLevel = 48;  // 2^48 blocks: more rows than an Index can number

  struct Node {
    int level;
    A state;
  };

  [[nodiscard]] bool overlaps(int level, Index index) const {
    const Index first = index << level;
    auto next = nodes_.lower_bound(first);
    if (next != nodes_.end() && next->first < (index + 1) << level) return true;
    if (next == nodes_.begin()) return false;
    --next;
    return next->first + (Index{1} << next->second.level) > first;
  }

  std::optional<A> take_sibling(int level, Index index) {
    const auto sibling = nodes_.find((index ^ 1) << level);
    if (sibling == nodes_.end() || sibling->second.level != level) return std::nullopt;
    std::optional<A> state(std::move(sibling->second.state));
    nodes_.erase(sibling);
    return state;
  }

  // The node above this one and its sibling: left takes right.
  static void join(int& level, Index& index, A& state, A& sibling) {
    if (index & 1) std::swap(state, sibling);
    state.merge(sibling);
    ++level;
    index >>= 1;
  }

  void put(int level, Index index, A state) {
    if (overlaps(level, index))
      throw Error(ErrorKind::bad_shape,
                  "sum: a block is in two parts that are to be merged",
                  "add every block once");
    nodes_.emplace(index << level, Node{level, std::move(state)});
  }

  std::map<Index, Node> nodes_;  // by first block
};

// Sums blocks [first, last) on the pool: make() gives an empty state, add(state, b) adds
// block b. Merges run in parallel too. At most about threads * log2(blocks) states live at
// a time; threads + log2(blocks) when all blocks cost the same.
template <Accumulator A, typename Make, typename Add>
[[nodiscard]] Partial<A> reduce_part(Index first, Index last, const Make& make,
                                     const Add& add, const Exec& exec) {
  Partial<A> partial;
  std::mutex mutex;
  exec.for_each(last - first, [&](Index i) {
    A state = make();
    add(state, first + i);
    int level = 0;
    Index index = first + i;
    for (;;) {
      std::unique_lock lock(mutex);
      std::optional<A> sibling = partial.take_sibling(level, index);
      if (!sibling) {
        partial.put(level, index, std::move(state));
        return;
      }
      lock.unlock();
      partial.join(level, index, state, *sibling);
    }
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
