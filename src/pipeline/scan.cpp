#include "fmd/pipeline/scan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/named_field.h"
#include "data/number.h"
#include "data/words.h"
#include "fmd/core/accumulator.h"
#include "fmd/core/bytes.h"
#include "fmd/core/error.h"
#include "fmd/data/table_stream.h"
#include "fmd/model/passes.h"
#include "fmd/pipeline/audit.h"
#include "fmd/pipeline/complete_task.h"
#include "pipeline/proxies.h"
#include "pipeline/score_files.h"
#include "pipeline/study_parts.h"

namespace fmd {
namespace {

// When there are few different numbers, each is a value, and rows can be flipped between
// them.
Attribute few_numbers(const Attribute& ranges, const std::set<double>& numbers) {
  Attribute attribute;
  attribute.name = ranges.name;
  attribute.columns = ranges.columns;
  attribute.missing = ranges.missing;
  for (const double number : numbers) {
    attribute.values.push_back(number_text(number));
    attribute.cells.push_back({{.text = number_text(number), .number = number}});
  }
  attribute.groups = attribute.values;
  if (attribute.missing > 0) attribute.groups.emplace_back(kMissingGroup);
  return attribute;
}

}  // namespace

SuspectSurvey::SuspectSurvey(const Task& task, ScanOptions options,
                             std::vector<std::string> others)
    : task_(task), options_(std::move(options)), others_(std::move(others)) {}

void SuspectSurvey::begin(const Table& block) {
  begun_ = true;
  std::vector<std::string> names = options_.columns;
  for (const std::string& name : names) {
    if (name == task_.label) {
      throw Error(ErrorKind::bad_option,
                  fmt::format("scan: \"{}\" is the label", shorten(name)),
                  "name columns that divide people into groups");
    }
  }
  const auto none = [&](const std::string& name) {
    return name == task_.label || name == task_.weight || name == task_.id ||
           std::find(others_.begin(), others_.end(), name) != others_.end();
  };
  if (names.empty())
    for (const Column& column : block.columns)
      if (!none(column.name)) names.push_back(column.name);
  for (const std::string& name : names) {
    const auto twice = [&](const Seen& seen) { return seen.name == name; };
    if (std::any_of(columns_.begin(), columns_.end(), twice)) continue;
    Seen seen;
    seen.name = name;
    seen.kind = block.column(name).kind;
    AttributeSpec spec{.name = name};
    if (seen.kind == ColumnKind::number) spec.quantiles = options_.quantiles;
    seen.survey.emplace_back(spec);
    columns_.push_back(std::move(seen));
  }
}

void SuspectSurvey::add(const Table& block) {
  if (!begun_) begin(block);
  for (Seen& seen : columns_) {
    const Column& column = block.column(seen.name);
    if (column.kind == ColumnKind::number) {
      for (const double number : column.numbers)
        if (!std::isnan(number) &&
            static_cast<Index>(seen.numbers.size()) <= options_.most_numbers)
          seen.numbers.insert(number);
    }
    // A text without rows (of a table that was cut) is not a value, so rows are counted.
    std::vector<bool> used(column.levels.size(), false);
    for (const std::int32_t code : column.codes)
      if (code >= 0) used[to_size(code)] = true;
    for (std::size_t level = 0; level < used.size(); ++level)
      if (used[level] && static_cast<Index>(seen.texts.size()) <= 256)
        seen.texts.insert(column.levels[level]);
    seen.survey[0].add(block);
  }
}

SuspectSurvey::Suspects SuspectSurvey::finish() const {
  Suspects result;
  for (const Seen& seen : columns_) {
    const auto leave_out = [&](const std::string& why) {
      result.left_out.push_back({seen.name, why});
    };
    const std::size_t values =
        seen.kind == ColumnKind::number ? seen.numbers.size() : seen.texts.size();
    const bool named = !options_.columns.empty();
    if (values < 2) {
      leave_out(values == 0 ? "no value" : "one value");
    } else if (seen.texts.size() > 256) {
      leave_out("more than 256 values");
    } else if (!named && static_cast<Index>(seen.texts.size()) > options_.most_values) {
      leave_out(fmt::format("{} values", seen.texts.size()));
    } else {
      const Attribute found = seen.survey[0].finish();
      const bool few = seen.kind == ColumnKind::number &&
                       static_cast<Index>(values) <= options_.most_numbers;
      result.attributes.push_back(few ? few_numbers(found, seen.numbers) : found);
    }
  }
  return result;
}

namespace {

std::vector<Index> block_rows(Index block, Index rows) {
  std::vector<Index> result;
  for (Index row = block * kBlockRows; row < std::min(rows, (block + 1) * kBlockRows);
       ++row)
    result.push_back(row);
  return result;
}

Matrix probabilities_of(const Model& model, const Features& X) {
  return all_probabilities(*model.head, {.X = &X, .y = {}, .weight = {}, .subset = {}},
                           model.theta, {});
}

// |dp/da| times the deviation, of rows that have the number.
void add_slopes(const Model& model, const Table& table, const Features& X,
                const Attribute& attribute, const std::vector<Index>& rows, const Matrix& p,
                FlipSums& sums) {
  const ColumnMap* map = model.backbone->columns();
  const ColumnFeatures* column = map == nullptr ? nullptr : map->find(attribute.columns[0]);
  if (column == nullptr || column->kind != ColumnKind::number) return;
  const Matrix slopes =
      all_input_slopes(*model.head, {.X = &X, .y = {}, .weight = {}, .subset = {}},
                       model.theta, column->first, {});
  const std::vector<double>& numbers = table.column(column->name).numbers;
  for (Index i = 0; i < p.rows(); ++i) {
    if (std::isnan(numbers[to_size(rows[to_size(i)])])) continue;
    const Eigen::RowVectorXd du = slopes.row(i);
    double change = 0;
    if (du.size() == 1) {
      change = p(i, 0) * p(i, 1) * std::abs(du(0));
    } else {
      const double mean = p.row(i).dot(du);
      for (Index k = 0; k < du.size(); ++k) change += p(i, k) * std::abs(du(k) - mean) / 2;
    }
    sums.rows += 1;
    sums.change += change;
    sums.square += change * change;
  }
}

// Mean over a row's pairs of the change, and of whether the answer is another one.
void add_flips(const Model& model, const Table& table, const Features& X,
               const Attribute& attribute, const std::vector<Index>& rows, const Matrix& p,
               FlipSums& sums) {
  PairPlan plan = flip_plan(attribute, rows);
  if (plan.size() == 0) return;
  std::unique_ptr<Features> Xbar;
  if (!model.backbone->flips_features()) {
    const Inputs inputs(table);
    Xbar = model.backbone->flipped(&inputs, X, attribute, plan, {});
  }
  for (Index& row : plan.row) row -= rows.front();  // X has only the block's rows
  if (Xbar == nullptr) Xbar = model.backbone->flipped(nullptr, X, attribute, plan, {});
  const Matrix pbar = probabilities_of(model, *Xbar);
  const std::vector<std::int32_t> is = decide(pbar, model.task.threshold),
                                  was = decide(p, model.task.threshold);
  for (std::size_t i = 0; i < plan.row.size();) {
    const Index own = plan.row[i];
    double change = 0, flipped = 0, pairs = 0;
    for (; i < plan.row.size() && plan.row[i] == own; ++i, ++pairs) {
      change += (pbar.row(static_cast<Index>(i)) - p.row(own)).lpNorm<1>() / 2;
      flipped += is[i] != was[to_size(own)] ? 1 : 0;
    }
    sums.rows += 1;
    sums.change += change / pairs;
    sums.square += change / pairs * (change / pairs);
    sums.flipped += flipped / pairs;
  }
}

void set_flips(const Model& model, const ScanFlips& flips,
               const std::vector<Attribute>& attributes, double confidence,
               ScanReport& report) {
  Index read = 0;
  for (const Attribute& a : attributes) read += model.backbone->inputs().reads(a);
  for (std::size_t a = 0; a < attributes.size(); ++a) {
    const Attribute& attribute = attributes[a];
    const auto suspect =
        std::find_if(report.columns.begin(), report.columns.end(),
                     [&](const ScanSuspect& s) { return s.name == attribute.name; });
    suspect->reads = model.backbone->inputs().reads(attribute) ? Reads::yes : Reads::no;
    if (suspect->reads == Reads::no) continue;
    const FlipSums& sums = flips.of[a];
    if (sums.rows == 0) continue;
    ScanFlip flip;
    flip.kind = attribute.flips() ? "flip" : "slope";
    flip.rows = static_cast<Index>(sums.rows);
    flip.values = std::ssize(attribute.values);
    flip.change = sums.mean_change(
        report.adjust == Adjust::none ? confidence : adjusted_confidence(confidence, read));
    if (attribute.flips()) flip.flip_rate = sums.flipped / sums.rows;
    if (!attribute.flips())
      flip.deviation = model.backbone->columns()->find(attribute.columns[0])->scale;
    suspect->flip = flip;
  }
}

// The sums of a part of the rows, which begins with block `first` of all.
Partial<ScanFlips> flips_part(const Model& model, const Table& table,
                              const std::vector<Attribute>& attributes, Index first,
                              const Exec& exec) {
  std::vector<Attribute> coded = attributes;
  for (Attribute& attribute : coded)
    if (attribute.flips()) read_codes(attribute, table, attribute.code);
  const auto add = [&](ScanFlips& state, Index block) {
    const std::vector<Index> rows = block_rows(block - first, table.rows());
    const auto X = model.backbone->features(table, rows, {});
    const Matrix p = probabilities_of(model, *X);
    for (std::size_t a = 0; a < coded.size(); ++a) {
      if (!model.backbone->inputs().reads(coded[a])) continue;
      if (coded[a].flips()) {
        add_flips(model, table, *X, coded[a], rows, p, state.of[a]);
      } else {
        add_slopes(model, table, *X, coded[a], rows, p, state.of[a]);
      }
    }
  };
  Exec on = exec;
  if (!model.backbone->concurrent()) on.pool = nullptr;
  return reduce_part<ScanFlips>(
      first, first + block_count(table.rows()),
      [&] { return ScanFlips{std::vector<FlipSums>(coded.size())}; }, add, on);
}

}  // namespace

void ScanFlips::merge(const ScanFlips& other) {
  if (of.size() != other.of.size())
    throw Error(ErrorKind::bad_shape, "scan: flips of other columns cannot be merged");
  for (std::size_t s = 0; s < of.size(); ++s) {
    of[s].rows += other.of[s].rows;
    of[s].change += other.of[s].change;
    of[s].square += other.of[s].square;
    of[s].flipped += other.of[s].flipped;
  }
}

void ScanFlips::save(ByteWriter& out) const { out.put_array<FlipSums>(of); }

ScanFlips ScanFlips::load(ByteReader& in) { return {in.get_array<FlipSums>()}; }

Interval FlipSums::mean_change(double confidence) const {
  if (rows == 0) return {};
  const double mean = change / rows;
  if (rows < 2) return {mean, kUndefined, kUndefined};
  const double variance = std::max(0.0, square - rows * mean * mean) / (rows - 1);
  const double half = normal_quantile(confidence) * std::sqrt(variance / rows);
  return {mean, std::max(0.0, mean - half), mean + half, IntervalKind::normal};
}

ScanFlips scan_flips(const Model& model, const Table& table,
                     const std::vector<Attribute>& attributes, const Exec& exec) {
  if (table.rows() == 0) return {std::vector<FlipSums>(attributes.size())};
  return flips_part(model, table, attributes, 0, exec).finish();
}

namespace {

void require_favorable(int favorable) {
  if (favorable >= 0) return;
  throw Error(ErrorKind::bad_option, "scan: the task names no favourable class",
              "say which label is good for the person: --favorable VALUE");
}

// The second look of a scan at the rows, block after block: counts of every suspect and of
// any two, and, where there is a model, what flipping each does.
class ScanPass {
 public:
  // All must outlive the pass. Throws Error(bad_option) when no class is favourable,
  // Error(bad_data) without suspects.
  ScanPass(const Model& model, const SuspectSurvey::Suspects& suspects,
           const std::string& source);

  // Blocks come in order. All but the last have a multiple of kBlockRows rows.
  void add(const Table& block, const Scored& scored, const Exec& exec);

  [[nodiscard]] ScanReport finish(const ScanOptions& options) &&;

 private:
  const Model& model_;
  bool flipping_;  // scores of another program cannot be flipped
  const SuspectSurvey::Suspects& suspects_;
  std::string source_;
  ScanCounts counts_;
  Partial<ScanFlips> flips_;
  std::vector<std::vector<std::int32_t>> groups_;
  Index rows_ = 0;
  bool labelled_ = false;
};

ScanPass::ScanPass(const Model& model, const SuspectSurvey::Suspects& suspects,
                   const std::string& source)
    : model_(model),
      flipping_(scores_of(model) == nullptr),
      suspects_(suspects),
      source_(source) {
  require_favorable(model.task.favorable_class());
  if (suspects.attributes.empty()) {
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: no column divides the rows into few groups", source),
                "name columns: --scan-columns a,b,c");
  }
  std::vector<Index> groups;
  for (const Attribute& a : suspects.attributes) groups.push_back(std::ssize(a.groups));
  counts_ = ScanCounts(std::move(groups));
  groups_.resize(suspects.attributes.size());
}

void ScanPass::add(const Table& block, const Scored& scored, const Exec& exec) {
  for (std::size_t a = 0; a < groups_.size(); ++a)
    read_groups(suspects_.attributes[a], block, groups_[a]);
  counts_.add(groups_, scan_outcomes(scored), exec);
  if (flipping_ && block.rows() > 0)
    flips_.merge(flips_part(model_, block, suspects_.attributes, rows_ / kBlockRows, exec));
  rows_ += block.rows();
  labelled_ = scored.labelled();
}

ScanReport ScanPass::finish(const ScanOptions& options) && {
  const std::vector<Attribute>& attributes = suspects_.attributes;
  ScanReport report = scan_report(attributes, counts_, model_.task, options);
  report.rows = rows_;
  report.labelled = labelled_;
  report.data = source_;
  report.left_out = suspects_.left_out;
  if (!flipping_) return report;
  if (!flips_.empty())
    set_flips(model_, std::move(flips_).finish(), attributes, options.confidence, report);
  report.kind = kind_of(model_);
  return report;
}

// Columns of scores that are not suspects.
std::vector<std::string> score_columns(const Task& task) {
  std::vector<std::string> names = probability_columns(task);
  names.insert(names.end(), {"fmd_row", "predicted"});
  return names;
}

constexpr std::size_t kMostTexts = 256;  // a column with more divides into too many groups

// A first look at the rows, in a dictionary of bounded size. The dictionary of a stream
// keeps every text of a column, so for names and numbers of people it would grow with the
// rows. A column is therefore dropped when it has more than kMostTexts texts, and the
// look begins again without it.
class FileSurvey {
 public:
  FileSurvey(const DataSource& data, const CsvOptions& csv, const Task& task,
             const ScanOptions& options, std::vector<std::string> others)
      : data_(data),
        csv_(csv),
        task_(task),
        options_(options),
        others_(std::move(others)) {}

  // Also leaves the kinds of the columns that were looked at in types().
  SuspectSurvey::Suspects run(const Exec& exec) {
    choose(exec);
    for (;;) {
      SuspectSurvey survey(task_, options_, others_);
      if (!look(survey, exec)) continue;
      return in_file_order(survey.finish());
    }
  }

  [[nodiscard]] const std::map<std::string, ColumnKind>& types() const {
    return csv_.types;
  }
  // Columns that were dropped for their many texts.
  [[nodiscard]] const std::vector<std::string>& crowded() const { return crowded_; }

 private:
  [[nodiscard]] bool asked(const std::string& name) const {
    if (name == task_.label) return false;
    if (!options_.columns.empty())
      return std::find(options_.columns.begin(), options_.columns.end(), name) !=
             options_.columns.end();
    return name != task_.weight && name != task_.id &&
           std::find(others_.begin(), others_.end(), name) == others_.end();
  }

  // Which columns to look at, from the first rows. Columns that cannot be suspects are left
  // out. The survey reports wrong names; for that it needs at least one column.
  void choose(const Exec& exec) {
    TableStream stream = data_.open(csv_, exec);
    names_ = stream.names();
    for (const std::string& name : names_)
      if (asked(name)) keep_.push_back(name);
    if (keep_.empty()) keep_ = names_;
    Table block;
    if (!stream.next(block)) return;
    for (const Column& column : block.columns) csv_.types[column.name] = column.kind;
    drop_crowded(block);
  }

  // One pass. False: some columns turned out to have too many texts and are dropped.
  bool look(SuspectSurvey& survey, const Exec& exec) {
    csv_.keep = keep_;
    TableStream stream = data_.open(csv_, exec);
    Index rows = 0;
    for (Table block; stream.next(block);) {
      if (drop_crowded(block)) return false;
      survey.add(block);
      exec.report("looking at " + data_.name(), rows += block.rows(), 0);
    }
    return true;
  }

  // The last column stays even when it is crowded: a table needs one. A table in memory has
  // its texts there already.
  bool drop_crowded(const Table& block) {
    if (!data_.in_blocks()) return false;
    bool dropped = false;
    for (const Column& column : block.columns) {
      const bool kept = std::find(keep_.begin(), keep_.end(), column.name) != keep_.end();
      if (!kept || column.levels.size() <= kMostTexts || keep_.size() < 2) continue;
      std::erase(keep_, column.name);
      std::erase(options_.columns, column.name);
      crowded_.push_back(column.name);
      dropped = true;
    }
    return dropped;
  }

  // The order in which the columns would stand if none had been dropped.
  SuspectSurvey::Suspects in_file_order(SuspectSurvey::Suspects found) const {
    for (const std::string& name : crowded_)
      found.left_out.push_back({name, "more than 256 values"});
    const auto place = [&](const ScanReport::LeftOut& one) {
      return std::find(names_.begin(), names_.end(), one.column) - names_.begin();
    };
    std::stable_sort(found.left_out.begin(), found.left_out.end(),
                     [&](const auto& a, const auto& b) { return place(a) < place(b); });
    return found;
  }

  const DataSource& data_;
  CsvOptions csv_;
  const Task& task_;
  ScanOptions options_;
  std::vector<std::string> others_, names_, keep_, crowded_;
};

// Columns of the second look: suspects and what scores them.
CsvOptions second_look(const FileSurvey& survey, const CsvOptions& csv, const Task& task,
                       const SuspectSurvey::Suspects& suspects,
                       std::vector<std::string> more) {
  CsvOptions options = csv;
  for (const auto& [name, kind] : survey.types()) options.types[name] = kind;
  for (const Attribute& a : suspects.attributes) more.push_back(a.columns[0]);
  if (!task.label.empty()) more.push_back(task.label);
  std::sort(more.begin(), more.end());
  more.erase(std::unique(more.begin(), more.end()), more.end());
  options.keep = std::move(more);
  return options;
}

constexpr Name<Adjust> kAdjustNames[] = {
    {Adjust::holm, "holm"}, {Adjust::bh, "bh"}, {Adjust::none, "none"}};

}  // namespace

std::vector<OptionField> fields(ScanOptions& o) {
  return {
      {.name = "confidence", .value = &o.confidence},
      {.name = "adjust",
       .value = named(o.adjust, kAdjustNames, "scan", "adjust"),
       .flag = "--adjust",
       .help = "How a scan adjusts p-values for the number of comparisons: holm (no false "
               "finding), bh (few of the findings are false), none"},
      {.name = "top",
       .value = &o.top,
       .flag = "--top",
       .help = "Number of lines in each list of a scan",
       .least = 1,
       .most = 100000},
      {.name = "columns",
       .value = &o.columns,
       .flag = "--scan-columns",
       .help = "Scan only these columns: a,b,c",
       .shows_default = false},
      {.name = "most_values", .value = &o.most_values},
      {.name = "most_numbers", .value = &o.most_numbers},
      {.name = "quantiles", .value = &o.quantiles},
      {.name = "include_rows", .value = &o.include_rows},
  };
}

namespace {

// Columns that may tell an attribute: what the model reads, or all beside the scores but
// those with too many texts, whose reading alone would take much memory.
std::vector<std::string> telling_columns(const Task& task, bool scores,
                                         const std::vector<std::string>& names,
                                         const std::vector<std::string>& read,
                                         const std::vector<std::string>& crowded) {
  if (!scores) return read;
  const auto among = [](const std::vector<std::string>& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  std::vector<std::string> others;
  for (const std::string& name : names)
    if (name != task.label && name != task.weight && name != task.id &&
        !among(read, name) && !among(crowded, name))
      others.push_back(name);
  return others;
}

ProxyReport proxies_of(const Table& sample, const AttributeSpec& spec,
                       const std::vector<std::string>& columns, double confidence,
                       const Exec& exec) {
  try {
    return find_proxies(sample, read_attribute(sample, spec), columns, confidence, exec);
  } catch (const Error& error) {  // a scan does not need the attributes of the task
    return {.attribute = spec.name, .reason = error.what()};
  }
}

// A flip of one column says little where others that the model reads tell the same.
void note_mirrors(const Table& sample, const Task& task,
                  const std::vector<std::string>& read, const Exec& exec) {
  for (const AttributeSpec& spec : task.attributes) {
    std::vector<std::string> names;
    try {
      for (const Mirror& mirror : read_attribute(sample, spec, read).mirrors)
        names.push_back(mirror.column);
    } catch (const Error&) {  // a scan does not need the attributes of the task
    }
    if (!names.empty())
      exec.note(fmt::format(
          "{}: {} {} it too; a scan flips each column alone, audit "
          "--attribute {} flips them together",
          spec.name, list_words(names), names.size() == 1 ? "tells" : "tell", spec.name));
  }
}

}  // namespace

ScanReport scan(const ModelSource& source, const DataSource& data,
                const ScanOptions& options, const Exec& exec) {
  const Model model = complete_model(source.model(), data, options.task, exec);
  const bool scores = scores_of(model) != nullptr;
  const CsvOptions csv = table_options(model, model.task);
  const DataSource rows = data.loaded(csv, exec);
  const std::vector<std::string> read =
      scores ? score_columns(model.task) : model.backbone->inputs().names();
  FileSurvey survey(rows, csv, model.task, options,
                    scores ? read : std::vector<std::string>{});
  const SuspectSurvey::Suspects suspects = survey.run(exec);
  ScanPass pass(model, suspects, data.name());
  const std::vector<std::string> names = rows.open(csv, exec).names();
  const std::vector<std::string> telling =
      telling_columns(model.task, scores, names, read, survey.crowded());
  std::vector<std::string> more = read, sampled = telling;
  for (const std::string& name : attribute_columns(model.task)) sampled.push_back(name);
  for (const std::string& name : sampled)
    if (std::find(names.begin(), names.end(), name) != names.end()) more.push_back(name);
  RowSample sample(sampled, exec.seed);
  TableStream stream =
      rows.open(second_look(survey, csv, model.task, suspects, std::move(more)), exec);
  Task no_attributes = model.task;
  no_attributes.attributes.clear();
  Index count = 0;
  for (Table block; stream.next(block);) {
    const Study study = study_of(model, block, no_attributes, false, {}, exec);
    pass.add(block, score(model, study, {}, exec), exec);
    sample.add(block);
    exec.report("scanning", count += block.rows(), 0);
  }
  ScanReport report = std::move(pass).finish(options);
  const Table drawn = sample.table();
  if (!scores) note_mirrors(drawn, model.task, read, exec);
  for (const AttributeSpec& spec : model.task.attributes)
    report.proxies.push_back(proxies_of(drawn, spec, telling, options.confidence, exec));
  const ModelName name = name_of(source);
  report.model = name.name;
  report.model_sha256 = name.sha256;
  report.data_sha256 = data.sha256();
  return report;
}

}  // namespace fmd
