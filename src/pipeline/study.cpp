#include "fmd/pipeline/study.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "fmd/core/error.h"
#include "fmd/data/row_overlap.h"
#include "fmd/metrics/head_scores.h"
#include "metrics/scores/head_scores.h"
#include "pipeline/study_parts.h"

namespace fmd {
namespace {

std::span<const Index> all_or(std::span<const Index> rows, Index count,
                              std::vector<Index>& all) {
  if (!rows.empty()) return rows;
  all.resize(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), Index{0});
  return all;
}

void take_labels(const Study& study, StudyPairs& pairs) {
  if (study.y.empty()) return;
  pairs.y.reserve(pairs.row.size());
  for (const Index row : pairs.row)
    pairs.y.push_back(study.y[static_cast<std::size_t>(row)]);
}

}  // namespace

bool Study::used_in_training() const {
  return beyond_chance(seen, seen_by_chance, size(), trained_on);
}

std::string Study::where(Index row) const {
  return table.columns.empty() ? fmt::format("{}, row {}", source, first + row + 1)
                               : table.where(row);
}

Rows Study::rows(std::span<const Index> subset) const {
  return {.X = X.get(), .y = y, .weight = {}, .subset = subset};
}

Rows Study::training_rows(std::span<const Index> subset) const {
  Rows view = rows(subset);
  view.weight = weight;
  return view;
}

Index Study::find(const std::string& attribute) const {
  for (std::size_t a = 0; a < attributes.size(); ++a)
    if (attributes[a].name == attribute) return static_cast<Index>(a);
  return -1;
}

std::vector<float> row_weights(const Table& table, const std::string& name) {
  if (name.empty()) return {};
  const Column& column = table.column(name);
  std::vector<float> weight;
  for (Index row = 0; row < table.rows(); ++row) {
    const double w = column.kind == ColumnKind::number
                         ? column.numbers[static_cast<std::size_t>(row)]
                         : kUndefined;
    if (!(w >= 0) || !std::isfinite(w)) {
      throw Error(ErrorKind::bad_value,
                  fmt::format("{}, column \"{}\": \"{}\" is not a weight", table.where(row),
                              name, column.text(row)),
                  "weights are numbers >= 0");
    }
    weight.push_back(static_cast<float>(w));
  }
  return weight;
}

Study make_study(const Model& model, Table table, const Task& task, bool need_labels,
                 const Exec& exec) {
  std::vector<Attribute> attributes;
  for (const AttributeSpec& spec : task.attributes) {
    AttributeSurvey survey(spec, exec.seed, model.backbone->inputs().names());
    survey.add(table);
    attributes.push_back(known_to(model, survey.finish(), exec));
  }
  Study study = study_of(model, std::move(table), task, need_labels, attributes, exec);
  note_unseen(study.source, study.unseen, exec);
  study.flips = std::make_shared<Flips>();
  if (study.seen >= 0)
    study.seen_by_chance =
        twin_share(model.note.row_hashes) * static_cast<double>(study.size());
  return study;
}

PairSet StudyPairs::set(const Study& study) const {
  return {.c = study.rows(row),
          .cbar = {.X = cbar.get(), .y = y, .weight = {}, .subset = {}},
          .unit = row,
          .weight = weight,
          .from = from,
          .to = to,
          .attribute = study.attributes[attribute].name};
}

StudyPairs make_flip_pairs(const Model& model, const Study& study, std::size_t attribute,
                           std::span<const Index> rows, const Exec& exec) {
  const Attribute& a = study.attributes[attribute];
  if (!model.backbone->inputs().reads(a)) {
    throw Error(
        ErrorKind::attribute_not_read,
        fmt::format("the model does not read {}: changing it changes no answer", a.name),
        "only group differences (fmd audit) can be measured for it; to repair a column "
        "that the model reads, name that column with --attribute");
  }
  const bool kept = rows.empty() && study.flips != nullptr;
  if (kept)
    if (const auto made = study.flips->made(model, attribute)) return *made;
  PairPlan plan = flip_plan(a, rows);
  if (plan.size() == 0) {
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: no row has a known value of {}", study.source, a.name),
                "check the attribute's `values`");
  }
  StudyPairs pairs;
  pairs.attribute = attribute;
  pairs.cbar = flipped_features(model, study, a, plan, exec);
  pairs.row = std::move(plan.row);
  pairs.from = std::move(plan.from);
  pairs.to = std::move(plan.to);
  pairs.weight = std::move(plan.weight);
  take_labels(study, pairs);
  if (kept) study.flips->keep(model, pairs);
  return pairs;
}

namespace {

// Rows of the study whose other side is given, and its features.
StudyPairs given_pairs(const Study& study, std::size_t attribute,
                       std::span<const Index> rows, const Backbone& backbone,
                       const Table& table, const Exec& exec) {
  StudyPairs pairs;
  pairs.attribute = attribute;
  pairs.kind = PairKind::given;
  std::vector<Index> all;
  const std::span<const Index> wanted = all_or(rows, study.size(), all);
  pairs.row.assign(wanted.begin(), wanted.end());
  std::sort(pairs.row.begin(), pairs.row.end());
  pairs.weight.assign(pairs.row.size(), 1.0F);
  pairs.cbar = backbone.features(table, pairs.row, exec);
  take_labels(study, pairs);
  return pairs;
}

}  // namespace

StudyPairs make_image_pairs(const Model& model, const Study& study, std::size_t attribute,
                            const PairsText& how, std::span<const Index> rows,
                            const Exec& exec) {
  const std::vector<std::string>& files = model.backbone->inputs().files;
  const std::string& name = study.attributes[attribute].name;
  if (files.size() != 1)
    throw Error(ErrorKind::unsupported,
                fmt::format("{}: its pairs are images, and the model reads {} of them",
                            name, files.size()),
                "give the pairs as rows of a file: --pairs given:FILE --id COLUMN");
  if (how.by == GivenBy::images) {
    const auto other = model.backbone->on_pair_images();
    if (other == nullptr)
      throw Error(ErrorKind::bad_option,
                  fmt::format("{}: nothing says where the images of its pairs are", name),
                  "name the folder or the tar file: --pair-images DIR");
    return given_pairs(study, attribute, rows, *other, study.table, exec);
  }
  const Column& partner = study.table.column(how.detail);
  Table table = study.table;
  for (Column& column : table.columns)
    if (column.name == files.front()) {
      column = partner;
      column.name = files.front();
    }
  return given_pairs(study, attribute, rows, *model.backbone, table, exec);
}

StudyPairs make_given_pairs(const Model& model, const Study& study, std::size_t attribute,
                            const Table& given, const std::string& id,
                            std::span<const Index> rows, const Exec& exec) {
  const GivenPairs joined = join_pairs(study.table, given, id);
  std::vector<Index> all;
  const std::span<const Index> wanted = all_or(rows, study.size(), all);
  const std::vector<Index> wanted_sorted = [&] {
    std::vector<Index> sorted(wanted.begin(), wanted.end());
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }();
  StudyPairs pairs;
  pairs.attribute = attribute;
  pairs.kind = PairKind::given;
  std::vector<Index> other;
  for (std::size_t i = 0; i < joined.row.size(); ++i) {
    if (!std::binary_search(wanted_sorted.begin(), wanted_sorted.end(), joined.row[i]))
      continue;
    pairs.row.push_back(joined.row[i]);
    other.push_back(joined.other[i]);
  }
  if (pairs.row.empty()) {
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: no row of {} has a partner in this file by {}",
                            given.source, study.source, id),
                "both files need the same ids");
  }
  pairs.weight.assign(pairs.row.size(), 1.0F);
  pairs.cbar = model.backbone->features(given, other, exec);
  take_labels(study, pairs);
  return pairs;
}

namespace {

// Weights or features that are too large give no number. `row_of` is the study's row of a
// row of p.
template <typename RowOf>
void require_scores(const Study& study, const Matrix& p, const RowOf& row_of) {
  if (p.allFinite()) return;
  Index i = 0;
  while (p.row(i).allFinite()) ++i;
  throw Error(
      ErrorKind::bad_value,
      fmt::format("{}: the model's score of this row is not a number",
                  study.where(row_of(i))),
      "look for numbers that are too large: in this row, or in the model's weights");
}

}  // namespace

Scored score(const Model& model, const Study& study, std::span<const Index> rows,
             const Exec& exec) {
  Scored scored = score_rows(*model.head, model.theta, study.rows(rows),
                             model.task.threshold, model.task.favorable_class(), exec);
  require_scores(study, scored.p, [&](Index i) {
    return rows.empty() ? i : rows[static_cast<std::size_t>(i)];
  });
  return scored;
}

PairScores score_pairs(const Model& model, const Study& study, const StudyPairs& pairs,
                       const Exec& exec) {
  PairScores scores =
      score_pairs(*model.head, model.theta, pairs.set(study), model.task.threshold, exec);
  const auto row_of = [&](Index i) { return pairs.row[static_cast<std::size_t>(i)]; };
  require_scores(study, scores.p, row_of);
  require_scores(study, scores.pbar, row_of);
  return scores;
}

}  // namespace fmd

namespace fmd::internal {

void score_pairs_of_each(std::span<const Model* const> models, const Study& study,
                         const StudyPairs& pairs, const Exec& exec,
                         const std::function<void(std::size_t, const PairScores&)>& use) {
  const auto row_of = [&](Index i) { return pairs.row[static_cast<std::size_t>(i)]; };
  const PairSet set = pairs.set(study);
  std::vector<bool> done(models.size(), false);
  for (std::size_t first = 0; first < models.size(); ++first) {
    if (done[first]) continue;
    const Model& head_of = *models[first];
    std::vector<const Vector*> thetas;
    std::vector<std::size_t> place;
    for (std::size_t k = first; k < models.size(); ++k) {
      if (models[k]->head != head_of.head ||
          models[k]->task.threshold != head_of.task.threshold)
        continue;
      thetas.push_back(&models[k]->theta);
      place.push_back(k);
      done[k] = true;
    }
    score_pairs_of_each(*head_of.head, thetas, set, head_of.task.threshold, exec,
                        [&](std::size_t k, const PairScores& scores) {
                          require_scores(study, scores.p, row_of);
                          require_scores(study, scores.pbar, row_of);
                          use(place[k], scores);
                        });
  }
}

}  // namespace fmd::internal
