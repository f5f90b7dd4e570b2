#include "fmd/model/nearest.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/check.h"
#include "core/index.h"
#include "core/lapack.h"
#include "model/dense_rows.h"
#include "model/equal_rows.h"
#include "model/nearest_kernels.h"

namespace fmd {
namespace {

constexpr Index kQueryRows = 1024;      // of one task
constexpr Index kCandidateRows = 1024;  // of one tile
constexpr Index kTileQueries = 256;     // 1 MB of products: stays in the second-level cache
constexpr float kNever = -std::numeric_limits<float>::infinity();

// Some rows, expanded, and what the product needs of them.
struct Side {
  std::vector<float> x;         // the features themselves
  std::vector<float> unit;      // cosine: divided by their lengths
  std::vector<double> squared;  // |x|^2
  std::vector<float> add;       // candidates, euclidean: |x|^2; otherwise zeros
  double longest = 0;           // largest |x|

  [[nodiscard]] const float* product_rows() const {
    return unit.empty() ? x.data() : unit.data();
  }
};

Side make_side(const Features& X, std::span<const Index> rows, Distance distance,
               Scratch& scratch) {
  const Index d = X.cols();
  Side side;
  expand(X, rows, scratch, side.x);
  side.add.assign(rows.size(), 0.0F);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const float* x = side.x.data() + static_cast<Index>(i) * d;
    const double squared = nearest_kernels::dot(x, x, d);
    // The tile is float32: a longer row does not fit into it.
    if (!(squared < 1e36)) {
      throw Error(
          ErrorKind::bad_data,
          fmt::format("neighbours: row {} has features that are not finite or too large",
                      rows[i] + 1),
          "features must be finite numbers of ordinary size");
    }
    side.squared.push_back(squared);
    side.longest = std::max(side.longest, std::sqrt(squared));
    if (distance == Distance::euclidean) side.add[i] = static_cast<float>(squared);
  }
  if (distance != Distance::cosine) return side;
  side.unit = side.x;
  side.longest = 1;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double length = std::sqrt(side.squared[i]);
    float* x = side.unit.data() + static_cast<Index>(i) * d;
    for (Index j = 0; length > 0 && j < d; ++j)
      x[j] = static_cast<float>(static_cast<double>(x[j]) / length);
  }
  return side;
}

struct Found {
  double order;  // |x - y|^2, minus the cosine, or minus the overlap: what is compared
  Index row;
  bool operator<(const Found& other) const {
    return order != other.order ? order < other.order : row < other.row;
  }
};

// The k best of one query so far, and the value in the tile that a better one stays
// below.
class Best {
 public:
  Best(Index k, Distance distance) : k_(at(k)), distance_(distance) {}

  void offer(Found found) {
    if (found_.size() == k_ && !(found < found_.back())) return;
    if (found_.size() == k_) found_.pop_back();
    found_.insert(std::upper_bound(found_.begin(), found_.end(), found), found);
  }

  // squared = |x|^2 of the query, error = how far a tile's values may be off.
  [[nodiscard]] float limit(double squared, double error) const {
    if (found_.size() < k_) return std::numeric_limits<float>::infinity();
    const double last = found_.back().order;
    // Rows come in ascending order: an equal one later is never taken.
    if (distance_ == Distance::overlap) return static_cast<float>(last);
    if (distance_ == Distance::euclidean && last == 0) return kNever;
    const double value = distance_ == Distance::euclidean ? last - squared : last;
    return std::nextafter(static_cast<float>(value + error),
                          std::numeric_limits<float>::infinity());
  }

  [[nodiscard]] const std::vector<Found>& found() const { return found_; }

 private:
  std::size_t k_;
  Distance distance_;
  std::vector<Found> found_;
};

class Search {
 public:
  Search(const Features& queries, const Features& candidates, const NearestOptions& options)
      : Q_(queries), C_(candidates), options_(options), d_(queries.cols()) {}

  // Queries rows against all candidate rows.
  std::vector<Best> run(std::span<const Index> rows, std::span<const Index> among) const {
    Scratch scratch;
    const Side q = make_side(Q_, rows, options_.distance, scratch);
    std::vector<Best> best(rows.size(), Best(options_.k, options_.distance));
    std::vector<float> tile(at(kTileQueries * kCandidateRows));
    for (Index from = 0; from < std::ssize(among); from += kCandidateRows) {
      const auto chunk =
          among.subspan(at(from), at(std::min(kCandidateRows, std::ssize(among) - from)));
      const Side c = make_side(C_, chunk, options_.distance, scratch);
      for (Index first = 0; first < std::ssize(rows); first += kTileQueries) {
        const Index count = std::min(kTileQueries, std::ssize(rows) - first);
        multiply(q, first, count, c, std::ssize(chunk), tile.data());
        for (Index i = first; i < first + count; ++i)
          scan(q, i, c, chunk, tile.data() + (i - first) * std::ssize(chunk), best[at(i)]);
      }
    }
    return best;
  }

  [[nodiscard]] double distance(double order) const {
    if (options_.distance == Distance::euclidean) return std::sqrt(order);
    if (options_.distance == Distance::cosine) return std::max(0.0, 1 + order);
    return 1 + order / options_.scale;
  }

 private:
  // tile(i, j) = -2 x_i . y_j (euclidean) or - x_i . y_j.
  void multiply(const Side& q, Index first, Index rows, const Side& c, Index cols,
                float* tile) const {
    const int m = static_cast<int>(cols), n = static_cast<int>(rows),
              k = static_cast<int>(d_), ld = std::max(k, 1);
    const float alpha = options_.distance == Distance::euclidean ? -2 : -1, beta = 0;
    sgemm_("T", "N", &m, &n, &k, &alpha, c.product_rows(), &ld,
           q.product_rows() + first * d_, &ld, &beta, tile, &m);
  }

  void scan(const Side& q, Index i, const Side& c, std::span<const Index> chunk,
            const float* tile, Best& best) const {
    const double squared = q.squared[at(i)];
    const double length = options_.distance == Distance::cosine ? 1 : std::sqrt(squared);
    // Bound of a float32 product of d terms and of the sum behind it; the two factors of
    // a cosine were rounded as well.
    const double error = std::ldexp(
        (2 * static_cast<double>(d_) + 12) * length * c.longest + 4 * c.longest * c.longest,
        -24);
    const Index count = std::ssize(chunk);
    Index j = -1;
    while ((j = nearest_kernels::first_below(tile, c.add.data(), j + 1, count,
                                             best.limit(squared, error))) < count) {
      best.offer({order(q, i, c, j), chunk[at(j)]});
    }
  }

  [[nodiscard]] double order(const Side& q, Index i, const Side& c, Index j) const {
    const float *x = q.x.data() + i * d_, *y = c.x.data() + j * d_;
    if (options_.distance == Distance::euclidean)
      return nearest_kernels::squared_distance(x, y, d_);
    const double dot = nearest_kernels::dot(x, y, d_);
    if (options_.distance == Distance::overlap) return -dot;
    const double lengths = std::sqrt(q.squared[at(i)]) * std::sqrt(c.squared[at(j)]);
    return lengths > 0 ? -dot / lengths : 0;
  }

  const Features &Q_, &C_;
  const NearestOptions& options_;
  Index d_;
};

std::vector<Index> entries(const Rows& rows) {
  std::vector<Index> all(at(rows.size()));
  for (Index i = 0; i < rows.size(); ++i) all[at(i)] = rows.row(i);
  return all;
}

void check(const Rows& queries, const Rows& candidates, const NearestOptions& options) {
  require_option(options.k >= 1, "neighbours", "k", options.k, ">= 1");
  require_option(options.scale > 0, "neighbours", "scale", options.scale, "> 0");
  if (queries.X->cols() != candidates.X->cols()) {
    throw Error(ErrorKind::bad_shape,
                fmt::format("neighbours: queries have {} features, candidates {}",
                            queries.X->cols(), candidates.X->cols()));
  }
  if (!std::is_sorted(candidates.subset.begin(), candidates.subset.end()))
    throw Error(ErrorKind::bad_shape, "neighbours: the candidates' rows must ascend");
}

// The k nearest rows of the nearest kinds, without the row `self`. A row of the k nearest
// is of one of the k nearest kinds, by distance and first row: each kind before its own has
// a row before it.
std::vector<Found> rows_of_kinds(const std::vector<Found>& kinds,
                                 const std::vector<std::pair<Index, std::size_t>>& by_row,
                                 const EqualRows& given, std::span<const Index> among,
                                 Index self, Index k) {
  std::vector<Found> found;
  for (const Found& kind : kinds) {
    if (std::ssize(found) >= k && kind.order > found.back().order) break;
    const auto of = std::lower_bound(by_row.begin(), by_row.end(),
                                     std::pair<Index, std::size_t>(kind.row, 0));
    Index taken = 0;
    for (const Index place : given.places[of->second]) {
      if (taken == k) break;
      if (among[at(place)] == self) continue;
      found.push_back({kind.order, among[at(place)]});
      ++taken;
    }
  }
  std::sort(found.begin(), found.end());
  found.resize(std::min(found.size(), at(k)), Found{0, -1});
  return found;
}

}  // namespace

Neighbours nearest(const Rows& queries, const Rows& candidates,
                   const NearestOptions& options, const Exec& exec) {
  check(queries, candidates, options);
  const std::vector<Index> rows = entries(queries), among = entries(candidates);
  const EqualRows asked = equal_rows(*queries.X, rows);
  const EqualRows given = equal_rows(*candidates.X, among);
  // One kind more: that of the query itself may have no other row.
  NearestOptions of_kinds = options;
  of_kinds.k += options.skip_self ? 1 : 0;
  of_kinds.skip_self = false;
  // The first rows ascend, but for a row whose hash is that of another kind.
  std::vector<std::pair<Index, std::size_t>> by_row;
  for (std::size_t kind = 0; kind < given.first.size(); ++kind)
    by_row.emplace_back(given.first[kind], kind);
  std::sort(by_row.begin(), by_row.end());
  std::vector<Index> firsts;
  for (const auto& [row, kind] : by_row) firsts.push_back(row);
  const Search search(*queries.X, *candidates.X, of_kinds);
  Neighbours result;
  result.k = options.k;
  result.row.assign(rows.size() * at(options.k), -1);
  result.distance.assign(result.row.size(), std::numeric_limits<double>::infinity());
  const auto write = [&](std::size_t place, const std::vector<Found>& kinds) {
    std::size_t to = place * at(options.k);
    const Index self = options.skip_self ? rows[place] : -1;
    for (const Found& found : rows_of_kinds(kinds, by_row, given, among, self, options.k)) {
      result.row[to] = found.row;
      result.distance[to++] = search.distance(found.order);
    }
  };
  const Index total = asked.kinds(), tasks = (total + kQueryRows - 1) / kQueryRows;
  std::atomic<Index> done = 0;
  exec.for_each(tasks, [&](Index task) {
    const Index first = task * kQueryRows, count = std::min(kQueryRows, total - first);
    const std::vector<Best> best =
        search.run(std::span(asked.first).subspan(at(first), at(count)), firsts);
    for (Index i = 0; i < count; ++i)
      for (const Index place : asked.places[at(first + i)])
        write(at(place), best[at(i)].found());
    exec.report("neighbours", done += count, total);
  });
  return result;
}

}  // namespace fmd
