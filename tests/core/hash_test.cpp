#include "fmd/core/hash.h"

#include <set>
#include <string_view>

#include <gtest/gtest.h>

#include "support/folder.h"

namespace fmd {
namespace {

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string digest(std::string_view text) { return hex(sha256(bytes_of(text))); }

}  // namespace

TEST(Sha256, AgreesWithThePublishedExamples) {
  EXPECT_EQ(digest(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(digest("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                   "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(digest(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesOfAnySizeGiveTheHashOfTheWhole) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += static_cast<char>(i * 31 % 251);
  for (const std::size_t piece : {1u, 7u, 63u, 64u, 65u, 200u, 1000u}) {
    Sha256 hash;
    for (std::size_t at = 0; at < text.size(); at += piece)
      hash.add(bytes_of(std::string_view(text).substr(at, piece)));
    EXPECT_EQ(hex(hash.finish()), digest(text)) << piece;
  }
}

// Around the border of a chunk the padding changes its shape.
TEST(Sha256, EveryLengthAroundAChunkIsRight) {
  std::string all;
  for (std::size_t length = 50; length < 135; ++length)
    all += digest(std::string(length, 'x'));
  EXPECT_EQ(digest(all),
            "6531af765b8a0b6787e8703af74691a4945a98f8f484a6eb36887e815b1a4c4c");
}

TEST(Hash64, IsTheSameOnEveryMachine) {
  EXPECT_EQ(hash64(bytes_of("")), 12035550249420947055u);
  EXPECT_EQ(hash64(bytes_of("abc")), 15123655078605352533u);
  EXPECT_EQ(hash64(bytes_of("abcdefghij"), 7), 10010809283534424779u);
}

TEST(Hash64, TellsLengthsSeedsAndOrdersApart) {
  std::set<std::uint64_t> seen;
  const std::string zeros(64, '\0');
  for (std::size_t n = 0; n <= 64; ++n)
    EXPECT_TRUE(seen.insert(hash64(bytes_of(zeros).first(n))).second) << n;
  for (std::uint64_t seed = 1; seed < 1000; ++seed)
    EXPECT_TRUE(seen.insert(hash64(bytes_of("row"), seed)).second);
  EXPECT_NE(hash64(bytes_of("aaaaaaaabbbbbbbb")), hash64(bytes_of("bbbbbbbbaaaaaaaa")));
}

TEST(Sha256, OfAFileIsThatOfItsBytes) {
  const test::Folder folder;
  for (const std::size_t size : {0, 1, 63, 64, 65, 262143, 262144, 262145, 600000}) {
    std::string text(size, 'a');
    for (std::size_t i = 0; i < size; i += 7) text[i] = static_cast<char>(i);
    test::write_text(folder / "f", text);
    EXPECT_EQ(sha256_file(folder / "f"),
              sha256({reinterpret_cast<const std::uint8_t*>(text.data()), size}))
        << size;
  }
}

}  // namespace fmd
