#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/data/attribute.h"
#include "fmd/data/table.h"
#include "fmd/metrics/counterfactual.h"
#include "fmd/metrics/scored.h"
#include "fmd/model/model.h"
#include "fmd/report/audit_report.h"

namespace fmd {

namespace internal {
class Flips;
}

// A table as a model sees it: features, labels, attributes and flipped rows. They are
// computed once and scored many times.
struct Study {
  Table table;         // without columns when it comes from a file of features
  std::string source;  // name of the file, for messages and reports
  std::string sha256;  // of the file; empty for tables that come from no file
  Index first = 0;     // number of the first row, where this is a part of a larger one
  std::unique_ptr<Features> X;
  std::vector<std::int32_t> y;  // empty: the table has no label column
  std::vector<float> weight;    // in the training objective; empty = 1. make_study reads
                                // none: in figures every row counts the same
  std::vector<Attribute> attributes;
  std::vector<Reads> reads;   // per attribute
  Index seen = -1;            // rows that equal a training row; -1 = not known
  double seen_by_chance = 0;  // expected number if none was used: see make_study
  Index trained_on = 0;       // rows that the model was trained on; 0 = not known
  Index missing_numbers = 0;
  std::map<std::string, Index> unseen = {};  // cells with unseen categories, by column
  // Flipped features of all rows: those of a file of features, and those that
  // make_flip_pairs() made. Null: none are kept.
  std::shared_ptr<internal::Flips> flips = {};
  // Of each row over these columns, where it was compared with training rows.
  std::vector<std::uint64_t> row_hashes = {};
  std::vector<std::string> hashed_columns = {};

  [[nodiscard]] Index size() const { return X->rows(); }
  [[nodiscard]] Inputs inputs() const { return table; }
  [[nodiscard]] std::string where(Index row) const;  // "repair.csv, line 17"
  [[nodiscard]] Rows rows(std::span<const Index> subset = {}) const;
  // The same with the weights that they have in the training objective F.
  [[nodiscard]] Rows training_rows(std::span<const Index> subset = {}) const;
  [[nodiscard]] Index find(const std::string& attribute) const;  // -1: none
  // More rows equal a training row than chance explains.
  [[nodiscard]] bool used_in_training() const;
};

// The weights in a column; empty when no column is named. Throws Error(missing_column,
// bad_value: not a number >= 0).
[[nodiscard]] std::vector<float> row_weights(const Table& table, const std::string& column);

// Different persons can have equal rows. A training row that equals another training row
// does so by chance. The share of such training rows tells how many of these rows would
// equal one by chance. Throws whatever reading, encoding and joining throw, and
// Error(missing_column) for an attribute that the table does not have. need_labels: a
// missing label column is an error too.
[[nodiscard]] Study make_study(const Model& model, Table table, const Task& task,
                               bool need_labels, const Exec& exec);

// Both sides of one attribute's pairs, through the backbone.
struct StudyPairs {
  std::size_t attribute = 0;
  // Of match only the attribute is set: its repair fits rows, and its audit takes the pairs
  // of match_plan.h.
  PairKind kind = PairKind::flip;
  std::vector<Index> row;              // source row of each pair
  std::vector<std::int32_t> from, to;  // empty for given pairs
  std::vector<float> weight;
  std::shared_ptr<const Features> cbar;
  std::vector<std::int32_t> y;  // per pair: c's label

  [[nodiscard]] Index size() const { return static_cast<Index>(row.size()); }
  [[nodiscard]] PairSet set(const Study& study) const;
};

// Flip pairs of the given rows (all when empty). Those of all rows are made once for each
// attribute and shared by all models whose backbones have one hash, unless they take more
// than 1 GB: PairSlices makes those slice by slice. Throws Error(attribute_not_read),
// Error(bad_data) when no row has the attribute.
[[nodiscard]] StudyPairs make_flip_pairs(const Model& model, const Study& study,
                                         std::size_t attribute, std::span<const Index> rows,
                                         const Exec& exec = {});
// Pairs of the study's rows with other images: those that a column names, or those of the
// same names in InputFiles::pair_images. Throws Error(unsupported) for models that do not
// read one image.
[[nodiscard]] StudyPairs make_image_pairs(const Model& model, const Study& study,
                                          std::size_t attribute, const PairsText& how,
                                          std::span<const Index> rows, const Exec& exec);
// Pairs of the study's rows with the rows of another table that have the same id.
[[nodiscard]] StudyPairs make_given_pairs(const Model& model, const Study& study,
                                          std::size_t attribute, const Table& given,
                                          const std::string& id,
                                          std::span<const Index> rows, const Exec& exec);

// Both throw Error(bad_value) that names the file and the row of a score that is not a
// number.
[[nodiscard]] Scored score(const Model& model, const Study& study,
                           std::span<const Index> rows, const Exec& exec);
[[nodiscard]] PairScores score_pairs(const Model& model, const Study& study,
                                     const StudyPairs& pairs, const Exec& exec);

}  // namespace fmd
