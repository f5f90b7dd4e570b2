#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "fmd/language/tokenizer.h"
#include "language/tokens/characters.h"
#include "language/tokens/pieces.h"

namespace fmd::internal {

// A token that is found in the text before anything is cut.
struct AddedToken {
  TokenId id = 0;
  std::string content;
  bool single_word = false, left_blanks = false, right_blanks = false;
  bool special = false;
  bool in_normalised = false;  // found after the normaliser
};

struct Merge {
  std::int32_t rank = 0;
  TokenId result = 0;
};

// Where a blank is put before a text that does not begin with one.
enum class Prefix { none, first_piece, every_piece };

}  // namespace fmd::internal

namespace fmd {

struct TokenizerData {
  TokenizerKind kind = TokenizerKind::byte_bpe;
  std::string source;

  std::vector<std::string> tokens;  // by id; "" = nobody has this id
  std::unordered_map<std::string, TokenId> ids;
  std::vector<bool> is_special;
  std::vector<internal::AddedToken> added;

  // Before the words are cut.
  bool bert_normaliser = false;
  internal::BertNormaliser bert;
  bool blanks_to_marks = false;  // " " becomes the mark U+2581
  // Marks and prefix come with the normaliser: before added tokens are looked for in its
  // text. Otherwise they come with the cutting into words, for each piece.
  bool marks_first = false;
  internal::Prefix prefix = internal::Prefix::none;
  internal::CutRules cut;
  bool cut_at_marks = false;  // before each mark, so that merges stay within words

  // Merges of pairs, by both ids.
  std::unordered_map<std::uint64_t, internal::Merge> merges;
  bool whole_words_first = false;  // a word that is a token needs no merge
  bool bytes_for_unknown = false;  // <0xE2> for each byte of an unknown character
  bool fuse_unknown = false;
  TokenId unknown = -1;          // -1 = there is none
  std::vector<TokenId> of_byte;  // bytes_for_unknown: 256

  // WordPiece.
  std::string inside = "##";
  std::size_t most_characters = 100;
  bool clean_up = true;  // decode(): no blank before punctuation

  bool strip_first_blank = false;  // decode()
  bool joins_bytes = false;        // decode(): <0xE2> is a byte

  [[nodiscard]] static std::uint64_t pair(TokenId a, TokenId b) {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) << 32) |
           static_cast<std::uint32_t>(b);
  }
};

}  // namespace fmd

namespace fmd::internal {

inline constexpr const char* kBlankMark = "\xE2\x96\x81";  // U+2581

// The character that stands for a byte in vocabularies of byte_bpe, and back (-1 = none).
[[nodiscard]] const std::vector<std::string>& byte_symbols();
[[nodiscard]] int byte_of_symbol(char32_t code);

}  // namespace fmd::internal
