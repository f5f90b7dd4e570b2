#include "language/tokens/tokenizer_json.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "core/json.h"
#include "fmd/core/bytes.h"
#include "fmd/core/error.h"
#include "fmd/core/safe_text.h"

namespace fmd::internal {
namespace {

using Json = nlohmann::json;
using Data = TokenizerData;

constexpr Index kMostTokens = 10'000'000;
constexpr std::size_t kMostAdded = 10'000, kMostWord = 1000;
constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// Reads fields of one file and throws errors that name it.
class TokenizerReader {
 public:
  TokenizerReader(const Json& file, std::string source)
      : file_(file), source_(std::move(source)), data_(std::make_shared<Data>()) {
    data_->source = source_;
  }

  [[nodiscard]] std::shared_ptr<const Data> read() {
    if (!file_.is_object()) damaged("it is no JSON object");
    read_model(part(file_, "model"));
    read_added();
    if (const Json* rules = optional(file_, "normalizer")) read_normaliser(*rules);
    if (const Json* rules = optional(file_, "pre_tokenizer")) read_words(*rules);
    if (const Json* rules = optional(file_, "decoder")) read_decoder(*rules);
    settle_kind();
    return data_;
  }

 private:
  [[noreturn]] void damaged(const std::string& what) const {
    throw Error(ErrorKind::bad_model,
                fmt::format("{}: no tokenizer that can be used: {}", source_, what),
                "write the file again by the program that made the model");
  }
  [[noreturn]] void unknown(const std::string& what) const {
    throw Error(
        ErrorKind::unsupported, fmt::format("{}: {}", source_, what),
        "byte-level BPE (GPT-2, Llama 3, RoBERTa), BPE with byte fallback (Llama 2) "
        "and WordPiece (BERT) are known");
  }

  static const Json* optional(const Json& from, const char* name) {
    const auto found = from.find(name);
    return found == from.end() || found->is_null() ? nullptr : &*found;
  }
  const Json& part(const Json& from, const char* name) const {
    const Json* found = from.is_object() ? optional(from, name) : nullptr;
    if (found == nullptr) damaged(fmt::format("\"{}\" is missing", name));
    return *found;
  }
  std::string text(const Json& from, const char* name, const std::string& otherwise) const {
    const Json* found = optional(from, name);
    if (found == nullptr) return otherwise;
    if (!found->is_string()) damaged(fmt::format("\"{}\" is no text", name));
    return found->get<std::string>();
  }
  bool flag(const Json& from, const char* name, bool otherwise) const {
    const Json* found = optional(from, name);
    if (found == nullptr) return otherwise;
    if (!found->is_boolean())
      damaged(fmt::format("\"{}\" is neither true nor false", name));
    return found->get<bool>();
  }
  std::string type_of(const Json& rules) const {
    if (!rules.is_object()) damaged("a rule is no JSON object");
    return text(rules, "type", "");
  }

  // -------------------------------------------------------------- tokens

  TokenId token_number(const Json& value, const std::string& token) const {
    const bool whole = value.is_number_integer();
    if (!whole || value.get<std::int64_t>() < 0 || value.get<std::int64_t>() >= kMostTokens)
      damaged(fmt::format("the number of the token \"{}\" is not between 0 and {}",
                          safe_text(token), kMostTokens - 1));
    return value.get<TokenId>();
  }

  void put(const std::string& token, TokenId id) {
    const auto at = static_cast<std::size_t>(id);
    if (at >= data_->tokens.size()) data_->tokens.resize(at + 1);
    if (!data_->tokens[at].empty() && data_->tokens[at] != token)
      damaged(fmt::format("the tokens \"{}\" and \"{}\" have the same number {}",
                          safe_text(data_->tokens[at]), safe_text(token), id));
    data_->tokens[at] = token;
    data_->ids[token] = id;
  }

  void read_vocabulary(const Json& vocabulary) {
    if (!vocabulary.is_object() || vocabulary.empty())
      damaged("\"vocab\" is no list of tokens with their numbers");
    // A hole of many numbers is no vocabulary: it would take memory for nothing.
    const auto room = static_cast<Index>(vocabulary.size()) * 8 + 100'000;
    for (const auto& [token, number] : vocabulary.items()) {
      const TokenId id = token_number(number, token);
      if (id >= room)
        damaged(fmt::format("the token \"{}\" has the number {}, but there are {} tokens",
                            safe_text(token), id, vocabulary.size()));
      if (token.empty()) continue;  // nothing is ever written with it
      put(token, id);
    }
  }

  void read_added() {
    const Json* added = optional(file_, "added_tokens");
    if (added == nullptr) return;
    if (!added->is_array() || added->size() > kMostAdded)
      damaged(fmt::format("\"added_tokens\" is no list of up to {} tokens", kMostAdded));
    for (const Json& entry : *added) {
      AddedToken token;
      token.content = text(entry, "content", "");
      if (token.content.empty()) damaged("an added token has no text");
      token.id = token_number(part(entry, "id"), token.content);
      if (token.id >= static_cast<Index>(data_->tokens.size()) + 1'000'000)
        damaged(fmt::format("the added token \"{}\" has the number {}",
                            safe_text(token.content), token.id));
      token.single_word = flag(entry, "single_word", false);
      token.left_blanks = flag(entry, "lstrip", false);
      token.right_blanks = flag(entry, "rstrip", false);
      token.special = flag(entry, "special", false);
      token.in_normalised = flag(entry, "normalized", !token.special);
      put(token.content, token.id);
      data_->added.push_back(std::move(token));
    }
  }

  // -------------------------------------------------------------- model

  void read_model(const Json& model) {
    std::string kind = text(model, "type", "");
    if (kind.empty()) kind = optional(model, "merges") != nullptr ? "BPE" : "WordPiece";
    if (kind != "BPE" && kind != "WordPiece")
      unknown(fmt::format("tokenizers of the kind {} are not known", safe_text(kind)));
    read_vocabulary(part(model, "vocab"));
    const std::string unknown_token = text(model, "unk_token", "");
    if (!unknown_token.empty()) {
      const auto found = data_->ids.find(unknown_token);
      if (found == data_->ids.end())
        damaged(fmt::format("the unknown token \"{}\" is not in the vocabulary",
                            safe_text(unknown_token)));
      data_->unknown = found->second;
    }
    if (kind == "WordPiece") {
      read_wordpiece(model);
    } else {
      read_bpe(model);
    }
  }

  void read_wordpiece(const Json& model) {
    data_->kind = TokenizerKind::wordpiece;
    data_->inside = text(model, "continuing_subword_prefix", "##");
    if (data_->unknown < 0) damaged("WordPiece needs the token for unknown words");
    if (const Json* most = optional(model, "max_input_chars_per_word")) {
      if (!most->is_number_unsigned() || most->get<std::size_t>() > kMostWord)
        damaged(
            fmt::format("\"max_input_chars_per_word\" is no number up to {}", kMostWord));
      data_->most_characters = most->get<std::size_t>();
    }
  }

  void read_bpe(const Json& model) {
    data_->whole_words_first = flag(model, "ignore_merges", false);
    data_->fuse_unknown = flag(model, "fuse_unk", false);
    for (const char* name : {"continuing_subword_prefix", "end_of_word_suffix"})
      if (!text(model, name, "").empty())
        unknown(fmt::format("BPE with a {} is not known", name));
    const Json* dropout = optional(model, "dropout");
    if (dropout != nullptr && !(dropout->is_number() && dropout->get<double>() == 0))
      unknown("BPE with dropout gives other tokens each time");
    if (flag(model, "byte_fallback", false)) read_byte_tokens();
    const Json& merges = part(model, "merges");
    if (!merges.is_array()) damaged("\"merges\" is no list");
    std::int32_t rank = 0;
    for (const Json& merge : merges) add_merge(merge, rank++);
  }

  // Bytes without a token of their own: the fallback then does not happen in `tokenizers`
  // for characters that hold them. All 256 are asked for here.
  void read_byte_tokens() {
    data_->of_byte.clear();
    for (int byte = 0; byte < 256; ++byte) {
      const auto found = data_->ids.find(fmt::format("<0x{:02X}>", byte));
      if (found == data_->ids.end())
        damaged(fmt::format("the token <0x{:02X}> is missing, which byte fallback needs",
                            byte));
      data_->of_byte.push_back(found->second);
    }
    data_->bytes_for_unknown = true;
  }

  TokenId known(const std::string& token, std::int32_t rank) const {
    const auto found = data_->ids.find(token);
    if (found == data_->ids.end())
      damaged(
          fmt::format("merge {} needs the token \"{}\", which the vocabulary does not "
                      "have",
                      rank + 1, safe_text(token)));
    return found->second;
  }

  void add_merge(const Json& merge, std::int32_t rank) {
    std::string a, b;
    if (merge.is_string()) {
      const auto& line = merge.get_ref<const std::string&>();
      const std::size_t blank = line.find(' ');
      if (blank == std::string::npos) damaged(fmt::format("merge {} is no pair", rank + 1));
      a = line.substr(0, blank);
      b = line.substr(blank + 1);
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
               merge[1].is_string()) {
      a = merge[0].get<std::string>();
      b = merge[1].get<std::string>();
    } else {
      damaged(fmt::format("merge {} is no pair of tokens", rank + 1));
    }
    const TokenId left = known(a, rank), right = known(b, rank);
    // The last rank of a pair that is listed twice counts.
    data_->merges[Data::pair(left, right)] = {rank, known(a + b, rank)};
  }

  // -------------------------------------------------------------- text before words

  void read_normaliser(const Json& rules) {
    const std::string type = type_of(rules);
    if (type == "Sequence") {
      for (const Json& rule : part(rules, "normalizers")) read_normaliser(rule);
    } else if (type == "BertNormalizer") {
      data_->bert_normaliser = true;
      data_->bert.clean = flag(rules, "clean_text", true);
      data_->bert.chinese = flag(rules, "handle_chinese_chars", true);
      data_->bert.lowercase = flag(rules, "lowercase", true);
      data_->bert.strip_accents = flag(rules, "strip_accents", data_->bert.lowercase);
    } else if (type == "Prepend" && text(rules, "prepend", "") == kBlankMark) {
      data_->prefix = Prefix::every_piece;
      data_->marks_first = true;
    } else if (type == "Replace" && text(rules, "content", "") == kBlankMark &&
               text(part(rules, "pattern"), "String", "") == " ") {
      data_->blanks_to_marks = data_->marks_first = true;
    } else {
      unknown(fmt::format("the normaliser {} is not known", safe_text(type)));
    }
  }

  // -------------------------------------------------------------- words

  void read_words(const Json& rules) {
    const std::string type = type_of(rules);
    if (type == "Sequence") {
      for (const Json& rule : part(rules, "pretokenizers")) read_words(rule);
    } else if (type == "ByteLevel") {
      byte_level_ = true;
      if (flag(rules, "add_prefix_space", true)) data_->prefix = Prefix::every_piece;
      if (flag(rules, "use_regex", true)) data_->cut.words = WordRule::gpt2;
    } else if (type == "Digits") {
      const bool alone = flag(rules, "individual_digits", false);
      (alone ? data_->cut.digits_alone : data_->cut.digit_runs) = true;
    } else if (type == "Split") {
      read_split(rules);
    } else if (type == "BertPreTokenizer") {
      data_->cut.words = WordRule::bert;
    } else if (type == "Metaspace") {
      read_marks(rules);
    } else {
      unknown(fmt::format("the pre-tokenizer {} is not known", safe_text(type)));
    }
  }

  void read_split(const Json& rules) {
    const std::string pattern = text(part(rules, "pattern"), "Regex", "");
    const bool plain =
        text(rules, "behavior", "") == "Isolated" && !flag(rules, "invert", false);
    if (plain && pattern == kLlama3) {
      data_->cut.words = WordRule::llama3;
    } else if (plain && pattern == kQwen2) {
      data_->cut.words = WordRule::qwen2;
    } else {
      unknown(fmt::format("words are cut by an expression that is not known: {}",
                          safe_text(pattern.substr(0, 60))));
    }
  }

  void read_marks(const Json& rules) {
    if (text(rules, "replacement", kBlankMark) != kBlankMark)
      unknown("blanks are replaced by another mark than U+2581");
    const std::string scheme = text(rules, "prepend_scheme", "always");
    data_->blanks_to_marks = true;
    data_->prefix = scheme == "first"    ? Prefix::first_piece
                    : scheme == "always" ? Prefix::every_piece
                                         : Prefix::none;
    data_->cut_at_marks = flag(rules, "split", true);
  }

  void read_decoder(const Json& rules) {
    const std::string type = type_of(rules);
    if (type == "Sequence") {
      for (const Json& rule : part(rules, "decoders")) read_decoder(rule);
    } else if (type == "WordPiece") {
      data_->clean_up = flag(rules, "cleanup", true);
    } else if (type == "ByteFallback") {
      data_->joins_bytes = true;
    } else if (type == "Strip" || type == "Metaspace") {
      data_->strip_first_blank = true;
    }
  }

  void settle_kind() {
    data_->is_special.assign(data_->tokens.size(), false);
    for (const AddedToken& token : data_->added)
      data_->is_special[static_cast<std::size_t>(token.id)] = token.special;
    const bool pieces = data_->kind == TokenizerKind::wordpiece;
    if (pieces &&
        (byte_level_ || data_->blanks_to_marks || data_->cut.words != WordRule::bert))
      unknown("WordPiece without BERT's pre-tokenizer is not known");
    if (pieces) return;
    if (data_->bert_normaliser || data_->cut.words == WordRule::bert)
      unknown("BPE with BERT's rules is not known");
    if (byte_level_ == data_->blanks_to_marks)
      unknown("BPE is known with bytes, or with blanks as the mark U+2581");
    data_->kind = byte_level_ ? TokenizerKind::byte_bpe : TokenizerKind::char_bpe;
  }

  const Json& file_;
  std::string source_;
  std::shared_ptr<Data> data_;
  bool byte_level_ = false;
};

// ---------------------------------------------------------------- llama2.c

constexpr TokenId kFirstByte = 3;  // after <unk>, <s> and </s>

// Pairs of tokens that make a third one, the best score first.
void add_scored_merges(Data& data, const std::vector<float>& score) {
  std::vector<float> ranked(score);
  std::sort(ranked.begin(), ranked.end(), std::greater<>());
  for (std::size_t id = kFirstByte + 256; id < data.tokens.size(); ++id) {
    const std::string& token = data.tokens[id];
    const auto rank =
        std::lower_bound(ranked.begin(), ranked.end(), score[id], std::greater<>()) -
        ranked.begin();
    for (std::size_t cut = 1; cut < token.size(); ++cut) {
      const auto a = data.ids.find(token.substr(0, cut)),
                 b = data.ids.find(token.substr(cut));
      if (a != data.ids.end() && b != data.ids.end())
        data.merges[Data::pair(a->second, b->second)] = {static_cast<std::int32_t>(rank),
                                                         static_cast<TokenId>(id)};
    }
  }
}

}  // namespace

std::shared_ptr<const TokenizerData> read_tokenizer_json(std::string_view json,
                                                         const std::string& source) {
  const auto file = parse_json(json, source, ErrorKind::bad_model,
                               "no tokenizer that can be used: damaged JSON",
                               "write the file again by the program that made the model");
  return TokenizerReader(file, source).read();
}

std::shared_ptr<const TokenizerData> read_llama2c_tokens(
    std::span<const std::uint8_t> bytes, Index vocabulary, const std::string& source) {
  const auto damaged = [&](const std::string& what) {
    return Error(ErrorKind::bad_model,
                 fmt::format("{}: no tokenizer of llama2.c: {}", source, what),
                 "name the tokenizer that belongs to the model");
  };
  if (vocabulary <= kFirstByte + 256 || vocabulary > kMostTokens)
    throw damaged(fmt::format("{} tokens are asked for", vocabulary));
  auto data = std::make_shared<Data>();
  data->source = source;
  data->kind = TokenizerKind::char_bpe;
  data->prefix = Prefix::every_piece;
  data->marks_first = data->bytes_for_unknown = data->strip_first_blank = true;
  data->joins_bytes = true;
  std::size_t at = 4;
  std::vector<float> score;
  for (Index id = 0; id < vocabulary; ++id) {
    float value = 0;
    std::int32_t length = 0;
    if (at + 8 > bytes.size())
      throw damaged(fmt::format("it ends after {} of {} tokens", id, vocabulary));
    std::memcpy(&value, bytes.data() + at, 4);
    std::memcpy(&length, bytes.data() + at + 4, 4);
    at += 8;
    if (length < 0 || static_cast<std::size_t>(length) > bytes.size() - at ||
        !(std::abs(value) < 1e9f))
      throw damaged(fmt::format("token {} has the length {}", id, length));
    data->tokens.emplace_back(reinterpret_cast<const char*>(bytes.data()) + at,
                              static_cast<std::size_t>(length));
    score.push_back(value);
    at += static_cast<std::size_t>(length);
  }
  if (at != bytes.size())
    throw damaged(
        fmt::format("{} bytes follow after {} tokens", bytes.size() - at, vocabulary));
  data->tokens[0] = "<unk>";  // the file has line ends around the two others
  data->tokens[1] = "<s>";
  data->tokens[2] = "</s>";
  data->unknown = 0;
  for (int byte = 0; byte < 256; ++byte) data->of_byte.push_back(kFirstByte + byte);
  for (std::size_t id = 0; id < data->tokens.size(); ++id)
    data->ids.emplace(data->tokens[id], static_cast<TokenId>(id));
  data->is_special.assign(data->tokens.size(), false);
  for (std::size_t id = 0; id < 3; ++id) data->is_special[id] = true;
  add_scored_merges(*data, score);
  return data;
}

}  // namespace fmd::internal
