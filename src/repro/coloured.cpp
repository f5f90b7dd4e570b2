#include <algorithm>

#include "core/check.h"
#include "fmd/repro/digits.h"

namespace fmd {
namespace {

class ColouredDigits final : public Features {
 public:
  ColouredDigits(const Digits& digits, const Colours& colours)
      : digits_(digits), colours_(colours) {}

  [[nodiscard]] Index rows() const override { return digits_.size(); }
  [[nodiscard]] Index cols() const override { return 3 * digits_.pixels; }

  [[nodiscard]] FeatureBlock block(Index b, Scratch& scratch) const override {
    const Index first = b * kBlockRows, count = std::min(kBlockRows, rows() - first);
    scratch.dense.resize(static_cast<std::size_t>(count * cols()));
    for (Index i = 0; i < count; ++i) render(first + i, scratch.dense.data() + i * cols());
    return {.first = first,
            .rows = count,
            .cols = cols(),
            .dense = scratch.dense.data(),
            .start = {},
            .column = {},
            .value = {}};
  }
  [[nodiscard]] FeatureBlock gather(std::span<const Index> rows,
                                    Scratch& scratch) const override {
    const auto count = static_cast<Index>(rows.size());
    scratch.dense.resize(static_cast<std::size_t>(count * cols()));
    for (Index i = 0; i < count; ++i)
      render(rows[static_cast<std::size_t>(i)], scratch.dense.data() + i * cols());
    return {.first = 0,
            .rows = count,
            .cols = cols(),
            .dense = scratch.dense.data(),
            .start = {},
            .column = {},
            .value = {}};
  }

 private:
  void render(Index row, float* to) const {
    const auto image = digits_.image(row);
    const Index pixels = digits_.pixels;
    const Colour& paint = colours_.paint[static_cast<std::size_t>(row)];
    // Grey values as floats first, where red will stand: loops from floats to floats are
    // vectorised, those that read bytes while they write are not.
    std::copy_n(image.begin(), pixels, to);
    for (const Index channel : {2, 1, 0}) {
      const float scale = paint[static_cast<std::size_t>(channel)] / 255;
      float* const out = to + channel * pixels;
      for (Index j = 0; j < pixels; ++j) out[j] = scale * to[j];
    }
  }

  const Digits& digits_;
  const Colours& colours_;
};

}  // namespace

std::unique_ptr<Features> make_coloured(const Digits& digits, const Colours& colours) {
  require_size("coloured digits", "the colours", colours.size(), digits.size());
  return std::make_unique<ColouredDigits>(digits, colours);
}

}  // namespace fmd
