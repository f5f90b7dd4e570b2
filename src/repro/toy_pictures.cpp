#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/index.h"
#include "fmd/unlearn/newton.h"
#include "repro/toy.h"

namespace fmd::repro {
namespace {

using Json = nlohmann::ordered_json;

constexpr Index kShown = 10;    // digits of each kind
constexpr Index kPoints = 200;  // digits in the picture of decisions

std::string hex_of(std::span<const std::uint8_t> image) {
  std::string text;
  for (const std::uint8_t grey : image) text += fmt::format("{:02x}", grey);
  return text;
}

// Logits of the same digits in red and in blue: their mean is what the shape says, half of
// their difference what the colour says.
Json decisions(const Stage& stage, const Vector& theta, const DigitSet& set,
               const Exec& exec) {
  const Rows own = stage.report.pairs.c.rows(), other = stage.report.pairs.cbar.rows();
  const Matrix z = all_logits(*stage.head, own, theta, exec),
               zbar = all_logits(*stage.head, other, theta, exec);
  Json points = Json::array();
  for (Index i = 0; i < std::min(kPoints, z.rows()); ++i) {
    const bool own_is_red = set.own.code[at(i)] == 0, red = set.uniform.code[at(i)] == 0;
    const double in_red = own_is_red ? z(i, 0) : zbar(i, 0),
                 in_blue = own_is_red ? zbar(i, 0) : z(i, 0);
    const double shape = (in_red + in_blue) / 2, colour = (in_red - in_blue) / 2;
    points.push_back({{"digit", set.digits.label[at(i)]},
                      {"colour", red ? "red" : "blue"},
                      {"shape", shape},
                      {"of_colour", red ? colour : -colour}});
  }
  return points;
}

}  // namespace

std::string Toy::pictures(const Vector& solved) const {
  Json json;
  const std::vector<double> change = row_influence(full_, "co", exec_);
  std::vector<Index> order(change.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return change[at(a)] < change[at(b)]; });
  const auto shown = [&](Index row) {
    return Json{{"digit", train_digits_.label[at(row)]},
                {"colour", train_colours_.code[at(row)] == 0 ? "red" : "blue"},
                {"change", change[at(row)]},
                {"grey", hex_of(train_digits_.image(row))}};
  };
  Json harmful = Json::array(), helpful = Json::array();
  const Index count = std::min(kShown, std::ssize(order));
  for (Index i = 0; i < count; ++i) {
    harmful.push_back(shown(order[at(i)]));
    helpful.push_back(shown(order[order.size() - 1 - at(i)]));
  }
  json["harmful"] = harmful;
  json["helpful"] = helpful;
  json["decisions"] = {{"vanilla", decisions(full_, full_.theta, report_, exec_)},
                       {"solve", decisions(span_, solved, report_, exec_)}};

  // Accuracy and bias while one pair after the other is unlearned by Eq. 9, with the scale
  // that the hold-out chooses for all of them, and along the way from the trained head to
  // the solved one.
  Json steps = Json::array();
  const PairSet& all = span_.edit.pairs.sets.front();
  const OwnedRows both = both_sides(all);
  CurvatureOptions curvature;
  curvature.l2 = span_.l2;
  curvature.damping.external = true;
  const auto inverse =
      make_inverse_hessian(*span_.head, both.rows(), span_.theta, curvature, exec_);
  const NewtonDirection direction = pairs_direction(span_, true, exec_);
  const Rule rule{.target_bias = 0, .otherwise = "accuracy"};
  const Outcome chosen = take_step(span_, direction, false, rule, exec_);
  const double s = (chosen.theta - span_.theta).norm() / direction.step.norm();
  const Score start = score(*span_.head, span_.theta, span_.report, exec_);
  steps.push_back({{"pairs", 0}, {"accuracy", start.accuracy}, {"bias", start.bias}});
  for (Index used = 5; used <= all.size(); used += 5) {
    PairSet some = all;
    for (Index i = used; i < all.size(); ++i) some.weight[at(i)] = 0;
    const Vector g = unlearn_gradient(*span_.head, span_.theta, {&some, 1}, exec_);
    const Vector theta =
        newton_step(span_.theta, g, *inverse, {.step_scale = std::max(s, 1e-300)}).theta;
    const Score now = score(*span_.head, theta, span_.report, exec_);
    steps.push_back({{"pairs", used}, {"accuracy", now.accuracy}, {"bias", now.bias}});
  }
  Json way = Json::array();
  for (int i = 0; i <= 10; ++i) {
    const double share = 0.1 * i;
    const Vector theta = span_.theta + share * (solved - span_.theta);
    const Score now = score(*span_.head, theta, span_.report, exec_);
    way.push_back({{"share", share}, {"accuracy", now.accuracy}, {"bias", now.bias}});
  }
  json["curves"] = {{"eq9", steps}, {"solve", way}, {"s", s}};
  return json.dump();
}

}  // namespace fmd::repro
