#include "fmd/language/tokenizer.h"

#include <algorithm>
#include <queue>

#include <fmt/format.h>

#include "core/beside.h"
#include "core/internal.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "language/tokens/tokenizer_data.h"
#include "language/tokens/tokenizer_json.h"

namespace fmd {
namespace internal {

const std::vector<std::string>& byte_symbols() {
  static const std::vector<std::string> symbols = [] {
    std::vector<std::string> made(256);
    char32_t next = 256;
    for (char32_t byte = 0; byte < 256; ++byte) {
      const bool shown = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) ||
                         (byte >= 0xAE && byte <= 0xFF);
      append_character(made[byte], shown ? byte : next++);
    }
    return made;
  }();
  return symbols;
}

int byte_of_symbol(char32_t code) {
  static const std::vector<int> bytes = [] {
    std::vector<int> made(512, -1);
    for (int byte = 0; byte < 256; ++byte) {
      std::size_t at = 0;
      made[next_character(byte_symbols()[static_cast<std::size_t>(byte)], at)] = byte;
    }
    return made;
  }();
  return code < bytes.size() ? bytes[code] : -1;
}

}  // namespace internal

namespace {

using Data = TokenizerData;

// ---------------------------------------------------------------- merges

// A word as a list of symbols, of which neighbours are merged by rank, the leftmost first.
class MergeList {
 public:
  MergeList(const Data& data, TokenIds symbols) : data_(data), symbol_(std::move(symbols)) {
    const auto count = static_cast<std::int32_t>(symbol_.size());
    for (std::int32_t i = 0; i < count; ++i) {
      before_.push_back(i - 1);
      after_.push_back(i + 1 < count ? i + 1 : -1);
    }
    for (std::int32_t i = 0; i + 1 < count; ++i) look_at(i);
  }

  [[nodiscard]] TokenIds merged() {
    while (!queue_.empty()) {
      const Entry entry = queue_.top();
      queue_.pop();
      const std::int32_t right = at(after_, entry.left);
      // An entry is stale when one of its symbols has been merged since.
      if (at(symbol_, entry.left) != entry.a || right < 0 || at(symbol_, right) != entry.b)
        continue;
      at(symbol_, entry.left) = entry.result;
      at(symbol_, right) = -1;
      const std::int32_t next = at(after_, right);
      at(after_, entry.left) = next;
      if (next >= 0) {
        at(before_, next) = entry.left;
        look_at(entry.left);
      }
      if (at(before_, entry.left) >= 0) look_at(at(before_, entry.left));
    }
    TokenIds result;
    for (std::int32_t i = symbol_.empty() ? -1 : 0; i >= 0; i = at(after_, i))
      result.push_back(at(symbol_, i));
    return result;
  }

 private:
  struct Entry {
    std::int32_t rank, left;
    TokenId a, b, result;
    bool operator<(const Entry& other) const {  // the smallest is on top
      return rank != other.rank ? rank > other.rank : left > other.left;
    }
  };
  template <typename T>
  static T& at(std::vector<T>& values, std::int32_t i) {
    return values[static_cast<std::size_t>(i)];
  }

  void look_at(std::int32_t left) {
    const TokenId a = at(symbol_, left), b = at(symbol_, at(after_, left));
    const auto found = data_.merges.find(Data::pair(a, b));
    if (found == data_.merges.end()) return;
    queue_.push({found->second.rank, left, a, b, found->second.result});
  }

  const Data& data_;
  TokenIds symbol_;
  std::vector<std::int32_t> before_, after_;
  std::priority_queue<Entry> queue_;
};

// The symbols of a word: characters that are tokens, else their bytes or the unknown one.
TokenIds symbols_of(const Data& data, std::string_view word) {
  TokenIds symbols;
  bool after_unknown = false;
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t begin = at;
    static_cast<void>(next_character(word, at));
    const std::string character(word.substr(begin, at - begin));
    const auto found = data.ids.find(character);
    const bool known = found != data.ids.end();
    if (known) {
      symbols.push_back(found->second);
    } else if (data.bytes_for_unknown) {
      for (const char byte : character)
        symbols.push_back(data.of_byte[static_cast<unsigned char>(byte)]);
    } else if (data.unknown >= 0 && !(after_unknown && data.fuse_unknown)) {
      symbols.push_back(data.unknown);
    }
    after_unknown = !known && !data.bytes_for_unknown;
  }
  return symbols;
}

void add_bpe(const Data& data, std::string_view word, TokenIds& ids) {
  if (data.whole_words_first) {
    const auto found = data.ids.find(std::string(word));
    if (found != data.ids.end()) {
      ids.push_back(found->second);
      return;
    }
  }
  const TokenIds merged = MergeList(data, symbols_of(data, word)).merged();
  ids.insert(ids.end(), merged.begin(), merged.end());
}

std::string as_symbols(std::string_view word) {
  std::string symbols;
  for (const char byte : word) symbols += byte_symbols()[static_cast<unsigned char>(byte)];
  return symbols;
}

// ---------------------------------------------------------------- WordPiece

void add_wordpieces(const Data& data, std::string_view word, TokenIds& ids) {
  const auto characters = std::count_if(word.begin(), word.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
  });
  TokenIds pieces;
  std::size_t first = 0;
  bool known = static_cast<std::size_t>(characters) <= data.most_characters;
  while (known && first < word.size()) {
    std::size_t end = word.size();
    for (; end > first; --end) {
      if (end < word.size() && (static_cast<unsigned char>(word[end]) & 0xC0) == 0x80)
        continue;
      std::string piece = first > 0 ? data.inside : "";
      piece += word.substr(first, end - first);
      const auto found = data.ids.find(piece);
      if (found == data.ids.end()) continue;
      pieces.push_back(found->second);
      break;
    }
    known = end > first;
    first = end;
  }
  if (!known) pieces.assign(1, data.unknown);
  ids.insert(ids.end(), pieces.begin(), pieces.end());
}

// ---------------------------------------------------------------- text

bool word_character(char32_t code) {
  return is_letter(code) || is_number(code) || code == '_';
}

char32_t character_before(std::string_view text, std::size_t at) {
  std::size_t begin = at - 1;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
  return next_character(text, begin);
}

bool stands_alone(std::string_view text, std::size_t first, std::size_t last) {
  if (first > 0 && word_character(character_before(text, first))) return false;
  std::size_t at = last;
  return last >= text.size() || !word_character(next_character(text, at));
}

struct Found {
  std::size_t first = 0, last = 0;
  const AddedToken* token = nullptr;
};

// Finds added tokens in one text, from left to right. Where each token comes next is kept:
// a text with many of them is searched once for each token, not once for each place.
class AddedFinder {
 public:
  AddedFinder(const Data& data, std::string_view text, bool in_normalised) : text_(text) {
    for (const AddedToken& token : data.added)
      if (token.in_normalised == in_normalised)
        places_.push_back({&token, place(token, 0)});
  }

  // The leftmost token from `from` on; of several the longest.
  [[nodiscard]] Found next(std::size_t from) {
    Found best{text_.size(), text_.size(), nullptr};
    for (Place& known : places_) {
      if (known.at < from) known.at = place(*known.token, from);
      if (known.at == std::string_view::npos) continue;
      const std::size_t size = known.token->content.size();
      const bool longer =
          best.token != nullptr && known.at == best.first && known.at + size > best.last;
      if (best.token == nullptr || known.at < best.first || longer)
        best = {known.at, known.at + size, known.token};
    }
    return best;
  }

 private:
  struct Place {
    const AddedToken* token;
    std::size_t at;
  };
  [[nodiscard]] std::size_t place(const AddedToken& token, std::size_t from) const {
    std::size_t at = text_.find(token.content, from);
    while (at != std::string_view::npos && token.single_word &&
           !stands_alone(text_, at, at + token.content.size()))
      at = text_.find(token.content, at + 1);
    return at;
  }

  std::string_view text_;
  std::vector<Place> places_;
};

void widen_over_blanks(std::string_view text, std::size_t from, Found& found) {
  while (found.token->left_blanks && found.first > from &&
         is_space(character_before(text, found.first))) {
    --found.first;
    while ((static_cast<unsigned char>(text[found.first]) & 0xC0) == 0x80) --found.first;
  }
  while (found.token->right_blanks && found.last < text.size()) {
    std::size_t at = found.last;
    if (!is_space(next_character(text, at))) break;
    found.last = at;
  }
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// Blanks as marks, and the blank before a piece that does not begin with one.
std::string with_marks(const Data& data, std::string_view text, bool first_piece) {
  std::string result(text);
  const std::string blank = data.blanks_to_marks ? kBlankMark : " ";
  if (data.blanks_to_marks) replace_all(result, " ", kBlankMark);
  const bool wanted = data.prefix == Prefix::every_piece ||
                      (data.prefix == Prefix::first_piece && first_piece);
  if (wanted && (data.marks_first || !result.starts_with(blank))) result.insert(0, blank);
  return result;
}

std::string normalised_piece(const Data& data, std::string_view text, bool first_piece) {
  if (data.bert_normaliser) return normalised(text, data.bert);
  return data.marks_first ? with_marks(data, text, first_piece) : std::string(text);
}

void add_marked(const Data& data, std::string_view text, TokenIds& ids) {
  const std::string_view mark = kBlankMark;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(mark, mark.size()), text.size());
    add_bpe(data, text.substr(0, end), ids);
    text.remove_prefix(end);
  }
}

void add_words(const Data& data, std::string_view piece, bool first_piece, TokenIds& ids) {
  const std::string text =
      data.marks_first ? std::string(piece) : with_marks(data, piece, first_piece);
  if (data.cut_at_marks) {
    add_marked(data, text, ids);
    return;
  }
  for (const std::string_view word : cut_words(text, data.cut)) {
    if (data.kind == TokenizerKind::wordpiece) {
      add_wordpieces(data, word, ids);
    } else if (data.kind == TokenizerKind::byte_bpe) {
      add_bpe(data, as_symbols(word), ids);
    } else {
      add_bpe(data, word, ids);
    }
  }
}

// `each` gets the text between added tokens, the tokens themselves become ids.
template <typename Each>
void between_added(const Data& data, std::string_view text, bool in_normalised,
                   TokenIds& ids, const Each& each) {
  AddedFinder finder(data, text, in_normalised);
  std::size_t from = 0;
  while (from < text.size()) {
    Found found = finder.next(from);
    if (found.token == nullptr) break;
    widen_over_blanks(text, from, found);
    if (found.first > from) each(text.substr(from, found.first - from), from == 0);
    ids.push_back(found.token->id);
    from = found.last;
  }
  if (from < text.size()) each(text.substr(from), from == 0);
}

// ---------------------------------------------------------------- decode

std::string clean(std::string piece) {
  constexpr std::pair<const char*, const char*> kRules[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kRules) replace_all(piece, from, to);
  return piece;
}

// Bytes that are no text become U+FFFD, as in `tokenizers`: one for each broken run.
std::string readable(const std::string& bytes) {
  if (is_utf8(bytes)) return bytes;
  std::string text;
  for (std::size_t at = 0; at < bytes.size();) {
    std::size_t size = 1;
    while (size <= 4 && at + size <= bytes.size() && !is_utf8(bytes.substr(at, size)))
      ++size;
    if (size <= 4 && at + size <= bytes.size()) {
      text += bytes.substr(at, size);
      at += size;
    } else {
      text += "\xEF\xBF\xBD";
      ++at;
      while (at < bytes.size() && (static_cast<unsigned char>(bytes[at]) & 0xC0) == 0x80)
        ++at;
    }
  }
  return text;
}

std::string bytes_of_symbols(const std::string& token) {
  std::string bytes;
  for (std::size_t at = 0; at < token.size();) {
    const int byte = byte_of_symbol(next_character(token, at));
    if (byte < 0) return token;  // an added token
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

std::string decoded_token(const Data& data, const std::string& token, TokenId id,
                          bool first) {
  if (data.kind == TokenizerKind::byte_bpe) return bytes_of_symbols(token);
  if (data.kind == TokenizerKind::wordpiece) {
    std::string piece = !first && token.starts_with(data.inside)
                            ? token.substr(data.inside.size())
                            : (first ? "" : " ") + token;
    return data.clean_up ? clean(std::move(piece)) : piece;
  }
  if (data.joins_bytes && !data.of_byte.empty()) {
    const auto found = std::find(data.of_byte.begin(), data.of_byte.end(), id);
    if (found != data.of_byte.end())
      return std::string(1, static_cast<char>(found - data.of_byte.begin()));
  }
  std::string piece = token;
  replace_all(piece, kBlankMark, " ");
  return piece;
}

std::optional<TokenId> first_known(const Data& data,
                                   std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto found = data.ids.find(name);
    if (found != data.ids.end()) return found->second;
  }
  return std::nullopt;
}

}  // namespace

Tokenizer Tokenizer::parse(std::string_view json, const std::string& source) {
  return Tokenizer(read_tokenizer_json(json, source));
}

Tokenizer Tokenizer::open(const std::filesystem::path& folder_or_json) {
  std::error_code absent;
  const std::filesystem::path json =
      std::filesystem::is_directory(folder_or_json, absent)
          ? found_file(folder_or_json / "tokenizer.json", ErrorKind::bad_model)
          : folder_or_json;
  return parse(FileView::open(json).text(), json.string());
}

Tokenizer Tokenizer::parse_llama2c(std::span<const std::uint8_t> bytes, Index vocabulary,
                                   const std::string& source) {
  return Tokenizer(read_llama2c_tokens(bytes, vocabulary, source));
}

Tokenizer Tokenizer::open_llama2c(const std::filesystem::path& file, Index vocabulary) {
  const FileView view = FileView::open(file);
  return parse_llama2c(view.bytes(), vocabulary, file.string());
}

TokenizerKind Tokenizer::kind() const { return data_->kind; }
Index Tokenizer::vocabulary() const { return static_cast<Index>(data_->tokens.size()); }

TokenIds Tokenizer::encode(std::string_view text) const {
  require_utf8(text, "tokens: the text");
  const Data& data = *data_;
  TokenIds ids;
  between_added(data, text, false, ids, [&](std::string_view part, bool first) {
    const std::string normal = normalised_piece(data, part, first);
    between_added(data, normal, true, ids, [&](std::string_view piece, bool start) {
      add_words(data, piece, first && start, ids);
    });
  });
  return ids;
}

std::string Tokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
  const Data& data = *data_;
  std::string text;
  bool first = true;
  for (const TokenId id : ids) {
    const std::string& name = token(id);
    if (skip_special && special(id)) continue;
    text += decoded_token(data, name, id, first);
    first = false;
  }
  if (data.strip_first_blank && text.starts_with(' ')) text.erase(0, 1);
  return readable(text);
}

std::optional<TokenId> Tokenizer::id(std::string_view token) const {
  const auto found = data_->ids.find(std::string(token));
  if (found == data_->ids.end()) return std::nullopt;
  return found->second;
}

const std::string& Tokenizer::token(TokenId id) const {
  if (id < 0 || id >= vocabulary())
    throw Error(ErrorKind::bad_value,
                fmt::format("{}: there is no token {}; the vocabulary has {}",
                            data_->source, id, vocabulary()));
  return data_->tokens[static_cast<std::size_t>(id)];
}

bool Tokenizer::special(TokenId id) const {
  return id >= 0 && id < vocabulary() && data_->is_special[static_cast<std::size_t>(id)];
}

std::optional<TokenId> Tokenizer::mask() const {
  return first_known(*data_, {"[MASK]", "<mask>"});
}
std::optional<TokenId> Tokenizer::beginning() const {
  return first_known(*data_, {"<|endoftext|>", "<|begin_of_text|>", "<s>", "[CLS]"});
}
std::optional<TokenId> Tokenizer::end() const {
  return first_known(*data_, {"<|endoftext|>", "<|end_of_text|>", "</s>", "[SEP]"});
}
std::optional<TokenId> Tokenizer::unknown() const {
  if (data_->unknown < 0) return std::nullopt;
  return data_->unknown;
}

}  // namespace fmd
