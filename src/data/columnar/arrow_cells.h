#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/internal.h"
#include "data/columnar/arrow_abi.h"
#include "fmd/core/types.h"
#include "fmd/data/table.h"

namespace fmd::internal {

// How a table reads an Arrow type.
enum class ArrowForm {
  none,       // not read: lists, structs, binary
  empty,      // missing in every row
  truth,      // bits
  whole,      // i and u of 1 to 8 bytes
  real,       // float16, float32, float64
  decimal,    // whole numbers with a point at a fixed place
  text,       // offsets of 4 or 8 bytes
  text_view,  // short texts in place, others elsewhere
  time,       // days, seconds or parts of seconds since 1970
};

struct ArrowType {
  ArrowForm form = ArrowForm::none;
  int size = 0;  // bytes of a value, or of an offset
  bool is_signed = false;
  int scale = 0;         // digits after the point
  Index per_second = 0;  // time; 0 = days
};

[[nodiscard]] ArrowType arrow_type(const char* format);

// Numbers stay numbers. Texts, dates and truth values are categories, as in a CSV file.
[[nodiscard]] ColumnKind arrow_kind(const ArrowType& type);

// The values of an array without a dictionary.
class ArrowCells {
 public:
  ArrowCells(const ArrowType& type, const ArrowArray& array)
      : type_(type), array_(&array) {}

  [[nodiscard]] const ArrowType& type() const { return type_; }
  [[nodiscard]] Index size() const { return array_->length; }
  [[nodiscard]] bool is_missing(Index i) const;
  // The first value of a buffer of numbers of type T.
  template <typename T>
  [[nodiscard]] const T* values() const {
    return static_cast<const T*>(array_->buffers[1]) + array_->offset;
  }
  [[nodiscard]] std::int64_t whole(Index i) const;  // form whole or time
  [[nodiscard]] double real(Index i) const;         // form real
  // The text that a CSV file would have. It may point into `scratch`.
  [[nodiscard]] std::string_view text(Index i, std::string& scratch) const;

 private:
  [[nodiscard]] std::string_view stored_text(Index i) const;
  [[nodiscard]] std::string decimal_text(Index i) const;
  [[nodiscard]] std::string time_text(Index i) const;

  ArrowType type_;
  const ArrowArray* array_;
};

}  // namespace fmd::internal
