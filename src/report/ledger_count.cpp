#include "report/ledger_count.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace fmd {

std::string words(const LedgerCount& count) {
  constexpr std::size_t kMostSeeds = 5;
  const auto& seeds = count.seeds;
  const std::string list =
      seeds.size() > kMostSeeds
          ? fmt::format("{} seeds", seeds.size())
          : fmt::format("seed{} {}", seeds.size() == 1 ? "" : "s", fmt::join(seeds, ", "));
  return fmt::format("look {} at these rows, with {} model{} and {}", count.looks,
                     count.models, count.models == 1 ? "" : "s", list);
}

}  // namespace fmd

namespace fmd::internal {

Json ledger_json(const LedgerCount& count) {
  return {{"set", count.set},
          {"looks", count.looks},
          {"seeds", count.seeds},
          {"models", count.models},
          {"last_line", count.last}};
}

}  // namespace fmd::internal
