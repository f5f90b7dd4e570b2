#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/check.h"
#include "core/internal.h"

// The names of an enum's values, in one table for each enum. Texts become values at the
// edge (flags, task files, receipts), and everything inside works with values.
namespace fmd::internal {

template <typename E>
struct Name {
  E value;
  const char* name;
};

// Throws Error(bad_option) for what is no enumerator.
template <typename E, std::size_t N>
[[nodiscard]] std::string name_of(const Name<E> (&table)[N], std::string_view what,
                                  E value) {
  for (const Name<E>& entry : table)
    if (entry.value == value) return entry.name;
  throw Error(ErrorKind::bad_option, fmt::format("{} is {}, which is no enumerator", what,
                                                 static_cast<int>(value)));
}

template <typename E, std::size_t N>
[[nodiscard]] std::optional<E> find_name(const Name<E> (&table)[N], std::string_view text) {
  for (const Name<E>& entry : table)
    if (text == entry.name) return entry.value;
  return std::nullopt;
}

// "train, data or none". An empty name is a default that nobody writes.
template <typename E, std::size_t N>
[[nodiscard]] std::string listed(const Name<E> (&table)[N]) {
  std::string text;
  std::string_view last;
  for (const Name<E>& entry : table) {
    if (*entry.name == '\0') continue;
    if (!last.empty()) text += fmt::format("{}{}", text.empty() ? "" : ", ", last);
    last = entry.name;
  }
  return fmt::format("{}{}{}", text, text.empty() ? "" : " or ", last);
}

// Throws Error(bad_option): "debias: option method is x, must be solve, path or step".
template <typename E, std::size_t N>
[[nodiscard]] E parse_name(const Name<E> (&table)[N], std::string_view where,
                           std::string_view option, const std::string& text) {
  const std::optional<E> found = find_name(table, text);
  require_option(found.has_value(), where, option, text, found ? "" : listed(table));
  return *found;
}

}  // namespace fmd::internal
