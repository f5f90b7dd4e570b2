#include "language/matching.h"

#include <algorithm>

#include "core/index.h"

namespace fmd::internal {
namespace {

struct CommonRun {
  Index a = 0, b = 0, length = 0;
};

CommonRun longest_run(const TokenIds& a, const TokenIds& b, Index a0, Index a1, Index b0,
                      Index b1) {
  CommonRun best{a0, b0, 0};
  std::vector<Index> before(at(b1 - b0) + 1, 0);  // run that ends at the token before
  for (Index i = a0; i < a1; ++i) {
    std::vector<Index> here(before.size(), 0);
    for (Index j = b0; j < b1; ++j) {
      if (a[at(i)] != b[at(j)]) continue;
      const Index length = here[at(j - b0) + 1] = before[at(j - b0)] + 1;
      if (length > best.length) best = {i - length + 1, j - length + 1, length};
    }
    before = std::move(here);
  }
  return best;
}

}  // namespace

std::vector<std::pair<Index, Index>> matching_tokens(const TokenIds& a, const TokenIds& b) {
  struct Part {
    Index a0, a1, b0, b1;
  };
  std::vector<Part> open{{0, std::ssize(a), 0, std::ssize(b)}};
  std::vector<std::pair<Index, Index>> pairs;
  while (!open.empty()) {
    const Part part = open.back();
    open.pop_back();
    const CommonRun run = longest_run(a, b, part.a0, part.a1, part.b0, part.b1);
    if (run.length == 0) continue;
    for (Index k = 0; k < run.length; ++k) pairs.emplace_back(run.a + k, run.b + k);
    open.push_back({part.a0, run.a, part.b0, run.b});
    open.push_back({run.a + run.length, part.a1, run.b + run.length, part.b1});
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

}  // namespace fmd::internal
