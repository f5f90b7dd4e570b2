#include "pipeline/study_parts.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/index.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/core/hash.h"
#include "fmd/data/row_overlap.h"
#include "fmd/formats/features_file.h"
#include "fmd/formats/model_file.h"
#include "fmd/pipeline/read.h"
#include "pipeline/score_files.h"

namespace fmd::internal {

CsvOptions table_options(const Model& model, const Task& task) {
  CsvOptions options = csv_options(task);
  for (const auto& [column, kind] : model.backbone->inputs().types())
    options.types[column] = kind;
  for (const auto& [column, notation] : model.backbone->inputs().notations())
    options.notations[column] = notation;
  return options;
}

void refuse_features(const std::string& name) {
  if (!is_features_file(InputFile::open(name)->first(64))) return;
  throw Error(ErrorKind::unsupported,
              fmt::format("{}: this is a file of features, a table is needed here", name),
              "predict, audit (by flips) and explain take it; give others the table that "
              "it was made from");
}

std::vector<std::string> attribute_columns(const Task& task) {
  std::vector<std::string> names;
  for (const AttributeSpec& spec : task.attributes) {
    if (spec.columns.empty() && spec.one_hot.empty()) names.push_back(spec.name);
    names.insert(names.end(), spec.one_hot.begin(), spec.one_hot.end());
    names.insert(names.end(), spec.columns.begin(), spec.columns.end());
  }
  return names;
}

bool has_labels(const Table& table, const Task& task, bool needed) {
  if (needed) static_cast<void>(table.column(task.label));
  return !task.label.empty() && table.find(task.label) != nullptr;
}

void require_labels(const Study& study, const std::string& hint) {
  const auto unknown = std::find(study.y.begin(), study.y.end(), -1);
  if (unknown == study.y.end()) return;
  throw Error(
      ErrorKind::bad_value,
      fmt::format("{}: the label is missing", study.where(unknown - study.y.begin())),
      hint);
}

double twin_share(const std::vector<std::uint64_t>& hashes) {
  return count_twins(hashes).share();
}

std::vector<std::uint64_t> study_hashes(const Study& study,
                                        const std::vector<std::string>& columns) {
  return study.hashed_columns == columns ? study.row_hashes
                                         : row_hashes(study.table, columns);
}

std::vector<std::uint64_t> fingerprints(const Model& model, const Study& study) {
  const std::vector<std::string> columns = model.hashed_columns();
  if (study.y.empty() || study.table.columns.empty() || !study.table.tensors.empty() ||
      columns.size() < 2)
    return {};
  return sorted_hashes(study_hashes(study, columns));
}

Study study_of(const Model& model, Table table, const Task& task, bool need_labels,
               const std::vector<Attribute>& attributes, const Exec& exec) {
  Study study;
  study.table = std::move(table);
  study.source = study.table.source;
  if (has_labels(study.table, task, need_labels)) study.y = labels(study.table, task);
  study.X = model.backbone->features(study.inputs(), {}, exec);
  study.missing_numbers = model.backbone->inputs().missing_numbers(study.table);
  study.unseen = model.backbone->inputs().unseen(study.table);
  if (task.unseen == Unseen::error && !study.unseen.empty() &&
      model.backbone->kept().columns() != nullptr)
    throw Error(ErrorKind::unknown_category,
                fmt::format("{}, column \"{}\": {} cells have a category that training has "
                            "not seen",
                            study.source, study.unseen.begin()->first,
                            study.unseen.begin()->second),
                "correct these cells, or leave --unseen error out");
  for (const Attribute& known : attributes) {
    Attribute& a = study.attributes.emplace_back(known);
    read_codes(a, study.table, a.code);
    read_groups(a, study.table, a.group);
    study.reads.push_back(reads_of(model, a));
  }
  // Fingerprints are over the label too: without labels there is nothing to compare.
  if (!model.note.row_hashes.empty() && !study.y.empty()) {
    study.hashed_columns = model.hashed_columns();
    study.row_hashes = row_hashes(study.table, study.hashed_columns);
    study.seen = overlap(study.row_hashes, model.note.row_hashes);
    study.trained_on = std::ssize(model.note.row_hashes);
  }
  return study;
}

Reads reads_of(const Model& model, const Attribute& attribute) {
  if (scores_of(model) != nullptr) return Reads::unknown;
  return model.backbone->inputs().reads(attribute) ? Reads::yes : Reads::no;
}

ModelName name_of(const ModelSource& source) {
  const auto* file = dynamic_cast<const ModelFile*>(&source);
  if (file == nullptr) return {};
  return {file->path().string(), file->path().filename().string(),
          hex(sha256(file->bytes()))};
}

namespace {

constexpr Index kMostKept = Index{1} << 30;  // bytes of flipped features

Index bytes_of(const Features& X, const Backbone& backbone) {
  const Index entries = backbone.sparsity().entries;
  return X.rows() * (entries > 0 ? 8 * entries : 4 * X.cols());
}

}  // namespace

const Features* Flips::stored(Index attribute) const {
  return attribute < 0 || attribute >= std::ssize(stored_) ? nullptr
                                                           : stored_[at(attribute)].get();
}

std::shared_ptr<const StudyPairs> Flips::made(const Model& model, std::size_t attribute) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const StudyPairs> found;
  for (const Made& one : made_) {
    if (one.pairs->attribute != attribute) continue;
    if (one.backbone == model.backbone) return one.pairs;
    if (!found && one.backbone->hash() == model.backbone->hash()) found = one.pairs;
  }
  if (found) made_.push_back({model.backbone, found});
  return found;
}

void Flips::keep(const Model& model, const StudyPairs& pairs) {
  if (!stored_.empty() || bytes_of(*pairs.cbar, *model.backbone) > kMostKept) return;
  const std::lock_guard lock(mutex_);
  made_.push_back({model.backbone, std::make_shared<const StudyPairs>(pairs)});
}

std::unique_ptr<Features> flipped_features(const Model& model, const Study& study,
                                           const Attribute& attribute, const PairPlan& plan,
                                           const Exec& exec) {
  const Features* stored =
      study.flips ? study.flips->stored(study.find(attribute.name)) : nullptr;
  if (stored != nullptr) {
    std::vector<Index> kept;
    for (std::size_t i = 0; i < plan.row.size(); ++i)
      kept.push_back(
          flip_row(plan.row[i], plan.from[i], plan.to[i], std::ssize(attribute.values)));
    FeaturePatch nothing;  // they are flipped already
    nothing.entries.resize(attribute.values.size());
    return model.backbone->of_kept(make_patched(*stored, kept, nothing, plan.to), exec);
  }
  const Inputs inputs = study.inputs();
  const bool rows = !study.table.columns.empty();
  return model.backbone->flipped(rows ? &inputs : nullptr, *study.X, attribute, plan, exec);
}

void for_each_flips(const Model& model, const Study& study, std::size_t attribute,
                    const Exec& exec, const std::function<void(const StudyPairs&)>& use) {
  const std::vector<std::int32_t>& code = study.attributes[attribute].code;
  std::vector<Index> rows;
  const auto flip = [&] {
    if (!rows.empty()) use(make_flip_pairs(model, study, attribute, rows, exec));
    rows.clear();
  };
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code[i] >= 0) rows.push_back(static_cast<Index>(i));
    if (std::ssize(rows) == kFlippedRows) flip();
  }
  flip();
}

std::vector<float> audit_weights(const Table& table, const Task& task) {
  require_weight(task);
  return row_weights(table, task.weight);
}

void require_weight(const Task& task) {
  if (!task.weight.empty()) return;
  throw Error(ErrorKind::bad_option,
              "audit: --weighted needs a column of weights, and none is named",
              "name it with --weight COLUMN");
}

Attribute known_to(const Model& model, Attribute attribute, const Exec& exec) {
  model.backbone->inputs().mark_unseen(attribute);
  for (const std::string& note : notes_of(attribute)) exec.note(note);
  return attribute;
}

void note_unseen(const std::string& source, const std::map<std::string, Index>& cells,
                 const Exec& exec) {
  for (const auto& [column, count] : cells)
    exec.note(
        fmt::format("{}: {} cell{} of {} {} a category that training has not seen; {} "
                    "counted as none of those that it has seen",
                    source, count, count == 1 ? "" : "s", column,
                    count == 1 ? "has" : "have", count == 1 ? "it is" : "they are"));
}

}  // namespace fmd::internal
