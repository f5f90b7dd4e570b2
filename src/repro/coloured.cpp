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
    const Index first = b * kBlockRows;
    return rendered(first, std::min(kBlockRows, rows() - first), scratch,
                    [&](Index i) { return first + i; });
  }
  [[nodiscard]] FeatureBlock gather(std::span<const Index> rows,
                                    Scratch& scratch) const override {
    return rendered(0, std::ssize(rows), scratch,
                    [&](Index i) { return rows[static_cast<std::size_t>(i)]; });
  }

 private:
  template <typename RowOf>
  FeatureBlock rendered(Index first, Index count, Scratch& scratch,
                        const RowOf& row_of) const {
    scratch.dense.resize(static_cast<std::size_t>(count * cols()));
    for (Index i = 0; i < count; ++i) render(row_of(i), scratch.dense.data() + i * cols());
    return {.first = first,
            .rows = count,
            .cols = cols(),
            .dense = scratch.dense.data(),
            .start = {},
            .column = {},
            .value = {}};
  }

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
