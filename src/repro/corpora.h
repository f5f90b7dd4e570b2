#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "fmd/core/types.h"

namespace fmd::repro {

// What a sentence of a corpus must be like.
struct SentenceRange {
  Index least_words = 4, most_words = 10;
};

// The sentences of text files and of zip archives of text files, in their order. A line, or
// what ends with . ! or ? and a blank, is a sentence. Tags (the/at) are taken off. Left
// out: what is not UTF-8, files whose name says README, and sentences that stand there
// twice. Throws Error(cannot_read, bad_model: a damaged archive).
[[nodiscard]] std::vector<std::string> corpus_sentences(
    const std::vector<std::filesystem::path>& files, const SentenceRange& range);

}  // namespace fmd::repro
