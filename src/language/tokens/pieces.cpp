#include "language/tokens/pieces.h"

#include "language/tokens/characters.h"

namespace fmd::internal {
namespace {

using Pieces = std::vector<std::string_view>;

// A text as characters with the byte at which each one begins, and one more at the end.
struct Characters {
  std::string_view text;
  std::vector<char32_t> code;
  std::vector<std::size_t> begin;

  explicit Characters(std::string_view all) : text(all) {
    for (std::size_t at = 0; at < all.size();) {
      begin.push_back(at);
      code.push_back(next_character(all, at));
    }
    begin.push_back(all.size());
  }
  [[nodiscard]] std::size_t size() const { return code.size(); }
  [[nodiscard]] std::string_view part(std::size_t first, std::size_t last) const {
    return text.substr(begin[first], begin[last] - begin[first]);
  }
  [[nodiscard]] bool letter(std::size_t i) const {
    return i < size() && is_letter(code[i]);
  }
  [[nodiscard]] bool number(std::size_t i) const {
    return i < size() && is_number(code[i]);
  }
  [[nodiscard]] bool space(std::size_t i) const { return i < size() && is_space(code[i]); }
  [[nodiscard]] bool other(std::size_t i) const {
    return i < size() && !letter(i) && !number(i) && !space(i);
  }
  [[nodiscard]] bool line_end(std::size_t i) const {
    return i < size() && (code[i] == '\r' || code[i] == '\n');
  }
};

char32_t lower_ascii(char32_t code) {
  if (code >= 'A' && code <= 'Z') return code + 32;
  return code == 0x17F ? U's' : code;  // the long s folds to s
}

// The end of 's, 't, 're, 've, 'm, 'll or 'd at i; i itself when there is none.
std::size_t after_contraction(const Characters& c, std::size_t i, bool any_case) {
  const auto at = [&](std::size_t k) -> char32_t {
    if (k >= c.size()) return 0;
    return any_case ? lower_ascii(c.code[k]) : c.code[k];
  };
  if (c.code[i] != '\'') return i;
  const char32_t a = at(i + 1), b = at(i + 2);
  if (a == 's' || a == 't') return i + 2;
  if ((a == 'r' || a == 'v') && b == 'e') return i + 3;
  if (a == 'm') return i + 2;
  if (a == 'l' && b == 'l') return i + 3;
  return a == 'd' ? i + 2 : i;
}

template <typename Is>
std::size_t run_end(std::size_t i, const Is& is) {
  while (is(i)) ++i;
  return i;
}

// The end of blanks that begin at i: all of them at the end of the text, else all but the
// last one, which belongs to the next word. A single one stays.
std::size_t after_spaces(const Characters& c, std::size_t i) {
  const std::size_t end = run_end(i, [&](std::size_t k) { return c.space(k); });
  return end == c.size() || end == i + 1 ? end : end - 1;
}

std::size_t after_gpt2(const Characters& c, std::size_t i) {
  if (const std::size_t end = after_contraction(c, i, false); end > i) return end;
  const std::size_t word = c.code[i] == ' ' ? i + 1 : i;
  if (c.letter(word)) return run_end(word, [&](std::size_t k) { return c.letter(k); });
  if (c.number(word)) return run_end(word, [&](std::size_t k) { return c.number(k); });
  if (c.other(word)) return run_end(word, [&](std::size_t k) { return c.other(k); });
  return after_spaces(c, i);
}

// The last line end in the blanks from i on; i: there is none.
std::size_t after_line_ends(const Characters& c, std::size_t i) {
  std::size_t last = i;
  for (std::size_t k = i; c.space(k); ++k)
    if (c.line_end(k)) last = k + 1;
  return last;
}

std::size_t after_llama3(const Characters& c, std::size_t i, std::size_t digits) {
  if (const std::size_t end = after_contraction(c, i, true); end > i) return end;
  const bool opens = !c.line_end(i) && !c.letter(i) && !c.number(i);
  const std::size_t word = opens ? i + 1 : i;
  if (c.letter(word)) return run_end(word, [&](std::size_t k) { return c.letter(k); });
  if (c.number(i))
    return run_end(i, [&](std::size_t k) { return k < i + digits && c.number(k); });
  const std::size_t mark = c.code[i] == ' ' ? i + 1 : i;
  if (c.other(mark)) {
    const std::size_t end = run_end(mark, [&](std::size_t k) { return c.other(k); });
    return run_end(end, [&](std::size_t k) { return c.line_end(k); });
  }
  if (const std::size_t end = after_line_ends(c, i); end > i) return end;
  return after_spaces(c, i);
}

void cut_bert(const Characters& c, Pieces& pieces) {
  std::size_t first = 0;
  const auto close = [&](std::size_t end) {
    if (end > first) pieces.push_back(c.part(first, end));
    first = end;
  };
  for (std::size_t i = 0; i < c.size(); ++i) {
    const bool blank = is_bert_blank(c.code[i]);
    if (!blank && !is_bert_punctuation(c.code[i])) continue;
    close(i);
    if (blank) {
      first = i + 1;
    } else {
      close(i + 1);
    }
  }
  close(c.size());
}

void cut_piece(std::string_view text, WordRule rule, Pieces& pieces) {
  if (text.empty()) return;
  if (rule == WordRule::whole) {
    pieces.push_back(text);
    return;
  }
  const Characters c(text);
  if (rule == WordRule::bert) {
    cut_bert(c, pieces);
    return;
  }
  for (std::size_t i = 0; i < c.size();) {
    const std::size_t end = rule == WordRule::gpt2
                                ? after_gpt2(c, i)
                                : after_llama3(c, i, rule == WordRule::llama3 ? 3 : 1);
    pieces.push_back(c.part(i, end));
    i = end;
  }
}

}  // namespace

std::vector<std::string_view> cut_words(std::string_view text, const CutRules& rules) {
  Pieces pieces;
  if (!rules.digits_alone && !rules.digit_runs) {
    cut_piece(text, rules.words, pieces);
    return pieces;
  }
  const Characters c(text);
  std::size_t first = 0;
  for (std::size_t i = 0; i < c.size();) {
    if (!is_digit(c.code[i])) {
      ++i;
      continue;
    }
    cut_piece(c.part(first, i), rules.words, pieces);
    std::size_t end = i + 1;
    while (rules.digit_runs && end < c.size() && is_digit(c.code[end])) ++end;
    cut_piece(c.part(i, end), rules.words, pieces);
    first = i = end;
  }
  cut_piece(c.part(first, c.size()), rules.words, pieces);
  return pieces;
}

}  // namespace fmd::internal
