#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/internal.h"
#include "data/toml.h"
#include "fmd/core/types.h"

namespace fmd::internal {

// Reads the values of one TOML file. Each function throws Error(bad_task) that names the
// file, the line and the key.
class TomlReader {
 public:
  explicit TomlReader(std::string source) : source_(std::move(source)) {}

  // A text. A number is taken as its text, so that positive = 1 works like positive = "1".
  [[nodiscard]] std::string text(const toml::node& node, std::string_view key) const;
  // Texts that differ from each other.
  [[nodiscard]] std::vector<std::string> texts(const toml::node& node,
                                               std::string_view key) const;
  [[nodiscard]] Index count(const toml::node& node, std::string_view key) const;  // >= 0
  [[nodiscard]] std::vector<double> numbers(const toml::node& node,               // finite
                                            std::string_view key) const;
  [[nodiscard]] const toml::table& table(const toml::node& node,
                                         std::string_view key) const;

  [[noreturn]] void fail(const toml::node& node, std::string_view key,
                         const std::string& what, const std::string& hint = "") const;
  // The error for a key that is not one of `keys`; the hint names the nearest.
  [[noreturn]] void fail_unknown(const toml::node& node, std::string_view key,
                                 const std::vector<std::string>& keys) const;

 private:
  std::string source_;
};

}  // namespace fmd::internal
