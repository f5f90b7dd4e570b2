#pragma once

#include <map>
#include <string>
#include <vector>

#include "fmd/baselines/baseline.h"

namespace fmd::repro {

// What more steps of a training would have brought: the figures of each row over its steps.
class Curves {
 public:
  // names: of the figures that were watched.
  explicit Curves(std::vector<std::string> names) : names_(std::move(names)) {}
  void add(const std::string& id, const NetworkNote& note);
  // {"curves": {row: [{"step", and each figure}]}}, "" without rows.
  [[nodiscard]] std::string json() const;

 private:
  std::vector<std::string> names_;
  std::map<std::string, NetworkNote> notes_;
};

// The setting and the steps, as a table shows them.
[[nodiscard]] std::string training_text(const BaselineCandidate& candidate);

}  // namespace fmd::repro
