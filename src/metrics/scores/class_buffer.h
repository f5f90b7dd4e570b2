#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "core/internal.h"

namespace fmd::internal {

// Room for one number per class. A buffer is made for every row, so the usual few classes
// need no heap.
class ClassBuffer {
 public:
  explicit ClassBuffer(std::size_t size) : size_(size) {
    if (size > few_.size()) many_.resize(size);
  }
  operator std::span<double>() {
    return {many_.empty() ? few_.data() : many_.data(), size_};
  }
  double& operator[](std::size_t k) {
    return (many_.empty() ? few_.data() : many_.data())[k];
  }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::size_t size_;
  std::array<double, 16> few_{};
  std::vector<double> many_;
};

}  // namespace fmd::internal
