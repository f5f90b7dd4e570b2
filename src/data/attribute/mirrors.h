#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/internal.h"
#include "fmd/data/attribute.h"

namespace fmd::internal {

// Finds the columns that determine an attribute, while its rows are surveyed. Columns with
// more than 20 values are no mirrors.
class MirrorSurvey {
 public:
  explicit MirrorSurvey(std::vector<std::string> inputs) : inputs_(std::move(inputs)) {}

  // `own` are the columns that carry the attribute.
  void add(const Table& block, const std::vector<std::string>& own);

  // Adds the mirrors to the attribute, whose values and cells are known. Those that have
  // one value for each of its values become columns that are set with it.
  void finish(Attribute& attribute) const;

 private:
  // Numbers for the texts of a column, across blocks.
  struct Texts {
    std::map<std::string, std::int32_t> of_text;
    std::unordered_map<double, std::int32_t> of_number;
    std::vector<Cell> cells;
    bool open = true;  // not too many
  };
  struct Candidate {
    std::string column;
    Texts texts;
    std::map<std::pair<std::int32_t, std::int32_t>, Index> rows;  // [value, text]
  };

  static std::int32_t number_of(Texts& texts, const Cell& cell, std::size_t most);
  static std::vector<std::int32_t> read(const Column& column, Texts& texts,
                                        std::size_t most);
  void count(const Table& block, const std::vector<std::int32_t>& value, Candidate& one);

  std::vector<std::string> inputs_;
  bool begun_ = false;
  std::vector<Texts> own_;  // of each of the attribute's columns
  std::map<std::vector<std::int32_t>, std::int32_t> values_;
  std::vector<Candidate> candidates_;
};

}  // namespace fmd::internal
