#include "repro/coloured_mnist.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "core/index.h"
#include "fmd/baselines/baseline.h"
#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "fmd/fit/adam.h"
#include "fmd/metrics/scored.h"
#include "fmd/model/passes.h"

namespace fmd::repro {
namespace {

double accuracy_of(const Head& head, const Rows& rows, const Vector& theta,
                   const Exec& exec) {
  const auto decision = decide(all_probabilities(head, rows, theta, exec), 0.5);
  Index right = 0;
  for (std::size_t i = 0; i < decision.size(); ++i)
    if (decision[i] == rows.y[i]) ++right;
  return static_cast<double>(right) / static_cast<double>(decision.size());
}

// The rows of all parts, with row i of each part side by side.
std::unique_ptr<Features> interleave(const std::vector<std::unique_ptr<Features>>& parts) {
  if (parts.size() == 1) {
    Scratch scratch;
    std::vector<float> values;
    for (Index b = 0; b < block_count(parts[0]->rows()); ++b) {
      const FeatureBlock block = parts[0]->block(b, scratch);
      values.insert(values.end(), block.dense, block.dense + block.rows * block.cols);
    }
    return make_dense(std::move(values), parts[0]->rows(), parts[0]->cols());
  }
  const Index rows = parts[0]->rows(), cols = parts[0]->cols(), copies = std::ssize(parts);
  std::vector<float> values(at(rows * copies * cols));
  for (Index k = 0; k < copies; ++k)
    for (Index b = 0; b < block_count(rows); ++b) {
      Scratch scratch;
      const FeatureBlock block = parts[at(k)]->block(b, scratch);
      for (Index i = 0; i < block.rows; ++i)
        std::copy_n(block.dense + i * cols, cols,
                    values.begin() + ((block.first + i) * copies + k) * cols);
    }
  return make_dense(std::move(values), rows * copies, cols);
}

std::unique_ptr<Features> other_features(const DigitSet& set, Index layers,
                                         const Exec& exec) {
  const Index copies = set.other.size() / set.digits.size();
  std::vector<std::unique_ptr<Features>> parts;
  for (Index k = 0; k < copies; ++k)
    parts.push_back(set.layers->features(copy_of(set.other, copies, k), layers, exec));
  return interleave(parts);
}

}  // namespace

Colours copy_of(const Colours& other, Index copies, Index k) {
  Colours some;
  for (Index i = k; i < other.size(); i += copies) {
    some.code.push_back(other.code[at(i)]);
    some.paint.push_back(other.paint[at(i)]);
  }
  return some;
}

DigitSet make_digit_set(Digits digits, const Painting& painting, Index copies,
                        std::uint64_t seed, const std::string& purpose) {
  DigitSet set;
  set.uniform = uniform_colours(digits.size(), painting, seed, purpose + ", uniform");
  set.own = biased_colours(digits.label, painting, 1, seed, purpose + ", own");
  std::vector<std::int32_t> repeated;
  for (const std::int32_t code : set.own.code)
    repeated.insert(repeated.end(), at(copies), code);
  set.other = other_colours(repeated, painting, seed, purpose + ", other");
  set.digits = std::move(digits);
  return set;
}

ColouredMnist::ColouredMnist(World& world, const Unit& unit, const Exec& exec)
    : exec_(exec),
      copies_(unit.settings.count("copies")),
      network_({3 * world.test_digits().pixels, 100, 100, 100, 10}, Activation::relu),
      checkpoints_(world.checkpoints()) {
  Rng rng(unit.seed, "training digits");
  std::vector<Index> rows = permutation(world.train_digits().size(), rng);
  rows.resize(std::min(rows.size(), at(unit.settings.count("train_digits"))));
  std::sort(rows.begin(), rows.end());
  train_digits_ = select(world.train_digits(), rows);
  train_colours_ = biased_colours(train_digits_.label, painting_,
                                  unit.settings.number("ratio"), unit.seed, "train");
  Rng halves(unit.seed, "halves of the test digits");
  const std::vector<Index> order = permutation(world.test_digits().size(), halves);
  const Index half = std::min(unit.settings.count("half"), std::ssize(order) / 2);
  external_ = select(world.test_digits(), {order.data(), at(half)});
  report_ = make_digit_set(select(world.test_digits(), {order.data() + half, at(half)}),
                           painting_, 1, unit.seed, "report");
  train(unit);
  report_.layers = std::make_unique<Recolouring>(network_, theta_, report_.digits, exec_);
  train_layers_ = std::make_unique<Recolouring>(network_, theta_, train_digits_, exec_);
  use(unit.settings.count("pairs"));
}

// The training stops where the accuracy on the D_ex half in uniform colours is nearest the
// paper's, not after a fixed number of epochs: repairs can only be compared from the same
// accuracy. The half that reports is not looked at. The first epoch does not count: in it
// the accuracy rises and falls again, before the colours are learned.
void ColouredMnist::train(const Unit& unit) {
  const double wanted = unit.settings.number("vanilla_accuracy") / 100;
  const Colours uniform =
      uniform_colours(external_.size(), painting_, unit.seed, "D_ex, uniform");
  const auto X = make_coloured(train_digits_, train_colours_);
  const auto X_external = make_coloured(external_, uniform);
  const Rows external{X_external.get(), external_.label, {}, {}};
  const Index steps = (train_digits_.size() + 255) / 256;
  double nearest = 2;
  Index chosen = 0, checks = 0;
  AdamOptions options;
  options.l2 = 0;
  options.epochs = static_cast<int>(unit.settings.count("vanilla_epochs"));
  options.validation = 0;
  options.watch_steps = std::max<Index>(1, steps / 5);
  options.watch = [&](Index step, const Vector& theta) {
    if (step < steps && !unit.quick) return true;
    ++checks;
    const double accuracy = accuracy_of(network_, external, theta, exec_);
    if (std::abs(accuracy - wanted) < nearest) {
      nearest = std::abs(accuracy - wanted);
      theta_ = theta;
      chosen = step;
    }
    return accuracy < wanted + 0.05;
  };
  const Vector last =
      train_adam(network_, {X.get(), train_digits_.label, {}, {}}, options, exec_).theta;
  if (checks == 0) theta_ = last;
  facts_["vanilla_epochs"] = static_cast<double>(chosen) / static_cast<double>(steps);
}

void ColouredMnist::use(Index digits) {
  stages_.clear();
  const Index all = std::min(digits, external_.size());
  const Index edit = std::max<Index>(1, all * 4 / 5);
  std::vector<Index> rows(at(all));
  std::iota(rows.begin(), rows.end(), 0);
  edit_ = make_digit_set(select(external_, {rows.data(), at(edit)}), painting_, copies_,
                         exec_.seed, "edit");
  holdout_ = make_digit_set(select(external_, {rows.data() + edit, at(all - edit)}),
                            painting_, 1, exec_.seed, "hold-out");
  for (DigitSet* set : {&edit_, &holdout_})
    set->layers = std::make_unique<Recolouring>(network_, theta_, set->digits, exec_);
  facts_["edit_digits"] = static_cast<double>(edit);
  facts_["holdout_digits"] = static_cast<double>(all - edit);
}

Side ColouredMnist::side(const DigitSet& set, Index layers) const {
  return {{set.layers->features(set.uniform, layers, exec_), set.digits.label},
          {set.layers->features(set.own, layers, exec_), other_features(set, layers, exec_),
           set.digits.label}};
}

DigitSet ColouredMnist::redrawn(int epoch) const {
  return make_digit_set(edit_.digits, painting_, 1, exec_.seed,
                        "epoch " + std::to_string(epoch));
}

std::span<const PairSet> ColouredMnist::fresh_pairs(Index layers, int epoch) {
  const DigitSet drawn = redrawn(epoch);
  fresh_ = {edit_.layers->features(drawn.own, layers, exec_),
            edit_.layers->features(drawn.other, layers, exec_), edit_.digits.label};
  return fresh_.sets;
}

const Stage& ColouredMnist::stage(Index layers) {
  const auto found = stages_.find(layers);
  if (found != stages_.end()) return found->second;
  Stage stage;
  TopLayers top = top_layers(network_, theta_, layers);
  stage.head = top.head;
  stage.problem.theta = std::move(top.theta);
  stage.edit = side(edit_, layers);
  stage.holdout = side(holdout_, layers);
  stage.report = side(report_, layers);
  for (Index i = 0; i < edit_.other.size(); ++i)
    stage.edit_group.push_back(edit_.own.code[at(i / copies_)]);
  stage.edit_group.insert(stage.edit_group.end(), edit_.other.code.begin(),
                          edit_.other.code.end());
  stage.problem.redraw = [this, layers](int epoch) { return fresh_pairs(layers, epoch); };
  if (layers == 1) {
    stage.train = {train_layers_->features(train_colours_, 1, exec_), train_digits_.label};
    stage.problem.replaced = [this](std::span<const Index> rows, const Exec&) {
      const Digits digits = select(train_digits_, rows);
      Colours as_is;
      for (const Index row : rows) {
        as_is.code.push_back(train_colours_.code[at(row)]);
        as_is.paint.push_back(train_colours_.paint[at(row)]);
      }
      const Recolouring layers_of(network_, theta_, digits, exec_);
      const Colours other = other_colours(as_is.code, painting_, exec_.seed, "replaced");
      return kept({layers_of.features(as_is, 1, exec_), layers_of.features(other, 1, exec_),
                   digits.label});
    };
  }
  connect(stage);
  return stages_.emplace(layers, std::move(stage)).first->second;
}

Side ColouredMnist::images(const DigitSet& set) {
  return {{make_coloured(set.digits, set.uniform), set.digits.label},
          {make_coloured(set.digits, set.own), make_coloured(set.digits, set.other),
           set.digits.label}};
}

Stage ColouredMnist::untrained() {
  Stage stage;
  stage.head = std::make_shared<MlpHead>(network_);
  stage.problem.theta = initial_theta(network_, exec_.seed);
  once_ = make_digit_set(edit_.digits, painting_, 1, exec_.seed, "edit");
  stage.edit = images(once_);
  stage.holdout = images(holdout_);
  stage.report = images(report_);
  stage.problem.redraw = [this](int epoch) -> std::span<const PairSet> {
    redrawn_ = redrawn(epoch);
    fresh_ = std::move(images(redrawn_).pairs);
    return fresh_.sets;
  };
  connect(stage);
  return stage;
}

Outcome ColouredMnist::trained_anew(const Stage& stage, const Settings& settings) {
  const Stopwatch start;
  const OwnedRows both = both_sides(stage.edit.pairs.sets.front());
  AdamOptions options;
  options.l2 = 0;
  options.epochs = static_cast<int>(settings.count("scratch_epochs"));
  options.batch = settings.count("batch");
  const AdamResult trained = train_adam(network_, both.rows(), options, exec_);
  return {trained.theta,
          start.seconds(),
          start.cpu(),
          0,
          true,
          edit_.digits.size(),
          fmt::format("{} epochs", trained.summary.best_epoch)};
}

Measured ColouredMnist::from_scratch(const SpecRow& row, const Settings& settings) {
  const bool as_solve = row.method == "scratch_redrawn";
  if (!as_solve && row.method != "scratch")
    throw Error(ErrorKind::bad_task,
                fmt::format("reproduce: no method \"{}\" for row {}", row.method, row.id));
  Settings own = settings;
  own.numbers["batch"] = {static_cast<double>(
      std::min<Index>(256, std::max<Index>(8, edit_.digits.size() / 8)))};
  const Stage stage = untrained();
  return report(row.id, stage,
                as_solve ? solved(stage, own, exec_) : trained_anew(stage, own), exec_);
}

Measured ColouredMnist::network(const std::string& id, const Settings& settings) {
  const Side shown = images(report_);
  const auto X = make_coloured(train_digits_, train_colours_);
  const LinearHead none(X->cols(), 10);  // of no meaning: these methods make their own
  HeadProblem problem;
  problem.head = &none;
  problem.theta = Vector::Zero(none.parameters());
  problem.repaired = {{0, PairKind::flip}};
  problem.train =
      HeadPart{.rows = {X.get(), train_digits_.label, {}, {}},
               .attributes = {{"colour", train_colours_.code, std::ssize(painting_.all)}}};
  problem.edit = *problem.train;
  const auto side = static_cast<Index>(
      std::llround(std::sqrt(static_cast<double>(train_digits_.pixels))));
  const auto scored = [&](const BaselineCandidate& candidate) {
    const auto answers = [&](const OwnedRows& rows) {
      return candidate.answer({rows.rows(), {}}, exec_);
    };
    const Answers plain = answers(shown.rows), c = answers(shown.pairs.c),
                  cbar = answers(shown.pairs.cbar);
    Score found;
    const Index n = plain.p.rows();
    for (Index i = 0; i < n; ++i) {
      const std::int32_t y = shown.rows.y[at(i)];
      found.accuracy += plain.decision(i, y) / static_cast<double>(n);
      found.bias += std::abs(c.p(i, y) - cbar.p(i, y)) / static_cast<double>(n);
    }
    return found;
  };
  BaselineOptions options;
  options.checkpoints = checkpoints_;
  options.hidden = {100, 100, 100};
  options.effort = settings.number("effort");
  options.image = {3, side, side};
  options.watch = [&](const BaselineCandidate& candidate) {
    const Score reached = scored(candidate);
    return std::vector<double>{100 * reached.accuracy, reached.bias};
  };
  const std::vector<BaselineCandidate> made =
      fit_baseline(settings.word("network"), problem, exec_, options);
  if (made.size() != 1)  // there would be something to choose
    throw Error(ErrorKind::bad_task, fmt::format("reproduce: {} has several settings",
                                                 settings.word("network")));
  const BaselineCandidate& trained = made.front();
  const Score reached = scored(trained);
  curves_.add(id, trained.training);
  return {id,
          {{"accuracy", 100 * reached.accuracy},
           {"bias", reached.bias},
           {"seconds", trained.training.seconds},
           {"cpu", trained.training.cpu},
           {"choosing", 0},
           {"rows", static_cast<double>(train_digits_.size())}},
          training_text(trained),
          true};
}

UnitResult run_coloured(World& world, const Unit& unit, const Exec& exec) {
  ColouredMnist colours(world, unit, exec);
  UnitResult result;
  result.rows = run_rows(
      unit, [&](Index layers) -> const Stage& { return colours.stage(layers); },
      [&](const SpecRow& row, const Settings& settings) {
        if (row.method == "network") return colours.network(row.id, settings);
        return colours.from_scratch(row, settings);
      },
      exec);
  result.facts = colours.facts();
  result.pictures = colours.curves().json();
  return result;
}

}  // namespace fmd::repro
