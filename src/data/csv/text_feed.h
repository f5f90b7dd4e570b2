#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/internal.h"
#include "data/row_source.h"

namespace fmd::internal {

// A text that is read from its start to its end, as much at a time as suits its source.
class TextFeed {
 public:
  virtual ~TextFeed() = default;

  struct Window {
    std::string_view text;  // from the first byte that has not been consumed
    bool last = false;      // it ends where the text ends
  };
  // Holds until consume(). Throws what reading has come across, once the text before it has
  // been consumed.
  [[nodiscard]] virtual Window window() = 0;
  // The first bytes of the window are done. After 0 bytes the next window is longer.
  virtual void consume(std::size_t bytes) = 0;
  // Gets the text behind the window ready; may run beside work on the window.
  virtual void read_ahead() = 0;
  virtual void rewind() = 0;
  [[nodiscard]] virtual double share() const = 0;  // of the file, 0 .. 1
};

// The text of a file: as it is mapped, or inflated while it is read when it is gzip, where
// window() may throw Error(bad_csv).
[[nodiscard]] std::unique_ptr<TextFeed> make_feed(const OpenFile& file,
                                                  std::size_t window_bytes);

// A text in memory, which must outlive the feed.
[[nodiscard]] std::unique_ptr<TextFeed> make_feed(std::string_view text);

}  // namespace fmd::internal
