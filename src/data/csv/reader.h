#pragma once

#include <memory>
#include <vector>

#include "core/internal.h"
#include "data/csv/piece.h"
#include "data/csv/plan.h"
#include "data/csv/text_feed.h"
#include "fmd/core/exec.h"

namespace fmd::internal {

inline constexpr std::size_t kCsvChunk = std::size_t{1} << 18;  // bytes of one piece

// Reads a CSV text in waves. A wave is some pieces of `chunk` bytes that are parsed at the
// same time. The start of a piece is guessed, and a piece whose guess was wrong is parsed
// again. So the records are those of a reading from start to end, for any size of pieces.
// Guessing is necessary: from the middle of a file nobody can tell whether a quote opens
// or closes a cell. A first pass that counts quotes would be wrong too, because a plain
// cell may have a stray quote.
class CsvReader {
 public:
  // Reads the header.
  CsvReader(std::unique_ptr<TextFeed> feed, const std::string& source,
            const CsvOptions& options, const Exec& exec, std::size_t chunk = kCsvChunk);

  [[nodiscard]] CsvPlan& plan() { return *plan_; }
  [[nodiscard]] const CsvPlan& plan() const { return *plan_; }

  // The next rows; false at the end. New levels are added to those of the plan, and codes
  // refer to them. A column that was taken for numbers and has a text becomes a category
  // when no text of it is lost yet; otherwise it is no longer active.
  bool next_wave();
  [[nodiscard]] std::size_t pieces() const { return used_; }
  [[nodiscard]] CsvPiece& piece(std::size_t i) { return *pieces_[i]; }
  [[nodiscard]] Index first_line(std::size_t i) const { return lines_[i]; }  // of a piece

  void rewind();                                    // to the first row
  [[nodiscard]] Index row() const { return row_; }  // rows in all waves so far
  [[nodiscard]] double share() const { return feed_->share(); }

  // How much text is parsed at a time.
  [[nodiscard]] static std::size_t window_bytes(const Exec& exec, std::size_t chunk);

 private:
  void read_header(const std::string& source, const CsvOptions& options);
  void parse_pieces(const TextFeed::Window& window, std::size_t count, std::size_t chunk);
  struct Joined {
    std::size_t bytes = 0;
    Index line = 0, rows = 0;
  };
  Joined join_pieces(const TextFeed::Window& window, std::size_t chunk);
  bool turn_columns();
  void join_levels();

  std::unique_ptr<TextFeed> feed_;
  Exec exec_;
  std::size_t chunk_;
  std::unique_ptr<CsvPlan> plan_;
  std::vector<std::unique_ptr<CsvPiece>> pieces_;
  std::vector<Index> lines_;
  std::size_t used_ = 0;
  std::size_t header_bytes_ = 0;
  Index first_line_ = 1;  // after the header
  Index line_ = 1;        // of the text that follows
  Index row_ = 0;
};

}  // namespace fmd::internal
