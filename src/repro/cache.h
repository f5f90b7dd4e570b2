#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "repro/experiment.h"

namespace fmd::repro {

// Finished units by key, in one file that is replaced as a whole after each of them: a run
// that is interrupted goes on where it was. A file that is damaged or of another form
// counts as empty.
class UnitCache {
 public:
  // path empty: kept in memory alone.
  UnitCache(std::filesystem::path path, bool fresh);
  [[nodiscard]] const UnitResult* find(const std::string& key) const;
  void add(const std::string& key, const UnitResult& result);

 private:
  std::filesystem::path path_;
  std::map<std::string, UnitResult> units_;
};

// Everything that a unit depends on but the machine.
[[nodiscard]] std::string unit_key(const Unit& unit);

}  // namespace fmd::repro
