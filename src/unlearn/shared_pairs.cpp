#include "unlearn/shared_pairs.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "core/index.h"
#include "core/value_and_vector.h"
#include "fmd/core/accumulator.h"
#include "unlearn/delta.h"

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

// p and 1 - p of a logit; p(z - dz) is up / (up + down exp(dz)), and nothing
// overflows.
struct Sides {
  double up, down, p, q;
  explicit Sides(double z) {
    const double e = std::exp(-std::abs(z));
    up = z >= 0 ? 1 : e;
    down = z >= 0 ? e : 1;
    const double sum = 1 + e;
    p = up / sum;
    q = down / sum;
  }
};

// The curvature of w |p(c) - p(cbar)|^2 / 2 by the logit z of c and the
// difference dz, of one pair; own is added up. bent: 1 = with the second
// derivatives, 0 = Gauss-Newton.
struct PairCurvature {
  double mixed, other;  // by z and dz, by dz twice
  PairCurvature(double w, double p, double pbar, double sbar, double dp, double bent,
                double& own) {
    const double s = p * (1 - p), change = dp * (1 - p - pbar);  // s - sbar
    const double tilt = bent * sbar * (1 - 2 * pbar) * dp;
    own += w * (change * change + bent * s * (1 - 2 * p) * dp - tilt);
    mixed = w * (sbar * change + tilt);
    other = w * (sbar * sbar - tilt);
  }
};

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
  return hash ^ (hash >> 29);
}

}  // namespace

// ---- Making one

struct SharedPairs::Builder {
  SharedPairs& made;
  std::unordered_multimap<std::uint64_t, std::int32_t> known;

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
        made.which_[at(to[at(b * kBlockRows + i)])] = difference(delta, i);
      if (made.difference_.size() > std::max<Index>(64, set.size() / kLeastShared))
        return false;
    }
    return true;
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
  made->which_.resize(at(count));
  Builder builder{*made, {}};
  for (std::size_t s = 0; s < pairs.size(); ++s)
    if (!builder.read_set(pairs[s], made->of_.to[s])) return nullptr;
  made->of_.to.clear();
  if (!builder.read_rows(X)) return nullptr;
  made->theta0_ = theta0;
  made->z0_.resize(made->row_.size());
  made->p0_.resize(made->row_.size());
  for (Index i = 0; i < made->row_.size(); ++i) {
    made->z0_[i] = made->dot(made->row_.of(i), theta0);
    made->p0_[i] = Sides(made->z0_[i]).p;
  }
  return made;
}

// ---- J and its gradient

double SharedPairs::dot(std::span<const Entry> list, const Vector& v) const {
  double sum = v[inputs_];
  for (const Entry& e : list) sum += v[e.feature] * static_cast<double>(e.value);
  return sum;
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

// into += the vectors of all rows: body(i, bar) returns the slope of row i's
// logit and of all of its p(cbar) together, and adds those of p(cbar) to bar,
// by difference.
template <typename Body>
double SharedPairs::sum(Vector& into, const Body& body) const {
  const Index size = inputs_ + 1, rows = row_.size();
  const auto all = reduce<ValueAndVector>(
      block_count(rows), [&] { return empty_sum(size + difference_.size()); },
      [&](ValueAndVector& state, Index b) {
        double* const slope = state.vector.data();
        const Index last = std::min(rows, (b + 1) * kBlockRows);
        for (Index i = b * kBlockRows; i < last; ++i) {
          const double h = body(i, slope + size, state.value);
          for (const Entry& e : row_.of(i))
            slope[e.feature] += h * static_cast<double>(e.value);
          slope[inputs_] += h;
        }
      },
      exec_);
  into += all.vector.head(size);
  for (Index d = 0; d < difference_.size(); ++d)
    for (const Entry& e : difference_.of(d))
      into[e.feature] -= all.vector[size + d] * static_cast<double>(e.value);
  return all.value;
}

double SharedPairs::evaluate(const Vector& theta, double anchor, double lambda,
                             Vector& gradient, Scores& scores) const {
  const Vector change = theta - theta0_, dz = dots(theta);
  Vector ratio(dz.size()), ratio_less_one(dz.size());
  for (Index d = 0; d < dz.size(); ++d) {
    const double held = std::clamp(dz[d], -kMostLogit, kMostLogit);
    ratio[d] = std::exp(held);
    ratio_less_one[d] = std::expm1(held);
  }
  scores.p.resize(row_.size());
  scores.own.resize(row_.size());
  for (Vector* of_pairs : {&scores.dp, &scores.mixed, &scores.other})
    of_pairs->resize(of_.pairs());
  return sum(gradient, [&](Index i, double* bar, double& value) {
    const double moved = dot(row_.of(i), change);
    const Sides c(z0_[i] + moved);
    scores.p[i] = c.p;
    double h = 0;
    if (const double w = anchor * of_.anchor[i]; w > 0) {
      const MovedScore score(p0_[i], moved, c.p, c.q);
      value += w * score.value;
      h = w * score.slope;
    }
    double squares = 0, pulled = 0, slopes = 0, own = 0;
    for (Index k = of_.start[at(i)]; k < of_.start[at(i + 1)]; ++k) {
      const Index d = which_[at(k)];
      const double w = of_.weight[k], down = c.down * ratio[d];
      const double part = 1 / (c.up + down), pbar = c.up * part, qbar = down * part;
      const double dp = ratio_less_one[d] * pbar * c.q;
      const double sbar = pbar * qbar, pull = w * dp, slope = pull * sbar;
      const PairCurvature curvature(w, c.p, pbar, sbar, dp, 1, own);
      scores.dp[k] = dp;
      scores.mixed[k] = curvature.mixed;
      scores.other[k] = curvature.other;
      squares += pull * dp;
      pulled += pull;
      slopes += slope;
      bar[d] -= 4 * lambda * slope;
    }
    scores.own[i] = own;
    value += 2 * lambda * squares;
    return h + 4 * lambda * (pulled * c.p * c.q - slopes);
  });
}

// ---- The curvature

Vector SharedPairs::product(const Scores& scores, const Vector& v, double anchor,
                            double lambda, bool exact) const {
  const Vector du = 4 * lambda * dots(v);
  Vector result = Vector::Zero(inputs_ + 1);
  (void)sum(result, [&](Index i, double* bar, double&) {
    const double u = dot(row_.of(i), v), pulled = 4 * lambda * u;
    const double p = scores.p[i];
    double both = anchor * of_.anchor[i] * p * (1 - p) * u;
    const Index first = of_.start[at(i)], last = of_.start[at(i + 1)];
    if (exact) {
      both += scores.own[i] * pulled;
      for (Index k = first; k < last; ++k) {
        const Index d = which_[at(k)];
        both += scores.mixed[k] * du[d];
        bar[d] -= scores.mixed[k] * pulled + scores.other[k] * du[d];
      }
      return both;
    }
    double own = 0;
    for (Index k = first; k < last; ++k) {
      const Index d = which_[at(k)];
      const double dp = scores.dp[k], pbar = p - dp, sbar = pbar * (1 - pbar);
      const PairCurvature curvature(of_.weight[k], p, pbar, sbar, dp, 0, own);
      both += curvature.mixed * du[d];
      bar[d] -= curvature.mixed * pulled + curvature.other * du[d];
    }
    return both + own * pulled;
  });
  return result;
}

// Lower triangles of both matrices, row after row. A row is made when its
// feature occurs.
struct SharedPairs::Lower {
  struct Both {
    double hold, pull;
  };
  std::vector<std::vector<Both>> row;
  Vector squares;  // of each difference: weight of delta delta^T

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

void SharedPairs::add_curvature(const Scores& scores, Index first, Index last,
                                double anchor, double lambda, Lower& sum) const {
  struct Number {
    Index feature;
    double value;
  };
  std::vector<Number> phi;
  Vector cross = Vector::Zero(inputs_);  // sum of the weights of phi delta^T times delta
  std::vector<Index> touched;
  for (Index i = first; i < last; ++i) {
    phi.clear();
    for (const Entry& e : row_.of(i))
      phi.push_back({e.feature, static_cast<double>(e.value)});
    phi.push_back({inputs_, 1.0});
    const double p = scores.p[i], hold = anchor * of_.anchor[i] * p * (1 - p);
    double pull = 0;
    for (Index k = of_.start[at(i)]; k < of_.start[at(i + 1)]; ++k) {
      const Index d = which_[at(k)];
      const double dp = scores.dp[k], pbar = p - dp;
      const double slope = pbar * (1 - pbar), change = dp * (1 - p - pbar);
      const double w = 4 * lambda * of_.weight[k];
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
      for (const Number& x : phi) {
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
  const Index rows = row_.size(), size = inputs_ + 1;
  const Index pieces = std::clamp<Index>(block_count(rows), 1, kMostMatrices);
  const Index piece = (rows + pieces - 1) / pieces;
  const auto make = [&] {
    Lower none;
    none.row.resize(at(size));
    none.squares = Vector::Zero(difference_.size());
    return none;
  };
  Lower all = reduce<Lower>(
      pieces, make,
      [&](Lower& state, Index k) {
        add_curvature(scores, k * piece, std::min(rows, (k + 1) * piece), anchor, lambda,
                      state);
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
