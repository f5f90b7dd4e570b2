#pragma once

#include <memory>

#include "repro/coloured_mnist.h"
#include "repro/experiment.h"

namespace fmd::repro {

// 3 against 8 in red and blue, with one seed: logistic regression on the pixels.
class Toy {
 public:
  Toy(World& world, const Unit& unit, const Exec& exec);

  // The head on all pixels, or (span) on the span of the edit pairs and the trained
  // weights. Every edit that minimises a loss of these pairs and a distance to the trained
  // head stays in this span.
  [[nodiscard]] const Stage& stage(bool span) const { return span ? span_ : full_; }
  // The same parameters on the pixels.
  [[nodiscard]] Vector on_pixels(const Vector& span_theta) const;
  // The time to find the span. It is added to the time of an edit in the span.
  [[nodiscard]] double span_seconds() const { return span_seconds_; }
  [[nodiscard]] double span_cpu() const { return span_cpu_; }
  [[nodiscard]] std::map<std::string, double> facts() const { return facts_; }
  // What the paper's figure of the toy shows, as JSON.
  [[nodiscard]] std::string pictures(const Vector& solved) const;

 private:
  void train(const Unit& unit);
  void make_span();
  [[nodiscard]] Side full_side(const DigitSet& set) const;
  [[nodiscard]] Side in_span(const Side& side) const;

  Exec exec_;
  Painting painting_ = red_and_blue();
  Digits train_digits_;
  Colours train_colours_;
  DigitSet edit_, holdout_, report_, external_;
  Stage full_, span_;
  Matrix basis_;  // rows: an orthonormal basis of the span
  double span_seconds_ = 0, span_cpu_ = 0;
  std::map<std::string, double> facts_;
};

[[nodiscard]] UnitResult run_toy(World& world, const Unit& unit, const Exec& exec);

}  // namespace fmd::repro
