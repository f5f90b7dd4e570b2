#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "data/attribute_parts.h"
#include "data/number.h"
#include "data/words.h"
#include "fmd/core/error.h"

namespace fmd {
namespace {

constexpr std::int32_t kMissing = -1;
constexpr std::int32_t kOther = -2;

// One column of the attribute: which of the texts that its values have there a row has.
class PartReader {
 public:
  PartReader(const Attribute& attribute, std::size_t which, const Table& block)
      : column_(block.column(attribute.columns[which])) {
    std::map<std::string, std::int32_t> of_text;
    std::map<double, std::int32_t> of_number;
    for (const auto& cells : attribute.cells) {
      const std::string& text = cells[which].text;
      const auto part =
          of_text.emplace(text, static_cast<std::int32_t>(of_text.size())).first->second;
      part_of_value_.push_back(part);
      double number = 0;
      if (parse_number(text, number) == NumberText::number) of_number.emplace(number, part);
    }
    of_number_ = std::move(of_number);
    for (const std::string& level : column_.levels) {
      const auto found = of_text.find(level);
      of_level_.push_back(found == of_text.end() ? kOther : found->second);
    }
  }

  [[nodiscard]] std::int32_t part_of_value(std::size_t value) const {
    return part_of_value_[value];
  }

  [[nodiscard]] std::int32_t read(Index row) const {
    if (column_.kind == ColumnKind::category) {
      const std::int32_t level = column_.codes[to_size(row)];
      return level < 0 ? kMissing : of_level_[to_size(level)];
    }
    const double number = column_.numbers[to_size(row)];
    if (std::isnan(number)) return kMissing;
    const auto found = of_number_.find(number);
    return found == of_number_.end() ? kOther : found->second;
  }

 private:
  const Column& column_;
  std::vector<std::int32_t> part_of_value_, of_level_;
  std::map<double, std::int32_t> of_number_;
};

void read_ranges(const Attribute& attribute, const Table& block, std::int32_t missing,
                 std::vector<std::int32_t>& code) {
  const Column& column = block.column(attribute.columns[0]);
  if (column.kind != ColumnKind::number) {
    throw Error(ErrorKind::bad_task,
                fmt::format("attribute \"{}\": column \"{}\" of {} has categories; ranges "
                            "are for numbers",
                            attribute.name, column.name, block.source),
                fmt::format("[types] {} = \"number\", or leave quantiles and cuts out",
                            column.name));
  }
  for (std::size_t row = 0; row < code.size(); ++row) {
    const double number = column.numbers[row];
    const auto at = std::upper_bound(attribute.cuts.begin(), attribute.cuts.end(), number);
    code[row] = std::isnan(number) ? missing
                                   : static_cast<std::int32_t>(at - attribute.cuts.begin());
  }
}

void read_one_column(const Attribute& attribute, const Table& block, std::int32_t missing,
                     std::vector<std::int32_t>& code) {
  const PartReader reader(attribute, 0, block);
  std::vector<std::int32_t> value(attribute.values.size());
  for (std::size_t v = 0; v < value.size(); ++v)
    value[to_size(reader.part_of_value(v))] = static_cast<std::int32_t>(v);
  for (std::size_t row = 0; row < code.size(); ++row) {
    const std::int32_t part = reader.read(static_cast<Index>(row));
    code[row] = part >= 0 ? value[to_size(part)] : part == kMissing ? missing : -1;
  }
}

void read_joined(const Attribute& attribute, const Table& block, std::int32_t missing,
                 std::vector<std::int32_t>& code) {
  std::vector<PartReader> readers;
  for (std::size_t c = 0; c < attribute.columns.size(); ++c)
    readers.emplace_back(attribute, c, block);
  std::vector<std::int32_t> parts(readers.size());
  std::map<std::vector<std::int32_t>, std::int32_t> value;
  for (std::size_t v = 0; v < attribute.values.size(); ++v) {
    for (std::size_t c = 0; c < parts.size(); ++c) parts[c] = readers[c].part_of_value(v);
    value.emplace(parts, static_cast<std::int32_t>(v));
  }
  for (std::size_t row = 0; row < code.size(); ++row) {
    for (std::size_t c = 0; c < parts.size(); ++c)
      parts[c] = readers[c].read(static_cast<Index>(row));
    if (std::find(parts.begin(), parts.end(), kMissing) != parts.end()) {
      code[row] = missing;
    } else {
      const auto found = value.find(parts);
      code[row] = found == value.end() ? -1 : found->second;
    }
  }
}

void read(const Attribute& attribute, const Table& block, std::int32_t missing,
          std::vector<std::int32_t>& code) {
  code.assign(to_size(block.rows()), -1);
  if (!attribute.cuts.empty()) {
    read_ranges(attribute, block, missing, code);
  } else if (attribute.columns.size() == 1) {
    read_one_column(attribute, block, missing, code);
  } else {
    read_joined(attribute, block, missing, code);
  }
}

}  // namespace

void read_codes(const Attribute& attribute, const Table& block,
                std::vector<std::int32_t>& code) {
  read(attribute, block, -1, code);
}

void read_groups(const Attribute& attribute, const Table& block,
                 std::vector<std::int32_t>& group) {
  const bool is_group = attribute.groups.size() > attribute.values.size();
  read(attribute, block, is_group ? static_cast<std::int32_t>(attribute.values.size()) : -1,
       group);
}

}  // namespace fmd
