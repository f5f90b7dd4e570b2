#include "fmd/repro/digits.h"

#include <cmath>
#include <cstdlib>
#include <map>

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "fmd/model/mlp_head.h"
#include "fmd/model/passes.h"
#include "fmd/repro/recolour.h"
#include "support/close.h"
#include "support/folder.h"

namespace fmd {
namespace {

// Made-up digits of 2 x 2 pixels with labels 0 .. 9 in turn.
Digits small_digits(Index count, std::uint64_t seed = 3) {
  Digits digits;
  digits.pixels = 4;
  Rng rng(seed, "digits");
  for (Index i = 0; i < count; ++i) {
    for (int j = 0; j < 4; ++j)
      digits.grey.push_back(static_cast<std::uint8_t>(rng.below(256)));
    digits.label.push_back(static_cast<std::int32_t>(i % 10));
  }
  return digits;
}

std::vector<float> dense(const Features& X) {
  std::vector<float> values;
  for (Index b = 0; b < block_count(X.rows()); ++b) {
    Scratch scratch;
    const FeatureBlock block = X.block(b, scratch);
    values.insert(values.end(), block.dense, block.dense + block.rows * block.cols);
  }
  return values;
}

TEST(Digits, TheShareOfOwnColoursIsKeptInEveryClass) {
  const Digits digits = small_digits(2000);
  const Colours colours = biased_colours(digits.label, ten_colours(), 0.95, 7, "train");
  std::map<std::int32_t, Index> own, other;
  for (std::size_t i = 0; i < digits.label.size(); ++i)
    ++(colours.code[i] == digits.label[i] ? own : other)[digits.label[i]];
  for (std::int32_t k = 0; k < 10; ++k) {
    EXPECT_EQ(own[k], 190) << k;
    EXPECT_EQ(other[k], 10) << k;
  }
}

TEST(Digits, UniformColoursAreAboutEquallyFrequentAndOthersAreNeverTheSame) {
  const Colours colours = uniform_colours(5000, ten_colours(), 7, "test");
  std::map<std::int32_t, Index> counts;
  for (const std::int32_t code : colours.code) ++counts[code];
  for (std::int32_t k = 0; k < 10; ++k)  // five standard deviations
    EXPECT_NEAR(static_cast<double>(counts[k]), 500, 5 * std::sqrt(450));
  const Colours others = other_colours(colours.code, ten_colours(), 7, "pairs");
  std::map<std::int32_t, Index> steps;
  for (std::size_t i = 0; i < others.code.size(); ++i) {
    ASSERT_NE(others.code[i], colours.code[i]);
    ++steps[(others.code[i] - colours.code[i] + 10) % 10];
  }
  for (std::int32_t d = 1; d < 10; ++d)
    EXPECT_NEAR(static_cast<double>(steps[d]), 5000.0 / 9, 5 * std::sqrt(494));
}

TEST(Digits, PaintIsThePalettesWithALittleNoise) {
  const Colours colours = uniform_colours(4000, ten_colours(), 7, "test");
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < colours.code.size(); ++i) {
    // Channels near 0 and 1 are cut: the middle one of colour 2 is not.
    if (colours.code[i] != 2) continue;
    const double d = static_cast<double>(colours.paint[i][1]) - 118.0 / 255;
    sum += 1;
    squares += d * d;
  }
  EXPECT_NEAR(std::sqrt(squares / sum), 0.005, 0.001);
  for (const Colour& paint : colours.paint)
    for (const float channel : paint) EXPECT_TRUE(channel >= 0 && channel <= 1);
}

TEST(Digits, ColouredDigitsAreGreyTimesPaintChannelByChannel) {
  const Digits digits = small_digits(5000);  // more than one block
  const Colours colours = uniform_colours(digits.size(), ten_colours(), 1, "x");
  const auto X = make_coloured(digits, colours);
  ASSERT_EQ(X->cols(), 12);
  const std::vector<float> all = dense(*X);
  ASSERT_EQ(std::ssize(all), 5000 * 12);
  for (const std::size_t row : {std::size_t{0}, std::size_t{4095}, std::size_t{4999}})
    for (std::size_t channel = 0; channel < 3; ++channel)
      for (std::size_t j = 0; j < 4; ++j)
        EXPECT_FLOAT_EQ(all[row * 12 + channel * 4 + j],
                        static_cast<float>(digits.grey[row * 4 + j]) / 255 *
                            colours.paint[row][channel]);
  Scratch scratch;
  const std::vector<Index> some = {4999, 3, 4999};
  const FeatureBlock block = X->gather(some, scratch);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 12; ++j)
      EXPECT_EQ(block.dense[i * 12 + j], all[static_cast<std::size_t>(some[i]) * 12 + j]);
}

TEST(Digits, RecolouringGivesWhatTheNetworkGives) {
  const Digits digits = small_digits(4200);
  const MlpHead network({12, 7, 6, 5, 10}, Activation::relu);
  Vector theta(network.parameters());
  Rng rng(5, "theta");
  for (double& t : theta) t = rng.normal();
  const Recolouring recolouring(network, theta, digits, {});
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    const Colours colours = uniform_colours(digits.size(), ten_colours(), epoch, "epoch");
    const auto X = make_coloured(digits, colours);
    const Matrix whole = all_logits(network, {X.get(), digits.label, {}, {}}, theta, {});
    for (Index layers = 1; layers <= 3; ++layers) {
      const auto below = recolouring.features(colours, layers, {});
      const TopLayers top = top_layers(network, theta, layers);
      const Matrix z =
          all_logits(*top.head, {below.get(), digits.label, {}, {}}, top.theta, {});
      EXPECT_LT((z - whole).norm(), 1e-5 * whole.norm()) << layers;
    }
  }
  EXPECT_ERROR(recolouring.features({}, 4, {}), ErrorKind::bad_option, "layers");
}

TEST(Digits, WrongUseIsNamed) {
  const std::vector<std::int32_t> labels = {3, 8, 5};
  EXPECT_ERROR(biased_colours(labels, red_and_blue(), 0.9, 1, "x"), ErrorKind::bad_option,
               "there is no colour for label 5");
  EXPECT_ERROR(biased_colours(labels, ten_colours(), 1.5, 1, "x"), ErrorKind::bad_option,
               "option ratio is 1.5");
  EXPECT_ERROR(make_coloured(small_digits(3), Colours{}), ErrorKind::bad_shape,
               "the colours has 0 entries, needs 3");
}

TEST(Digits, AMissingOrDamagedSetIsNamedWithSourceAndChecksum) {
  EXPECT_ERROR(load_digits("no/folder", "train"), ErrorKind::missing_dataset,
               "no/folder/mnist/train-images-idx3-ubyte is not there; needs "
               "mnist/train-images-idx3-ubyte with unpacked sha256 ba891046");
  EXPECT_ERROR(load_digits("", "test"), ErrorKind::missing_dataset,
               "no data folder is set");
  const test::Folder folder;
  std::filesystem::create_directories(folder / "mnist");
  test::write_text(folder / "mnist/t10k-images-idx3-ubyte", "other bytes");
  EXPECT_ERROR(load_digits(folder.path(), "test"), ErrorKind::wrong_checksum,
               "t10k-images-idx3-ubyte has unpacked sha256");
}

TEST(Digits, MnistHasTheKnownCounts) {
  const char* data = std::getenv("FMD_DATA");
  if (data == nullptr ||
      !std::filesystem::exists(std::filesystem::path(data) / "mnist/SOURCE.txt"))
    GTEST_SKIP() << "set FMD_DATA to a folder with mnist";
  const Digits digits = load_digits(data, "test");
  EXPECT_EQ(digits.size(), 10000);
  EXPECT_EQ(digits.pixels, 784);
  std::map<std::int32_t, Index> counts;
  for (const std::int32_t k : digits.label) ++counts[k];
  EXPECT_EQ(counts[3], 1010);
  EXPECT_EQ(counts[8], 974);
}

}  // namespace
}  // namespace fmd
