#include "model/held_features.h"

#include <algorithm>

#include "core/index.h"

namespace fmd::internal {
namespace {

struct HeldRows {
  std::vector<Index> ends;  // of the entries of each row
  std::vector<std::int32_t> column;
  std::vector<float> value;
};

}  // namespace

std::unique_ptr<Features> hold_features(const Features& X,
                                        std::span<const std::int32_t> place,
                                        const LinearHead& head, const Vector& theta,
                                        const Exec& exec) {
  const Index rows = X.rows(), outputs = head.outputs();
  const std::vector<std::int32_t>& output_of = head.options().output_of;
  std::vector<double> offset(at(rows * outputs));
  std::vector<HeldRows> parts(at(block_count(rows)));
  exec.for_each(block_count(rows), [&](Index b) {
    Scratch scratch;
    const FeatureBlock block = X.block(b, scratch);
    HeldRows& part = parts[at(b)];
    for (Index i = 0; i < block.rows; ++i) {
      double* const z = offset.data() + (block.first + i) * outputs;
      if (block.offset != nullptr) std::copy_n(block.offset + i * outputs, outputs, z);
      for (Index e = block.start[at(i)]; e < block.start[at(i) + 1]; ++e) {
        const std::int32_t feature = block.column[at(e)], to = place[at(feature)];
        const float value = block.value.empty() ? 1.0F : block.value[at(e)];
        if (to < 0) {
          z[output_of.empty() ? 0 : output_of[at(feature)]] +=
              theta[feature] * static_cast<double>(value);
          continue;
        }
        part.column.push_back(to);
        if (!block.value.empty()) part.value.push_back(value);
      }
      part.ends.push_back(std::ssize(part.column));
    }
  });
  CsrRows csr;
  csr.cols = std::count_if(place.begin(), place.end(), [](auto to) { return to >= 0; });
  for (const HeldRows& part : parts) {
    const Index before = std::ssize(csr.column);
    for (const Index end : part.ends) csr.start.push_back(before + end);
    csr.column.insert(csr.column.end(), part.column.begin(), part.column.end());
    csr.value.insert(csr.value.end(), part.value.begin(), part.value.end());
  }
  return make_offset(make_sparse(std::move(csr)), std::move(offset), outputs);
}

}  // namespace fmd::internal
