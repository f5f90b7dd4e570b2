#include "repro/corpora.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <zlib.h>

#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/core/safe_text.h"
#include "formats/torch/zip.h"

namespace fmd::repro {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 26;  // of one file of an archive

std::string inflated(std::span<const std::uint8_t> bytes, const std::string& source) {
  const auto refuse = [&](const char* why) {
    return Error(ErrorKind::bad_model, fmt::format("{}: {}", source, why));
  };
  z_stream stream{};
  if (inflateInit2(&stream, -15) != Z_OK) throw refuse("cannot be unpacked");
  stream.next_in = const_cast<std::uint8_t*>(bytes.data());
  stream.avail_in = static_cast<unsigned>(bytes.size());
  std::string text;
  int status = Z_OK;
  while (status == Z_OK && text.size() < kMostBytes) {
    const std::size_t done = text.size();
    text.resize(done + (std::size_t{1} << 16));
    stream.next_out = reinterpret_cast<std::uint8_t*>(text.data()) + done;
    stream.avail_out = 1U << 16;
    status = inflate(&stream, Z_NO_FLUSH);
    text.resize(text.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END) throw refuse("a file in it is damaged or too long");
  return text;
}

std::vector<std::string> texts_of(const std::filesystem::path& file) {
  const FileView view = FileView::open(file, Index{1} << 28);
  if (file.extension() != ".zip") return {std::string(view.text())};
  std::vector<std::string> texts;
  const auto bytes = view.bytes();
  for (const auto& [name, entry] : internal::read_zip(bytes, file.string())) {
    if (name.ends_with('/') || name.find("README") != std::string::npos) continue;
    const auto part = bytes.subspan(entry.begin, entry.end - entry.begin);
    texts.push_back(entry.stored ? std::string(part.begin(), part.end())
                                 : inflated(part, file.string()));
  }
  return texts;
}

// "the/at", "The_DT": what stands after the last / or _ is a tag where most words have one.
bool is_tagged(const std::string& text) {
  std::istringstream in(text.substr(0, 4000));
  std::string word;
  Index words = 0, tags = 0;
  while (in >> word) {
    ++words;
    const std::size_t mark = word.find_last_of("/_");
    tags += mark != std::string::npos && mark > 0 && mark + 1 < word.size() ? 1 : 0;
  }
  return words > 0 && 10 * tags > 8 * words;
}

class SentenceReader {
 public:
  SentenceReader(const SentenceRange& range, std::vector<std::string>& into)
      : range_(range), into_(into) {}

  void add(const std::string& text) {
    const bool tagged = is_tagged(text);
    std::istringstream in(text);
    std::string line;
    while (std::getline(in, line)) {
      std::istringstream words(line);
      std::string word;
      while (words >> word) {
        if (tagged) word.resize(std::min(word.size(), word.find_last_of("/_")));
        sentence_ += (sentence_.empty() ? "" : " ") + word;
        ++words_;
        if (!word.empty() && std::string_view(".!?").find(word.back()) != std::string::npos)
          finish();
      }
      finish();
    }
  }

 private:
  void finish() {
    if (words_ >= range_.least_words && words_ <= range_.most_words &&
        valid_utf8(sentence_) == sentence_ && known_.insert(sentence_).second)
      into_.push_back(sentence_);
    sentence_.clear();
    words_ = 0;
  }

  SentenceRange range_;
  std::vector<std::string>& into_;
  std::set<std::string> known_;
  std::string sentence_;
  Index words_ = 0;
};

}  // namespace

std::vector<std::string> corpus_sentences(const std::vector<std::filesystem::path>& files,
                                          const SentenceRange& range) {
  std::vector<std::string> sentences;
  SentenceReader reader(range, sentences);
  for (const std::filesystem::path& file : files)
    for (const std::string& text : texts_of(file)) reader.add(text);
  return sentences;
}

}  // namespace fmd::repro
