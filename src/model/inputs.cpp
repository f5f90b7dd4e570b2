#include "fmd/model/inputs.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "fmd/core/error.h"

namespace fmd {
namespace {

template <typename Named>
const Named* find_named(std::span<const Named> all, const std::string& name) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Named& n) { return n.name == name; });
  return found == all.end() ? nullptr : &*found;
}

bool knows(const InputColumn& column, const std::string& level) {
  return std::binary_search(column.levels.begin(), column.levels.end(), level);
}

}  // namespace

const TensorColumn& Inputs::tensor(const std::string& name) const {
  if (const TensorColumn* found = find_named<TensorColumn>(table->tensors, name))
    return *found;
  std::string there;
  for (const TensorColumn& t : table->tensors)
    there += (there.empty() ? "" : ", ") + t.name;
  throw Error(ErrorKind::missing_column,
              fmt::format("{}: the model reads a tensor \"{}\" for each row, and there is "
                          "none",
                          table->source, name),
              there.empty() ? "give the tensors beside the table"
                            : fmt::format("tensors that are there: {}", there));
}

bool InputSchema::reads(const std::string& column) const {
  const InputColumn* found = find_named<InputColumn>(columns, column);
  return found != nullptr && found->read;
}

bool InputSchema::reads(const Attribute& attribute) const {
  return std::any_of(attribute.columns.begin(), attribute.columns.end(),
                     [this](const std::string& name) { return reads(name); });
}

std::vector<std::string> InputSchema::names() const {
  std::vector<std::string> names;
  for (const InputColumn& column : columns)
    if (column.read) names.push_back(column.name);
  return names;
}

std::map<std::string, ColumnKind> InputSchema::types() const {
  std::map<std::string, ColumnKind> types;
  for (const InputColumn& column : columns) types.emplace(column.name, column.kind);
  return types;
}

std::map<std::string, Notation> InputSchema::notations() const {
  std::map<std::string, Notation> notations;
  for (const InputColumn& column : columns)
    if (column.notation != Notation::plain) notations.emplace(column.name, column.notation);
  return notations;
}

std::map<std::string, Index> InputSchema::unseen(const Table& table) const {
  std::map<std::string, Index> cells;
  for (const InputColumn& input : columns) {
    if (!input.read || !input.counted) continue;
    const Column& column = table.column(input.name);
    Index count = 0;
    if (column.kind == ColumnKind::number) {
      for (Index row = 0; row < column.rows(); ++row)
        count += knows(input, column.text(row)) ? 0 : 1;
    } else {
      std::vector<Index> strange;
      for (const std::string& level : column.levels)
        strange.push_back(knows(input, level) ? 0 : 1);
      const Index missing = knows(input, "") ? 0 : 1;
      for (const std::int32_t code : column.codes)
        count += code < 0 ? missing : strange[static_cast<std::size_t>(code)];
    }
    if (count > 0) cells[input.name] = count;
  }
  return cells;
}

void InputSchema::mark_unseen(Attribute& attribute) const {
  if (!attribute.flips()) return;
  std::vector<bool> unseen(attribute.values.size(), false);
  for (std::size_t c = 0; c < attribute.columns.size(); ++c) {
    const InputColumn* input = find_named<InputColumn>(columns, attribute.columns[c]);
    if (input == nullptr || !input->read || !input->counted) continue;
    for (std::size_t v = 0; v < unseen.size(); ++v)
      unseen[v] = unseen[v] || !knows(*input, attribute.cells[v][c].text);
  }
  if (std::find(unseen.begin(), unseen.end(), true) != unseen.end())
    attribute.unseen = std::move(unseen);
}

Index InputSchema::missing_numbers(const Table& table) const {
  Index count = 0;
  for (const InputColumn& column : columns)
    if (column.read && column.kind == ColumnKind::number)
      count += table.column(column.name).missing;
  return count;
}

const ColumnFeatures* ColumnMap::find(const std::string& column) const {
  return find_named<ColumnFeatures>(columns, column);
}

std::vector<Index> ColumnMap::of(const Attribute& attribute) const {
  std::vector<Index> features;
  for (const std::string& name : attribute.columns) {
    const ColumnFeatures* column = find(name);
    if (column == nullptr) continue;
    for (Index f = 0; f < column->features; ++f) features.push_back(column->first + f);
  }
  return features;
}

}  // namespace fmd
