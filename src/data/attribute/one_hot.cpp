#include "data/attribute/one_hot.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "data/glob.h"
#include "data/words.h"
#include "fmd/core/error.h"

namespace fmd::internal {
namespace {

// How "set" and "not set" are written in columns of texts.
constexpr std::array<std::array<const char*, 2>, 12> kStyles = {{{"1", "0"},
                                                                 {"1.0", "0.0"},
                                                                 {"True", "False"},
                                                                 {"true", "false"},
                                                                 {"TRUE", "FALSE"},
                                                                 {"yes", "no"},
                                                                 {"Yes", "No"},
                                                                 {"YES", "NO"},
                                                                 {"y", "n"},
                                                                 {"Y", "N"},
                                                                 {"t", "f"},
                                                                 {"T", "F"}}};

std::array<const char*, 2> style_of(const std::vector<const Column*>& columns,
                                    const AttributeSpec& spec) {
  std::set<std::string> texts;
  for (const Column* column : columns)
    texts.insert(column->levels.begin(), column->levels.end());
  for (const auto& style : kStyles) {
    const bool fits = std::all_of(texts.begin(), texts.end(), [&](const std::string& text) {
      return text == style[0] || text == style[1];
    });
    if (fits) return style;
  }
  throw Error(
      ErrorKind::bad_task,
      fmt::format("attribute \"{}\": one_hot columns have the texts {}, 0 and 1 are "
                  "needed",
                  spec.name, list_words({texts.begin(), texts.end()})),
      "1 and 0, true and false, or yes and no");
}

// What the names have in common, up to the last sign that is no letter or digit.
std::size_t prefix_of(const std::vector<const Column*>& columns) {
  const std::string& first = columns[0]->name;
  std::size_t common = first.size();
  for (const Column* column : columns) {
    const auto at =
        std::mismatch(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(common),
                      column->name.begin(), column->name.end());
    common = static_cast<std::size_t>(at.first - first.begin());
  }
  const std::size_t sign = first.substr(0, common).find_last_of("_-. =:/");
  return sign == std::string::npos ? common : sign + 1;
}

}  // namespace

Attribute one_hot_values(const AttributeSpec& spec, const Table& table) {
  std::vector<const Column*> columns;
  for (const Column& column : table.columns)
    if (fits_any(column.name, spec.one_hot)) columns.push_back(&column);
  if (columns.size() < 2) {
    throw Error(
        ErrorKind::bad_task,
        fmt::format("attribute \"{}\": {} column(s) of {} fit one_hot {}, at least "
                    "two are needed",
                    spec.name, columns.size(), table.source, list_words(spec.one_hot)),
        "name the columns, or a pattern such as race_*");
  }
  const std::array<const char*, 2> style = style_of(columns, spec);
  const std::size_t prefix = prefix_of(columns);
  Attribute attribute;
  attribute.name = spec.name;
  for (const Column* column : columns) attribute.columns.push_back(column->name);
  for (std::size_t v = 0; v < columns.size(); ++v) {
    const std::string value = columns[v]->name.substr(prefix);
    attribute.values.push_back(value.empty() ? columns[v]->name : value);
    std::vector<Cell>& cells = attribute.cells.emplace_back();
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const bool number = columns[c]->kind == ColumnKind::number;
      const bool set = c == v;
      cells.push_back({.text = number ? (set ? "1" : "0") : style[set ? 0 : 1],
                       .number = set ? 1.0 : 0.0});
    }
  }
  return attribute;
}

}  // namespace fmd::internal
