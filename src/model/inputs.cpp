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
