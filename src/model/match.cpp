#include "fmd/model/match.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <queue>

#include "core/check.h"
#include "core/index.h"

namespace fmd {
namespace {

constexpr Index kFirstList = 8, kLongestList = 256;  // near candidates of each query
constexpr double kFar = std::numeric_limits<double>::infinity();

// What a query asks for next: a candidate, or (row = -1) a longer list.
struct Wish {
  double distance;
  Index query, row;
  auto operator<=>(const Wish&) const = default;
};

class Greedy {
 public:
  Greedy(const Rows& queries, const Rows& candidates, const MatchOptions& options,
         const Exec& exec)
      : queries_(queries), candidates_(candidates), options_(options), exec_(exec) {
    const std::size_t n = at(queries.size());
    matches_.partner.assign(n, -1);
    matches_.distance.assign(n, kFar);
    matches_.outcome.assign(n, MatchOutcome::no_candidate);
    left_.assign(at(candidates.X->rows()), options.reuse);
    list_.resize(n);
    next_.assign(n, 0);
    full_.assign(n, false);
  }

  Matches run() && {
    std::vector<Index> open(at(queries_.size()));
    for (std::size_t q = 0; q < open.size(); ++q) open[q] = static_cast<Index>(q);
    fill(open);
    while (!wishes_.empty()) {
      const Wish wish = wishes_.top();
      if (wish.row < 0) {
        fill(take_waiting());
        continue;
      }
      wishes_.pop();
      grant(wish);
    }
    return std::move(matches_);
  }

 private:
  // The next candidates of these queries among those that may still serve.
  void fill(const std::vector<Index>& open) {
    std::vector<Index> rows, among;
    for (const Index q : open) rows.push_back(queries_.row(q));
    for (Index c = 0; c < candidates_.size(); ++c)
      if (options_.reuse == 0 || left_[at(candidates_.row(c))] > 0)
        among.push_back(candidates_.row(c));
    // An empty subset would stand for all rows.
    if (rows.empty() || among.empty()) return;
    length_ = options_.reuse == 0
                  ? 1
                  : std::min(length_ == 0 ? kFirstList : 2 * length_, kLongestList);
    const Neighbours found =
        nearest({queries_.X, {}, {}, rows}, {candidates_.X, {}, {}, among},
                {.k = length_,
                 .distance = options_.distance,
                 .scale = options_.scale,
                 .skip_self = options_.skip_self},
                exec_);
    for (std::size_t i = 0; i < open.size(); ++i) {
      auto& list = list_[at(open[i])];
      list.clear();
      next_[at(open[i])] = 0;
      for (std::size_t k = 0; k < at(length_); ++k) {
        const std::size_t from = i * at(length_) + k;
        if (found.row[from] >= 0) list.push_back({found.distance[from], found.row[from]});
      }
      full_[at(open[i])] = std::ssize(list) == length_;
      ask(open[i]);
    }
  }

  // The query's next wish; none when it drops out.
  std::optional<Wish> next_wish(Index q) {
    const auto& list = list_[at(q)];
    MatchOutcome& outcome = matches_.outcome[at(q)];
    if (next_[at(q)] == list.size()) {
      // A list that is not full held all there are.
      if (!full_[at(q)]) return std::nullopt;
      return Wish{list.back().distance, q, -1};
    }
    const Near& near = list[next_[at(q)]];
    if (outcome == MatchOutcome::no_candidate)
      outcome =
          near.distance > options_.caliper ? MatchOutcome::too_far : MatchOutcome::used_up;
    if (near.distance > options_.caliper) return std::nullopt;
    return Wish{near.distance, q, near.row};
  }

  void ask(Index q) {
    if (const std::optional<Wish> wish = next_wish(q)) wishes_.push(*wish);
  }

  [[nodiscard]] bool used_up(Index row) const {
    return options_.reuse > 0 && left_[at(row)] == 0;
  }

  void grant(const Wish& wish) {
    if (used_up(wish.row)) {
      ++next_[at(wish.query)];
      ask(wish.query);
      return;
    }
    --left_[at(wish.row)];
    matches_.partner[at(wish.query)] = wish.row;
    matches_.distance[at(wish.query)] = wish.distance;
    matches_.outcome[at(wish.query)] = MatchOutcome::matched;
  }

  // All queries whose lists ran out: one search serves them together. Where many rows are
  // equal, many lists hold nothing but rows that are used up; these queries come along.
  std::vector<Index> take_waiting() {
    std::vector<Wish> kept;
    std::vector<Index> waiting;
    for (; !wishes_.empty(); wishes_.pop()) {
      const Index q = wishes_.top().query;
      std::optional<Wish> wish = wishes_.top();
      while (wish && wish->row >= 0 && used_up(wish->row)) {
        ++next_[at(q)];
        wish = next_wish(q);
      }
      if (!wish) continue;
      if (wish->row < 0)
        waiting.push_back(q);
      else
        kept.push_back(*wish);
    }
    wishes_ = Queue(std::greater<>(), std::move(kept));
    std::sort(waiting.begin(), waiting.end());
    return waiting;
  }

  struct Near {
    double distance;
    Index row;
  };
  using Queue = std::priority_queue<Wish, std::vector<Wish>, std::greater<>>;

  const Rows &queries_, &candidates_;
  const MatchOptions& options_;
  const Exec& exec_;
  Matches matches_;
  std::vector<Index> left_;  // how often a row may still serve
  std::vector<std::vector<Near>> list_;
  std::vector<std::size_t> next_;
  std::vector<bool> full_;  // there may be more candidates than the list holds
  Index length_ = 0;        // of the lists that were made last
  Queue wishes_;
};

}  // namespace

Matches match_rows(const Rows& queries, const Rows& candidates, const MatchOptions& options,
                   const Exec& exec) {
  require_option(options.reuse >= 0, "match", "reuse", options.reuse, ">= 0");
  require_option(options.caliper >= 0, "match", "caliper", options.caliper, ">= 0");
  return Greedy(queries, candidates, options, exec).run();
}

}  // namespace fmd
