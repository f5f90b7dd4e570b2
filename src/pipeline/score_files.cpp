#include "fmd/pipeline/score_files.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "data/number.h"
#include "fmd/core/error.h"
#include "fmd/data/table_stream.h"
#include "fmd/pipeline/audit.h"
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

// The pairs of one attribute in a table of pairs, and the row of the scores that each
// belongs to.
struct PairList {
  std::vector<Index> at;  // rows of the table of pairs
  std::vector<Index> unit;
  std::vector<std::int32_t> from, to;
};

// rows: of the scores. Throws Error(bad_value) for a row that they do not have.
PairList list_pairs(const Table& pairs, const Attribute& attribute, Index rows) {
  const Column* name = pairs.find("fmd_attribute");
  const Column& row = pairs.column("fmd_row");
  std::map<std::string, std::int32_t> code;
  for (std::size_t v = 0; v < attribute.values.size(); ++v)
    code[attribute.values[v]] = static_cast<std::int32_t>(v);
  PairList list;
  for (Index i = 0; i < pairs.rows(); ++i) {
    if (name != nullptr && name->text(i) != attribute.name) continue;
    const double number = row.kind == ColumnKind::number
                              ? row.numbers[static_cast<std::size_t>(i)]
                              : kUndefined;
    if (!(number >= 1 && number <= static_cast<double>(rows))) {
      throw Error(ErrorKind::bad_value,
                  fmt::format("{}, column \"fmd_row\": \"{}\" is not a row of the scores",
                              pairs.where(i), row.text(i)),
                  "score the file that `fmd pairs` made from the same rows");
    }
    const auto from = code.find(pairs.column("fmd_from").text(i));
    const auto to = code.find(pairs.column("fmd_to").text(i));
    if (from == code.end() || to == code.end()) continue;  // another attribute's pair
    list.at.push_back(i);
    list.unit.push_back(static_cast<Index>(number) - 1);
    list.from.push_back(from->second);
    list.to.push_back(to->second);
  }
  return list;
}

// The pairs of one attribute from the file that `fmd pairs` made and another program
// scored.
std::optional<PairScores> read_pair_scores(const Table& pairs, const Matrix& pbar,
                                           const Scored& scored, const Attribute& attribute,
                                           double threshold) {
  PairList list = list_pairs(pairs, attribute, scored.rows());
  if (list.at.empty()) return std::nullopt;
  std::map<Index, float> per_unit;
  for (const Index unit : list.unit) ++per_unit[unit];
  PairScores out;
  out.p.resize(std::ssize(list.at), pbar.cols());
  out.pbar.resize(std::ssize(list.at), pbar.cols());
  for (std::size_t i = 0; i < list.at.size(); ++i) {
    const Index unit = list.unit[i];
    out.p.row(static_cast<Index>(i)) = scored.p.row(unit);
    out.pbar.row(static_cast<Index>(i)) = pbar.row(list.at[i]);
    out.weight.push_back(1.0F / per_unit[unit]);
    if (scored.labelled()) out.y.push_back(scored.y[static_cast<std::size_t>(unit)]);
  }
  out.unit = std::move(list.unit);
  out.from = std::move(list.from);
  out.to = std::move(list.to);
  out.decision = decide(out.p, threshold);
  out.decision_bar = decide(out.pbar, threshold);
  return out;
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

AuditReport audit_files(const Table& scores, const Table* pairs, const Task& task,
                        const AuditOptions& options, const Exec& exec) {
  Scored scored = read_scores(scores, task);
  if (options.weighted) scored.weight = audit_weights(scores, task);
  std::vector<Attribute> read;
  for (const AttributeSpec& spec : task.attributes)
    read.push_back(read_attribute(scores, spec));
  std::vector<AuditedAttribute> attributes;
  Matrix pbar;
  if (pairs != nullptr) pbar = read_probabilities(*pairs, task);
  MatchPlans matches(read.size());
  for (std::size_t a = 0; a < read.size(); ++a) {
    const Attribute& attribute = read[a];
    AuditedAttribute input{.attribute = &attribute,
                           .reads = Reads::unknown,
                           .pairs = std::nullopt,
                           .pairs_kind = PairKind::flip,
                           .slope = std::nullopt};
    if (pairs != nullptr)
      input.pairs = read_pair_scores(*pairs, pbar, scored, attribute, task.threshold);
    if (is_match(task.attributes[a])) {
      input.matching.table = &scores;
      input.matching.y = scored.y;
      input.matching.attribute = &attribute;
      input.matching.spec = &task.attributes[a];
      input.matching.min_rows = task.min_group;
      matches[a] = match_plan(input.matching, exec);
      input.match = &*matches[a];
    }
    attributes.push_back(std::move(input));
  }
  AuditReport report = audit_scores(scored, task, attributes, options, exec);
  report.data = scores.source;
  return report;
}

namespace {

// Files block by block: rows are counted as they come, and pairs that are in order of their
// rows are read beside them.

// The scores of the rows around one row, going forward only.
class ScoreWindow {
 public:
  ScoreWindow(TableStream& stream, const Task& task) : stream_(stream), task_(task) {
    stream_.rewind();
  }

  // Moves on until `row` is inside; rows before the window are gone.
  void reach(Index row) {
    while (row >= first_ + scored_.rows()) {
      first_ += scored_.rows();
      stream_.next(block_);
      scored_ = read_scores(block_, task_);
    }
  }
  [[nodiscard]] const Scored& scored() const { return scored_; }
  [[nodiscard]] Index place(Index row) const { return row - first_; }

 private:
  TableStream& stream_;
  const Task& task_;
  Table block_;
  Scored scored_;
  Index first_ = 0;
};

// Pairs whose rows are complete, on their way into a tally.
class PairBuffer {
 public:
  PairBuffer(Index classes, double threshold) : classes_(classes), threshold_(threshold) {}

  void add(const Scored& scored, Index place, Index unit, const double* pbar,
           std::int32_t from, std::int32_t to) {
    p_.insert(p_.end(), scored.p.row(place).begin(), scored.p.row(place).end());
    pbar_.insert(pbar_.end(), pbar, pbar + classes_);
    if (scored.labelled()) pairs_.y.push_back(scored.y[static_cast<std::size_t>(place)]);
    pairs_.unit.push_back(unit);
    pairs_.from.push_back(from);
    pairs_.to.push_back(to);
  }

  // Adds all pairs except those of the last row, which may get more pairs; at the end
  // all.
  void flush(FlipTally& tally, bool end) {
    const std::vector<Index>& unit = pairs_.unit;
    std::size_t last = unit.size();
    if (!end)
      while (last > 0 && unit[last - 1] == unit.back()) --last;
    if (last == 0) return;
    PairScores done = head(last);
    for (std::size_t i = 0; i < last;) {
      std::size_t next = i;
      while (next < last && done.unit[next] == done.unit[i]) ++next;
      done.weight.insert(done.weight.end(), next - i, 1.0F / static_cast<float>(next - i));
      i = next;
    }
    done.decision = decide(done.p, threshold_);
    done.decision_bar = decide(done.pbar, threshold_);
    tally.add(done);
  }

 private:
  template <typename T>
  static std::vector<T> take(std::vector<T>& from, std::size_t count) {
    std::vector<T> taken(from.begin(),
                         from.begin() + static_cast<Index>(std::min(count, from.size())));
    from.erase(from.begin(), from.begin() + std::ssize(taken));
    return taken;
  }

  PairScores head(std::size_t count) {
    PairScores done;
    const auto width = static_cast<std::size_t>(classes_);
    const std::vector<double> p = take(p_, count * width),
                              pbar = take(pbar_, count * width);
    const auto rows = static_cast<Index>(count);
    done.p = Eigen::Map<const Matrix>(p.data(), rows, classes_);
    done.pbar = Eigen::Map<const Matrix>(pbar.data(), rows, classes_);
    done.y = take(pairs_.y, count);
    done.unit = take(pairs_.unit, count);
    done.from = take(pairs_.from, count);
    done.to = take(pairs_.to, count);
    return done;
  }

  Index classes_;
  double threshold_;
  PairScores pairs_;
  std::vector<double> p_, pbar_;
};

std::optional<FlipTally> tally_pairs(TableStream& scores, TableStream& pairs,
                                     const Attribute& attribute, const Task& task,
                                     Index rows, bool figures, const Exec& exec) {
  const auto classes = static_cast<Index>(task.classes.size());
  FlipTally tally({.classes = classes,
                   .values = static_cast<Index>(attribute.values.size()),
                   .figures = figures});
  ScoreWindow window(scores, task);
  PairBuffer buffer(classes, task.threshold);
  pairs.rewind();
  Index read = 0;
  for (Table block; pairs.next(block);) {
    const Matrix pbar = read_probabilities(block, task);
    const PairList list = list_pairs(block, attribute, rows);
    for (std::size_t i = 0; i < list.at.size(); ++i) {
      window.reach(list.unit[i]);
      buffer.add(window.scored(), window.place(list.unit[i]), list.unit[i],
                 pbar.row(list.at[i]).data(), list.from[i], list.to[i]);
    }
    buffer.flush(tally, false);
    exec.report("reading pairs", read += block.rows(), 0);
  }
  buffer.flush(tally, true);
  if (tally.pairs() == 0) return std::nullopt;
  return tally;
}

// The first pass: which values there are, and how many rows.
std::vector<Attribute> survey(TableStream& scores, const Task& task, Index& rows,
                              bool& labelled, const Exec& exec) {
  std::vector<AttributeSurvey> surveys;
  for (const AttributeSpec& spec : task.attributes) surveys.emplace_back(spec);
  scores.rewind();
  for (Table block; scores.next(block);) {
    labelled = !task.label.empty() && block.find(task.label) != nullptr;
    for (AttributeSurvey& one : surveys) one.add(block);
    rows += block.rows();
    exec.report("looking at " + scores.source(), rows, 0);
  }
  std::vector<Attribute> attributes;
  for (const AttributeSurvey& one : surveys) attributes.push_back(one.finish());
  return attributes;
}

// A table that has only the header, for the usual error about a missing column.
Table header_of(const TableStream& stream) {
  Table header;
  header.source = stream.source();
  for (const std::string& name : stream.names()) header.columns.push_back({.name = name});
  return header;
}

std::vector<std::string> probability_columns(const Task& task) {
  std::vector<std::string> names = {"p", "score"};
  for (const std::string& name : task.classes) names.push_back("p_" + name);
  return names;
}

void require_probabilities(const Table& header, const Task& task) {
  if (task.binary() && (header.find("p") != nullptr || header.find("score") != nullptr))
    return;
  for (const std::string& name : task.classes) (void)header.column("p_" + name);
}

}  // namespace

TableStream open_scores(const std::string& file, CsvOptions csv, const Task& task,
                        const AuditOptions& options, const Exec& exec) {
  csv.keep = attribute_columns(task);
  for (const std::string& name : probability_columns(task)) csv.keep.push_back(name);
  if (!task.label.empty()) csv.keep.push_back(task.label);
  if (options.weighted && !task.weight.empty()) csv.keep.push_back(task.weight);
  TableStream stream = TableStream::open(file, csv, exec);
  const Table header = header_of(stream);
  require_probabilities(header, task);
  for (const std::string& name : attribute_columns(task)) (void)header.column(name);
  if (options.weighted && !task.weight.empty()) (void)header.column(task.weight);
  return stream;
}

TableStream open_pair_scores(const std::string& file, CsvOptions csv, const Task& task,
                             const Exec& exec) {
  csv.keep = {"fmd_attribute", "fmd_row", "fmd_from", "fmd_to"};
  for (const std::string& name : probability_columns(task)) csv.keep.push_back(name);
  csv.types["fmd_from"] = csv.types["fmd_to"] = ColumnKind::category;
  TableStream stream = TableStream::open(file, csv, exec);
  const Table header = header_of(stream);
  require_probabilities(header, task);
  for (const char* name : {"fmd_row", "fmd_from", "fmd_to"}) (void)header.column(name);
  return stream;
}

Table read_label_values(const std::string& file, CsvOptions csv, const std::string& label,
                        const Exec& exec) {
  csv.keep = {label};
  TableStream stream = TableStream::open(file, csv, exec);
  (void)header_of(stream).column(label);
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

bool in_order(TableStream& pairs) {
  pairs.rewind();
  std::map<std::string, double> last;  // row of each attribute
  for (Table block; pairs.next(block);) {
    const Column* name = block.find("fmd_attribute");
    const Column* row = block.find("fmd_row");
    if (row == nullptr || row->kind != ColumnKind::number) return false;
    for (Index i = 0; i < block.rows(); ++i) {
      double& before = last[name == nullptr ? "" : name->text(i)];
      const double number = row->numbers[static_cast<std::size_t>(i)];
      if (!(number >= before)) return false;
      before = number;
    }
  }
  return true;
}

AuditReport audit_file_streams(TableStream& scores, TableStream* pairs, const Task& task,
                               const AuditOptions& options, const Exec& exec) {
  Index rows = 0, read = 0;
  bool labelled = false;
  const std::vector<Attribute> attributes = survey(scores, task, rows, labelled, exec);
  std::vector<const Attribute*> all;
  std::vector<TalliedAttribute> tallied;
  for (const Attribute& attribute : attributes) {
    all.push_back(&attribute);
    tallied.push_back({&attribute, Reads::unknown, std::nullopt, PairKind::flip,
                       std::nullopt, std::nullopt});
  }
  Tally tally(audit_plan(task, all, labelled, options));
  std::vector<std::vector<std::int32_t>> groups(attributes.size());
  scores.rewind();
  for (Table block; scores.next(block);) {
    Scored scored = read_scores(block, task);
    if (options.weighted) scored.weight = audit_weights(block, task);
    ScoredBlock view = block_of(scored);
    for (std::size_t a = 0; a < attributes.size(); ++a) {
      read_groups(attributes[a], block, groups[a]);
      view.code.emplace_back(groups[a]);
    }
    tally.add(view);
    exec.report("auditing", read += block.rows(), rows);
  }
  for (std::size_t a = 0; a < attributes.size() && pairs != nullptr; ++a)
    tallied[a].flips =
        tally_pairs(scores, *pairs, attributes[a], task, rows, options.by_name, exec);
  AuditReport report = audit_tallies(tally, task, tallied, options, exec);
  report.data = scores.source();
  return report;
}

}  // namespace fmd
