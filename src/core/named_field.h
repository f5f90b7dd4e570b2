#pragma once

#include <string>

#include "core/internal.h"
#include "core/names.h"
#include "fmd/core/fields.h"

namespace fmd::internal {

// A field whose text is made by to_string() and read by `parse`.
template <typename T>
[[nodiscard]] TextField named(T& value, T (*parse)(const std::string&)) {
  return {.get = [&value] { return to_string(value); },
          .set = [&value, parse](const std::string& text) { value = parse(text); }};
}

// A field whose texts stand in one table. `where` and `option` are for the message.
template <typename E, std::size_t N>
[[nodiscard]] TextField named(E& value, const Name<E> (&table)[N], const char* where,
                              const char* option) {
  return {.get = [&value, &table, option] { return name_of(table, option, value); },
          .set =
              [&value, &table, where, option](const std::string& text) {
                value = parse_name(table, where, option, text);
              }};
}

}  // namespace fmd::internal
