#include "fmd/pipeline/scan.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "data/number.h"
#include "fmd/core/accumulator.h"
#include "fmd/core/error.h"
#include "pipeline/scan_pass.h"

namespace fmd {
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
  const EncodedColumn* column = model.backbone->encoder().find(attribute.columns[0]);
  if (column->kind != ColumnKind::number) return;
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
void add_flips(const Model& model, const Features& X, const Attribute& attribute,
               const std::vector<Index>& rows, const Matrix& p, FlipSums& sums) {
  PairPlan plan = flip_plan(attribute, rows);
  if (plan.size() == 0) return;
  for (Index& row : plan.row) row -= rows.front();  // X has the block's rows alone
  const auto Xbar = model.backbone->flipped(X, attribute, plan, {});
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
  for (const Attribute& a : attributes) read += model.backbone->reads(a);
  for (std::size_t a = 0; a < attributes.size(); ++a) {
    const Attribute& attribute = attributes[a];
    const auto suspect =
        std::find_if(report.columns.begin(), report.columns.end(),
                     [&](const ScanSuspect& s) { return s.name == attribute.name; });
    suspect->reads = model.backbone->reads(attribute) ? Reads::yes : Reads::no;
    if (suspect->reads == Reads::no) continue;
    const EncodedColumn* column = model.backbone->encoder().find(attribute.columns[0]);
    const FlipSums& sums = flips.of[a];
    if (sums.rows == 0) continue;
    ScanFlip flip;
    flip.kind = attribute.flips() ? "flip" : "slope";
    flip.rows = static_cast<Index>(sums.rows);
    flip.values = std::ssize(attribute.values);
    flip.change = sums.mean_change(
        report.adjust == Adjust::none ? confidence : adjusted_confidence(confidence, read));
    if (attribute.flips()) flip.flip_rate = sums.flipped / sums.rows;
    if (!attribute.flips()) flip.deviation = column->scale;
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
      if (!model.backbone->reads(coded[a])) continue;
      if (coded[a].flips()) {
        add_flips(model, *X, coded[a], rows, p, state.of[a]);
      } else {
        add_slopes(model, table, *X, coded[a], rows, p, state.of[a]);
      }
    }
  };
  return reduce_part<ScanFlips>(
      first, first + block_count(table.rows()),
      [&] { return ScanFlips{std::vector<FlipSums>(coded.size())}; }, add, exec);
}

}  // namespace

const ScanGap* ScanSuspect::widest() const {
  const ScanGap* result = nullptr;
  for (const ScanGap& gap : worst)
    if (gap.finding && (result == nullptr || std::abs(gap.difference.value) >
                                                 std::abs(result->difference.value)))
      result = &gap;
  return result;
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

}  // namespace

ScanPass::ScanPass(const Model* model, const Task& task,
                   const SuspectSurvey::Suspects& suspects, const std::string& source)
    : model_(model), task_(task), suspects_(suspects), source_(source) {
  require_favorable(task.favorable_class());
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
  require_favorable(scored.favorable);
  for (std::size_t a = 0; a < groups_.size(); ++a)
    read_groups(suspects_.attributes[a], block, groups_[a]);
  counts_.add(groups_, scan_outcomes(scored), exec);
  if (model_ != nullptr && block.rows() > 0)
    flips_.merge(
        flips_part(*model_, block, suspects_.attributes, rows_ / kBlockRows, exec));
  rows_ += block.rows();
  labelled_ = scored.labelled();
}

ScanReport ScanPass::finish(const ScanOptions& options) && {
  const std::vector<Attribute>& attributes = suspects_.attributes;
  ScanReport report = scan_report(attributes, counts_, task_, options);
  report.rows = rows_;
  report.labelled = labelled_;
  report.data = source_;
  report.left_out = suspects_.left_out;
  if (model_ == nullptr) return report;
  if (!flips_.empty())
    set_flips(*model_, std::move(flips_).finish(), attributes, options.confidence, report);
  report.kind = kind_of(*model_);
  return report;
}

std::vector<std::string> score_columns(const Task& task) {
  std::vector<std::string> names = {"p", "score", "fmd_row", "predicted"};
  for (const std::string& name : task.classes) names.push_back("p_" + name);
  return names;
}

ScanReport scan_model(const Model& model, const Study& study, const ScanOptions& options,
                      const Exec& exec) {
  SuspectSurvey survey(model.task, options);
  survey.add(study.table);
  const SuspectSurvey::Suspects suspects = survey.finish();
  ScanPass pass(&model, model.task, suspects, study.table.source);
  pass.add(study.table, score(model, study, {}, exec), exec);
  ScanReport report = std::move(pass).finish(options);
  report.data_sha256 = study.sha256;
  return report;
}

ScanReport scan_files(const Table& scores, const Scored& scored, const Task& task,
                      const ScanOptions& options, const Exec& exec) {
  SuspectSurvey survey(task, options, score_columns(task));
  survey.add(scores);
  const SuspectSurvey::Suspects suspects = survey.finish();
  ScanPass pass(nullptr, task, suspects, scores.source);
  pass.add(scores, scored, exec);
  return std::move(pass).finish(options);
}

}  // namespace fmd
