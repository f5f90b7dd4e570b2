#include "fmd/data/split.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "core/beside.h"
#include "data/number.h"
#include "data/words.h"
#include "fmd/core/error.h"
#include "fmd/core/rng.h"

namespace fmd {
namespace {

constexpr double kRounding = 1e-9;  // .3 * 10 is 3, not a little less

[[noreturn]] void fail(const std::string& text, const std::string& what) {
  throw Error(ErrorKind::bad_option, fmt::format("parts \"{}\": {}", shorten(text), what),
              "write NAME=SHARE,..., as in train=.5,repair=.2,test=.3");
}

template <typename T>
void shuffle(std::vector<T>& values, Rng& rng) {
  const std::vector<T> old = values;
  const std::vector<Index> order = permutation(std::ssize(values), rng);
  for (std::size_t i = 0; i < order.size(); ++i) values[i] = old[to_size(order[i])];
}

double floor_of(double x) { return std::floor(x + kRounding); }

// Rounds each cell of a table of counts (strata x parts) up or down, so that every
// stratum's sum is exact and every part's sum is rounded too. Such a rounding always
// exists, because the table itself is a fractional solution of a flow problem with whole
// bounds. It is found by augmenting paths, the parts' lower bounds first.
class Rounding {
 public:
  Rounding(const std::vector<Index>& sizes, const std::vector<double>& shares)
      : parts_(shares.size()),
        counts_(sizes.size()),
        up_(sizes.size()),
        open_(sizes.size()) {
    std::vector<double> fractions(parts_, 0);
    order_.resize(sizes.size());
    for (std::size_t s = 0; s < sizes.size(); ++s) {
      open_[s] = sizes[s];
      std::vector<double> fraction(parts_);
      for (std::size_t p = 0; p < parts_; ++p) {
        const double exact = static_cast<double>(sizes[s]) * shares[p];
        counts_[s].push_back(static_cast<Index>(floor_of(exact)));
        open_[s] -= counts_[s][p];
        fraction[p] = std::max(exact - floor_of(exact), 0.0);
        if (fraction[p] < kRounding) fraction[p] = 0;
        fractions[p] += fraction[p];
        up_[s].push_back(fraction[p] > 0 ? Up::may : Up::never);
      }
      // The largest remainders are tried first.
      order_[s].resize(parts_);
      std::iota(order_[s].begin(), order_[s].end(), std::size_t{0});
      std::stable_sort(
          order_[s].begin(), order_[s].end(),
          [&](std::size_t a, std::size_t b) { return fraction[a] > fraction[b]; });
    }
    used_.assign(parts_, 0);
    for (const double sum : fractions)
      capacity_.push_back(static_cast<Index>(floor_of(sum)));
    place_all();
    for (std::size_t p = 0; p < parts_; ++p)
      capacity_[p] = static_cast<Index>(std::ceil(fractions[p] - kRounding));
    place_all();
    place_rest();
  }

  [[nodiscard]] const std::vector<std::vector<Index>>& counts() const { return counts_; }

 private:
  enum class Up { never, may, is };

  void place_all() {
    for (std::size_t s = 0; s < counts_.size(); ++s) {
      while (open_[s] > 0) {
        std::vector<bool> tried(parts_, false);
        if (!place(s, tried)) break;
        --open_[s];
      }
    }
  }

  // Gives one more row of stratum s to a part that has room. Moves rows of other strata if
  // needed.
  bool place(std::size_t s, std::vector<bool>& tried) {
    for (const std::size_t p : order_[s]) {
      if (up_[s][p] == Up::may && !tried[p] && used_[p] < capacity_[p]) return take(s, p);
    }
    for (const std::size_t p : order_[s]) {
      if (up_[s][p] != Up::may || tried[p]) continue;
      tried[p] = true;
      for (std::size_t other = 0; other < counts_.size(); ++other) {
        if (other == s || up_[other][p] != Up::is) continue;
        give_back(other, p);
        if (place(other, tried)) return take(s, p);
        take(other, p);
      }
    }
    return false;
  }

  bool take(std::size_t s, std::size_t p) {
    up_[s][p] = Up::is;
    ++counts_[s][p];
    ++used_[p];
    return true;
  }
  void give_back(std::size_t s, std::size_t p) {
    up_[s][p] = Up::may;
    --counts_[s][p];
    --used_[p];
  }

  // Places the rows that are left over because the shares themselves are rounded.
  void place_rest() {
    for (std::size_t s = 0; s < counts_.size(); ++s)
      for (std::size_t k = 0; open_[s] > 0; --open_[s], k = (k + 1) % parts_)
        ++counts_[s][order_[s][k]];
  }

  std::size_t parts_;
  std::vector<std::vector<Index>> counts_;
  std::vector<std::vector<Up>> up_;
  std::vector<std::vector<std::size_t>> order_;
  std::vector<Index> open_;             // rows of a stratum that no part has yet
  std::vector<Index> used_, capacity_;  // rows beyond the whole ones, per part
};

}  // namespace

std::vector<Part> parse_parts(const std::string& text) {
  std::vector<Part> parts;
  std::set<std::string> names;
  double sum = 0;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string piece = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t equals = piece.find('=');
    if (equals == std::string::npos || equals == 0) {
      fail(text, fmt::format("\"{}\" is not NAME=SHARE", shorten(piece)));
    }
    Part part{.name = piece.substr(0, equals)};
    const std::string share = piece.substr(equals + 1);
    if (parse_number(share, part.share) != NumberText::number || !(part.share > 0)) {
      fail(text, fmt::format("the share \"{}\" is not a number > 0", shorten(share)));
    }
    // A part becomes a file of its name.
    if (!is_plain_name(part.name)) {
      fail(text, fmt::format("\"{}\" cannot be the name of a file", shorten(part.name)));
    }
    if (!names.insert(part.name).second) {
      fail(text, fmt::format("\"{}\" appears twice", shorten(part.name)));
    }
    sum += part.share;
    parts.push_back(std::move(part));
  }
  if (sum > 1 + kRounding) fail(text, fmt::format("the shares sum to {}, at most 1", sum));
  return parts;
}

std::vector<std::vector<Index>> split_rows(std::span<const std::int32_t> stratum,
                                           std::span<const Part> parts,
                                           std::uint64_t seed) {
  std::map<std::int32_t, std::vector<Index>> strata;
  for (std::size_t row = 0; row < stratum.size(); ++row)
    strata[stratum[row]].push_back(static_cast<Index>(row));
  std::vector<const std::vector<Index>*> drawn;
  std::vector<Index> sizes;
  for (auto& [value, rows] : strata) {
    Rng rng(seed, "split", static_cast<std::uint64_t>(value));
    shuffle(rows, rng);
    drawn.push_back(&rows);
  }
  // Chance also decides which of many small strata are rounded up for which part.
  Rng rng(seed, "split strata");
  shuffle(drawn, rng);
  for (const std::vector<Index>* rows : drawn) sizes.push_back(std::ssize(*rows));

  std::vector<double> shares;
  double sum = 0;
  for (const Part& part : parts) {
    if (!(part.share > 0)) fail(part.name, "a share must be > 0");
    shares.push_back(part.share);
    sum += part.share;
  }
  if (sum > 1 + kRounding) fail("", fmt::format("the shares sum to {}, at most 1", sum));
  shares.push_back(std::max(1 - sum, 0.0));  // the rows in no part

  const Rounding rounding(sizes, shares);
  std::vector<std::vector<Index>> result(parts.size());
  for (std::size_t s = 0; s < drawn.size(); ++s) {
    std::size_t next = 0;
    for (std::size_t p = 0; p < parts.size(); ++p)
      for (Index k = 0; k < rounding.counts()[s][p]; ++k)
        result[p].push_back((*drawn[s])[next++]);
  }
  for (std::vector<Index>& rows : result) std::sort(rows.begin(), rows.end());
  return result;
}

}  // namespace fmd
