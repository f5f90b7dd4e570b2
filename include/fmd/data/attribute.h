#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fmd/data/table.h"
#include "fmd/data/task.h"

namespace fmd {

namespace internal {
class MirrorSurvey;
}

// One cell of a row: a category's text or a number.
struct Cell {
  std::string text;
  double number = 0;
};

// A column from which the attribute's value can be told: for at least 99 % of the rows of
// every value with 10 rows or more.
struct Mirror {
  std::string column;
  Index exceptions = 0;  // rows for which it tells another value
  bool flipped = false;  // one of its values belongs to each value: it is set with it
};

// An attribute's value for every row of a table, and what each value means in the columns
// that carry it. Values are ordered by their number of rows, the largest first (ties by
// text), so value 0 is the largest group. Ranges of a number are in ascending order.
struct Attribute {
  std::string name;
  std::vector<std::string> columns;
  std::vector<std::string> values;       // for several columns joined by " / "
  std::vector<std::vector<Cell>> cells;  // [value][column]; none for ranges of a number
  std::vector<double> cuts;  // ranges of a number: value k has cuts[k-1] <= x < cuts[k]
  std::vector<std::int32_t> code;  // per row; -1 = missing or not among the values
  std::int32_t reference = -1;     // value that the others are compared against; -1 = none
  bool whole_numbers = false;  // its values are the different numbers of a number column
  // The first `own` columns tell the value (0 = all). The others mirror it, and are set
  // with it.
  std::size_t own = 0;
  std::vector<Mirror> mirrors;  // columns that determine it
  std::vector<bool>
      unseen;          // values that the model does not know, not flipped; empty = none
  Index odd_rows = 0;  // one-hot columns: none or several are set

  // The groups that are compared: the values and, where rows lack the attribute,
  // kMissingGroup as the last one. That is a group of people, but not a value to flip to or
  // from. Audits and scans compare it; flips, repairs and explanations leave it out.
  std::vector<std::string> groups;
  std::vector<std::int32_t> group;  // per row, into groups; -1 = not among the values
  Index missing = 0;                // rows that lack it

  [[nodiscard]] std::vector<Index> counts() const;  // rows per value
  // A range has no single value that a row could be flipped to.
  [[nodiscard]] bool flips() const { return cuts.empty(); }
};

inline constexpr const char* kMissingGroup = "(missing)";

// Finds the values of an attribute in a first pass over the rows, block after block.
// spec.values names the values to use; a value that no row has is allowed (count 0).
// spec.quantiles or spec.cuts divides a number column into ranges. Without these a category
// column gives all its values (at most 256). A number column with at most 20 different
// whole numbers gives these; with others it is an error that names the three options,
// because nobody can guess which numbers are groups.
class AttributeSurvey {
 public:
  // `inputs`: columns that a model reads. Those that determine the attribute are its
  // mirrors.
  explicit AttributeSurvey(AttributeSpec spec, std::uint64_t seed = 1,
                           std::vector<std::string> inputs = {});

  // Takes the blocks of one table, in order. Throws Error(missing_column) and
  // Error(bad_task: a value or a column that is not possible).
  void add(const Table& block);

  // The attribute without codes. A quantile cuts at a number that rows have, where equal
  // numbers begin or end, as near to equal shares as these numbers allow. Fewer different
  // numbers than quantiles give fewer ranges. Quantiles are exact up to 1,000,000 rows;
  // beyond that they are those of 1,000,000 rows drawn by the seed. Throws Error(bad_task:
  // reference is not a value) and Error(bad_data: fewer than two values, or no row has one
  // of them).
  [[nodiscard]] Attribute finish() const;

 private:
  void begin(const Table& block);
  void add_numbers(const Column& column);
  void add_named(const Table& block);
  void add_found(const Table& block);
  void add_whole_numbers(const Table& block, const Column& column);
  [[nodiscard]] Attribute quantiles() const;

  AttributeSpec spec_;
  std::uint64_t seed_;
  bool begun_ = false;
  std::string source_;
  Attribute named_;          // of the values or cuts that the spec names
  std::vector<Index> rows_;  // of each of them
  struct Found {
    std::vector<Cell> cells;
    Index rows = 0;
  };
  std::map<std::string, Found> found_;  // without named values: what the rows have
  std::vector<double> numbers_;         // of a number column, or a sample of them
  Index numbers_seen_ = 0;
  bool whole_numbers_ = false;
  Index odd_rows_ = 0;
  std::shared_ptr<internal::MirrorSurvey> mirrors_;
  Index missing_ = 0;
};

// Codes of a block's rows. Costs one look-up per level of a category, not per row.
void read_codes(const Attribute& attribute, const Table& block,
                std::vector<std::int32_t>& code);
// The same into attribute.groups.
void read_groups(const Attribute& attribute, const Table& block,
                 std::vector<std::int32_t>& group);

// Survey and codes of a whole table. Throws what AttributeSurvey throws.
[[nodiscard]] Attribute read_attribute(const Table& table, const AttributeSpec& spec,
                                       const std::vector<std::string>& inputs = {});

// What was found, left out or taken for something, in words: one sentence each.
[[nodiscard]] std::vector<std::string> notes_of(const Attribute& attribute);

// The table with the columns of `groups` (a second file) added. Rows are joined by the key
// column that both have; only columns that the table does not have are added. Rows of
// groups that no row of the table asks for are left out. Throws Error(bad_data) for a key
// that is missing in groups, or that appears there twice; the message names both lines.
[[nodiscard]] Table join_groups(const Table& table, const Table& groups,
                                const std::string& key);

}  // namespace fmd
