#include "repro/toy.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/gemm.h"
#include "core/index.h"
#include "fmd/core/rng.h"
#include "fmd/curvature/inverse_hessian.h"
#include "fmd/fit/train.h"
#include "fmd/model/linear_head.h"
#include "fmd/model/passes.h"
#include "fmd/unlearn/newton.h"

namespace fmd::repro {
namespace {

// The 3s and 8s.
std::vector<Index> threes_and_eights(const Digits& digits) {
  std::vector<Index> rows;
  for (Index i = 0; i < digits.size(); ++i)
    if (digits.label[at(i)] == 3 || digits.label[at(i)] == 8) rows.push_back(i);
  return rows;
}

// Class 1 = 8.
std::vector<std::int32_t> classes(const Digits& digits) {
  std::vector<std::int32_t> y;
  for (const std::int32_t label : digits.label) y.push_back(label == 8 ? 1 : 0);
  return y;
}

// Digits in colour, rendered once: a few thousand rows that are read many times.
std::shared_ptr<const Features> stored(const Digits& digits, const Colours& colours) {
  const auto X = make_coloured(digits, colours);
  std::vector<float> values;
  for (Index b = 0; b < block_count(X->rows()); ++b) {
    Scratch scratch;
    const FeatureBlock block = X->block(b, scratch);
    values.insert(values.end(), block.dense, block.dense + block.rows * block.cols);
  }
  return make_dense(std::move(values), X->rows(), X->cols());
}

Matrix as_matrix(const Features& X) {
  Matrix all(X.rows(), X.cols());
  for (Index b = 0; b < block_count(X.rows()); ++b) {
    Scratch scratch;
    const FeatureBlock block = X.block(b, scratch);
    for (Index i = 0; i < block.rows * block.cols; ++i)
      all.data()[block.first * X.cols() + i] = static_cast<double>(block.dense[i]);
  }
  return all;
}

// L of K = L L^T. A row that depends linearly on the rows before it adds no direction: its
// column of L is 0.
Matrix cholesky_factor(Matrix K) {
  const Index n = K.rows();
  const double least = 1e-9 * K.diagonal().maxCoeff();
  for (Index j = 0; j < n; ++j) {
    const double pivot = K(j, j) - K.row(j).head(j).squaredNorm();
    K(j, j) = pivot > least ? std::sqrt(pivot) : 0;
    for (Index i = j + 1; i < n; ++i)
      K(i, j) =
          K(j, j) == 0 ? 0 : (K(i, j) - K.row(i).head(j).dot(K.row(j).head(j))) / K(j, j);
    for (Index k = j + 1; k < n; ++k) K(j, k) = 0;
  }
  return K;
}

// A B^T.
Matrix times_transposed(const Matrix& A, const Matrix& B) {
  Matrix C(A.rows(), B.rows());
  gemm(As::is, As::transposed, A.rows(), B.rows(), A.cols(), {A.data(), A.cols()},
       {B.data(), B.cols()}, 0, {C.data(), C.cols()});
  return C;
}

// L^-1 A, with 0 for rows that add no direction.
Matrix solve_lower(const Matrix& L, Matrix A) {
  for (Index i = 0; i < L.rows(); ++i) {
    for (Index j = 0; j < i; ++j) A.row(i) -= L(i, j) * A.row(j);
    A.row(i) *= L(i, i) == 0 ? 0 : 1 / L(i, i);
  }
  return A;
}

std::shared_ptr<const Features> as_features(const Matrix& values) {
  std::vector<float> floats(static_cast<std::size_t>(values.size()));
  std::transform(values.data(), values.data() + values.size(), floats.begin(),
                 [](double x) { return static_cast<float>(x); });
  return make_dense(std::move(floats), values.rows(), values.cols());
}

// Half as high and wide: means of four pixels.
Digits halved(const Digits& digits) {
  const auto side = static_cast<Index>(std::lround(std::sqrt(digits.pixels)));
  Digits small{.pixels = side / 2 * (side / 2), .grey = {}, .label = digits.label};
  for (Index i = 0; i < digits.size(); ++i) {
    const auto image = digits.image(i);
    for (Index y = 0; y + 1 < side; y += 2)
      for (Index x = 0; x + 1 < side; x += 2) {
        const int sum = image[at(y * side + x)] + image[at(y * side + x + 1)] +
                        image[at((y + 1) * side + x)] + image[at((y + 1) * side + x + 1)];
        small.grey.push_back(static_cast<std::uint8_t>(sum / 4));
      }
  }
  return small;
}

using Json = nlohmann::ordered_json;

constexpr Index kShown = 10;    // digits of each kind
constexpr Index kPoints = 200;  // digits in the picture of decisions

// The logits of the same digits in red and in blue. Their mean comes from the shape, half
// of their difference from the colour.
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

Toy::Toy(World& world, const Unit& unit, const Exec& exec) : exec_(exec) {
  const bool small = unit.settings.has("halve");
  const Settings& s = unit.settings;
  std::vector<Index> rows = threes_and_eights(world.train_digits());
  rows.resize(std::min(rows.size(), at(s.count("train_digits"))));
  const auto take = [&](const Digits& digits, std::span<const Index> numbers) {
    return small ? halved(select(digits, numbers)) : select(digits, numbers);
  };
  train_digits_ = take(world.train_digits(), rows);
  train_colours_ =
      biased_colours(train_digits_.label, painting_, s.number("ratio"), unit.seed, "train");
  std::vector<Index> test = threes_and_eights(world.test_digits());
  Rng rng(unit.seed, "halves of the test digits");
  const std::vector<Index> order = permutation(std::ssize(test), rng);
  std::vector<Index> mixed;
  for (const Index i : order) mixed.push_back(test[at(i)]);
  const Index half = std::min(s.count("half"), std::ssize(mixed) / 2);
  const auto set = [&](Index first, Index count, const std::string& purpose) {
    return make_digit_set(take(world.test_digits(), {mixed.data() + first, at(count)}),
                          painting_, 1, unit.seed, purpose);
  };
  const Index to_edit = half * 4 / 5;
  external_ = set(0, half, "D_ex");
  edit_ = set(0, std::min(to_edit, s.count("pairs")), "edit");
  holdout_ = set(to_edit, half - to_edit, "hold-out");
  report_ = set(half, std::ssize(mixed) - half, "report");
  train(unit);
  full_.edit = full_side(edit_);
  full_.holdout = full_side(holdout_);
  full_.report = full_side(report_);
  full_.edit_group.assign(edit_.own.code.begin(), edit_.own.code.end());
  full_.edit_group.insert(full_.edit_group.end(), edit_.other.code.begin(),
                          edit_.other.code.end());
  for (std::int32_t& g : full_.edit_group) g = g == 6 ? 1 : 0;
  full_.problem.replaced = [this](std::span<const Index> harmful, const Exec&) {
    const Digits digits = select(train_digits_, harmful);
    Colours as_is;
    for (const Index row : harmful) {
      as_is.code.push_back(train_colours_.code[at(row)]);
      as_is.paint.push_back(train_colours_.paint[at(row)]);
    }
    const Colours other = other_colours(as_is.code, painting_, exec_.seed, "replaced");
    return kept({stored(digits, as_is), stored(digits, other), classes(digits)});
  };
  connect(full_);
  make_span();
}

// The l2 of a fixed grid whose optimum is nearest the paper's accuracy on the D_ex half.
void Toy::train(const Unit& unit) {
  full_.train = {stored(train_digits_, train_colours_), classes(train_digits_)};
  const auto head = std::make_shared<LinearHead>(full_.train.X->cols(), 1);
  full_.head = head;
  const Side external = full_side(external_);
  const double wanted = unit.settings.number("vanilla_accuracy") / 100;
  double nearest = 2;
  Vector theta;
  for (const double l2 : unit.settings.list("l2")) {
    TrainOptions options;
    options.l2 = l2;
    options.relative_gradient = 1e-6;
    theta = train_linear(*head, full_.train.rows(), options, exec_, theta).theta;
    const double accuracy = score(*head, theta, external, exec_).accuracy;
    if (std::abs(accuracy - wanted) < nearest) {
      nearest = std::abs(accuracy - wanted);
      full_.problem.theta = theta;
      full_.problem.l2 = l2;
    }
  }
  facts_["l2"] = full_.problem.l2;
  facts_["training_digits"] = static_cast<double>(train_digits_.size());
}

Side Toy::full_side(const DigitSet& set) const {
  Side side{
      {stored(set.digits, set.uniform), classes(set.digits)},
      {stored(set.digits, set.own), stored(set.digits, set.other), classes(set.digits)},
      {}};
  for (const std::int32_t code : set.uniform.code) side.group.push_back(code == 6 ? 1 : 0);
  return side;
}

// The rows of A are the rows of the pairs and the trained weights; A A^T = L L^T. The rows
// of L^-1 A are an orthonormal basis, and in this basis the rows of A are those of L. So an
// edit costs as much as 100 rows, not as much as 2,352 pixels. (Woodbury's identity says
// the same of H.)
void Toy::make_span() {
  const PairSet& pairs = full_.edit.pairs.sets.front();
  const Matrix c = as_matrix(*pairs.c.X), cbar = as_matrix(*pairs.cbar.X);
  const Stopwatch start;
  const Index n = c.rows(), pixels = c.cols();
  Matrix A(2 * n + 1, pixels);
  const LinearHead& full = *full_.head->as_linear();
  A << c, cbar, full.W(full_.problem.theta);
  const Matrix L = cholesky_factor(times_transposed(A, A));
  span_seconds_ = start.seconds();
  span_cpu_ = start.cpu();
  basis_ = solve_lower(L, std::move(A));
  const Index dim = basis_.rows();
  const auto head = std::make_shared<LinearHead>(dim, 1);
  span_.head = head;
  span_.problem.theta = head->from(L.row(2 * n), full.b(full_.problem.theta));
  span_.problem.l2 = full_.problem.l2;
  span_.edit_group = full_.edit_group;
  span_.edit = in_span(full_.edit);
  span_.holdout = in_span(full_.holdout);
  span_.report = in_span(full_.report);
  connect(span_);
}

Side Toy::in_span(const Side& side) const {
  const auto coordinates = [&](const Features& X) {
    return as_features(times_transposed(as_matrix(X), basis_));
  };
  return {{coordinates(*side.rows.X), side.rows.y},
          {coordinates(*side.pairs.c.X), coordinates(*side.pairs.cbar.X), side.pairs.c.y},
          side.group};
}

Vector Toy::on_pixels(const Vector& span_theta) const {
  const LinearHead& span = *span_.head->as_linear();
  const Vector on_span = span.W(span_theta).row(0);
  const Vector w = basis_.transpose() * on_span;
  return full_.head->as_linear()->from(w.transpose(), span.b(span_theta));
}

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
                {"grey", grey_in_hex(train_digits_.image(row))}};
  };
  Json harmful = Json::array(), helpful = Json::array();
  const Index count = std::min(kShown, std::ssize(order));
  for (Index i = 0; i < count; ++i) {
    harmful.push_back(shown(order[at(i)]));
    helpful.push_back(shown(order[order.size() - 1 - at(i)]));
  }
  json["harmful"] = harmful;
  json["helpful"] = helpful;
  json["decisions"] = {{"vanilla", decisions(full_, full_.problem.theta, report_, exec_)},
                       {"solve", decisions(span_, solved, report_, exec_)}};

  // Accuracy and bias while more and more pairs are unlearned by Eq. 9, with the scale that
  // the hold-out chooses for all pairs; and on the line from the trained head to the solved
  // one.
  Json steps = Json::array();
  const PairSet& all = span_.edit.pairs.sets.front();
  const OwnedRows both = both_sides(all);
  CurvatureOptions curvature;
  curvature.l2 = span_.problem.l2;
  curvature.damping.external = true;
  const auto inverse =
      make_inverse_hessian(*span_.head, both.rows(), span_.problem.theta, curvature, exec_);
  const TimedDirection found = pairs_direction(span_, true, exec_);
  const Outcome chosen = take_step(span_, found, false, {}, exec_);
  const double s =
      (chosen.theta - span_.problem.theta).norm() / found.direction.value.norm();
  const Score start = score(*span_.head, span_.problem.theta, span_.report, exec_);
  steps.push_back({{"pairs", 0}, {"accuracy", start.accuracy}, {"bias", start.bias}});
  for (Index used = 5; used <= all.size(); used += 5) {
    PairSet some = all;
    for (Index i = used; i < all.size(); ++i) some.weight[at(i)] = 0;
    const Vector g = unlearn_gradient(*span_.head, span_.problem.theta, {&some, 1}, exec_);
    const Vector theta =
        newton_step(span_.problem.theta, g, *inverse, {.step_scale = std::max(s, 1e-300)})
            .theta;
    const Score now = score(*span_.head, theta, span_.report, exec_);
    steps.push_back({{"pairs", used}, {"accuracy", now.accuracy}, {"bias", now.bias}});
  }
  Json way = Json::array();
  for (int i = 0; i <= 10; ++i) {
    const double share = 0.1 * i;
    const Vector theta = span_.problem.theta + share * (solved - span_.problem.theta);
    const Score now = score(*span_.head, theta, span_.report, exec_);
    way.push_back({{"share", share}, {"accuracy", now.accuracy}, {"bias", now.bias}});
  }
  json["curves"] = {{"eq9", steps}, {"solve", way}, {"s", s}};
  return json.dump();
}

UnitResult run_toy(World& world, const Unit& unit, const Exec& exec) {
  Toy toy(world, unit, exec);
  UnitResult result;
  result.rows = run_rows(
      unit, [&](Index layers) -> const Stage& { return toy.stage(layers == 0); },
      [&](const SpecRow& row, const Settings& settings) {
        // Logistic regression on both sides of the pairs, without the trained head.
        const Stopwatch start;
        const Stage& stage = toy.stage(false);
        const OwnedRows both = both_sides(stage.edit.pairs.sets.front());
        TrainOptions options;
        options.l2 = settings.number("scratch_l2");
        options.relative_gradient = 1e-6;
        const LinearHead head(both.X->cols(), 1);
        Outcome outcome;
        outcome.theta = train_linear(head, both.rows(), options, exec).theta;
        outcome.seconds = start.seconds();
        outcome.cpu = start.cpu();
        outcome.labels = true;
        outcome.rows = stage.edit.pairs.c.X->rows();
        return report(row.id, stage, outcome, exec);
      },
      exec);
  for (std::size_t i = 0; i < result.rows.size(); ++i)
    if (unit.of(unit.spec->rows[i]).has("layers")) {
      result.rows[i].value["seconds"] += toy.span_seconds();
      result.rows[i].value["cpu"] += toy.span_cpu();
    }
  result.facts = toy.facts();
  if (unit.settings.has("pictures"))
    result.pictures = toy.pictures(solved(toy.stage(true), unit.settings, exec).theta);
  return result;
}

}  // namespace fmd::repro
