#include "fmd/report/explain_report.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "fmd/version.h"
#include "report/json.h"
#include "report/line.h"
#include "report/text.h"

namespace fmd {
namespace {

Json check_json(const RemovalCheck& check) {
  return {{"rows", check.rows},
          {"predicted", number(check.predicted)},
          {"capped", check.capped},
          {"newton", number(check.newton)},
          {"refitted", number(check.refitted)},
          {"converged", check.converged},
          {"fine_tuned", check.fine_tuned}};
}

Json rounds_json(const Removal& removal) {
  Json rounds = Json::array();
  for (const RemovalCheck& round : removal.rounds)
    rounds.push_back({{"rows", round.rows},
                      {"predicted", number(round.predicted)},
                      {"refitted", number(round.refitted)}});
  return {{"rows", removal.entries.size()},
          {"before", number(removal.before)},
          {"after", number(removal.after)},
          {"stopped", removal.stopped},
          {"rounds", rounds}};
}

Json measure_json(const ExplainedMeasure& m, const Task& task) {
  Json cells = Json::array();
  for (const InfluenceCell& cell : m.cells)
    cells.push_back({{"label", task.classes[static_cast<std::size_t>(cell.label)]},
                     {"group", m.values[static_cast<std::size_t>(cell.group)]},
                     {"rows", cell.rows},
                     {"sum", number(cell.sum)},
                     {"per_100", number(cell.per_100())}});
  return {{"measure", m.measure},
          {"attribute", text_or_null(m.attribute)},
          {"value", number(m.value)},
          {"rests_on", m.rests_on},
          {"against", m.against},
          {"cells", cells},
          {"check", m.check ? check_json(*m.check) : Json(nullptr)},
          {"in_rounds", m.rounds ? rounds_json(*m.rounds) : Json(nullptr)}};
}

}  // namespace

std::string to_json(const ExplainReport& r) {
  Json measures = Json::array();
  for (const ExplainedMeasure& m : r.measures) measures.push_back(measure_json(m, r.task));
  Json json = {{"schema", 1},
               {"command", "explain"},
               {"version", kVersion},
               {"model", {{"name", r.model}, {"sha256", text_or_null(r.model_sha256)}}},
               {"data", data_json(r.data, r.data_sha256, r.data_rows)},
               {"train",
                {{"name", r.train},
                 {"sha256", text_or_null(r.train_sha256)},
                 {"rows", r.train_rows},
                 {"known_from_training", r.known < 0 ? Json(nullptr) : Json(r.known)}}},
               {"solve",
                {{"solver", r.solve.solver},
                 {"hessian", r.hessian_source},
                 {"l2", number(r.l2)},
                 {"residual", number(r.solve.residual)},
                 {"converged", r.solve.converged},
                 {"damping", number(r.solve.damping)},
                 {"rcond", number(r.solve.rcond)},
                 {"iterations", r.solve.iterations},
                 {"cached", r.solve.cached}}},
               {"relative_gradient", number(r.relative_gradient)},
               {"at_optimum", r.at_optimum},
               {"measures", measures},
               {"seed", r.seed}};
  if (r.boosting)
    json["boosting"] = {{"eta", number(r.boosting->eta)},
                        {"lambda", number(r.boosting->lambda)},
                        {"residual", number(r.boosting->residual)}};
  if (!r.notes.empty()) json["notes"] = r.notes;
  return json_lines(json);
}

namespace {

using text::clip;
using text::count;
using text::gap;

constexpr std::size_t kMostCells = 12;  // shown: those that matter most on both sides

std::string gap_in_words(const std::string& measure) {
  static const std::map<std::string, std::string> words = {
      {"co", "flip gap"},
      {"co_tv", "flip gap over all classes"},
      {"consistency", "mean squared flip gap"},
      {"demographic_parity_soft", "difference of mean scores"},
      {"equal_opportunity_soft", "difference of mean scores, favourable labels"},
      {"false_positive_soft", "difference of mean scores, other labels"},
      {"loss", "log loss"}};
  const auto found = words.find(measure);
  return found == words.end() ? measure : found->second;
}

std::string change(double x) { return fmt::format("{:+.4f}", x); }

std::string cell_name(const InfluenceCell& cell, const ExplainedMeasure& measure,
                      const Task& task) {
  return clip(measure.values[static_cast<std::size_t>(cell.group)], 15) + ", " +
         clip(task.classes[static_cast<std::size_t>(cell.label)], 11);
}

void add_check(const ExplainedMeasure& measure, SheetSection& s) {
  if (!measure.check) return;
  const RemovalCheck& c = *measure.check;
  line(s, "  ", "checked: the {} strongest rows, predicted {}, {} {}", count(c.rows),
       change(c.predicted) + (c.capped ? " (capped)" : ""),
       c.fine_tuned ? "fine-tuned" : "refitted", change(c.refitted));
  if (c.capped)
    s.line("  ", "The predicted change is larger than the gap: it is capped at the gap.");
  if (c.fine_tuned) {
    s.line("  ",
           "The network was trained further with and without these rows: one refit of "
           "many, not at an optimum.");
    return;
  }
  if (!c.converged) s.line("  ", "The refit did not reach its optimum: take it as a hint.");
  if (!measure.rounds) return;
  const Removal& r = *measure.rounds;
  line(s, "  ", "in {} {} with a refit between: {} rows, {} -> {}", r.rounds.size(),
       r.rounds.size() == 1 ? "round" : "rounds", count(std::ssize(r.entries)),
       gap(r.before), gap(r.after));
  if (r.stopped)
    s.line("  ", "Stopped there: a round changed less than half of what was predicted.");
}

void add_source(const ExplainReport& r, SheetSection& s) {
  s.line("model  ", r.model);
  line(s, "data   ", "{}, {} rows: the gaps are measured here", r.data, count(r.data_rows));
  s.line("train  ", fmt::format("{}, {} rows", r.train, count(r.train_rows)) +
                        (r.known < 0 ? ""
                                     : fmt::format(", {} of them known from training",
                                                   count(r.known))));
  if (r.boosting) {
    line(s, "solved ",
         "adjoint of boosting, eta {:.4g}, lambda {:.4g}; a refit gives the leaf values to "
         "{:.0e}",
         r.boosting->eta, r.boosting->lambda, r.boosting->residual);
    return;
  }
  line(s, "solved ", "{} on the {} rows, residual {:.0e}, damping {:g}{}", r.solve.solver,
       r.hessian_source, r.solve.residual, r.solve.damping,
       r.solve.cached ? ", factor from the cache" : "");
  if (!r.solve.converged)
    s.line("!      ", "the solver did not converge: the figures are only a hint");
  if (!r.at_optimum)
    line(s, "!      ",
         "only a hint: the head is not at an optimum (gradient "
         "{:.1e} of its start)",
         r.relative_gradient);
  if (r.other_rows())
    s.line("!      ", "some of these rows were not used to train the model");
}

}  // namespace

SheetSection explain_table(const ExplainReport& report, std::size_t j) {
  const ExplainedMeasure& measure = report.measures.at(j);
  const SheetColumns columns = sheet_columns(
      fmt::format("  {{leave out 100 rows of:30}} {{of all:>7}}   {{the {} changes, on "
                  "average, by:>9}}",
                  measure.measure.starts_with("co") ? "flip gap" : "gap"));
  SheetSection s;
  const std::size_t all = measure.cells.size();
  if (all > 0) s.table(columns);
  for (std::size_t k = 0; k < all; ++k) {
    if (all > kMostCells && k == kMostCells / 2) {
      s.row(columns, {fmt::format("  ... {} more: --json", all - kMostCells)});
      k = all - kMostCells / 2;
    }
    const InfluenceCell& cell = measure.cells[k];
    s.row(columns, {"  " + cell_name(cell, measure, report.task), count(cell.rows),
                    change(cell.per_100())});
  }
  add_check(measure, s);
  return s;
}

Sheet sheet_of(const ExplainReport& r) {
  Sheet sheet;
  sheet.command = "explain";
  add_source(r, sheet.add());
  for (std::size_t j = 0; j < r.measures.size(); ++j) {
    const ExplainedMeasure& m = r.measures[j];
    SheetSection& s = sheet.add(
        m.name() + " ",
        fmt::format("{}{}: {}", gap_in_words(m.measure),
                    m.attribute.empty() ? "" : " of " + m.attribute, gap(m.value)));
    s.blocks = explain_table(r, j).blocks;
    line(s, "  ", "{} rows raise it; {} rows lower it", count(m.rests_on),
         count(m.against));
  }
  SheetSection& end = sheet.add();
  end.blank();
  end.line("", "A strong row is not a wrong row.");
  return sheet;
}

}  // namespace fmd
