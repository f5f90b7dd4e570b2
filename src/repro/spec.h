#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fmd/core/types.h"

namespace fmd::repro {

// Numbers, lists of numbers and words by name.
struct Settings {
  std::map<std::string, std::vector<double>> numbers;
  std::map<std::string, std::string> words;

  [[nodiscard]] bool has(const std::string& name) const;
  // These throw Error(bad_task) that names what is missing.
  [[nodiscard]] double number(const std::string& name) const;
  [[nodiscard]] Index count(const std::string& name) const;
  [[nodiscard]] const std::vector<double>& list(const std::string& name) const;
  [[nodiscard]] std::string word(const std::string& name) const;  // "" when absent
};

// The settings of both. Where both have a name, that of `over` counts.
[[nodiscard]] Settings merged(Settings base, const Settings& over);

struct SpecRow {
  std::string id, method, title;
  Settings settings;
};

// One block of a table: a ratio, an attribute.
struct SpecCase {
  std::string name, title;
  Settings settings;
  // By row id, in the order of Spec::columns; NaN where nothing is printed or asked for.
  std::map<std::string, std::vector<double>> paper, bar;
};

// A table or figure of the paper, as described in repro/<name>.toml.
struct Spec {
  std::string name, title, source, experiment, text;
  std::vector<std::string> columns;  // of the printed figures: accuracy, bias, seconds
  Settings settings, quick;
  std::vector<SpecRow> rows;
  std::vector<SpecCase> cases;
  std::vector<std::string> notes;  // what differs from the paper, and why

  // All settings of a case; those of its rows come on top.
  [[nodiscard]] Settings all(const SpecCase& c, bool quick_run) const;
};

// Throws Error(bad_task) that names file, key and line.
[[nodiscard]] Spec parse_spec(std::string_view text, const std::string& source);

}  // namespace fmd::repro
