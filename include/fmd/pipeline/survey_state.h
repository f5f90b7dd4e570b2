#pragma once

#include <map>
#include <string>
#include <vector>

#include "fmd/core/bytes.h"
#include "fmd/core/types.h"
#include "fmd/data/attribute.h"
#include "fmd/data/task.h"

namespace fmd {

// The first look at the rows of an audit: which values its attributes have, and how many
// rows. Pieces of the rows can be looked at apart, and in any order: what is kept is exact.
class SurveyState {
 public:
  SurveyState() = default;
  explicit SurveyState(const Task& task);

  // Throws Error(missing_column), and Error(bad_task) for a column that is numbers in one
  // block and texts in another; Error(unsupported) for more than 65,536 different values.
  void add(const Table& block);
  void merge(const SurveyState& other);  // throws the same; Error(bad_option): other task
  void save(ByteWriter& out) const;
  [[nodiscard]] static SurveyState load(ByteReader& in);  // throws Error(bad_model)

  // The attributes without codes, as AttributeSurvey finds them in all rows at once. Throws
  // what it throws; Error(unsupported) for quantiles of more than 1,000,000 rows, which one
  // survey of all rows takes from a sample.
  [[nodiscard]] std::vector<Attribute> attributes() const;
  [[nodiscard]] Index rows() const { return rows_; }
  [[nodiscard]] std::string id() const;  // the same for the same rows

 private:
  // The different cells of one attribute's columns, with their numbers of rows.
  struct Values {
    AttributeSpec spec;
    std::vector<ColumnKind> kinds;  // of its columns; empty before the first row
    std::map<std::vector<std::string>, Index> texts;
    std::map<double, Index> numbers;  // of one column of numbers
    Index missing = 0;
  };
  void add(const Table& block, Values& values) const;
  void require_few(const Values& values) const;
  [[nodiscard]] Attribute attribute(const Values& values) const;

  std::vector<Values> values_;
  Index rows_ = 0;
};

}  // namespace fmd
