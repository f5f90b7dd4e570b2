#include "unlearn/shared_pairs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <unordered_map>
#include <utility>

#include "core/index.h"
#include "core/value_and_vector.h"
#include "fmd/core/accumulator.h"
#include "model/kernels.h"
#include "unlearn/delta.h"
#include "unlearn/pair_kernels.h"

namespace fmd::internal {
namespace {

// Entries of rows and pairs that are kept; more are read again for each pass.
constexpr Index kMostKept = Index{1} << 25;
// Where fewer pairs than these share a difference, there is nothing to gain.
constexpr Index kLeastShared = 4;
// So many matrices are summed at most: their size, not the rows, is what a sum
// costs.
constexpr Index kMostMatrices = 4;
// A change of logit beyond this leaves nothing of the other class.
constexpr double kMostLogit = 700;

// So many rows are handled at once: their numbers stay in the first-level cache.
constexpr Index kMostRows = 256;

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
  return hash ^ (hash >> 29);
}

}  // namespace

// ---- Making one

struct SharedPairs::Builder {
  SharedPairs& made;
  std::unordered_multimap<std::uint64_t, std::int32_t> known;
  std::vector<std::int32_t> which = {};  // difference of each pair, row after row

  // False where the features cannot be kept.
  bool read_rows(const Features& X) {
    Scratch scratch;
    const std::span<const Index> rows = made.of_.source;
    for (std::size_t first = 0; first < rows.size(); first += kBlockRows) {
      const std::size_t count = std::min(rows.size() - first, std::size_t{kBlockRows});
      const FeatureBlock block = X.gather(rows.subspan(first, count), scratch);
      if (!block.sparse() || block.offset != nullptr) return false;
      for (Index i = 0; i < block.rows; ++i) {
        Index before = -1;
        bool ascending = true;
        for_each_entry(block, i, [&](Index j, double value) {
          ascending = ascending && j > before;
          before = j;
          made.row_.entry.push_back(
              {static_cast<std::int32_t>(j), static_cast<float>(value)});
        });
        if (!ascending) return false;
        made.row_.start.push_back(std::ssize(made.row_.entry));
      }
      if (std::ssize(made.row_.entry) > kMostKept) return false;
    }
    return true;
  }

  std::int32_t difference(const Delta& delta, Index i) {
    std::uint64_t hash = 1;
    std::vector<Entry>& all = made.difference_.entry;
    const std::size_t before = all.size();
    delta.for_each(i, [&](Index j, double value) {
      all.push_back({static_cast<std::int32_t>(j), static_cast<float>(value)});
      hash = mix(mix(hash, static_cast<std::uint64_t>(j)),
                 static_cast<std::uint64_t>(std::llround(value * 1e6)));
    });
    const std::span<const Entry> own = std::span(all).subspan(before);
    const auto [first, last] = known.equal_range(hash);
    for (auto it = first; it != last; ++it) {
      const std::span<const Entry> other = made.difference_.of(it->second);
      const bool same = std::equal(own.begin(), own.end(), other.begin(), other.end(),
                                   [](const Entry& a, const Entry& b) {
                                     return a.feature == b.feature && a.value == b.value;
                                   });
      if (!same) continue;
      all.resize(before);
      return it->second;
    }
    const auto number = static_cast<std::int32_t>(made.difference_.size());
    made.difference_.start.push_back(std::ssize(all));
    known.emplace(hash, number);
    return number;
  }

  // The difference of each pair of a set; false where they are not sparse,
  // exact as floats and few.
  bool read_set(const PairSet& set, const std::vector<Index>& to) {
    for (Index b = 0; b < block_count(set.size()); ++b) {
      const Delta delta = pair_delta(set, b);
      if (!delta.sparse || delta.offset.size() > 0) return false;
      for (const double value : delta.value)
        if (static_cast<double>(static_cast<float>(value)) != value) return false;
      for (Index i = 0; i < delta.rows; ++i)
        which[at(to[at(b * kBlockRows + i)])] = difference(delta, i);
      if (made.difference_.size() > std::max<Index>(64, set.size() / kLeastShared))
        return false;
    }
    return true;
  }

  // Rows with the same list of differences stand together from now on, cut into runs.
  // False where their pairs take too much memory.
  bool make_runs() {
    const PairsByRow& of = made.of_;
    std::map<std::vector<std::int32_t>, std::vector<Index>> rows_of;
    std::vector<std::int32_t> list;
    for (Index i = 0; i < of.rows(); ++i) {
      list.assign(which.begin() + of.start[at(i)], which.begin() + of.start[at(i + 1)]);
      rows_of[list].push_back(i);
    }
    std::vector<Index> source;
    Vector anchor(of.rows());
    for (const auto& [differences, rows] : rows_of) {
      made.lists_.push_back(differences);
      for (std::size_t first = 0; first < rows.size(); first += kMostRows) {
        const std::size_t count = std::min(rows.size() - first, std::size_t{kMostRows});
        const Run run{.row = std::ssize(source),
                      .rows = static_cast<Index>(count),
                      .stride = pair_kernels::padded(static_cast<Index>(count)),
                      .place = made.places_,
                      .difference = {}};
        made.places_ += run.stride * std::ssize(differences);
        if (made.places_ > kMostKept) return false;
        add_run(run, std::span(rows).subspan(first, count), source, anchor);
      }
    }
    made.of_.source = std::move(source);
    made.of_.anchor = std::move(anchor);
    made.of_.start.clear();
    made.of_.weight.resize(0);
    set_blocks();
    return true;
  }

  void add_run(Run run, std::span<const Index> rows, std::vector<Index>& source,
               Vector& anchor) {
    const PairsByRow& of = made.of_;
    const Index slots = std::ssize(made.lists_.back());
    made.weight_.resize(at(made.places_), 0);
    for (Index i = 0; i < run.rows; ++i) {
      const Index row = rows[at(i)];
      anchor[std::ssize(source)] = of.anchor[row];
      source.push_back(of.source[at(row)]);
      for (Index slot = 0; slot < slots; ++slot)
        made.weight_[at(run.place + slot * run.stride + i)] =
            of.weight[of.start[at(row)] + slot];
    }
    list_of_run.push_back(made.lists_.size() - 1);
    made.runs_.push_back(run);
  }

  // The lists do not move any more: runs point into them.
  void set_blocks() {
    Index next = 0;
    for (std::size_t r = 0; r < made.runs_.size(); ++r) {
      made.runs_[r].difference = made.lists_[list_of_run[r]];
      if (made.runs_[r].row < next) continue;
      made.block_.push_back(static_cast<Index>(r));
      next = made.runs_[r].row + kBlockRows;
    }
    made.block_.push_back(std::ssize(made.runs_));
  }
  std::vector<std::size_t> list_of_run = {};
};

// Numbers of the rows of a run.
struct SharedPairs::Chunk {
  using Numbers = std::array<double, kMostRows>;
  Numbers moved, z, size, p, q, tail, slope, pulled, slopes, own, z0, p0, q0, tail0, weight;
  Numbers ones;
  Chunk() { ones.fill(1); }

  // Those of a vector that belong to the run; `rest` behind them.
  static const double* part_of(const Vector& all, const Run& run, double rest,
                               Numbers& to) {
    std::copy_n(all.data() + run.row, run.rows, to.begin());
    std::fill(to.begin() + run.rows, to.begin() + run.stride, rest);
    return to.data();
  }
};

std::unique_ptr<const RowPairs> SharedPairs::make(const Vector& theta0, const Rows& rows,
                                                  std::span<const PairSet> pairs,
                                                  bool with_anchor, const Exec& exec) {
  const Features& X = *pairs[0].c.X;
  Index count = 0;
  for (const PairSet& set : pairs) count += set.size();
  if (count > kMostKept) return nullptr;
  std::unique_ptr<SharedPairs> made(
      new SharedPairs(PairsByRow(X, rows, pairs, with_anchor), X.cols(), exec));
  Builder builder{*made, {}};
  builder.which.resize(at(count));
  for (std::size_t s = 0; s < pairs.size(); ++s)
    if (!builder.read_set(pairs[s], made->of_.to[s])) return nullptr;
  made->of_.to.clear();
  if (!builder.make_runs() || !builder.read_rows(X)) return nullptr;
  made->theta0_ = theta0;
  const Index size = made->row_.size();
  for (Vector* of_rows : {&made->z0_, &made->p0_, &made->q0_, &made->tail0_})
    of_rows->resize(size);
  for (Index i = 0; i < size; ++i) {
    made->z0_[i] = made->dot(made->row_.of(i), theta0);
    made->tail0_[i] = std::log1p(std::exp(-std::abs(made->z0_[i])));
  }
  kernels::sigmoid(made->z0_.data(), size, made->p0_.data(), made->q0_.data());
  return made;
}

// ---- J and its gradient

// Two sums at a time: one would wait for each addition.
double SharedPairs::dot(std::span<const Entry> list, const Vector& v) const {
  const double* const all = v.data();
  double even = all[inputs_], odd = 0;
  std::size_t j = 0;
  for (; j + 2 <= list.size(); j += 2) {
    even += all[list[j].feature] * static_cast<double>(list[j].value);
    odd += all[list[j + 1].feature] * static_cast<double>(list[j + 1].value);
  }
  if (j < list.size()) even += all[list[j].feature] * static_cast<double>(list[j].value);
  return even + odd;
}

Vector SharedPairs::dots(const Vector& v) const {
  Vector all(difference_.size());
  for (Index d = 0; d < all.size(); ++d) {
    double sum = 0;
    for (const Entry& e : difference_.of(d))
      sum += v[e.feature] * static_cast<double>(e.value);
    all[d] = sum;
  }
  return all;
}

// into += the vectors of all rows: body(run, chunk, bar, value) sets the slopes of the
// logits of a run's rows and of all of their p(cbar) together, and adds to bar those of
// p(cbar), by difference; behind them stand sums for by_difference.
template <typename Body>
double SharedPairs::sum(Vector& into, Vector& by_difference, const Body& body) const {
  const Index size = inputs_ + 1, differences = difference_.size();
  const auto all = reduce<ValueAndVector>(
      std::ssize(block_) - 1, [&] { return empty_sum(size + 2 * differences); },
      [&](ValueAndVector& state, Index b) {
        double* const slope = state.vector.data();
        Chunk chunk;
        for (Index r = block_[at(b)]; r < block_[at(b + 1)]; ++r) {
          const Run& run = runs_[at(r)];
          body(run, chunk, slope + size, state.value);
          for (Index i = 0; i < run.rows; ++i) {
            const double h = chunk.slope[at(i)];
            for (const Entry& e : row_.of(run.row + i))
              slope[e.feature] += h * static_cast<double>(e.value);
            slope[inputs_] += h;
          }
        }
      },
      exec_);
  into += all.vector.head(size);
  for (Index d = 0; d < differences; ++d)
    for (const Entry& e : difference_.of(d))
      into[e.feature] -= all.vector[size + d] * static_cast<double>(e.value);
  by_difference = all.vector.tail(differences);
  return all.value;
}

double SharedPairs::evaluate(const Vector& theta, double anchor, double lambda,
                             Vector& gradient, Scores& scores) const {
  const Vector change = theta - theta0_, dz = dots(theta);
  std::vector<pair_kernels::Ratio> ratio;
  for (const double one : dz) {
    const double held = std::clamp(one, -kMostLogit, kMostLogit);
    ratio.push_back({std::exp(held), std::expm1(held)});
  }
  scores.p.resize(row_.size());
  scores.own.resize(row_.size());
  scores.dp.resize(places_);
  scores.mixed.resize(places_);
  return sum(
      gradient, scores.other, [&](const Run& run, Chunk& c, double* bar, double& value) {
        for (Index i = 0; i < run.stride; ++i) {
          const bool real = i < run.rows;
          c.moved[at(i)] = real ? dot(row_.of(run.row + i), change) : 0;
          c.z[at(i)] = real ? z0_[run.row + i] + c.moved[at(i)] : 0;
          c.size[at(i)] = std::abs(c.z[at(i)]);
          c.pulled[at(i)] = c.slopes[at(i)] = c.own[at(i)] = c.slope[at(i)] = 0;
        }
        kernels::sigmoid(c.z.data(), run.stride, c.p.data(), c.q.data());
        if (anchor > 0) {
          kernels::logistic_loss(c.size.data(), c.ones.data(), run.stride, c.own.data(),
                                 c.tail.data());
          value += anchor * pair_kernels::held(
                                {.count = run.stride,
                                 .z0 = Chunk::part_of(z0_, run, 0, c.z0),
                                 .p0 = Chunk::part_of(p0_, run, 0.5, c.p0),
                                 .q0 = Chunk::part_of(q0_, run, 0.5, c.q0),
                                 .tail0 = Chunk::part_of(tail0_, run, 0, c.tail0),
                                 .weight = Chunk::part_of(of_.anchor, run, 0, c.weight)},
                                c.moved.data(), c.p.data(), c.q.data(), c.tail.data(),
                                c.slope.data());
          c.own.fill(0);
        }
        const pair_kernels::PairRows rows{run.stride,      c.p.data(),      c.q.data(),
                                          c.pulled.data(), c.slopes.data(), c.own.data()};
        double squares = 0;
        for (std::size_t slot = 0; slot < run.difference.size(); ++slot) {
          const std::int32_t d = run.difference[slot];
          const Index place = run.place + static_cast<Index>(slot) * run.stride;
          const pair_kernels::PairSums of_slot =
              pair_kernels::evaluate(rows, weight_.data() + place, ratio[at(Index{d})],
                                     scores.dp.data() + place, scores.mixed.data() + place);
          squares += of_slot.squares;
          bar[d] -= 4 * lambda * of_slot.slopes;
          bar[difference_.size() + d] += of_slot.other;
        }
        value += 2 * lambda * squares;
        for (Index i = 0; i < run.rows; ++i) {
          scores.p[run.row + i] = c.p[at(i)];
          scores.own[run.row + i] = c.own[at(i)];
          c.slope[at(i)] =
              anchor * c.slope[at(i)] +
              4 * lambda * (c.pulled[at(i)] * c.p[at(i)] * c.q[at(i)] - c.slopes[at(i)]);
        }
      });
}

// ---- The curvature

Vector SharedPairs::product(const Scores& scores, const Vector& v, double anchor,
                            double lambda, bool exact) const {
  const Vector du = 4 * lambda * dots(v);
  Vector result = Vector::Zero(inputs_ + 1), unused;
  (void)sum(result, unused, [&](const Run& run, Chunk& c, double* bar, double&) {
    for (Index i = 0; i < run.stride; ++i) c.pulled[at(i)] = c.slope[at(i)] = 0;
    for (Index i = 0; i < run.rows; ++i) {
      const double u = dot(row_.of(run.row + i), v), p = scores.p[run.row + i];
      c.pulled[at(i)] = 4 * lambda * u;
      c.slope[at(i)] = anchor * of_.anchor[run.row + i] * p * (1 - p) * u;
      if (exact) c.slope[at(i)] += scores.own[run.row + i] * c.pulled[at(i)];
    }
    if (!exact) return inexact_product(run, scores, du, c, bar);
    for (std::size_t slot = 0; slot < run.difference.size(); ++slot) {
      const std::int32_t d = run.difference[slot];
      const Index place = run.place + static_cast<Index>(slot) * run.stride;
      bar[d] -= pair_kernels::product(run.stride, scores.mixed.data() + place,
                                      c.pulled.data(), du[d], c.slope.data());
    }
  });
  if (!exact) return result;
  for (Index d = 0; d < difference_.size(); ++d)
    for (const Entry& e : difference_.of(d))
      result[e.feature] += scores.other[d] * du[d] * static_cast<double>(e.value);
  return result;
}

// Gauss-Newton: without the second derivatives.
void SharedPairs::inexact_product(const Run& run, const Scores& scores, const Vector& du,
                                  Chunk& c, double* bar) const {
  for (std::size_t slot = 0; slot < run.difference.size(); ++slot) {
    const std::int32_t d = run.difference[slot];
    for (Index i = 0; i < run.rows; ++i) {
      const Index k = run.place + static_cast<Index>(slot) * run.stride + i;
      const double dp = scores.dp[k], p = scores.p[run.row + i], pbar = p - dp;
      const double sbar = pbar * (1 - pbar), change = dp * (1 - p - pbar);  // s - sbar
      const double w = weight_[at(k)];
      c.slope[at(i)] += w * change * (change * c.pulled[at(i)] + sbar * du[d]);
      bar[d] -= w * sbar * (change * c.pulled[at(i)] + sbar * du[d]);
    }
  }
}

// Lower triangles of both matrices, row after row. A row is made when its
// feature occurs.
struct SharedPairs::Lower {
  struct Both {
    double hold, pull;
  };
  struct Number {
    Index feature;
    double value;
  };
  std::vector<std::vector<Both>> row;
  Vector squares;  // of each difference: weight of delta delta^T
  // Of the row at work.
  std::vector<Number> phi;
  Vector cross;  // sum of the weights of phi delta^T times delta
  std::vector<Index> touched;

  Both* at_row(Index a) {
    std::vector<Both>& one = row[at(a)];
    if (one.empty()) one.assign(at(a) + 1, {0, 0});
    return one.data();
  }
  void merge(const Lower& other) {
    squares += other.squares;
    for (std::size_t a = 0; a < row.size(); ++a) {
      if (row[a].empty()) {
        row[a] = other.row[a];
        continue;
      }
      for (std::size_t b = 0; b < other.row[a].size(); ++b) {
        row[a][b].hold += other.row[a][b].hold;
        row[a][b].pull += other.row[a][b].pull;
      }
    }
  }
  void save(ByteWriter&) const {}  // it never leaves the process
  static Lower load(ByteReader&) { return {}; }
};

void SharedPairs::add_curvature(const Run& run, const Scores& scores, double anchor,
                                double lambda, Lower& sum) const {
  std::vector<Lower::Number>& phi = sum.phi;
  Vector& cross = sum.cross;
  std::vector<Index>& touched = sum.touched;
  for (Index i = 0; i < run.rows; ++i) {
    phi.clear();
    for (const Entry& e : row_.of(run.row + i))
      phi.push_back({e.feature, static_cast<double>(e.value)});
    phi.push_back({inputs_, 1.0});
    const double p = scores.p[run.row + i],
                 hold = anchor * of_.anchor[run.row + i] * p * (1 - p);
    double pull = 0;
    for (std::size_t slot = 0; slot < run.difference.size(); ++slot) {
      const std::int32_t d = run.difference[slot];
      const Index k = run.place + static_cast<Index>(slot) * run.stride + i;
      const double dp = scores.dp[k], pbar = p - dp;
      const double slope = pbar * (1 - pbar), change = dp * (1 - p - pbar);
      const double w = 4 * lambda * weight_[at(k)];
      pull += w * change * change;
      sum.squares[d] += w * slope * slope;
      for (const Entry& e : difference_.of(d)) {
        if (cross[e.feature] == 0) touched.push_back(e.feature);
        cross[e.feature] += w * change * slope * static_cast<double>(e.value);
      }
    }
    for (std::size_t a = 0; a < phi.size(); ++a) {
      Lower::Both* row = sum.at_row(phi[a].feature);
      const double held = hold * phi[a].value, pulled = pull * phi[a].value;
      for (std::size_t b = 0; b <= a; ++b) {
        row[phi[b].feature].hold += held * phi[b].value;
        row[phi[b].feature].pull += pulled * phi[b].value;
      }
    }
    for (const Index f : touched) {
      const double weight = std::exchange(cross[f], 0.0);
      for (const Lower::Number& x : phi) {
        const double term = weight * x.value;
        if (x.feature > f) {
          sum.at_row(x.feature)[f].pull += term;
        } else {
          sum.at_row(f)[x.feature].pull += x.feature == f ? 2 * term : term;
        }
      }
    }
    touched.clear();
  }
}

void SharedPairs::curvature(const Scores& scores, double anchor, double lambda,
                            Matrix& hold, Matrix& pull) const {
  const Index blocks = std::ssize(block_) - 1, size = inputs_ + 1;
  const Index pieces = std::clamp<Index>(blocks, 1, kMostMatrices);
  const auto make = [&] {
    Lower none;
    none.row.resize(at(size));
    none.squares = Vector::Zero(difference_.size());
    none.cross = Vector::Zero(inputs_);
    return none;
  };
  Lower all = reduce<Lower>(
      pieces, make,
      [&](Lower& state, Index k) {
        const Index first = block_[at(k * blocks / pieces)];
        const Index last = block_[at((k + 1) * blocks / pieces)];
        for (Index r = first; r < last; ++r)
          add_curvature(runs_[at(r)], scores, anchor, lambda, state);
      },
      exec_);
  for (Index d = 0; d < difference_.size(); ++d) {
    const std::span<const Entry> list = difference_.of(d);
    for (const Entry& a : list)
      for (const Entry& b : list)
        if (b.feature <= a.feature)
          all.at_row(a.feature)[b.feature].pull +=
              all.squares[d] * static_cast<double>(a.value) * static_cast<double>(b.value);
  }
  hold.setZero(size, size);
  pull.setZero(size, size);
  for (Index a = 0; a < size; ++a) {
    const std::vector<Lower::Both>& row = all.row[at(a)];
    for (Index b = 0; b < std::ssize(row); ++b) {
      hold(a, b) = hold(b, a) = row[at(b)].hold;
      pull(a, b) = pull(b, a) = row[at(b)].pull;
    }
  }
}

}  // namespace fmd::internal
