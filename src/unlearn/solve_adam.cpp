#include "fmd/unlearn/solve_adam.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/check.h"
#include "core/sums.h"
#include "fit/adam_rule.h"
#include "fmd/core/rng.h"
#include "fmd/model/passes.h"
#include "unlearn/solve_check.h"
#include "unlearn/solve_problem.h"
#include "unlearn/spans.h"

namespace fmd {
namespace {

// Rows or pairs that one thread takes. Part of the definition of the result, like blocks.
constexpr Index kPieceRows = 128;

// Some entries of rows, in any order.
FeatureBlock gathered(const Rows& rows, std::span<const Index> entries,
                      std::vector<Index>& numbers, Scratch& scratch) {
  numbers.clear();
  for (const Index entry : entries) numbers.push_back(rows.row(entry));
  return rows.X->gather(numbers, scratch);
}

// What the anchor compares with.
struct Anchor {
  Matrix z, p;  // at theta0
  double weight = 0;
};

// One minibatch: entries of the rows and of each set.
struct Batch {
  std::span<const Index> rows;
  std::vector<std::span<const Index>> pairs;
};

class Estimate {
 public:
  Estimate(const Head& head, const Vector& theta0, const Rows& rows,
           const SolveOptions& options, const Exec& exec)
      : head_(head), theta0_(theta0), rows_(rows), options_(options), exec_(exec) {
    if (options.anchor == 0) return;
    anchor_.z = all_logits(head, rows, theta0, exec);
    anchor_.p = all_probabilities(head, rows, theta0, exec);
    for (Index i = 0; i < rows.size(); ++i) anchor_.weight += rows.weight_of(i);
  }

  void set_pairs(std::span<const PairSet> pairs) {
    pairs_ = pairs;
    total_.clear();
    for (const PairSet& set : pairs) total_.push_back(set.total_weight());
  }

  // The estimate of grad J.
  [[nodiscard]] Vector gradient(const Vector& theta, const Batch& batch) const {
    std::vector<Task> tasks;
    for (std::size_t s = 0; s < batch.pairs.size(); ++s) cut(batch.pairs[s], s, tasks);
    cut(batch.rows, kRows, tasks);
    Vector sum = reduce<Sums>(
                     static_cast<Index>(tasks.size()),
                     [&] { return Sums{Vector::Zero(head_.parameters())}; },
                     [&](Sums& sums, Index t) {
                       const Task& task = tasks[static_cast<std::size_t>(t)];
                       if (task.set == kRows)
                         add_rows(theta, task, sums.values);
                       else
                         add_pairs(theta, task, sums.values);
                     },
                     exec_)
                     .values;
    return sum + options_.mu * (theta - theta0_);
  }

 private:
  static constexpr std::size_t kRows = ~std::size_t{0};
  struct Task {
    std::size_t set;
    std::span<const Index> entries;
    Index of;  // entries of the set in the batch
  };

  static void cut(std::span<const Index> entries, std::size_t set,
                  std::vector<Task>& tasks) {
    for (std::size_t first = 0; first < entries.size(); first += kPieceRows)
      tasks.push_back({set,
                       entries.subspan(first, std::min<std::size_t>(
                                                  kPieceRows, entries.size() - first)),
                       static_cast<Index>(entries.size())});
  }

  void add_rows(const Vector& theta, const Task& task, Vector& into) const {
    Scratch scratch;
    std::vector<Index> numbers;
    const FeatureBlock block = gathered(rows_, task.entries, numbers, scratch);
    Matrix dz;
    Tape tape;
    head_.logits(block, theta, dz, &tape);
    AnchorTerm term(head_.outputs());
    Vector p(head_.outputs());
    const double scale = options_.anchor / anchor_.weight *
                         static_cast<double>(rows_.size()) / static_cast<double>(task.of);
    for (Index i = 0; i < block.rows; ++i) {
      const Index entry = task.entries[static_cast<std::size_t>(i)];
      dz.row(i) -= anchor_.z.row(entry);
      (void)term(row_of(anchor_.p, entry), scale * rows_.weight_of(entry), row_of(dz, i),
                 all_of(p));
    }
    head_.vjp(block, theta, tape, dz, into);
  }

  void add_pairs(const Vector& theta, const Task& task, Vector& into) const {
    const PairSet& set = pairs_[task.set];
    Scratch scratch, scratch_bar;
    std::vector<Index> numbers, numbers_bar;
    const FeatureBlock c = gathered(set.c, task.entries, numbers, scratch),
                       cbar = gathered(set.cbar, task.entries, numbers_bar, scratch_bar);
    Matrix z, dz;
    Tape tape, tape_bar;
    head_.logits(c, theta, z, &tape);
    head_.logits(cbar, theta, dz, &tape_bar);
    dz = z - dz;
    PairTerm term(head_.outputs());
    Vector p(head_.outputs()), dp(head_.outputs());
    const double scale = static_cast<double>(set.size()) / static_cast<double>(task.of) /
                         (static_cast<double>(pairs_.size()) * total_[task.set]);
    const double classes = head_.outputs() == 1 ? 2 : 1;
    for (Index i = 0; i < c.rows; ++i) {
      const Index entry = task.entries[static_cast<std::size_t>(i)];
      const double w =
          scale * static_cast<double>(set.weight[static_cast<std::size_t>(entry)]);
      (void)term({.fit = options_.fit / 2 * w, .pull = options_.lambda * classes * w},
                 set.c.label(entry), row_of(z, i), row_of(dz, i), all_of(p), all_of(dp));
    }
    z -= dz;  // the slope on c alone
    head_.vjp(c, theta, tape, z, into);
    head_.vjp(cbar, theta, tape_bar, dz, into);
  }

  const Head& head_;
  const Vector& theta0_;
  const Rows& rows_;
  const SolveOptions& options_;
  const Exec& exec_;
  Anchor anchor_;
  std::span<const PairSet> pairs_;
  std::vector<double> total_;
};

// The orders of rows and pairs in an epoch, cut into Adam steps.
class Epoch {
 public:
  Epoch(const Rows& rows, bool anchored, std::span<const PairSet> pairs, Index batch,
        std::uint64_t seed, int number) {
    const auto epoch = static_cast<std::uint64_t>(number);
    Index total = 0;
    for (std::size_t s = 0; s < pairs.size(); ++s) {
      Rng rng(seed, fmt::format("pairs of set {}", s), epoch);
      order_.push_back(permutation(pairs[s].size(), rng));
      total += pairs[s].size();
    }
    steps_ = std::max<Index>(1, (total + batch - 1) / batch);
    if (!anchored) return;
    // As many rows as pairs: some of the rows, or some of them several times.
    Rng rng(seed, "anchor rows", epoch);
    const Index wanted = total > 0 ? total : rows.size();
    while (static_cast<Index>(rows_.size()) < wanted) {
      const std::vector<Index> more = permutation(rows.size(), rng);
      rows_.insert(rows_.end(), more.begin(), more.end());
    }
    rows_.resize(static_cast<std::size_t>(wanted));
    if (total == 0) steps_ = std::max<Index>(1, (wanted + batch - 1) / batch);
  }

  [[nodiscard]] Index steps() const { return steps_; }
  [[nodiscard]] Batch at(Index step) const {
    Batch batch;
    for (const std::vector<Index>& order : order_) batch.pairs.push_back(part(order, step));
    batch.rows = part(rows_, step);
    return batch;
  }

 private:
  [[nodiscard]] std::span<const Index> part(const std::vector<Index>& order,
                                            Index step) const {
    const auto size = static_cast<Index>(order.size());
    const Index first = step * size / steps_, last = (step + 1) * size / steps_;
    return std::span(order).subspan(static_cast<std::size_t>(first),
                                    static_cast<std::size_t>(last - first));
  }

  std::vector<std::vector<Index>> order_;
  std::vector<Index> rows_;
  Index steps_ = 1;
};

void validate(const Head& head, const SolveOptions& options, const SolveAdamOptions& adam,
              const Vector& start) {
  require_option(adam.epochs >= 1, "solve", "epochs", adam.epochs, ">= 1");
  require_option(adam.batch >= 1, "solve", "batch", adam.batch, ">= 1");
  require_option(adam.learning_rate > 0 && std::isfinite(adam.learning_rate), "solve",
                 "learning_rate", adam.learning_rate, "> 0");
  require_option(adam.max_steps >= 0, "solve", "max_steps", adam.max_steps, ">= 0");
  if (!options.gaps.empty())
    throw Error(ErrorKind::unsupported,
                "solve: minibatches cannot minimise a gap of groups",
                "use Levenberg-Marquardt: --optimizer lm");
  if (start.size() > 0) require_size("solve", "start", start.size(), head.parameters());
}

// Pairs on which J is evaluated: all, or those of every k-th unit.
class JudgedPairs {
 public:
  explicit JudgedPairs(std::span<const PairSet> all) : sets_(all) {
    Index pairs = 0;
    for (const PairSet& set : all) pairs += set.size();
    const Index every = (pairs + kMostJudged - 1) / kMostJudged;
    if (every <= 1) return;
    rows_.reserve(2 * all.size());
    for (const PairSet& set : all) some_.push_back(some(set, every));
    sets_ = some_;
  }
  JudgedPairs(const JudgedPairs&) = delete;
  JudgedPairs& operator=(const JudgedPairs&) = delete;
  [[nodiscard]] std::span<const PairSet> sets() const { return sets_; }

 private:
  static constexpr Index kMostJudged = 32'768;

  PairSet some(const PairSet& all, Index every) {
    PairSet set{.c = all.c,
                .cbar = all.cbar,
                .unit = {},
                .weight = {},
                .from = {},
                .to = {},
                .attribute = all.attribute};
    std::vector<Index>&c = rows_.emplace_back(), &cbar = rows_.emplace_back();
    Index place = -1;
    for (Index i = 0; i < all.size(); ++i) {
      const auto entry = static_cast<std::size_t>(i);
      if (i == 0 || all.unit[entry] != all.unit[entry - 1]) ++place;
      if (place % every != 0) continue;
      c.push_back(all.c.row(i));
      cbar.push_back(all.cbar.row(i));
      set.unit.push_back(all.unit[entry]);
      set.weight.push_back(all.weight[entry]);
    }
    set.c.subset = c;
    set.cbar.subset = cbar;
    return set;
  }

  std::span<const PairSet> sets_;
  std::vector<PairSet> some_;
  std::vector<std::vector<Index>> rows_;  // what some_ points into
};

double cosine(double done) { return (1 + std::cos(std::numbers::pi * done)) / 2; }

}  // namespace

SolveResult solve_adam(const Head& head, const Vector& theta0, const Rows& rows,
                       std::span<const PairSet> pairs, const SolveOptions& options,
                       const SolveAdamOptions& adam, const PairsOfEpoch& redraw,
                       const Exec& exec, const Vector& start) {
  require_solvable(head, theta0, rows, pairs, options);
  validate(head, options, adam, start);
  const JudgedPairs judged(pairs);
  const auto objective = [&](const Vector& theta) {
    return SolveProblem(head, theta0, rows, judged.sets(), options, exec).at(theta);
  };
  Vector theta = start.size() > 0 ? start : theta0;
  auto first = objective(theta);
  if (!std::isfinite(first.value)) first = objective(theta = theta0);
  SolveResult result{.theta = theta, .summary = {}};
  SolveSummary& s = result.summary;
  s.start_objective = first.value;
  s.status = SolveStatus::stopped;
  Estimate estimate(head, theta0, rows, options, exec);
  AdamRule rule(theta.size());
  for (int epoch = 1; epoch <= adam.epochs; ++epoch) {
    exec.report("solve", epoch - 1, adam.epochs);
    const std::span<const PairSet> drawn = redraw ? redraw(epoch) : pairs;
    if (redraw) {
      require_size("solve", "the sets of an epoch", static_cast<Index>(drawn.size()),
                   static_cast<Index>(pairs.size()));
      require_solvable(head, drawn, options);
    }
    estimate.set_pairs(drawn);
    const Epoch order(rows, options.anchor > 0, drawn, adam.batch, exec.seed, epoch);
    const Index steps =
        adam.max_steps > 0 ? std::min(order.steps(), adam.max_steps) : order.steps();
    for (Index step = 0; step < steps; ++step) {
      const double done =
          (epoch - 1 + static_cast<double>(step) / static_cast<double>(steps)) /
          adam.epochs;
      rule.step(estimate.gradient(theta, order.at(step)), adam.learning_rate * cosine(done),
                theta);
    }
    if (!theta.allFinite()) break;
    s.iterations = epoch;
    result.theta = theta;
  }
  exec.report("solve", adam.epochs, adam.epochs);
  const auto last = objective(result.theta);
  s.objective = last.value;
  s.gradient = last.gradient.norm() / std::max(1.0, first.gradient.norm());
  if (s.gradient <= options.tolerance) s.status = SolveStatus::converged;
  return result;
}

}  // namespace fmd
