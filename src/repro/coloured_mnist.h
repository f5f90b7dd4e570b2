#pragma once

#include <map>
#include <memory>

#include "fmd/model/mlp_head.h"
#include "fmd/model/pairs.h"
#include "fmd/repro/recolour.h"
#include "repro/curves.h"
#include "repro/experiment.h"

namespace fmd::repro {

// Some digits with the colours that all methods see: rows in uniform colours, and pairs of
// the digit's own colour and another one.
struct DigitSet {
  Digits digits;
  Colours uniform, own, other;  // other: `copies` for each digit, side by side
  std::unique_ptr<Recolouring> layers;
};
[[nodiscard]] DigitSet make_digit_set(Digits digits, const Painting& painting, Index copies,
                                      std::uint64_t seed, const std::string& purpose);

// `other` of digit i are the entries [i copies, (i + 1) copies). This is copy k of all
// digits.
[[nodiscard]] Colours copy_of(const Colours& other, Index copies, Index k);

// Colored MNIST with one seed: the biased training digits, the test digits in two halves, a
// network whose training was stopped where it is as accurate as the paper's, and stages for
// its top layers.
class ColouredMnist {
 public:
  ColouredMnist(World& world, const Unit& unit, const Exec& exec);

  [[nodiscard]] const Stage& stage(Index layers);
  // A network of the same shape, trained on the edit pairs alone. Method "scratch":
  // cross-entropy on both sides as they are. Method "scratch_redrawn": all that solve has
  // (new colours in each epoch, consistency), except the trained network.
  [[nodiscard]] Measured from_scratch(const SpecRow& row, const Settings& settings);
  // A method that trains a network of this shape on the biased training digits; settings:
  // network, its name in baselines(), and effort.
  [[nodiscard]] Measured network(const std::string& id, const Settings& settings);
  // From now on, edits and choices see only this many of the D_ex digits. Stages are made
  // again.
  void use(Index digits);

  [[nodiscard]] const Curves& curves() const { return curves_; }
  [[nodiscard]] std::map<std::string, double> facts() const { return facts_; }

 private:
  void train(const Unit& unit);
  [[nodiscard]] Side side(const DigitSet& set, Index layers) const;
  [[nodiscard]] DigitSet redrawn(int epoch) const;  // the edit digits in new colours
  [[nodiscard]] std::span<const PairSet> fresh_pairs(Index layers, int epoch);
  [[nodiscard]] static Side images(const DigitSet& set);  // refers to it
  // All layers, with random initial parameters.
  [[nodiscard]] Stage untrained();
  [[nodiscard]] Outcome trained_anew(const Stage& stage, const Settings& settings);

  Exec exec_;
  Painting painting_ = ten_colours();
  Index copies_ = 1;
  Digits train_digits_, external_;
  Colours train_colours_;
  MlpHead network_;
  Vector theta_;
  std::unique_ptr<Recolouring> train_layers_;
  DigitSet edit_, holdout_, report_;
  DigitSet once_, redrawn_;  // the edit digits as networks from scratch see them
  std::map<Index, Stage> stages_;
  OwnedPairs fresh_;
  std::filesystem::path checkpoints_;
  Curves curves_{{"accuracy", "bias"}};
  std::map<std::string, double> facts_;
};

[[nodiscard]] UnitResult run_coloured(World& world, const Unit& unit, const Exec& exec);

}  // namespace fmd::repro
