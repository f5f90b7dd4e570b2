#include "fmd/pipeline/explain.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <unistd.h>

#include <fmt/format.h>

#include "core/check.h"
#include "core/named_field.h"
#include "data/number.h"
#include "fmd/data/csv.h"
#include "fmd/influence/boosting.h"
#include "fmd/influence/ranking.h"
#include "fmd/metrics/interval.h"
#include "fmd/model/cut.h"
#include "fmd/model/tree_backbone.h"
#include "fmd/pipeline/complete_task.h"
#include "fmd/pipeline/study_stream.h"
#include "pipeline/pair_slices.h"
#include "pipeline/study_parts.h"

namespace fmd {
namespace {

constexpr const char* kExplainLabels =
    "explain needs labelled rows: the loss of a training row depends on its label";

// As a share of the gap. When the predicted change is larger, the rows are also left out in
// rounds.
constexpr double kLargeRemoval = 0.25;

const char* const kDecisions[] = {"demographic_parity", "equal_opportunity",
                                  "equalized_odds", "flip_rate", "accuracy"};

// Whether the Hessian is made of DATA's rows.
constexpr Name<bool> kHessianRows[] = {{false, "train"}, {true, "data"}};

// A measure and the data that it is measured on. Owns what a BiasTarget points to.
struct Asked {
  std::string measure;
  std::size_t attribute = 0;
  bool has_attribute = false;
  std::unique_ptr<BiasMeasure> made;
  std::unique_ptr<PairSlices> pairs;  // null for measures on rows
};

struct Gatherer {
  const Model& model;
  const Study& data;
  const Exec& exec;
  std::deque<Asked> asked;  // stays in place: targets point into it

  [[nodiscard]] bool given(std::size_t a) const {
    return pairs_of(model.task.attributes[a]).kind == PairKind::given;
  }
  [[nodiscard]] bool has_pairs(std::size_t a) const {
    return given(a) || (data.reads[a] == Reads::yes && data.attributes[a].flips());
  }

  void add(const std::string& text) {
    const std::size_t colon = text.find(':');
    const std::string name = text.substr(0, colon);
    for (const char* decision : kDecisions) {
      if (name != decision) continue;
      throw Error(ErrorKind::bad_option,
                  fmt::format("explain: {} counts decisions, which have no slope", name),
                  "use co, demographic_parity_soft or equal_opportunity_soft");
    }
    if (name == "loss") {
      if (colon != std::string::npos)
        throw Error(ErrorKind::bad_option, "explain: loss has no attribute",
                    "write loss without an attribute");
      asked.push_back({name, 0, false, make_measure(name), nullptr});
      return;
    }
    const bool flips = make_measure(name)->on_pairs();  // throws for unknown names
    if (colon != std::string::npos) return add(name, flips, find(text.substr(colon + 1)));
    const std::size_t before = asked.size();
    for (std::size_t a = 0; a < data.attributes.size(); ++a)
      if (!flips || has_pairs(a)) add(name, flips, a);
    if (asked.size() > before) return;
    throw Error(
        ErrorKind::attribute_not_read,
        data.attributes.empty()
            ? "explain: no attribute is named"
            : fmt::format("{}: the model reads none of the task's attributes", name),
        "name one with --attribute, or use demographic_parity_soft");
  }

  [[nodiscard]] std::size_t find(const std::string& name) const {
    const Index a = data.find(name);
    if (a < 0) {
      throw Error(ErrorKind::bad_option,
                  fmt::format("explain: {} is not an attribute of the task", name),
                  "name it with --attribute or in task.toml");
    }
    return static_cast<std::size_t>(a);
  }

  void add(const std::string& name, bool flips, std::size_t a) {
    const Attribute& attribute = data.attributes[a];
    if (flips && !attribute.flips()) {
      throw Error(ErrorKind::bad_option,
                  fmt::format("{}: ranges of {} have no single value to flip to", name,
                              attribute.name),
                  "use demographic_parity_soft, or list the numbers in `values`");
    }
    if (flips && !has_pairs(a)) {
      throw Error(
          ErrorKind::attribute_not_read,
          fmt::format("{}: the model does not read {}", name, attribute.name),
          "a column that is not an input has no flip gap: use demographic_parity_soft");
    }
    Asked one{name, a, true, nullptr, nullptr};
    const int favorable = model.task.favorable_class();
    if (!flips && favorable < 0) {
      throw Error(ErrorKind::bad_option,
                  fmt::format("{}: the task names no favourable class", name),
                  "say which label is good for the person: --favorable VALUE");
    }
    one.made = make_measure(name, {.favorable = std::max(favorable, 0),  // flips need none
                                   .groups = static_cast<Index>(attribute.values.size())});
    if (flips) one.pairs = std::make_unique<PairSlices>(model, data, a, !given(a), exec);
    asked.push_back(std::move(one));
  }

  [[nodiscard]] std::vector<BiasTarget> targets() const {
    std::vector<BiasTarget> all;
    for (const Asked& one : asked) {
      MeasureData taken;
      taken.rows = data.rows();
      taken.parts = one.pairs.get();
      if (one.has_attribute) taken.group = data.attributes[one.attribute].code;
      all.push_back({one.made.get(), taken});
    }
    return all;
  }
};

std::vector<double> column(const Matrix& change, std::size_t j) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(change.rows()));
  for (Index i = 0; i < change.rows(); ++i)
    values.push_back(change(i, static_cast<Index>(j)));
  return values;
}

ExplainedMeasure describe(const Asked& asked, const BiasTarget& target, double value,
                          const std::vector<double>& change, const Model& model,
                          const Study& train, const ExplainOptions& options,
                          const InfluenceOptions& how, const Exec& exec) {
  ExplainedMeasure measure;
  measure.measure = asked.measure;
  measure.value = value;
  for (const double c : change) {
    measure.rests_on += c < 0;
    measure.against += c > 0;
  }
  if (asked.has_attribute) {
    const Attribute& attribute = train.attributes[asked.attribute];
    measure.attribute = attribute.name;
    measure.values = attribute.values;
    measure.cells = influence_cells(change, train.y, attribute.code);
  }
  if (options.check == 0) return measure;
  exec.report("refitting without the strongest rows", 0, 0);
  const std::vector<Index> rows = most_harmful(change, options.check);
  const double l2 = how.curvature.l2, n = how.curvature.rows_in_mean;
  measure.check = check_removal(*model.head, train.training_rows(), model.theta, target,
                                change, rows, {.l2 = l2, .rows_in_mean = n}, exec);
  // On a network, rounds would add up what further training alone does.
  if (!model.head->linear() || measure.check->predicted > -kLargeRemoval * value)
    return measure;
  measure.rounds = remove_in_rounds(
      linear_head(model), train.training_rows(), model.theta, target,
      {.count = static_cast<Index>(rows.size()), .curvature = how.curvature}, exec);
  return measure;
}

// Predicted change of the gap without the strongest rows, and that of a refit in sequence.
RemovalCheck check_boosting(const Boosting& boosting, const Model& model,
                            const BiasTarget& target, double value,
                            const std::vector<double>& change, Index count,
                            const Exec& exec) {
  const std::vector<Index> rows = most_harmful(change, count);
  RemovalCheck check;
  check.rows = std::ssize(rows);
  for (const Index row : rows) check.predicted += change[to_size(row)];
  check.capped = check.predicted < -value;
  if (check.capped) check.predicted = -value;
  check.newton = kUndefined;
  check.refitted =
      gap_of(target, *model.head, boosting.refit(rows), false, exec).value - value;
  check.converged = true;
  return check;
}

// Boosted trees: the leaf values are no optimum, so there is no Hessian to solve with.
void explain_boosting(const Model& model, const Study& train, const Gatherer& gatherer,
                      const std::vector<BiasTarget>& targets, const ExplainOptions& options,
                      const Exec& exec, Explanation& result) {
  const Boosting boosting(linear_head(model), train.training_rows(), model.theta,
                          {.eta = options.eta, .lambda = options.lambda});
  result.report.boosting = {boosting.eta(), boosting.lambda(), boosting.residual()};
  Matrix gradients(model.theta.size(), std::ssize(targets));
  std::vector<double> values;
  for (std::size_t j = 0; j < targets.size(); ++j) {
    const MeasureValue gap = gap_of(targets[j], *model.head, model.theta, true, exec);
    values.push_back(gap.value);
    gradients.col(static_cast<Index>(j)) = gap.gradient;
  }
  result.change = boosting.changes(gradients);
  ExplainOptions plain = options;
  plain.check = 0;
  for (std::size_t j = 0; j < targets.size(); ++j) {
    const std::vector<double> change = column(result.change, j);
    result.report.measures.push_back(describe(gatherer.asked[j], targets[j], values[j],
                                              change, model, train, plain, {}, exec));
    if (options.check > 0)
      result.report.measures.back().check = check_boosting(
          boosting, model, targets[j], values[j], change, options.check, exec);
  }
}

Explanation explain_rows(const Model& model, const Study& data, Study train_rows,
                         const ExplainOptions& options, const Exec& exec) {
  Explanation result;
  result.train = std::move(train_rows);
  const Study& train = result.train;
  require_labels(data, kExplainLabels);
  require_labels(train, kExplainLabels);
  Gatherer gatherer{model, data, exec, {}};
  for (const std::string& measure : options.measures) gatherer.add(measure);
  const std::vector<BiasTarget> targets = gatherer.targets();

  const bool trees = trees_of(*model.backbone) != nullptr;
  InfluenceOptions how;
  how.curvature.solver = options.solver;
  how.curvature.l2 = model.note.l2;
  how.curvature.rows_in_mean = static_cast<double>(train.size());
  how.curvature.tolerance = options.tolerance != -1 ? options.tolerance
                            : model.head->linear()  ? 1e-3
                                                    : 3e-2;
  how.curvature.damping = {options.damping, options.hessian_on_data};
  how.curvature.cache = options.cache;
  if (options.hessian_on_data) how.curvature_rows = data.rows();
  exec.report("influence of the training rows", 0, 0);
  InfluenceResult found;
  if (!trees)
    found = influence(*model.head, train.training_rows(), model.theta, targets, how, exec);

  ExplainReport& report = result.report;
  report.data = data.source;
  report.train = train.source;
  report.data_rows = data.size();
  report.train_rows = train.size();
  report.known = train.seen;
  report.task = model.task;
  report.hessian_source = options.hessian_on_data ? "data" : "train";
  report.l2 = model.note.l2;
  report.solve = found.solve;
  report.relative_gradient = found.relative_gradient;
  report.at_optimum = found.at_optimum();
  report.seed = exec.seed;
  if (trees) {
    explain_boosting(model, train, gatherer, targets, options, exec, result);
    return result;
  }
  how.curvature_rows = {};
  how.curvature.damping.external = false;
  for (std::size_t j = 0; j < targets.size(); ++j)
    report.measures.push_back(describe(gatherer.asked[j], targets[j], found.value[j],
                                       column(found.change, j), model, train, options, how,
                                       exec));
  result.change = std::move(found.change);
  return result;
}

// Features of a larger table do not belong in memory.
constexpr std::uintmax_t kLargeFile = 256 << 20;

// Beside OUT, where there should be room, or in the folder for temporary files.
std::filesystem::path spill_file(const ExplainOptions& options, const std::string& role) {
  if (!options.beside.empty())
    return fmt::format("{}.{}-features", options.beside.string(), role);
  return std::filesystem::temp_directory_path() /
         fmt::format("fmd-{}.{}-features", ::getpid(), role);
}

}  // namespace

std::vector<OptionField> fields(ExplainOptions& o) {
  const TextField cache{.get = [&o] { return o.cache.string(); },
                        .set = [&o](const std::string& text) { o.cache = text; }};
  return {
      {.name = "measures",
       .value = &o.measures,
       .flag = "--measure",
       .help = "co, co_tv, demographic_parity_soft, equal_opportunity_soft, "
               "false_positive_soft, loss; NAME:ATTRIBUTE for one attribute; may be "
               "repeated"},
      {.name = "check",
       .value = &o.check,
       .flag = "--check",
       .help = "Leave out the K strongest rows, refit, and compare with the prediction",
       .least = 0,
       .most = 0x1p40,
       .shows_default = false},
      {.name = "hessian",
       .value = named(o.hessian_on_data, kHessianRows, "explain", "hessian"),
       .flag = "--hessian",
       .help = "Rows that the curvature is computed from: train or data"},
      {.name = "solver",
       .value = named(o.solver, parse_solver),
       .flag = "--solver",
       .help = "Solver for H^-1 v: auto, cholesky, cg, lissa or kfac"},
      {.name = "damping",
       .value = &o.damping,
       .flag = "--damping",
       .help = "Added to the diagonal of H; -1 = by the rule"},
      {.name = "tolerance",
       .value = &o.tolerance,
       .flag = "--tolerance",
       .help = "cg: stop at this |H x - b| / |b|; -1 = by the rule"},
      {.name = "eta",
       .value = &o.eta,
       .flag = "--eta",
       .help = "Boosted trees: learning rate; 0 = solved from the leaf values",
       .least = 0,
       .shows_default = false},
      {.name = "lambda",
       .value = &o.lambda,
       .flag = "--lambda",
       .help = "Boosted trees: l2 of leaves; -1 = solved from the leaf values"},
      {.name = "cache",
       .value = cache,
       .flag = "--cache",
       .help = "Folder that keeps factors of H for the next run on the same rows",
       .shows_default = false},
      // The flag also takes "all", which needs the model.
      {.name = "layers", .value = &o.layers},
      {.name = "spill",
       .value = &o.spill,
       .flag = "--spill",
       .help = "Keep features in a temporary file instead of memory (always for files over "
               "256 MB)"},
  };
}

Explanation explain(const ModelSource& source, const DataSource& data,
                    const DataSource& train, const ExplainOptions& options,
                    const Exec& exec) {
  require_option(options.check >= 0, "explain", "check", options.check, ">= 0");
  require_loss(*source.model().head, "explain");
  Model model = complete_model(source.model(), data, options.task, exec);
  const std::size_t all_layers = model.head->widths().size();
  model = cut_layers(model, options.layers);
  // A spill file holds the features that files keep. Above frozen layers the head reads
  // others.
  const bool above = model.head->widths().size() < all_layers;
  OutputFiles spills({.force = true});
  const auto read = [&](const DataSource& from, const std::string& role) {
    const bool spill = !above && (options.spill || from.bytes() > kLargeFile);
    return whole_study(model, model.task, from,
                       {.need_labels = true, .weights = role == "train"}, spills,
                       spill ? spill_file(options, role) : "", exec);
  };
  const Study rows = read(data, "data");
  Explanation explained = explain_rows(model, rows, read(train, "train"), options, exec);
  for (const std::string& column : model.backbone->inputs().files)
    if (explained.train.table.find(column) != nullptr) explained.images.push_back(column);
  const ModelName name = name_of(source);
  explained.report.model = name.name;
  explained.report.model_sha256 = name.sha256;
  explained.report.data_sha256 = data.sha256();
  explained.report.train_sha256 = train.sha256();
  return explained;
}

namespace {

// Rows are written in the order of their changes. Sorting all of them at once would jump
// around in memory. Instead the changes are divided into ranges, and one range after the
// other is gathered, sorted and written.
constexpr Index kRangeRows = Index{1} << 21;  // about, in a range
constexpr Index kMostRanges = 64;             // each is a pass over all changes
constexpr Index kPieceRows = Index{1} << 14;  // formatted by one thread

// Limits between ranges, ascending, from a regular sample.
std::vector<double> range_limits(const Matrix& change) {
  const Index rows = change.rows();
  const Index ranges = std::min((rows + kRangeRows - 1) / kRangeRows, kMostRanges);
  std::vector<double> limits;
  if (ranges <= 1) return limits;
  const Index samples = 256 * ranges, step = std::max<Index>(1, rows / samples);
  std::vector<double> sample;
  for (Index i = 0; i < rows; i += step) sample.push_back(change(i, 0));
  std::sort(sample.begin(), sample.end());
  for (Index r = 1; r < ranges; ++r)
    limits.push_back(sample[to_size(r * std::ssize(sample) / ranges)]);
  limits.erase(std::unique(limits.begin(), limits.end()), limits.end());
  return limits;
}

// A row with all that is written of it.
struct Line {
  double first = 0;  // change of the first measure
  Index row = 0;
  Index at = 0;  // its cells among those of the range
};

class Writer {
 public:
  Writer(const Explanation& explained, CsvGuard guard)
      : explained_(explained),
        guard_(guard),
        classes_(cells_of(explained.report.task.classes)) {
    for (const Attribute& a : explained.train.attributes)
      groups_.push_back(cells_of(a.groups));
  }

  [[nodiscard]] std::string header() const {
    std::string text = "row";
    for (const std::string& name : explained_.images) text += "," + csv_cell(name, guard_);
    text += ",label";
    for (const Attribute& a : explained_.train.attributes)
      text += "," + csv_cell(a.name, guard_);
    const auto& measures = explained_.report.measures;
    if (measures.size() == 1) return text + ",change\n";
    for (const ExplainedMeasure& m : measures) text += "," + csv_cell("change_" + m.name());
    return text + "\n";
  }

  // Rows whose first change is in [low, high).
  void gather(double low, double high) {
    lines_.clear();
    codes_.clear();
    changes_.clear();
    const Matrix& change = explained_.change;
    const Study& train = explained_.train;
    for (Index row = 0; row < change.rows(); ++row) {
      if (change(row, 0) < low || change(row, 0) >= high) continue;
      lines_.push_back({change(row, 0), row, std::ssize(lines_)});
      codes_.push_back(train.y[to_size(row)]);
      for (const Attribute& a : train.attributes) codes_.push_back(a.code[to_size(row)]);
      for (Index j = 1; j < change.cols(); ++j) changes_.push_back(change(row, j));
    }
    std::sort(lines_.begin(), lines_.end(), [](const Line& a, const Line& b) {
      return a.first != b.first ? a.first < b.first : a.row < b.row;
    });
  }

  [[nodiscard]] Index pieces() const {
    return (std::ssize(lines_) + kPieceRows - 1) / kPieceRows;
  }

  [[nodiscard]] std::string piece(Index number) const {
    std::string text;
    const auto out = std::back_inserter(text);
    const Index last = std::min((number + 1) * kPieceRows, std::ssize(lines_));
    for (Index i = number * kPieceRows; i < last; ++i) {
      const Line& line = lines_[to_size(i)];
      const std::int32_t* code = &codes_[to_size(line.at) * (1 + groups_.size())];
      fmt::format_to(out, "{},", line.row + 1);
      for (const std::string& name : explained_.images)
        text += csv_cell(explained_.train.table.column(name).text(line.row), guard_) + ",";
      text += classes_[to_size(*code)];
      for (const std::vector<std::string>& group : groups_) {
        text += ',';
        if (*++code >= 0) text += group[to_size(*code)];
      }
      fmt::format_to(out, ",{}", line.first);
      const Index more = explained_.change.cols() - 1;
      for (Index j = 0; j < more; ++j)
        fmt::format_to(out, ",{}", changes_[to_size(line.at * more + j)]);
      text += '\n';
    }
    return text;
  }

 private:
  [[nodiscard]] std::vector<std::string> cells_of(
      const std::vector<std::string>& texts) const {
    std::vector<std::string> cells;
    for (const std::string& text : texts) cells.push_back(csv_cell(text, guard_));
    return cells;
  }

  const Explanation& explained_;
  CsvGuard guard_;
  std::vector<std::string> classes_;
  std::vector<std::vector<std::string>> groups_;
  std::vector<Line> lines_;
  std::vector<std::int32_t> codes_;  // of each line: label, then the attributes'
  std::vector<double> changes_;      // of each line: those of the other measures
};

}  // namespace

void Explanation::write_csv(const std::function<void(std::string_view)>& sink,
                            const Exec& exec, CsvGuard guard) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr Index kTogether = 64;  // pieces that wait in memory
  Writer writer(*this, guard);
  sink(writer.header());
  std::vector<double> limits = range_limits(change);
  limits.push_back(infinity);
  double low = -infinity;
  for (const double high : limits) {
    writer.gather(low, high);
    low = high;
    for (Index first = 0; first < writer.pieces(); first += kTogether) {
      std::vector<std::string> texts(to_size(std::min(kTogether, writer.pieces() - first)));
      exec.for_each(std::ssize(texts),
                    [&](Index i) { texts[to_size(i)] = writer.piece(first + i); });
      for (const std::string& text : texts) sink(text);
    }
  }
}

}  // namespace fmd
