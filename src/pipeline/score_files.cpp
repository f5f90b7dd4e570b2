#include "fmd/pipeline/score_files.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "data/number.h"
#include "fmd/core/error.h"
#include "fmd/data/table_stream.h"
#include "pipeline/score_files.h"
#include "pipeline/study_parts.h"

namespace fmd {
namespace {

// Probability columns: p_<class> for each class, or p / score of the positive one. Throws
// Error (bad_value, missing_column).
Matrix read_probabilities(const Table& table, const Task& task) {
  const Index classes = static_cast<Index>(task.classes.size());
  Matrix p(table.rows(), classes);
  const auto take = [&](const Column& column, Index row) {
    // One word among the numbers makes a column of texts. The error must name that word,
    // not a number.
    double value = kUndefined;
    if (column.kind == ColumnKind::number) {
      value = column.numbers[static_cast<std::size_t>(row)];
    } else if (parse_number(column.text(row), value) != NumberText::number) {
      value = kUndefined;
    }
    if (!(value >= 0 && value <= 1)) {
      throw Error(ErrorKind::bad_value,
                  fmt::format("{}, column \"{}\": \"{}\" is not a probability",
                              table.where(row), column.name, column.text(row)),
                  "scores are numbers from 0 to 1");
    }
    return value;
  };
  const Column* one = task.binary() ? table.find("p") : nullptr;
  if (one == nullptr && task.binary()) one = table.find("score");
  for (Index row = 0; row < table.rows(); ++row) {
    for (Index k = 0; k < classes; ++k) {
      if (one != nullptr) {
        const double positive = take(*one, row);
        p(row, k) = k == 1 ? positive : 1 - positive;
      } else {
        p(row, k) =
            take(table.column("p_" + task.classes[static_cast<std::size_t>(k)]), row);
      }
    }
    const double sum = p.row(row).sum();
    if (std::abs(sum - 1) > 1e-3) {
      throw Error(ErrorKind::bad_value,
                  fmt::format("{}: the probabilities of the classes sum to {:.6g}",
                              table.where(row), sum),
                  "give one column p_<class> per class, summing to 1");
    }
  }
  return p;
}

// A table that has only the header, for the usual error about a missing column.
Table header_of(const std::string& source, const std::vector<std::string>& names) {
  Table header;
  header.source = source;
  for (const std::string& name : names) header.columns.push_back({.name = name});
  return header;
}

void require_probabilities(const Table& header, const Task& task) {
  if (task.binary() && (header.find("p") != nullptr || header.find("score") != nullptr))
    return;
  for (const std::string& name : task.classes) (void)header.column("p_" + name);
}

// Whether the pairs come in order of their rows, attribute by attribute.
bool in_order(TableStream& pairs) {
  std::map<std::string, double> last;  // row of each attribute
  for (Table block; pairs.next(block);) {
    const Column* name = block.find("fmd_attribute");
    const Column& row = block.column("fmd_row");
    if (row.kind != ColumnKind::number) return false;
    for (Index i = 0; i < block.rows(); ++i) {
      double& before = last[name == nullptr ? "" : name->text(i)];
      const double number = row.numbers[static_cast<std::size_t>(i)];
      if (!(number >= before)) return false;
      before = number;
    }
  }
  pairs.rewind();
  return true;
}

}  // namespace

Scored read_scores(const Table& scores, const Task& task) {
  Scored scored;
  scored.p = read_probabilities(scores, task);
  scored.decision = decide(scored.p, task.threshold);
  scored.favorable = task.favorable_class();
  if (!task.label.empty() && scores.find(task.label) != nullptr)
    scored.y = labels(scores, task);
  return scored;
}

ScoresSource::ScoresSource(Task task, std::optional<DataSource> pairs,
                           std::map<std::string, ColumnKind> types) {
  const auto classes = static_cast<Index>(task.classes.size());
  model_.backbone =
      std::make_shared<const ScoresBackbone>(task, std::move(pairs), std::move(types));
  model_.head = std::make_shared<const LinearHead>(
      1, classes, LinearHeadOptions{.intercept = false, .link = Link::identity});
  model_.theta = Vector::Zero(model_.head->parameters());
  model_.task = std::move(task);
}

std::unique_ptr<ModelSource> ScoresSource::with_theta(const Vector& /*theta*/) const {
  throw Error(ErrorKind::unsupported, "scores of another program have no parameters",
              "give the model that made them");
}

ScoresSource open_scores(const DataSource& scores, std::optional<DataSource> pairs,
                         const TaskChanges& changes, const Exec& exec) {
  const TaskOverrides &file = changes.file, &flags = changes.flags;
  Task task;
  task.label = flags.label.value_or(file.label.value_or(""));
  std::map<std::string, ColumnKind> types;
  if (file.types) types = *file.types;
  if (!task.label.empty()) types[task.label] = ColumnKind::category;
  for (const std::string& text : flags.attributes.value_or(std::vector<std::string>{})) {
    const AttributeSpec spec = parse_attribute(text);
    types.emplace(spec.name,
                  spec.quantiles > 0 ? ColumnKind::number : ColumnKind::category);
  }
  const std::string positive = flags.positive.value_or(file.positive.value_or(""));
  if (!file.classes && !task.label.empty()) {
    task.classes = label_classes(label_values(scores, {.types = types}, task.label, exec),
                                 task.label, positive);
  } else if (!file.classes) {
    task.classes = {"no", positive.empty() ? "yes" : positive};
  }
  task = merge(merge(std::move(task), file), flags);
  if (task.binary() && task.favorable.empty()) task.favorable = task.classes[1];
  return ScoresSource(std::move(task), std::move(pairs), std::move(types));
}

}  // namespace fmd

namespace fmd::internal {

Table label_values(const DataSource& scores, CsvOptions csv, const std::string& label,
                   const Exec& exec) {
  csv.keep = {label};
  TableStream stream = scores.open(csv, exec);
  (void)header_of(stream.source(), stream.names()).column(label);
  Column values{.name = label, .kind = ColumnKind::category};
  std::vector<bool> used;
  for (Table block; stream.next(block);) {
    // Levels of a later block begin with those of the blocks before it.
    const Column& column = block.column(label);
    used.resize(column.levels.size(), false);
    for (const std::int32_t code : column.codes)
      if (code >= 0) used[static_cast<std::size_t>(code)] = true;
    values.levels = column.levels;
  }
  for (std::size_t level = 0; level < used.size(); ++level)
    if (used[level]) values.codes.push_back(static_cast<std::int32_t>(level));
  Table table;
  table.source = stream.source();
  table.columns.push_back(std::move(values));
  return table;
}

ScoresBackbone::ScoresBackbone(Task task, std::optional<DataSource> pairs,
                               const std::map<std::string, ColumnKind>& types)
    : task_(std::move(task)), pairs_(std::move(pairs)) {
  for (const auto& [name, kind] : types)
    schema_.columns.push_back({.name = name, .kind = kind, .levels = {}, .read = false});
}

Hash ScoresBackbone::hash() const {
  std::string text = "scores";
  for (const std::string& name : task_.classes) text += '\n' + name;
  return sha256({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

std::unique_ptr<Features> ScoresBackbone::features(const Inputs& inputs,
                                                   std::span<const Index> rows,
                                                   const Exec& /*exec*/) const {
  const Table some = rows.empty() ? Table{} : select(*inputs.table, rows);
  const Matrix p = read_probabilities(rows.empty() ? *inputs.table : some, task_);
  std::vector<float> none(static_cast<std::size_t>(p.rows()), 0);
  return make_offset(make_dense(std::move(none), p.rows(), 1),
                     {p.data(), p.data() + p.size()}, p.cols());
}

void ScoresBackbone::require_columns(const std::string& source,
                                     const std::vector<std::string>& names,
                                     const Task& task) const {
  const Table header = header_of(source, names);
  require_probabilities(header, task_);
  for (const std::string& name : attribute_columns(task)) (void)header.column(name);
}

const ScoresBackbone* scores_of(const Model& model) {
  return dynamic_cast<const ScoresBackbone*>(model.backbone.get());
}

std::vector<std::string> probability_columns(const Task& task) {
  std::vector<std::string> names = {"p", "score"};
  for (const std::string& name : task.classes) names.push_back("p_" + name);
  return names;
}

PairScoreReader::PairScoreReader(const ScoresBackbone& scores, const Attribute& attribute,
                                 Index rows, const Exec& exec)
    : task_(scores.task()), attribute_(attribute), rows_(rows) {
  CsvOptions csv = csv_options(task_);
  csv.keep = {"fmd_attribute", "fmd_row", "fmd_from", "fmd_to"};
  for (const std::string& name : probability_columns(task_)) csv.keep.push_back(name);
  csv.types["fmd_from"] = csv.types["fmd_to"] = ColumnKind::category;
  stream_.emplace(scores.pairs()->open(csv, exec));
  const Table header = header_of(stream_->source(), stream_->names());
  require_probabilities(header, task_);
  for (const char* name : {"fmd_row", "fmd_from", "fmd_to"}) (void)header.column(name);
  if (in_order(*stream_)) return;
  stream_->rewind();
  while (read_more()) continue;
  std::stable_sort(waiting_.begin(), waiting_.end(),
                   [](const Pair& a, const Pair& b) { return a.row < b.row; });
}

// The next block's pairs of this attribute. False at the end.
bool PairScoreReader::read_more() {
  Table block;
  if (!stream_->next(block)) return false;
  const auto classes = task_.classes.size();
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<Index>(taken_));
  taken_ = 0;
  std::vector<double> kept;
  for (Pair& pair : waiting_) {
    const auto from = p_.begin() + static_cast<Index>(pair.at);
    pair.at = kept.size();
    kept.insert(kept.end(), from, from + static_cast<Index>(classes));
  }
  p_ = std::move(kept);
  const Matrix pbar = read_probabilities(block, task_);
  const Column* name = block.find("fmd_attribute");
  const Column& row = block.column("fmd_row");
  std::map<std::string, std::int32_t> code;
  for (std::size_t v = 0; v < attribute_.values.size(); ++v)
    code[attribute_.values[v]] = static_cast<std::int32_t>(v);
  for (Index i = 0; i < block.rows(); ++i) {
    if (name != nullptr && name->text(i) != attribute_.name) continue;
    const double number = row.kind == ColumnKind::number
                              ? row.numbers[static_cast<std::size_t>(i)]
                              : kUndefined;
    if (!(number >= 1 && number <= static_cast<double>(rows_))) {
      throw Error(ErrorKind::bad_value,
                  fmt::format("{}, column \"fmd_row\": \"{}\" is not a row of the scores",
                              block.where(i), row.text(i)),
                  "score the file that `fmd pairs` made from the same rows");
    }
    const auto from = code.find(block.column("fmd_from").text(i));
    const auto to = code.find(block.column("fmd_to").text(i));
    if (from == code.end() || to == code.end()) continue;  // another attribute's pair
    waiting_.push_back(
        {static_cast<Index>(number) - 1, from->second, to->second, p_.size()});
    p_.insert(p_.end(), pbar.row(i).begin(), pbar.row(i).end());
  }
  return true;
}

PairScores PairScoreReader::next(const Scored& scored, Index first) {
  const Index last = first + scored.rows();
  while ((taken_ == waiting_.size() || waiting_.back().row < last) && read_more()) continue;
  const auto begin = waiting_.begin() + static_cast<Index>(taken_);
  const auto end = std::find_if(begin, waiting_.end(),
                                [&](const Pair& pair) { return pair.row >= last; });
  taken_ = static_cast<std::size_t>(end - waiting_.begin());
  const Index classes = scored.p.cols();
  PairScores pairs;
  pairs.p.resize(end - begin, classes);
  pairs.pbar.resize(end - begin, classes);
  for (auto pair = begin; pair != end; ++pair) {
    const Index row = pair->row - first, i = pair - begin;
    pairs.p.row(i) = scored.p.row(row);
    pairs.pbar.row(i) = Eigen::Map<const Eigen::RowVectorXd>(p_.data() + pair->at, classes);
    if (scored.labelled()) pairs.y.push_back(scored.y[static_cast<std::size_t>(row)]);
    pairs.unit.push_back(pair->row);
    pairs.from.push_back(pair->from);
    pairs.to.push_back(pair->to);
  }
  for (auto pair = begin; pair != end;) {
    const auto next =
        std::find_if(pair, end, [&](const Pair& other) { return other.row != pair->row; });
    pairs.weight.insert(pairs.weight.end(), static_cast<std::size_t>(next - pair),
                        1.0F / static_cast<float>(next - pair));
    pair = next;
  }
  pairs.decision = decide(pairs.p, task_.threshold);
  pairs.decision_bar = decide(pairs.pbar, task_.threshold);
  return pairs;
}

}  // namespace fmd::internal
