#include "data/columnar/arrow_column.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "data/number.h"
#include "data/text_check.h"
#include "data/words.h"
#include "fmd/core/error.h"

namespace fmd::internal {
namespace {

constexpr std::int32_t kUnseenEntry = -2;  // of a dictionary: its code is not known yet
constexpr double kMissingNumber = std::numeric_limits<double>::quiet_NaN();

}  // namespace

ArrowColumn::ArrowColumn(ArrowArrayStream stream, std::string source, std::string name,
                         KnownLevels& levels, const MissingTexts& missing)
    : ColumnSource(std::move(source), std::move(name), missing),
      stream_(stream),
      levels_(&levels) {
  // A batch is a struct, and this column is its only part.
  const bool known = stream_.get_schema(&stream_, &schema_) == 0;
  if (!known || schema_.n_children != 1) {
    if (known && schema_.release != nullptr) schema_.release(&schema_);
    const char* reason = known ? nullptr : stream_.get_last_error(&stream_);
    const std::string what = reason == nullptr ? "no column" : reason;
    stream_.release(&stream_);
    fail_damaged(what);
  }
  const ArrowSchema& child = *schema_.children[0];
  dictionary_ = child.dictionary != nullptr;
  type_ = arrow_type(dictionary_ ? child.dictionary->format : child.format);
  if (dictionary_) {
    index_type_ = arrow_type(child.format);
    if (index_type_.form != ArrowForm::whole) type_ = {};
  }
}

ArrowColumn::~ArrowColumn() {
  release_batch();
  schema_.release(&schema_);
  stream_.release(&stream_);
}

ColumnKind ArrowColumn::kind(const std::string& type_name) const {
  if (type_.form == ArrowForm::none) {
    throw Error(ErrorKind::unsupported,
                fmt::format("{}, column \"{}\": columns of type {} are not read", source_,
                            name_, shorten(type_name)),
                "numbers, texts, dates and truth values are read: write the file without "
                "this column, or with such values in it");
  }
  return arrow_kind(type_);
}

void ArrowColumn::release_batch() {
  if (batch_.release != nullptr) batch_.release(&batch_);
  batch_ = {};
}

bool ArrowColumn::next_batch() {
  if (batch_.release != nullptr) row_ += batch_.children[0]->length;
  release_batch();
  at_ = 0;
  if (stream_.get_next(&stream_, &batch_) != 0) {
    batch_ = {};
    const char* reason = stream_.get_last_error(&stream_);
    fail_damaged(reason == nullptr ? "cannot be read" : reason);
  }
  if (batch_.release == nullptr) return false;
  if (batch_.n_children != 1 || (dictionary_ && batch_.children[0]->dictionary == nullptr))
    fail_damaged("a batch without its column");
  if (dictionary_)
    codes_.assign(to_size(batch_.children[0]->dictionary->length), kUnseenEntry);
  return true;
}

Index ArrowColumn::read(Column& to, Index rows) {
  Index count = 0;
  while (count < rows) {
    if (batch_.release == nullptr || at_ == batch_.children[0]->length) {
      if (!next_batch()) break;
      continue;
    }
    const Index taken = std::min(rows - count, batch_.children[0]->length - at_);
    add(to, at_, taken);
    at_ += taken;
    count += taken;
  }
  return count;
}

void ArrowColumn::add(Column& to, Index from, Index count) {
  if (dictionary_) return add_dictionary(to, from, count);
  const ArrowCells cells(type_, *batch_.children[0]);
  if (to.kind == ColumnKind::number) return add_numbers(to, cells, from, count);
  std::string scratch;
  for (Index i = from; i < from + count; ++i) {
    const bool missing =
        cells.is_missing(i) || (type_.form == ArrowForm::real && std::isnan(cells.real(i)));
    to.codes.push_back(missing ? -1 : code(cells.text(i, scratch), i));
    to.missing += to.codes.back() < 0 ? 1 : 0;
  }
}

void ArrowColumn::add_numbers(Column& to, const ArrowCells& cells, Index from,
                              Index count) {
  std::string scratch;
  for (Index i = from; i < from + count; ++i) {
    double value = kMissingNumber;
    if (!cells.is_missing(i)) {
      if (type_.form == ArrowForm::truth) {
        value = cells.text(i, scratch) == "true" ? 1 : 0;
      } else if (type_.form == ArrowForm::real) {
        value = cells.real(i);
      } else {
        value = number(cells.text(i, scratch), row_ + i);
      }
      if (std::isinf(value)) value = number(cells.text(i, scratch), row_ + i);
    }
    to.numbers.push_back(value);
    to.missing += std::isnan(value) ? 1 : 0;
  }
}

void ArrowColumn::add_dictionary(Column& to, Index from, Index count) {
  const ArrowArray& array = *batch_.children[0];
  const ArrowCells indices(index_type_, array);
  const ArrowCells values(type_, *array.dictionary);
  std::string scratch;
  for (Index i = from; i < from + count; ++i) {
    std::int32_t level = -1;
    const Index entry = indices.is_missing(i) ? -1 : indices.whole(i);
    if (!indices.is_missing(i) && (entry < 0 || entry >= values.size()))
      fail_damaged("a code that its dictionary does not have");
    if (to.kind == ColumnKind::number) {
      const bool missing = entry < 0 || values.is_missing(entry);
      to.numbers.push_back(missing ? kMissingNumber
                                   : number(values.text(entry, scratch), row_ + i));
      to.missing += std::isnan(to.numbers.back()) ? 1 : 0;
      continue;
    }
    if (entry >= 0) {
      std::int32_t& known = codes_[to_size(entry)];
      if (known == kUnseenEntry)
        known = values.is_missing(entry) ? -1 : code(values.text(entry, scratch), i);
      level = known;
    }
    to.codes.push_back(level);
    to.missing += level < 0 ? 1 : 0;
  }
}

std::int32_t ArrowColumn::code(std::string_view text, Index at) {
  if (missing_->has(text)) return -1;
  const std::int32_t known = levels_->index.find(text);
  if (known >= 0) return known;
  if (first_bad_byte(text) < text.size()) {
    throw Error(ErrorKind::bad_value,
                fmt::format("{}: a text that is not valid UTF-8", where(row_ + at)),
                "write the file again with UTF-8 texts");
  }
  return levels_->index.code(text);
}

}  // namespace fmd::internal
