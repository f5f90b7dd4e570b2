#include "data/columnar/parquet_rows.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "core/memory.h"
#include "data/columnar/arrow_column.h"
#include "data/columnar/parquet_library.h"
#include "data/columnar/parquet_numbers.h"
#include "data/glob.h"
#include "data/number.h"
#include "data/words.h"
#include "fmd/core/error.h"

namespace fmd::internal {
namespace {

class ParquetRows : public RowSource {
 public:
  ParquetRows(const OpenFile& file, const CsvOptions& options, const Exec& exec)
      : source_(file->name()),
        file_(FileView::of(*file)),
        library_(parquet_library(source_, exec)),
        exec_(exec),
        missing_(options.missing) {
    std::array<char, 500> message = {};
    void* handle = library_.open(file_.bytes().data(), file_.bytes().size(), message.data(),
                                 message.size());
    if (handle == nullptr) fail(message.data());
    handle_ = {handle, library_.close};
    rows_ = library_.rows(handle_.get());
    if (rows_ <= 0) fail("has no rows");
    read_names();
    choose(options);
  }

  bool next(Table& block, Index rows) override {
    begin_block(block, source_, kept_, kinds_);
    const Index count = std::min(rows, rows_ - row_);
    require_room(count);
    exec_.for_each(std::ssize(kept_), [&](Index i) {
      const std::size_t c = to_size(i);
      Column& column = block.columns[c];
      reserve(column, count);
      if (columns_[c]->read(column, count) != count)
        fail(fmt::format("the column \"{}\" has fewer rows than the file", kept_[c]));
      add_levels(column, known_[c]->levels);
    });
    block.line.append(row_ + 1, count);
    block.line.count_rows();
    row_ += count;
    return count > 0;
  }

  void rewind() override {
    row_ = 0;
    for (std::size_t c = 0; c < kept_.size(); ++c) columns_[c] = open_column(c, kinds_[c]);
  }

  [[nodiscard]] const std::vector<std::string>& names() const override { return names_; }
  [[nodiscard]] double share() const override {
    return static_cast<double>(row_) / static_cast<double>(rows_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::bad_data, fmt::format("{}: {}", source_, shorten(what)),
                "the Parquet file is damaged or empty: write it again");
  }

  void read_names() {
    std::map<std::string, int> seen;
    for (std::int32_t i = 0; i < library_.columns(handle_.get()); ++i) {
      names_.emplace_back(library_.name(handle_.get(), i));
      if (names_.back().empty() || ++seen[names_.back()] > 1)
        fail(fmt::format("column {} has no name, or the name of another column", i + 1));
    }
  }

  void choose(const CsvOptions& options) {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const auto& keep = options.keep;
      if (!keep.empty() && !fits_any(names_[i], keep)) continue;
      positions_.push_back(static_cast<std::int32_t>(i));
      kept_.push_back(names_[i]);
      known_.push_back(std::make_unique<KnownLevels>());
      const auto type = options.types.find(names_[i]);
      const bool given = type != options.types.end();
      columns_.push_back(
          open_column(kept_.size() - 1, given ? type->second : ColumnKind::number));
      const ColumnKind found =
          columns_.back()->kind(library_.type(handle_.get(), positions_.back()));
      kinds_.push_back(given ? type->second : found);
    }
  }

  std::unique_ptr<ColumnSource> open_column(std::size_t c, ColumnKind wanted) {
    std::array<char, 500> message = {};
    const std::int32_t at = positions_[c];
    if (wanted == ColumnKind::number) {
      void* numbers = library_.numbers(handle_.get(), at, message.data(), message.size());
      if (numbers != nullptr)
        return std::make_unique<ParquetNumbers>(library_, numbers, source_, kept_[c],
                                                missing_);
    }
    ArrowArrayStream stream = {};
    if (message[0] != 0 || library_.read(handle_.get(), at, kBatch, &stream, message.data(),
                                         message.size()) == 0) {
      throw Error(
          ErrorKind::unsupported,
          fmt::format("{}, column \"{}\": {} ({})", source_, kept_[c],
                      shorten(message.data()), shorten(library_.type(handle_.get(), at))),
          "write the file without this column");
    }
    return std::make_unique<ArrowColumn>(stream, source_, kept_[c], *known_[c], missing_);
  }

  // A few bytes can stand for very many rows. Checked before memory is taken for them.
  void require_room(Index count) const {
    constexpr double kMost = 1024,
                     kSmall = 256 << 20;  // per byte of the file; always allowed
    double needed = 0;
    for (const ColumnKind kind : kinds_)
      needed += static_cast<double>(count) * (kind == ColumnKind::number ? 8 : 4);
    const auto size = static_cast<double>(file_.bytes().size());
    if (needed <= kSmall + kMost * size) return;
    throw Error(
        ErrorKind::bad_data,
        fmt::format("{}: {} rows of {} columns in a file of {} bytes would take {:.0f} "
                    "bytes of memory, at most {:.0f} for each byte are given",
                    source_, count, kept_.size(), size, needed, kMost),
        "write the file without compression if it is a true table");
  }

  // A few bytes can encode many rows, and damaged bytes can claim more rows than there are.
  void reserve(Column& column, Index count) const {
    const auto likely = static_cast<Index>(file_.bytes().size()) * 16;
    const auto room = to_size(std::min(count, std::max<Index>(likely, kBatch)));
    if (column.kind == ColumnKind::number) {
      column.numbers.reserve(room);
      prefer_huge_pages(column.numbers.data(), room * sizeof(double));
    } else {
      column.codes.reserve(room);
    }
  }

  static constexpr Index kBatch = 16 * kBlockRows;

  std::string source_;
  FileView file_;  // the plug-in reads it in any order
  const FmdParquet& library_;
  Exec exec_;
  MissingTexts missing_;
  std::shared_ptr<void> handle_;
  std::vector<std::string> names_;
  std::vector<std::int32_t> positions_;  // of the columns that are kept
  std::vector<std::string> kept_;
  std::vector<ColumnKind> kinds_;
  std::vector<std::unique_ptr<KnownLevels>> known_;
  std::vector<std::unique_ptr<ColumnSource>> columns_;
  Index rows_ = 0;
  Index row_ = 0;
};

}  // namespace

bool is_parquet(std::span<const std::uint8_t> bytes) {
  constexpr std::array<std::uint8_t, 4> kMagic = {'P', 'A', 'R', '1'};
  return bytes.size() >= 4 && std::equal(kMagic.begin(), kMagic.end(), bytes.begin());
}

std::unique_ptr<RowSource> open_parquet_rows(const OpenFile& file,
                                             const CsvOptions& options, const Exec& exec) {
  return std::make_unique<ParquetRows>(file, options, exec);
}

}  // namespace fmd::internal
