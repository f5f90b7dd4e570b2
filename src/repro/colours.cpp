#include "fmd/repro/colours.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/check.h"
#include "fmd/core/rng.h"
#include "fmd/repro/digits.h"

namespace fmd {
namespace {

Colour rgb(int red, int green, int blue) {
  return {static_cast<float>(red) / 255, static_cast<float>(green) / 255,
          static_cast<float>(blue) / 255};
}

// The palette's colours of the given numbers, with separate noise for each digit.
Colours painted(std::vector<std::int32_t> code, double noise, Rng& rng) {
  Colours colours{std::move(code), {}};
  for (const std::int32_t number : colours.code) {
    Colour paint = palette()[static_cast<std::size_t>(number)];
    for (float& channel : paint)
      channel = std::clamp(channel + static_cast<float>(noise * rng.normal()), 0.0f, 1.0f);
    colours.paint.push_back(paint);
  }
  return colours;
}

std::int32_t draw_other(std::int32_t own, const std::vector<std::int32_t>& all, Rng& rng) {
  for (;;) {
    const std::int32_t drawn =
        all[static_cast<std::size_t>(rng.below(static_cast<Index>(all.size())))];
    if (drawn != own) return drawn;
  }
}

void validate(const Painting& painting) {
  const auto count = static_cast<Index>(painting.all.size());
  require_option(count >= 2, "colours", "all", count, "at least two colours");
  require_option(painting.noise >= 0, "colours", "noise", painting.noise, ">= 0");
  for (const std::int32_t number : painting.all)
    require_option(number >= 0 && number < 10, "colours", "all", number, "from 0 to 9");
}

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
    // First the grey values as floats, in the place of red. Loops from floats to floats are
    // vectorised; loops that read bytes while they write are not.
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

const std::array<Colour, 10>& palette() {
  static const std::array<Colour, 10> kPalette = {
      rgb(251, 80, 43),  rgb(253, 233, 90), rgb(172, 118, 148), rgb(200, 212, 153),
      rgb(22, 198, 250), rgb(82, 245, 114), rgb(6, 60, 193),    rgb(142, 26, 194),
      rgb(53, 100, 5),   rgb(213, 52, 68)};
  return kPalette;
}

Painting ten_colours() {
  Painting painting;
  for (std::int32_t k = 0; k < 10; ++k) {
    painting.own.push_back(k);
    painting.all.push_back(k);
  }
  return painting;
}

Painting red_and_blue() {
  Painting painting;
  painting.own = {-1, -1, -1, 0, -1, -1, -1, -1, 6, -1};
  painting.all = {0, 6};
  return painting;
}

Colours biased_colours(std::span<const std::int32_t> label, const Painting& painting,
                       double ratio, std::uint64_t seed, const std::string& purpose) {
  validate(painting);
  require_option(ratio >= 0 && ratio <= 1, "colours", "ratio", ratio, "from 0 to 1");
  std::map<std::int32_t, std::vector<std::size_t>> of_label;
  for (std::size_t i = 0; i < label.size(); ++i) {
    const auto known = static_cast<std::int32_t>(painting.own.size());
    if (label[i] < 0 || label[i] >= known ||
        painting.own[static_cast<std::size_t>(label[i])] < 0) {
      throw Error(ErrorKind::bad_option,
                  fmt::format("colours: there is no colour for label {}", label[i]));
    }
    of_label[label[i]].push_back(i);
  }
  std::vector<std::int32_t> code(label.size());
  for (const auto& [k, rows] : of_label) {
    Rng rng(seed, purpose, static_cast<std::uint64_t>(k));
    const std::int32_t own = painting.own[static_cast<std::size_t>(k)];
    const auto aligned = std::llround(ratio * static_cast<double>(rows.size()));
    const std::vector<Index> order = permutation(std::ssize(rows), rng);
    for (Index i = 0; i < std::ssize(rows); ++i)
      code[rows[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])]] =
          i < aligned ? own : draw_other(own, painting.all, rng);
  }
  Rng noise(seed, purpose + ", noise");
  return painted(std::move(code), painting.noise, noise);
}

Colours uniform_colours(Index count, const Painting& painting, std::uint64_t seed,
                        const std::string& purpose) {
  validate(painting);
  Rng rng(seed, purpose);
  std::vector<std::int32_t> code;
  for (Index i = 0; i < count; ++i) code.push_back(draw_other(-1, painting.all, rng));
  return painted(std::move(code), painting.noise, rng);
}

Colours other_colours(std::span<const std::int32_t> code, const Painting& painting,
                      std::uint64_t seed, const std::string& purpose) {
  validate(painting);
  Rng rng(seed, purpose);
  std::vector<std::int32_t> other;
  for (const std::int32_t own : code) other.push_back(draw_other(own, painting.all, rng));
  return painted(std::move(other), painting.noise, rng);
}

std::unique_ptr<Features> make_coloured(const Digits& digits, const Colours& colours) {
  require_size("coloured digits", "the colours", colours.size(), digits.size());
  return std::make_unique<ColouredDigits>(digits, colours);
}

}  // namespace fmd
