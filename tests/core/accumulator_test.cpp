#include "fmd/core/accumulator.h"

#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "fmd/core/rng.h"
#include "support/close.h"

namespace fmd {
namespace {

// A plain sum: any other order of additions shows in its last bits.
struct Sum {
  double value = 0;

  void merge(const Sum& other) { value += other.value; }
  void save(ByteWriter& out) const { out.put(value); }
  static Sum load(ByteReader& in) { return {in.get<double>()}; }
};

// Magnitudes from 1e-8 to 1e8 with both signs.
void add_block(Sum& sum, Index block) {
  Rng rng(3, "block", static_cast<std::uint64_t>(block));
  for (int i = 0; i < 10; ++i)
    sum.value += rng.normal() * std::pow(10.0, static_cast<double>(rng.below(17) - 8));
}

Sum sum_of(Index blocks, const Exec& exec) {
  return reduce<Sum>(
      blocks, [] { return Sum(); }, add_block, exec);
}

Partial<Sum> part_of(Index first, Index last, const Exec& exec) {
  return reduce_part<Sum>(
      first, last, [] { return Sum(); }, add_block, exec);
}

Partial<Sum> through_bytes(const Partial<Sum>& partial) {
  ByteWriter out;
  partial.save(out);
  const Bytes bytes = out.take();
  ByteReader in(bytes);
  auto loaded = Partial<Sum>::load(in);
  EXPECT_EQ(in.left(), 0u);
  return loaded;
}

Bytes damaged(std::int32_t level, Index index, int copies = 1) {
  ByteWriter out;
  out.put(static_cast<std::uint64_t>(copies));
  for (int i = 0; i < copies; ++i) {
    out.put(level);
    out.put(index);
    out.put(1.0);
  }
  return out.take();
}

}  // namespace

TEST(Reduce, GivesTheSameBitsForAnyNumberOfThreads) {
  for (const Index blocks : {1, 2, 3, 64, 100, 1023}) {
    const double expected = sum_of(blocks, {}).value;
    for (const int threads : {1, 2, 4, 7}) {
      ThreadPool pool(threads);
      for (int repeat = 0; repeat < 20; ++repeat)
        ASSERT_EQ(sum_of(blocks, {.pool = &pool}).value, expected)
            << blocks << " " << threads;
    }
  }
}

// Otherwise the test above would hold for any order.
TEST(Reduce, IsNotTheSumFromLeftToRight) {
  Sum plain;
  for (Index b = 0; b < 1023; ++b) {
    Sum block;
    add_block(block, b);
    plain.merge(block);
  }
  EXPECT_NE(sum_of(1023, {}).value, plain.value);
  EXPECT_CLOSE(sum_of(1023, {}).value, plain.value, 1e-9);
}

TEST(Reduce, FollowsTheTreeOverBlockNumbers) {
  std::vector<double> leaf;
  for (Index b = 0; b < 7; ++b) {
    Sum block;
    add_block(block, b);
    leaf.push_back(block.value);
  }
  const double expected =
      (((leaf[0] + leaf[1]) + (leaf[2] + leaf[3])) + (leaf[4] + leaf[5])) + leaf[6];
  EXPECT_EQ(sum_of(7, {}).value, expected);
}

TEST(Reduce, NoBlocksGiveTheEmptyState) { EXPECT_EQ(sum_of(0, {}).value, 0); }

TEST(Reduce, AnErrorInABlockComesOut) {
  ThreadPool pool(4);
  const auto fail = [](Sum&, Index block) {
    if (block >= 3) throw Error(ErrorKind::bad_value, "block " + std::to_string(block));
  };
  EXPECT_ERROR(reduce<Sum>(50, [] { return Sum(); }, fail, {.pool = &pool}),
               ErrorKind::bad_value, "block 3");
}

RC_GTEST_PROP(Partial, HalvesThroughBytesAreOnePassToTheBit, ()) {
  const auto blocks = *rc::gen::inRange<Index>(1, 200);
  const auto border = *rc::gen::inRange<Index>(0, blocks + 1);
  const bool right_first = *rc::gen::arbitrary<bool>();
  ThreadPool pool(3);
  auto left = through_bytes(part_of(0, border, {.pool = &pool}));
  auto right = through_bytes(part_of(border, blocks, {}));
  RC_ASSERT(left.blocks() == border && right.blocks() == blocks - border);
  if (right_first) std::swap(left, right);
  left.merge(std::move(right));
  RC_ASSERT(left.blocks() == blocks);
  RC_ASSERT(std::move(left).finish().value == sum_of(blocks, {}).value);
}

RC_GTEST_PROP(Partial, ManyPartsInAnyOrderAreOnePassToTheBit, ()) {
  const auto blocks = *rc::gen::inRange<Index>(1, 60);
  Rng rng(*rc::gen::arbitrary<std::uint64_t>());
  Partial<Sum> all;
  for (const Index b : permutation(blocks, rng))
    all.merge(through_bytes(part_of(b, b + 1, {})));
  RC_ASSERT(std::move(all).finish().value == sum_of(blocks, {}).value);
}

TEST(Partial, ABlockThatIsInTwoPartsIsAnError) {
  auto left = part_of(0, 5, {});
  EXPECT_ERROR(left.merge(part_of(4, 6, {})), ErrorKind::bad_shape, "two parts");
  auto whole = part_of(0, 4, {});
  EXPECT_ERROR(whole.merge(part_of(2, 3, {})), ErrorKind::bad_shape, "two parts");
  auto inner = part_of(2, 3, {});
  EXPECT_ERROR(inner.merge(part_of(0, 4, {})), ErrorKind::bad_shape, "two parts");
}

TEST(Partial, DamagedBytesAreAnError) {
  const auto load = [](const Bytes& bytes) {
    ByteReader in(bytes);
    return Partial<Sum>::load(in);
  };
  EXPECT_FALSE(load(damaged(3, 5)).empty());
  EXPECT_ERROR(load(damaged(-1, 0)), ErrorKind::bad_model, "outside");
  EXPECT_ERROR(load(damaged(49, 0)), ErrorKind::bad_model, "outside");
  EXPECT_ERROR(load(damaged(0, -4)), ErrorKind::bad_model, "outside");
  EXPECT_ERROR(load(damaged(48, 1)), ErrorKind::bad_model, "outside");
  EXPECT_ERROR(load(damaged(2, 1, 2)), ErrorKind::bad_model, "same blocks");
  Bytes cut = damaged(2, 1, 2);
  cut.resize(20);
  EXPECT_ERROR(load(cut), ErrorKind::bad_model, "ends after 20 bytes");
}

}  // namespace fmd
