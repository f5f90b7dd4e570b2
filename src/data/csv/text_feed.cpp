#include "data/csv/text_feed.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <vector>

#include "data/gzip.h"
#include "data/number.h"
#include "fmd/core/error.h"

namespace fmd::internal {
namespace {

constexpr Index kMostUnpacked = Index{1} << 40;  // bytes

class MemoryFeed : public TextFeed {
 public:
  explicit MemoryFeed(std::string_view text) : text_(text) {}

  Window window() override { return {text_.substr(at_), true}; }
  void consume(std::size_t bytes) override { at_ += bytes; }
  void read_ahead() override {}
  void rewind() override { at_ = 0; }

  [[nodiscard]] double share() const override {
    return text_.empty() ? 1 : static_cast<double>(at_) / static_cast<double>(text_.size());
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

// A file as it is, with the face of a GzipReader.
class PlainReader {
 public:
  explicit PlainReader(OpenFile file) : file_(std::move(file)) {}

  std::size_t read(std::span<char> out) {
    const auto count = std::min(out.size(), to_size(file_->size() - at_));
    file_->read(at_, {reinterpret_cast<std::uint8_t*>(out.data()), count});
    at_ += static_cast<Index>(count);
    return count;
  }
  [[nodiscard]] bool at_end() const { return at_ == file_->size(); }
  [[nodiscard]] double share() const {
    return file_->size() == 0
               ? 1
               : static_cast<double>(at_) / static_cast<double>(file_->size());
  }
  void rewind() { at_ = 0; }

 private:
  OpenFile file_;
  Index at_ = 0;
};

// Two buffers: the window, and the text after it, which is read or unpacked at the same
// time. The rest of the first is put before the second.
template <typename Reader>
class FileFeed : public TextFeed {
 public:
  template <typename... From>
  explicit FileFeed(std::size_t window_bytes, From&&... from)
      : reader_(std::forward<From>(from)...),
        window_(std::max<std::size_t>(window_bytes, 1)) {}

  Window window() override {
    if (from_ == to_ || stalled_) {
      read_ahead();
      join();
    }
    if (error_ && (stalled_ || from_ == to_)) std::rethrow_exception(error_);
    return {{current_.data() + from_, to_ - from_}, ended_ && ahead_ == 0};
  }

  void consume(std::size_t bytes) override {
    from_ += bytes;
    stalled_ = bytes == 0 || from_ == to_;
    if (to_ - from_ < window_ / 2) join();
  }

  void read_ahead() override {
    if (ahead_ != 0 || ended_ || error_) return;
    next_.resize(kRoom + window_);
    try {
      ahead_ = reader_.read({next_.data() + kRoom, window_});
    } catch (const Error&) {
      error_ = std::current_exception();
    }
    ended_ = reader_.at_end();
  }

  void rewind() override {
    reader_.rewind();
    from_ = to_ = ahead_ = 0;
    ended_ = stalled_ = false;
    error_ = nullptr;
  }

  [[nodiscard]] double share() const override { return reader_.share(); }

 private:
  static constexpr std::size_t kRoom = std::size_t{1} << 16;  // for what is left over

  void join() {
    if (ahead_ == 0) return;
    const std::size_t left = to_ - from_;
    if (left <= kRoom) {
      if (left > 0) std::memcpy(next_.data() + kRoom - left, current_.data() + from_, left);
      std::swap(current_, next_);
      from_ = kRoom - left;
      to_ = kRoom + ahead_;
    } else {
      current_.resize(to_);
      current_.erase(current_.begin(),
                     current_.begin() + static_cast<std::ptrdiff_t>(from_));
      from_ = 0;
      to_ = left;
      current_.insert(current_.end(), next_.begin() + kRoom,
                      next_.begin() + static_cast<std::ptrdiff_t>(kRoom + ahead_));
      to_ += ahead_;
    }
    ahead_ = 0;
    stalled_ = false;
  }

  Reader reader_;
  std::size_t window_;
  std::vector<char> current_, next_;
  std::size_t from_ = 0, to_ = 0;  // of the window, in current_
  std::size_t ahead_ = 0;          // bytes in next_, after the room
  bool ended_ = false;             // no text after next_
  bool stalled_ = false;           // the window cannot be used without more text
  std::exception_ptr error_;
};

}  // namespace

std::unique_ptr<TextFeed> make_feed(const OpenFile& file, std::size_t window_bytes) {
  if (is_gzip(start_of(file)))
    return std::make_unique<FileFeed<GzipReader>>(window_bytes, file, kMostUnpacked);
  return std::make_unique<FileFeed<PlainReader>>(window_bytes, file);
}

std::unique_ptr<TextFeed> make_feed(std::string_view text) {
  return std::make_unique<MemoryFeed>(text);
}

}  // namespace fmd::internal
