#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fmd/core/types.h"
#include "fmd/model/features.h"

namespace fmd {

struct Digits;

using Colour = std::array<float, 3>;  // red, green, blue: 0 .. 1

// The ten colours of Colored MNIST (the palette of the LfF benchmark): digit k has its own
// colour number k.
[[nodiscard]] const std::array<Colour, 10>& palette();

// The colours of some digits: for each digit a number in the palette, and what is painted.
struct Colours {
  std::vector<std::int32_t> code;
  std::vector<Colour> paint;

  [[nodiscard]] Index size() const { return static_cast<Index>(code.size()); }
};

// How digits get their colours.
struct Painting {
  std::vector<std::int32_t> own;  // own[k]: number of label k's colour; -1 = no such label
  std::vector<std::int32_t> all;  // the numbers that are in use
  double noise = 0.005;  // standard deviation of each channel; paint stays in 0 .. 1
};
[[nodiscard]] Painting ten_colours();   // label k has colour k
[[nodiscard]] Painting red_and_blue();  // the toy: 3 has colour 0, 8 has colour 6

// The share `ratio` of each label's digits gets the label's own colour, to within one
// digit; the others get another colour at random. Here and below, draws depend on (seed,
// purpose) alone. Throws Error(bad_option) for a ratio outside 0 .. 1 or a label without a
// colour.
[[nodiscard]] Colours biased_colours(std::span<const std::int32_t> label,
                                     const Painting& painting, double ratio,
                                     std::uint64_t seed, const std::string& purpose);
// Any of the colours with equal probability, independent of the label.
[[nodiscard]] Colours uniform_colours(Index count, const Painting& painting,
                                      std::uint64_t seed, const std::string& purpose);
// For each digit one of the colours that it does not have, with equal probability.
[[nodiscard]] Colours other_colours(std::span<const std::int32_t> code,
                                    const Painting& painting, std::uint64_t seed,
                                    const std::string& purpose);

// Digits in colour as 3 x pixels features in 0 .. 1, red first: grey / 255 x paint. They
// are rendered when a block is read: 60,000 rows are 47 MB of grey bytes instead of 564 MB
// of features. Both arguments must outlive the features. Throws Error(bad_shape).
[[nodiscard]] std::unique_ptr<Features> make_coloured(const Digits& digits,
                                                      const Colours& colours);

}  // namespace fmd
