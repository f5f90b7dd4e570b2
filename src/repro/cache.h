#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "repro/experiment.h"

namespace fmd::repro {

// Finished units by key. They are kept in one file that is replaced as a whole after each
// unit, so a run that was interrupted continues where it stopped. A file that is damaged or
// has another form counts as empty.
class UnitCache {
 public:
  // path empty: units are kept in memory only.
  UnitCache(std::filesystem::path path, bool fresh);
  [[nodiscard]] const UnitResult* find(const std::string& key) const;
  void add(const std::string& key, const UnitResult& result);

 private:
  std::filesystem::path path_;
  std::map<std::string, UnitResult> units_;
};

// A key of everything that a unit depends on, except the machine.
[[nodiscard]] std::string unit_key(const Unit& unit);

}  // namespace fmd::repro
