#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/internal.h"
#include "data/row_source.h"

namespace fmd::internal {

// A text that is read from its start to its end. The source decides how much is read at a
// time.
class TextFeed {
 public:
  virtual ~TextFeed() = default;

  struct Window {
    std::string_view text;  // from the first byte that has not been consumed
    bool last = false;      // it ends where the text ends
  };
  // Valid until consume(). Throws the error that reading met, once the text before it has
  // been consumed.
  [[nodiscard]] virtual Window window() = 0;
  // The first bytes of the window are done. After 0 bytes the next window is longer.
  virtual void consume(std::size_t bytes) = 0;
  // Prepares the text after the window. May run at the same time as work on the window.
  virtual void read_ahead() = 0;
  virtual void rewind() = 0;
  [[nodiscard]] virtual double share() const = 0;  // of the file, 0 .. 1
};

// The text of a file, read or, when it is gzip, unpacked window by window: window() may
// throw Error(cannot_read), and Error(bad_csv) for damaged gzip.
[[nodiscard]] std::unique_ptr<TextFeed> make_feed(const OpenFile& file,
                                                  std::size_t window_bytes);

// A text in memory, which must outlive the feed.
[[nodiscard]] std::unique_ptr<TextFeed> make_feed(std::string_view text);

}  // namespace fmd::internal
