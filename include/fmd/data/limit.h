#pragma once

#include <string>

namespace fmd {

// "co:sex=.02": a limit or a target on a measure, of one attribute or ("co=.02") of each.
struct Limit {
  std::string measure;
  std::string attribute;  // empty = every attribute
  double value = 0;

  bool operator==(const Limit&) const = default;
};

// Throws Error(bad_option) with an example.
[[nodiscard]] Limit parse_limit(const std::string& text);
[[nodiscard]] std::string to_string(const Limit& limit);

}  // namespace fmd
