#include <algorithm>
#include <string>

#include "fmd/language/sentence_items.h"
#include "fmd/language/stereotype.h"
#include "fmd/language/tokenizer.h"
#include "language/model_config.h"
#include "support/fuzz.h"

// The first byte chooses the reader: t tokenizer.json, l a tokenizer of llama2.c, c
// config.json, all others StereoSet, CrowS-Pairs and pairs.
namespace fmd::fuzz {
namespace {

void tokens(const Tokenizer& tokenizer) {
  for (const std::string text : {"a b  ab'll 12\n", "\u00e9\u4e2d\U0001F389 x", ""}) {
    const TokenIds ids = tokenizer.encode(text);
    for (const TokenId id : ids)
      require(id >= 0 && id < tokenizer.vocabulary(), "ids are in the vocabulary");
    (void)tokenizer.decode(ids);
    (void)tokenizer.decode(ids, true);
  }
}

void items(std::string_view text) {
  const auto items = accepted([&] { return parse_sentence_items(text, "fuzz"); });
  if (!items) return;
  require(!items->items.empty(), "accepted files have items");
  std::size_t sentences = 0;
  for (const SentenceItem& item : items->items) {
    require(item.find(SentenceRole::stereotype) != nullptr &&
                item.find(SentenceRole::anti_stereotype) != nullptr,
            "every item has both sides");
    sentences += item.sentences.size();
    (void)tested_words(item);
  }
  std::vector<Index> kept;
  const SentenceItems swapped = swapped_targets(*items, &kept);
  require(swapped.items.size() == kept.size(), "swapped items have their numbers");
  SentenceScores scores;
  for (std::size_t s = 0; s < sentences; ++s) scores.push_back(static_cast<double>(s % 3));
  for (const StereotypeDomain& domain :
       stereotype_scores(*items, scores, {.replicates = 0}, {}))
    require(domain.by_example.ss.value >= 0 && domain.by_example.ss.value <= 100,
            "a share is a share");
}

}  // namespace
}  // namespace fmd::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fmd;
  if (size == 0) return 0;
  const std::span<const std::uint8_t> rest{data + 1, size - 1};
  const std::string_view text = fuzz::as_text(rest);
  if (data[0] == 't') {
    const auto read = fuzz::accepted([&] { return Tokenizer::parse(text, "fuzz"); });
    if (read) fuzz::tokens(*read);
  } else if (data[0] == 'l') {
    const auto read =
        fuzz::accepted([&] { return Tokenizer::parse_llama2c(rest, 262, "fuzz"); });
    if (read) fuzz::tokens(*read);
  } else if (data[0] == 'c') {
    const auto read =
        fuzz::accepted([&] { return internal::parse_model_config(text, "fuzz"); });
    if (read) fuzz::require(read->cols > 0 && read->vocabulary > 0, "sizes are positive");
  } else {
    fuzz::items(text);
  }
  return 0;
}
