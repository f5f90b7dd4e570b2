#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fmd/core/types.h"
#include "fmd/data/csr_rows.h"

namespace fmd {

// The features of some rows: dense (rows x cols floats, row after row) or sparse (CSR; an
// empty `value` means ones). It points into memory that the Features or the Scratch owns.
struct FeatureBlock {
  Index first = 0;  // row number of the block's first row
  Index rows = 0;
  Index cols = 0;
  const float* dense = nullptr;  // null: sparse
  std::span<const Index> start;  // rows + 1 offsets into column (start[0] need not be 0)
  std::span<const std::int32_t> column;
  std::span<const float> value;
  // What stands in the logits before the head adds its part, such as a base margin: rows x
  // outputs. Null = 0. Head::logits adds it.
  const double* offset = nullptr;
  Index outputs = 0;  // of the offset

  [[nodiscard]] bool sparse() const { return dense == nullptr; }
};

// Memory for a block; one per thread, used again and again.
struct Scratch {
  std::vector<float> dense, value;
  std::vector<Index> start;
  std::vector<std::int32_t> column;
  std::vector<double> offset;
};

// A matrix of float32 features that can be read block by block, again and again, by many
// threads: from memory here, from files or other sources elsewhere.
class Features {
 public:
  virtual ~Features() = default;
  [[nodiscard]] virtual Index rows() const = 0;
  [[nodiscard]] virtual Index cols() const = 0;
  // Rows [4096 b, 4096 (b + 1)). Valid until the next call with the same scratch.
  [[nodiscard]] virtual FeatureBlock block(Index b, Scratch& scratch) const = 0;
  // Row numbers in any order, repeats allowed, gathered into scratch.
  [[nodiscard]] virtual FeatureBlock gather(std::span<const Index> rows,
                                            Scratch& scratch) const = 0;
};

// In memory. values: rows x cols. Throws Error(bad_shape).
[[nodiscard]] std::unique_ptr<Features> make_dense(std::vector<float> values, Index rows,
                                                   Index cols);
[[nodiscard]] std::unique_ptr<Features> make_sparse(CsrRows rows);

// X with an offset for the logits: rows x outputs. Throws Error(bad_shape).
[[nodiscard]] std::unique_ptr<Features> make_offset(std::unique_ptr<Features> X,
                                                    std::vector<double> offset,
                                                    Index outputs);
// X, with the offset of row rows[i] of `from` for its row i (all rows when empty). X itself
// where `from` has no offset.
[[nodiscard]] std::unique_ptr<Features> keep_offset(std::unique_ptr<Features> X,
                                                    const Features& from,
                                                    std::span<const Index> rows = {});

// Row rows[i] of `base` with the patch's columns set to its value to[i], in memory, dense
// or sparse as the base is, with its offset. Throws Error(bad_shape).
[[nodiscard]] std::unique_ptr<Features> make_patched(const Features& base,
                                                     std::span<const Index> rows,
                                                     const FeaturePatch& patch,
                                                     std::span<const std::int32_t> to);

}  // namespace fmd
