#include "fmd/language/tokenizer.h"

#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/close.h"
#include "support/files.h"
#include "support/folder.h"

namespace fmd {
namespace {

using Json = nlohmann::json;
const std::filesystem::path kTokenizerModels = test::kFiles / "lm";

Json json_of(const std::filesystem::path& path) {
  return Json::parse(test::read_text(path));
}

// A small tokenizer of byte-level BPE that tests change.
Json small_bpe() {
  return Json::parse(R"({
    "version": "1.0", "added_tokens": [{"id": 7, "content": "<|endoftext|>", "special": true,
      "normalized": false, "lstrip": false, "rstrip": false, "single_word": false}],
    "normalizer": null,
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
    "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "abc": 5, "\u0120": 6},
              "merges": ["b c", "a b", "a bc"]}})");
}

TokenIds ids_of(const Json& file, std::string_view text) {
  return Tokenizer::parse(file.dump(), "tokenizer.json").encode(text);
}

TEST(Tokenizer, IdsAndTextsEqualThoseOfTheLibrary) {
  for (const char* kind : {"llama", "gpt2", "bert", "distilbert", "roberta"}) {
    const Tokenizer tokenizer = Tokenizer::open(kTokenizerModels / kind / "tokenizer.json");
    const Json golden = json_of(kTokenizerModels / kind / "golden.json");
    for (const Json& line : golden.at("lines")) {
      const auto text = line.at("text").get<std::string>();
      const TokenIds ids = tokenizer.encode(text);
      EXPECT_EQ(ids, line.at("ids").get<TokenIds>()) << kind << ": " << text;
      EXPECT_EQ(tokenizer.decode(ids, true), line.at("decoded").get<std::string>())
          << kind << ": " << text;
    }
  }
}

TEST(Tokenizer, MergesGoByRankAndThenFromTheLeft) {
  // "b c" has the lowest rank: abc becomes a + bc, then abc.
  EXPECT_EQ(ids_of(small_bpe(), "abc"), (TokenIds{5}));
  EXPECT_EQ(ids_of(small_bpe(), "abab"), (TokenIds{3, 3}));
  EXPECT_EQ(ids_of(small_bpe(), "ab ab"), (TokenIds{3, 6, 3}));
  EXPECT_EQ(ids_of(small_bpe(), "a<|endoftext|>b"), (TokenIds{0, 7, 1}));
}

TEST(Tokenizer, BytesComeBack) {
  const Tokenizer tokenizer = Tokenizer::open(kTokenizerModels / "gpt2/tokenizer.json");
  for (const std::string text :
       {"na\u00efve \u65e5\u672c \U0001F389", " a\tb\n\n c  ", "\x01"})
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
}

TEST(Tokenizer, KnowsItsSpecialTokens) {
  const Tokenizer bert = Tokenizer::open(kTokenizerModels / "bert/tokenizer.json");
  EXPECT_EQ(bert.kind(), TokenizerKind::wordpiece);
  EXPECT_EQ(bert.mask(), bert.id("[MASK]"));
  EXPECT_TRUE(bert.special(*bert.mask()));
  EXPECT_FALSE(bert.id("no such token").has_value());
  const Tokenizer llama = Tokenizer::open(kTokenizerModels / "llama/tokenizer.json");
  EXPECT_EQ(llama.kind(), TokenizerKind::byte_bpe);
  EXPECT_EQ(llama.beginning(), TokenId{0});
  EXPECT_ERROR(llama.token(100000), ErrorKind::bad_value, "there is no token 100000");
}

TEST(Tokenizer, DamagedFilesAreNamed) {
  const auto parse = [](const Json& file) {
    return Tokenizer::parse(file.dump(), "t.json");
  };
  Json file = small_bpe();
  file["model"]["merges"].push_back("a zz");
  EXPECT_ERROR(parse(file), ErrorKind::bad_model, "merge 4 needs the token \"zz\"");
  file = small_bpe();
  file["model"]["vocab"]["x"] = 2;
  EXPECT_ERROR(parse(file), ErrorKind::bad_model, "have the same number 2");
  file = small_bpe();
  file["model"]["vocab"]["x"] = 900'000'000;
  EXPECT_ERROR(parse(file), ErrorKind::bad_model, "is not between 0 and");
  file = small_bpe();
  file["model"]["type"] = "Unigram";
  EXPECT_ERROR(parse(file), ErrorKind::unsupported, "the kind Unigram");
  file = small_bpe();
  file["pre_tokenizer"] = {{"type", "Split"},
                           {"pattern", {{"Regex", "x+"}}},
                           {"behavior", "Isolated"},
                           {"invert", false}};
  EXPECT_ERROR(parse(file), ErrorKind::unsupported, "an expression that is not known: x+");
  EXPECT_ERROR(Tokenizer::parse("{\"model\": ", "t.json"), ErrorKind::bad_model, "t.json");
  EXPECT_ERROR(Tokenizer::parse("[]", "t.json"), ErrorKind::bad_model, "no JSON object");
  EXPECT_ERROR(ids_of(small_bpe(), "a\xff"), ErrorKind::bad_value,
               "byte 2 (0xff) is not UTF-8");
}

// Llama 2 writes blanks as a mark and unknown characters as bytes.
TEST(Tokenizer, UnknownCharactersBecomeBytes) {
  Json file = small_bpe();
  file["pre_tokenizer"] = nullptr;
  file["normalizer"] = Json::parse(
      R"({"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"},
         {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]})");
  file["decoder"] = Json::parse(
      R"({"type": "Sequence", "decoders": [{"type": "Replace"}, {"type": "ByteFallback"},
         {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})");
  file["model"]["byte_fallback"] = true;
  file["model"]["vocab"].erase("\u0120");
  file["model"]["vocab"]["\u2581"] = 6;
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof(name), "<0x%02X>", static_cast<unsigned>(byte));
    file["model"]["vocab"][name] = 8 + byte;
  }
  const Tokenizer tokenizer = Tokenizer::parse(file.dump(), "t.json");
  EXPECT_EQ(tokenizer.kind(), TokenizerKind::char_bpe);
  const TokenIds ids = tokenizer.encode("abc \u00e9");
  EXPECT_EQ(ids, (TokenIds{6, 5, 6, 8 + 0xC3, 8 + 0xA9}));
  EXPECT_EQ(tokenizer.decode(ids), "abc \u00e9");
  file["model"]["vocab"].erase("<0x7F>");
  EXPECT_ERROR(Tokenizer::parse(file.dump(), "t.json"), ErrorKind::bad_model,
               "<0x7F> is missing");
}

}  // namespace
}  // namespace fmd
