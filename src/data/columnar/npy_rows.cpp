#include "data/columnar/npy_rows.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "data/columnar/npy_header.h"
#include "data/glob.h"
#include "data/level_index.h"
#include "data/number.h"
#include "fmd/core/error.h"
#include "fmd/data/npy.h"

namespace fmd::internal {
namespace {

class NpyRows : public RowSource {
 public:
  NpyRows(const OpenFile& file, const CsvOptions& options, const Exec& exec)
      : file_(file), layout_(read_npy_layout(*file)), view_(layout_.view), exec_(exec) {
    set_names(options);
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const auto& keep = options.keep;
      if (!keep.empty() && !fits_any(names_[i], keep)) continue;
      const auto type = options.types.find(names_[i]);
      positions_.push_back(static_cast<Index>(i));
      kept_.push_back(names_[i]);
      kinds_.push_back(type == options.types.end() ? ColumnKind::number : type->second);
      known_.push_back(std::make_unique<KnownLevels>());
    }
  }

  bool next(Table& block, Index rows) override {
    begin_block(block, view_.source, kept_, kinds_);
    const Index count = std::min(rows, layout_.view.rows - row_);
    block.line.append(row_ + 1, count);
    block.line.count_rows();
    for (Index done = 0; done < count;) {
      const Index part = std::min(count - done, most_rows());
      load(part);
      exec_.for_each(std::ssize(kept_), [&](Index c) { fill(block, to_size(c), part); });
      row_ += part;
      done += part;
    }
    for (std::size_t c = 0; c < kept_.size(); ++c)
      add_levels(block.columns[c], known_[c]->levels);
    return count > 0;
  }

  void rewind() override { row_ = 0; }
  [[nodiscard]] const std::vector<std::string>& names() const override { return names_; }
  [[nodiscard]] double share() const override {
    return static_cast<double>(row_) / static_cast<double>(layout_.view.rows);
  }

 private:
  void set_names(const CsvOptions& options) {
    if (!options.names.empty() && options.names.size() != view_.columns.size()) {
      throw Error(ErrorKind::bad_option,
                  fmt::format("{}: {} names for {} columns", view_.source,
                              options.names.size(), view_.columns.size()));
    }
    names_ = options.names;
    for (std::size_t i = names_.size(); i < view_.columns.size(); ++i) {
      const std::string& name = view_.columns[i].name;
      names_.push_back(name.empty() ? fmt::format("x{}", i) : name);
    }
  }

  // Rows whose numbers are in memory at a time: about a megabyte.
  [[nodiscard]] Index most_rows() const {
    return std::max<Index>((Index{1} << 20) / layout_.row_bytes, 1);
  }

  // Reads the numbers of the next `count` rows into the view: one run of bytes, or, where
  // columns lie one after the other, a run for each.
  void load(Index count) {
    bytes_.resize(to_size(count * layout_.row_bytes));
    view_.data = bytes_;
    if (!layout_.by_columns) {
      file_->read(layout_.data + row_ * layout_.row_bytes, bytes_);
      return;
    }
    const auto size = layout_.row_bytes / std::ssize(view_.columns);  // of one number
    for (std::size_t c = 0; c < view_.columns.size(); ++c) {
      view_.columns[c].offset = static_cast<Index>(c) * count * size;
      file_->read(
          layout_.data + layout_.view.columns[c].offset + row_ * size,
          std::span(bytes_).subspan(c * to_size(count * size), to_size(count * size)));
    }
  }

  void fill(Table& block, std::size_t c, Index count) {
    Column& column = block.columns[c];
    const Index at = positions_[c];
    for (Index row = 0; row < count; ++row) {
      const double value = view_.number(row, at);
      const bool missing = std::isnan(value);
      column.missing += missing ? 1 : 0;
      if (column.kind == ColumnKind::category) {
        column.codes.push_back(missing ? -1 : known_[c]->index.code(text(row, at, value)));
      } else {
        if (std::isinf(value)) fail(row_ + row, c, value);
        column.numbers.push_back(value);
      }
    }
  }

  // The number as a CSV file would have it: whole numbers to their last digit.
  [[nodiscard]] std::string text(Index row, Index at, double value) const {
    const NpyType& type = view_.columns[to_size(at)].type;
    if (type.kind == 'b') return value != 0 ? "true" : "false";
    if (type.kind == 'f')
      return type.size == 4 ? float_text(static_cast<float>(value)) : number_text(value);
    return view_.whole_text(row, at);
  }

  [[noreturn]] void fail(Index row, std::size_t c, double value) const {
    throw Error(ErrorKind::bad_value,
                fmt::format("{}, row {}, column \"{}\": {} is not finite", view_.source,
                            row + 1, kept_[c], value),
                "correct the number, or make it NaN when the value is missing");
  }

  OpenFile file_;
  NpyLayout layout_;
  NpyView view_;  // of the rows that are in memory
  Bytes bytes_;
  Exec exec_;
  std::vector<std::string> names_;
  std::vector<Index> positions_;  // of the columns that are kept
  std::vector<std::string> kept_;
  std::vector<ColumnKind> kinds_;
  std::vector<std::unique_ptr<KnownLevels>> known_;
  Index row_ = 0;
};

}  // namespace

std::unique_ptr<RowSource> open_npy_rows(const OpenFile& file, const CsvOptions& options,
                                         const Exec& exec) {
  return std::make_unique<NpyRows>(file, options, exec);
}

}  // namespace fmd::internal
