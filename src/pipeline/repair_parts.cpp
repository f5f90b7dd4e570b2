#include "pipeline/repair_parts.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/core/hash.h"
#include "fmd/data/split.h"
#include "fmd/pipeline/read.h"
#include "pipeline/repair_cut.h"
#include "pipeline/study_parts.h"

namespace fmd::internal {
namespace {

constexpr const char* kDebiasLabels =
    "debias needs labelled rows: accuracy is part of the choice";

// The attributes to repair: the named ones, or all that the model reads or that are
// matched.
std::vector<std::size_t> repair_list(const Study& study, const Task& task,
                                     const DebiasOptions& options) {
  std::vector<std::size_t> list;
  for (const std::string& name : options.repair) {
    const Index a = study.find(name);
    if (a < 0) {
      throw Error(ErrorKind::bad_option,
                  fmt::format("debias: {} is not an attribute of the task", name),
                  "name it with --attribute or in task.toml");
    }
    list.push_back(static_cast<std::size_t>(a));
  }
  if (!options.repair.empty()) return list;
  for (std::size_t a = 0; a < study.attributes.size(); ++a)
    if ((study.reads[a] == Reads::yes && study.attributes[a].flips()) ||
        is_match(task.attributes[a]))
      list.push_back(a);
  if (list.empty()) {
    throw Error(ErrorKind::attribute_not_read,
                study.attributes.empty() ? "debias: no attribute is named"
                                         : "the model reads none of the task's attributes",
                "name the attribute to repair: --attribute COLUMN");
  }
  return list;
}

void require_rows(const Study& study, const std::vector<Index>& rows) {
  if (std::ssize(rows) >= kFewestRows) return;
  throw Error(ErrorKind::bad_data,
              fmt::format("{}: {} rows are too few to edit and to choose on", study.source,
                          rows.size()),
              fmt::format("give at least {} labelled rows to each part", kFewestRows));
}

StudyPart make_part(const Model& model, const Study& study, const Task& task,
                    std::vector<Index> rows, const std::vector<std::size_t>& repaired,
                    const Exec& exec) {
  StudyPart part{.study = &study, .rows = std::move(rows), .pairs = {}};
  require_rows(study, part.rows);
  // Those of all rows are kept, and audits use them again.
  const bool whole = std::ssize(part.rows) == study.size();
  auto all =
      make_pairs(model, study, task, whole ? std::span<const Index>{} : part.rows, exec);
  for (const std::size_t a : repaired) {
    if (is_match(task.attributes[a])) {  // rows are fitted here: no pair is scored
      StudyPairs none;
      none.attribute = a;
      none.kind = PairKind::match;
      part.pairs.push_back(std::move(none));
      continue;
    }
    if (!all[a]) (void)make_flip_pairs(model, study, a, part.rows);  // throws the reason
    part.pairs.push_back(std::move(all[a].value()));
  }
  return part;
}

std::vector<Index> all_rows(const Study& study) {
  std::vector<Index> rows(static_cast<std::size_t>(study.size()));
  std::iota(rows.begin(), rows.end(), Index{0});
  return rows;
}

std::vector<Part> fold_shares(Index folds) {
  std::vector<Part> shares;
  for (Index k = 0; k < folds; ++k)
    shares.push_back({fmt::format("fold {}", k), 1 / static_cast<double>(folds)});
  return shares;
}

// Edit and hold-out rows, or folds: stratified by label and the first repaired attribute.
// Every row is in one of them.
std::vector<std::vector<Index>> split_study(const Study& study, std::size_t attribute,
                                            const std::vector<Part>& parts,
                                            std::uint64_t seed) {
  const Attribute& a = study.attributes[attribute];
  const auto values = static_cast<std::int32_t>(a.values.size()) + 1;
  std::vector<std::int32_t> stratum;
  for (std::size_t i = 0; i < study.y.size(); ++i)
    stratum.push_back(study.y[i] * values + a.code[i] + 1);
  return split_rows(stratum, parts, seed);
}

// Rows of the training table and their flips, with the rows' weights.
KeptPairs flips_of(const Model& model, const Study& train,
                   const std::vector<std::size_t>& repaired, std::span<const Index> rows,
                   const Exec& exec) {
  auto all = make_pairs(model, train, model.task, rows, exec);
  auto own = std::make_shared<std::vector<StudyPairs>>();
  for (const std::size_t a : repaired) own->push_back(std::move(all[a].value()));
  KeptPairs kept;
  for (const StudyPairs& pairs : *own) {
    kept.sets.push_back(pairs.set(train));
    for (std::size_t i = 0; i < pairs.row.size() && !train.weight.empty(); ++i)
      kept.sets.back().weight[i] *= train.weight[static_cast<std::size_t>(pairs.row[i])];
  }
  kept.owner = std::move(own);
  return kept;
}

}  // namespace

HeadPart StudyPart::view() const {
  HeadPart part{.source = study->source, .rows = study->rows(rows)};
  for (const StudyPairs& p : pairs)
    part.pairs.push_back(p.kind == PairKind::match ? PairSet{} : p.set(*study));
  for (const Attribute& attribute : study->attributes)
    part.attributes.push_back(
        {attribute.name, attribute.code, std::ssize(attribute.values)});
  return part;
}

HeadProblem head_problem(const Model& model, const StudyPart& edit,
                         const StudyPart* holdout, const Study* train,
                         const std::vector<std::size_t>& repaired) {
  HeadProblem problem;
  problem.head = model.head.get();
  problem.theta = model.theta;
  problem.l2 = model.note.l2;
  problem.threshold = model.task.threshold;
  problem.favorable = model.task.favorable_class();
  problem.min_group = model.task.min_group;
  if (head_on_columns(model)) problem.attribute_features.emplace();
  for (const std::size_t a : repaired) {
    problem.repaired.push_back({a, pairs_of(model.task.attributes[a]).kind});
    if (!problem.attribute_features) continue;
    for (const Index f : model.backbone->columns()->of(edit.study->attributes[a]))
      problem.attribute_features->push_back(f);
  }
  problem.touched = touched_leaves(model, *edit.study, repaired);
  problem.edit = edit.view();
  if (holdout != nullptr) problem.holdout = holdout->view();
  if (train == nullptr) return problem;
  problem.train = StudyPart{.study = train, .rows = {}, .pairs = {}}.view();
  problem.train->rows = train->training_rows();
  problem.replaced = [&model, train, repaired](std::span<const Index> rows,
                                               const Exec& exec) {
    return flips_of(model, *train, repaired, rows, exec);
  };
  return problem;
}

Study labelled_study(const Model& model, Table table, const std::string& sha256,
                     const Exec& exec) {
  Study study = make_study(model, std::move(table), model.task, true, exec);
  study.sha256 = sha256;
  require_labels(study, kDebiasLabels);
  return study;
}

RepairTables read_repair(const Model& model, const DataSource& data,
                         const DebiasOptions& options, const Exec& exec) {
  RepairTables tables;
  const auto read = [&](const DataSource& source, std::string& sha256) {
    sha256 = source.sha256();
    return read_for(model, model.task, source, exec);
  };
  tables.data = read(data, tables.data_sha256);
  if (options.holdout) tables.holdout = read(*options.holdout, tables.holdout_sha256);
  if (options.train) tables.train = read(*options.train, tables.train_sha256);
  if (options.test) tables.test = read(*options.test, tables.test_sha256);
  return tables;
}

RepairParts::RepairParts(const Model& model, RepairTables tables,
                         const DebiasOptions& options, const Exec& exec) {
  const auto study = [&](Table& table, const std::string& sha256) {
    return labelled_study(model, std::move(table), sha256, exec);
  };
  data = study(tables.data, tables.data_sha256);
  if (tables.holdout) own_holdout = study(*tables.holdout, tables.holdout_sha256);
  if (tables.train) {
    train = study(*tables.train, tables.train_sha256);
    train->weight = row_weights(train->table, model.task.weight);
  }
  if (tables.test) test = study(*tables.test, tables.test_sha256);
  repaired = repair_list(data, model.task, options);
  const auto part = [&](const Study& study, std::vector<Index> rows) {
    return make_part(model, study, model.task, std::move(rows), repaired, exec);
  };
  std::vector<std::vector<Index>> folds;
  if (own_holdout) {
    edit = part(data, all_rows(data));
    holdout = part(*own_holdout, all_rows(*own_holdout));
  } else if (options.folds > 0) {
    folds = split_study(data, repaired[0], fold_shares(options.folds), exec.seed);
    for (const std::vector<Index>& fold : folds) require_rows(data, fold);
    holdout = edit = part(data, all_rows(data));
  } else {
    const std::vector<Part> shares = {{"edit", 1 - options.holdout_share},
                                      {"holdout", options.holdout_share}};
    auto rows = split_study(data, repaired[0], shares, exec.seed);
    edit = part(data, std::move(rows[0]));
    holdout = part(data, std::move(rows[1]));
  }
  problem = head_problem(model, edit, &holdout, train ? &*train : nullptr, repaired);
  problem.folds = std::move(folds);
}

const Study& RepairParts::holdout_study(const Model& model, const Exec& exec,
                                        std::optional<Study>& own) const {
  if (std::ssize(holdout.rows) == holdout.study->size()) return *holdout.study;
  return own.emplace(
      labelled_study(model, select(holdout.study->table, holdout.rows), "", exec));
}

std::vector<DataNote> RepairParts::notes(const Task& task, const GroupsFile& groups,
                                         const Exec& exec) const {
  std::vector<DataNote> notes;
  const auto add = [&](const std::string& role, const Study& s, bool split) {
    DataNote note{.role = role,
                  .name = s.source,
                  .sha256 = s.sha256,
                  .rows = s.size(),
                  .overlap = s.seen,
                  .by_chance = s.seen_by_chance,
                  .split_seed = std::nullopt,
                  .key = ""};
    if (split) note.split_seed = exec.seed;
    notes.push_back(std::move(note));
  };
  add(own_holdout ? "edit" : "edit and hold-out", data, !own_holdout);
  if (own_holdout) add("hold-out", *own_holdout, false);
  if (train) add("train", *train, false);
  if (test) add("test", *test, false);
  if (!groups.file.empty())
    notes.push_back({.role = "groups",
                     .name = groups.file,
                     .sha256 = hex(sha256_file(groups.file)),
                     .split_seed = std::nullopt,
                     .key = groups.key});
  std::vector<std::string> files;
  for (const AttributeSpec& spec : task.attributes) {
    const PairsText pairs = pairs_of(spec);
    if (pairs.kind != PairKind::given || pairs.by != GivenBy::file) continue;
    const std::string file = pairs_file(spec).string();
    if (std::find(files.begin(), files.end(), file) != files.end()) continue;
    files.push_back(file);
    notes.push_back({.role = "pairs",
                     .name = file,
                     .sha256 = hex(sha256_file(file)),
                     .split_seed = std::nullopt,
                     .key = ""});
  }
  return notes;
}

std::vector<OverlapNote> RepairParts::overlaps(const Model& model) const {
  struct Known {
    std::string role;
    std::vector<std::uint64_t> rows;
  };
  std::vector<Known> tables = {{"data", fingerprints(model, data)}};
  const auto add = [&](const char* role, const std::optional<Study>& study) {
    if (study) tables.push_back({role, fingerprints(model, *study)});
  };
  add("train", train);
  add("hold-out", own_holdout);
  add("test", test);
  std::vector<OverlapNote> notes;
  for (std::size_t k = 1; k < tables.size(); ++k)
    for (std::size_t j = 0; j < k; ++j)
      if (!tables[k].rows.empty() && !tables[j].rows.empty())
        notes.push_back(
            {tables[k].role, tables[j].role, row_overlap(tables[k].rows, tables[j].rows)});
  return notes;
}

bool RepairParts::test_seen(const std::vector<OverlapNote>& overlaps) const {
  return (test && test->used_in_training()) ||
         std::any_of(overlaps.begin(), overlaps.end(), [](const OverlapNote& note) {
           return note.role == "test" && note.rows.beyond_chance();
         });
}

bool RepairParts::choice_seen(const std::vector<OverlapNote>& overlaps) const {
  const auto shares = [](const OverlapNote& note) {
    const bool chosen_on = note.role == "hold-out" || note.other == "hold-out" ||
                           (note.role == "train" && note.other == "data");
    return chosen_on && note.role != "test" && note.rows.beyond_chance();
  };
  return data.used_in_training() || (own_holdout && own_holdout->used_in_training()) ||
         std::any_of(overlaps.begin(), overlaps.end(), shares);
}

bool RepairParts::optimistic(const std::vector<OverlapNote>& overlaps) const {
  const auto used = [](const std::optional<Study>& study) {
    return study && study->used_in_training();
  };
  return data.used_in_training() || used(own_holdout) || used(test) ||
         std::any_of(overlaps.begin(), overlaps.end(),
                     [](const OverlapNote& note) { return note.rows.beyond_chance(); });
}

}  // namespace fmd::internal
