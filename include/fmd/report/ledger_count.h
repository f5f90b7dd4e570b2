#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fmd/core/types.h"

namespace fmd {

// What a ledger says about one set of rows: all looks so far, this one included. See
// pipeline/ledger.h.
struct LedgerCount {
  std::string set;
  Index looks = 0;
  std::vector<std::uint64_t> seeds;  // different ones, ascending
  Index models = 0;                  // different ones
  std::string last;                  // sha256 of the ledger's last line
};

// "look 3 at these rows, with 2 models and seeds 1, 7"
[[nodiscard]] std::string words(const LedgerCount& count);

}  // namespace fmd
