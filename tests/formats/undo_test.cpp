#include "fmd/formats/undo.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "support/close.h"

namespace fmd {
namespace {

RC_GTEST_PROP(Undo, GivesBackTheOriginalOfAnyTwoFiles,
              (const Bytes& original, const Bytes& changed)) {
  RC_ASSERT(apply_undo(make_undo(original, changed), changed) == original);
}

RC_GTEST_PROP(Undo, GivesBackAFileWithAFewChangedBytes,
              (Bytes original, const Bytes& places)) {
  original.resize(300);
  Bytes changed = original;
  for (const std::uint8_t place : places) changed[place] ^= 0x55;
  RC_ASSERT(apply_undo(make_undo(original, changed), changed) == original);
}

RC_GTEST_PROP(Undo, ADamagedUndoFileIsAlwaysNoticed,
              (Bytes original, const Bytes& changed)) {
  original.push_back(7);
  Bytes undo = make_undo(original, changed);
  const auto place = *rc::gen::inRange<std::size_t>(0, undo.size());
  undo[place] ^= static_cast<std::uint8_t>(1 << *rc::gen::inRange(0, 8));
  try {
    RC_ASSERT(apply_undo(undo, changed) == original);  // a shifted range may still be right
  } catch (const Error& error) {
    RC_ASSERT(error.kind() == ErrorKind::bad_model ||
              error.kind() == ErrorKind::wrong_model);
  }
}

TEST(Undo, HoldsOnlyWhatChanged) {
  Bytes original(100000, 1), changed = original;
  changed[500] = changed[501] = changed[90000] = 2;
  EXPECT_LT(make_undo(original, changed).size(), 200u);
  changed.insert(changed.begin() + 50000, 17);
  EXPECT_EQ(apply_undo(make_undo(original, changed), changed), original);
}

TEST(Undo, AnotherFileIsRefused) {
  const Bytes original = {1, 2, 3}, changed = {1, 9, 3}, other = {1, 8, 3};
  const Bytes undo = make_undo(original, changed);
  EXPECT_ERROR(apply_undo(undo, other), ErrorKind::wrong_model, "not the file");
  EXPECT_ERROR(apply_undo(undo, original), ErrorKind::wrong_model, "not the file");
}

TEST(Undo, EveryShorteningIsAnError) {
  const Bytes original = {1, 2, 3}, changed = {1, 9, 3};
  const Bytes undo = make_undo(original, changed);
  for (std::size_t size = 0; size < undo.size(); ++size) {
    EXPECT_ERROR(apply_undo(std::span(undo).first(size), changed), ErrorKind::bad_model,
                 "undo: ");
  }
  Bytes longer = undo;
  longer.push_back(0);
  EXPECT_ERROR(apply_undo(longer, changed), ErrorKind::bad_model, "after the end");
}

}  // namespace
}  // namespace fmd
