#include "data/columnar/parquet_numbers.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "data/number.h"

namespace fmd::internal {
namespace {

constexpr std::size_t kPart = 4096;

// A number that is infinite or missing has an exponent of ones only.
bool all_finite(std::span<const double> values) {
  constexpr std::uint64_t unit = std::uint64_t{1} << 52;
  constexpr std::uint64_t exponent = 0x7ff * unit;
  std::uint64_t carry = 0;  // its sign bit
  for (const double value : values)
    carry |= (std::bit_cast<std::uint64_t>(value) & exponent) + unit;
  return carry >> 63 == 0;
}

}  // namespace

ParquetNumbers::ParquetNumbers(const FmdParquet& library, void* handle, std::string source,
                               std::string name, const MissingTexts& missing)
    : ColumnSource(std::move(source), std::move(name), missing),
      library_(library),
      handle_(handle, library.close_numbers),
      part_(kPart) {}

Index ParquetNumbers::read(Column& to, Index rows) {
  Index count = 0;
  while (count < rows) {
    std::array<char, 500> message = {};
    const Index found = library_.next_numbers(handle_.get(), part_.data(),
                                              std::min(rows - count, std::ssize(part_)),
                                              message.data(), message.size());
    if (found < 0) fail_damaged(message.data());
    if (found == 0) break;
    const std::span<double> values(part_.data(), to_size(found));
    if (!all_finite(values)) {
      for (double& value : values) {
        if (std::isinf(value))
          value = number(number_text(value), row_ + (&value - values.data()));
        to.missing += std::isnan(value) ? 1 : 0;
      }
    }
    to.numbers.insert(to.numbers.end(), values.begin(), values.end());
    row_ += found;
    count += found;
  }
  return count;
}

}  // namespace fmd::internal
