#include "fmd/report/debias_report.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/index.h"
#include "fmd/core/safe_text.h"
#include "fmd/version.h"
#include "report/audit_words.h"
#include "report/debias_report.h"
#include "report/ledger_count.h"
#include "report/text.h"

namespace fmd::internal {
namespace {

// A receipt is given to others. Groups so small that persons could be recognised keep only
// their name.
constexpr Index kFewestShown = kMaskedRows;

Json without_figures(const Json& group) {
  Json json = group;
  for (auto& [key, value] : json.items())
    if (key != "value" && key != "attribute" && key != "group") value = nullptr;
  json["reason"] = "fewer than 10 rows";
  return json;
}

}  // namespace

Json measures_json(const AuditReport& audit) {
  Json json = figures_json(audit);
  for (Json& attribute : json["attributes"]) {
    attribute.erase("flips");
    if (attribute.contains("match")) attribute["match"].erase("balance");
    for (Json& group : attribute["groups"])
      if (!group["rows"].is_number()) group = without_figures(group);
  }
  return json;
}

}  // namespace fmd::internal

namespace fmd {
namespace {

const char* rule_word(Verdict verdict) {
  return verdict == Verdict::pass   ? "kept"
         : verdict == Verdict::fail ? "missed"
                                    : "unclear";
}

Json data_json(const std::vector<DataNote>& notes) {
  Json all = Json::array();
  for (const DataNote& note : notes) {
    Json one = {{"role", note.role}, {"name", note.name}};
    one["sha256"] = text_or_null(note.sha256);
    one["rows"] = note.rows > 0 ? Json(note.rows) : Json(nullptr);
    one["split_seed"] = note.split_seed ? Json(*note.split_seed) : Json(nullptr);
    one["overlap_with_training"] = note.overlap < 0 ? Json(nullptr) : Json(note.overlap);
    one["overlap_by_chance"] = number(note.by_chance);
    if (!note.key.empty()) one["key"] = note.key;
    all.push_back(one);
  }
  return all;
}

Json overlaps_json(const std::vector<OverlapNote>& notes) {
  Json all = Json::array();
  for (const OverlapNote& note : notes)
    all.push_back({{"rows_of", note.role},
                   {"equal_rows_of", note.other},
                   {"shared", note.rows.shared},
                   {"by_chance", number(note.rows.by_chance)},
                   {"same_rows", note.rows.same_set},
                   {"beyond_chance", note.rows.beyond_chance()}});
  return all;
}

// What names a candidate: lambda, or s and, where training rows were taken, K.
Json key_json(const Candidate& candidate) {
  Json json = Json::object();
  if (std::isinf(candidate.lambda))
    json["lambda"] = "infinity";
  else if (!std::isnan(candidate.lambda))
    json["lambda"] = candidate.lambda;
  if (candidate.polish > 0) json["polish"] = candidate.polish;
  if (!std::isnan(candidate.s)) json["s"] = candidate.s;
  if (candidate.K > 0) json["K"] = candidate.K;
  if (!std::isnan(candidate.gamma)) json["gamma"] = candidate.gamma;
  if (!std::isnan(candidate.mu)) json["mu"] = candidate.mu;
  return json;
}

Json candidate_json(const Candidate& candidate, const std::vector<std::string>& repaired,
                    const std::string& measure) {
  Json json = key_json(candidate);
  json["kind"] = candidate.kind;
  json["accuracy"] = interval_json(candidate.accuracy);
  json["accuracy_change"] = interval_json(candidate.accuracy_change);
  json["most_loss"] = number(candidate.most_loss);
  json["log_loss"] = number(candidate.log_loss);
  Json measures;
  for (std::size_t a = 0; a < repaired.size(); ++a) {
    measures[repaired[a]] = {{measure, interval_json(candidate.bias[a])},
                             {"change", interval_json(candidate.bias_change[a])}};
  }
  json["measures"] = measures;
  json["lowers_bias"] = candidate.lowers_bias;
  json["target"] = to_string(candidate.target);
  return json;
}

Json contenders_json(const std::vector<Contender>& all, bool controls) {
  Json json = Json::object();
  for (const Contender& contender : all) {
    const bool main = contender.name == "before" || contender.name == "repaired";
    if (main == controls) continue;
    const std::string key = contender.name == "repaired" ? "after" : contender.name;
    if (contender.audit) {
      json[key] = measures_json(*contender.audit);
    } else {
      json[key] = {{"value", nullptr}, {"reason", contender.reason}};
    }
  }
  return json;
}

Json moved_json(const Moved& moved) {
  Json groups = Json::array(), measures = Json::array(), inputs = Json::array();
  for (const GroupMove& g : moved.groups) {
    const Json group = {{"attribute", g.attribute},
                        {"group", g.group},
                        {"rows", g.rows},
                        {"gained", g.gained},
                        {"lost", g.lost},
                        {"favorable_rate_before", number(g.rate_before)},
                        {"favorable_rate_after", number(g.rate_after)}};
    groups.push_back(g.rows < kFewestShown ? without_figures(group) : group);
  }
  for (const MeasureMove& m : moved.measures) {
    Json one = {{"attribute", m.attribute}, {"measure", m.measure}, {"about", m.about}};
    one["before"] = interval_json(m.before);
    one["after"] = interval_json(m.after);
    one["change"] = interval_json(m.change, "no paired interval");
    one["worse"] = m.worse;
    measures.push_back(one);
  }
  for (const InputMove& i : moved.inputs)
    inputs.push_back({{"feature", i.feature}, {"moved_by", number(i.after - i.before)}});
  return {{"decisions", groups}, {"measures", measures}, {"inputs", inputs}};
}

Json chosen_json(const DebiasReport& r) {
  Json json = {
      {"rule", r.rule},
      {"candidates", r.candidates.size()},
      {"risk", r.risk},
      {"budget", r.budget == Budget::none ? Json(nullptr) : Json(to_string(r.budget))}};
  if (!r.small_bias.empty()) {
    Json bias;
    for (std::size_t k = 0; k < r.repaired.size(); ++k)
      bias[r.repaired[k]] = interval_json(r.small_bias[k]);
    json["not_repaired"] = {{"only_if_over", r.only_if_over}, {"bias", bias}};
  }
  if (r.chosen >= 0) {
    const Candidate& candidate = r.candidates[static_cast<std::size_t>(r.chosen)];
    json.update(key_json(candidate));
    json["on_holdout"] = candidate_json(candidate, r.repaired, r.measure);
  }
  return json;
}

double co_of(const std::vector<Contender>& contenders, std::size_t at,
             const std::string& attribute) {
  const AttributeAudit* audit =
      contenders[at].audit ? contenders[at].audit->find(attribute) : nullptr;
  return audit == nullptr || !audit->flip ? kUndefined : audit->flip->co.value;
}

// Before and after as measured, between them what was predicted, and both changes.
Json part_json(const std::vector<Contender>& contenders,
               const std::vector<Predicted>& predicted,
               const std::vector<std::string>& repaired, const char* empty_reason) {
  if (contenders.empty()) return {{"value", nullptr}, {"reason", empty_reason}};
  const Json measured = contenders_json(contenders, false);
  Json expected, change;
  for (std::size_t a = 0; a < repaired.size(); ++a) {
    Json& co = expected[repaired[a]]["co"];
    co["value"] = number(predicted[a].value);
    if (std::isnan(predicted[a].value))
      co["reason"] = "only for step, remove, replace, and for two classes on the path";
    if (predicted[a].capped) co["capped"] = true;
    change[repaired[a]]["co"] = {{"predicted", number(predicted[a].change)},
                                 {"measured", number(co_of(contenders, 1, repaired[a]) -
                                                     co_of(contenders, 0, repaired[a]))}};
  }
  return {{"before", measured["before"]},
          {"predicted", expected},
          {"after", measured["after"]},
          {"change", change}};
}

Json solve_json(const DebiasReport& r) {
  return {{"method", r.method},
          {"status", r.solve_status},
          {"solver", r.solve.solver},
          {"residual", number(r.solve.residual)},
          {"damping", number(r.solve.damping)},
          {"rcond", number(r.solve.rcond)},
          {"iterations", r.solve.iterations},
          {"relative_gradient", number(r.relative_gradient)},
          {"hessian_rows", r.hessian_source}};
}

Json attribute_use_json(const DebiasReport& r) {
  Json all = Json::array();
  for (const AttributeUse& use : r.attribute_use) {
    all.push_back({{"attribute", use.attribute},
                   {"read_by_model", use.read_by_model},
                   {"used_to_choose_weights", use.chose_weights},
                   {"needed_at_prediction", use.needed_at_prediction}});
  }
  return all;
}

std::string aim_words(const std::string& measure) {
  if (measure == "equalized_odds_soft") return "gap of soft odds";
  const bool groups = measure == "demographic_parity" || measure == "equal_opportunity" ||
                      measure == "equalized_odds";
  return groups ? measure + " gap" : "flip gap";
}

Json rule_on_test(const DebiasReport& r) {
  if (r.on_test == Verdict::none) return nullptr;
  return std::string(rule_word(r.on_test)) + " on test";
}

const char* figures_from(const DebiasReport& r) {
  if (!r.test.empty()) return "test";
  return r.folds > 0 ? "cross-fitted on the rows used for the choice"
                     : "hold-out, used for the choice";
}

}  // namespace

std::string receipt_json(const DebiasReport& r, const RunNote& run) {
  Json json;
  json["schema"] = 2;
  json["kind"] = "fmd receipt";
  json["says"] = fmt::format("repaired for the {} of {} on {}", aim_words(r.measure),
                             fmt::join(r.repaired, ", "), r.data[0].name);
  json["model"] = {{"name", r.model},
                   {"out", r.out},
                   {"sha256_before", r.model_sha256},
                   {"sha256_after", r.out_sha256}};
  for (const ModelFileNote& file : r.model_files)
    json["model"]["files"].push_back({{"name", file.name},
                                      {"sha256_before", text_or_null(file.sha256_before)},
                                      {"sha256_after", file.sha256_after}});
  json["data"] = data_json(r.data);
  json["overlaps"] = overlaps_json(r.overlaps);
  json["rows"] = {
      {"edit", r.edit_rows}, {"holdout", r.holdout_rows}, {"edit_pairs", r.pairs}};
  json["folds"] = r.folds;
  json["optimistic"] = r.optimistic;
  if (!r.notes.empty()) json["notes"] = r.notes;
  if (r.ledger) json["ledger"] = ledger_json(*r.ledger);
  json["task"] = Json::parse(to_json(r.task));
  json["repaired"] = r.repaired;
  json["options"] = Json::parse(r.options);
  json["chosen"] = chosen_json(r);
  json["rule"] = rule_on_test(r);
  json["solve"] = solve_json(r);
  for (const MonotoneNote& rule : r.monotone)
    json["monotone"].push_back({{"input", rule.input},
                                {"direction", rule.direction},
                                {"from", rule.from_file ? "model" : "option"},
                                {"before", rule.before},
                                {"after", rule.after}});
  if (r.leaves)
    json["leaves"] = {{"changed", r.leaves->changed},
                      {"of", r.leaves->leaves},
                      {"largest_change", number(r.leaves->largest)},
                      {"trees", r.leaves->trees},
                      {"of_trees", r.leaves->all_trees}};
  json["measures"] = {
      {"holdout", part_json(r.holdout, r.predicted_holdout, r.repaired, "none")},
      {"test", part_json(r.test, r.predicted_test, r.repaired, "no --test was given")}};
  json["accuracy_change"] = interval_json(r.accuracy_change);
  json["moved"] = moved_json(r.moved);
  json["controls"] = contenders_json(r.figures(), true);
  json["dropping_the_column"] = dropped_json(r.dropped);
  json["attribute_use"] = attribute_use_json(r);
  if (!r.mirrors_left.empty()) json["mirrors_left"] = r.mirrors_left;
  json["proxies"] = Json::parse(to_json(r.proxies));
  json["figures_from"] = figures_from(r);
  json["versions"] = {{"fmd", kVersion}, {"cpu_kernel", r.blas_kernel}};
  json["seed"] = r.seed;
  json["run"] = {
      {"date", run.date}, {"seconds", run.seconds}, {"cpu_seconds", run.cpu_seconds}};
  return json_lines(json);
}

std::string path_json(const DebiasReport& r) {
  Json json;
  json["schema"] = 2;
  json["kind"] = "fmd path";
  json["seed"] = r.seed;
  json["options"] = Json::parse(r.options);
  json["task"] = Json::parse(to_json(r.task));
  json["rows"] = {{"holdout", r.holdout_rows}};
  json["folds"] = r.folds;
  json["risk"] = r.risk;
  json["repaired"] = r.repaired;
  json["measure"] = r.measure;
  json["tensors"] = r.out + ".path.safetensors";
  json["chosen"] = r.chosen;
  json["points"] = Json::array();
  for (const Candidate& candidate : r.candidates)
    json["points"].push_back(candidate_json(candidate, r.repaired, r.measure));
  return json_lines(json);
}

namespace {

using text::clip;
using text::count;
using text::fixed;
using text::gap;
using text::percent;

const Comparison* shown_difference(const AttributeAudit& a, const char* measure) {
  const GroupMeasure* m = a.groups.find(measure);
  if (m == nullptr || m->comparisons.empty()) return nullptr;
  const Comparison* shown = against(a.groups, measure, shown_values(a).second);
  return shown == nullptr ? &m->comparisons[0] : shown;
}

// The digits that are shown differ.
bool is_seen(const MeasureMove& m) {
  return !m.before.defined() || fixed(m.before.value, 3) != fixed(m.after.value, 3);
}

// about: whom the figure is about; "" = anyone.
bool got_worse(const DebiasReport& r, const std::string& attribute,
               const std::string& measure, const std::string& about = "") {
  return std::any_of(r.moved.measures.begin(), r.moved.measures.end(),
                     [&](const MeasureMove& m) {
                       return m.attribute == attribute && m.measure == measure && m.worse &&
                              is_seen(m) && (about.empty() || m.about == about);
                     });
}

// The lines above a control's figures.
std::string control_words(const Contender& control, const DebiasReport& r) {
  if (control.name == "column_averaged") return "column\naveraged";
  if (control.name == "retrained_without_column")
    return "retrained\nw/o " +
           clip(r.repaired.size() == 1 ? clip(safe_text(r.repaired[0]), 9) : "them", 5);
  if (control.name == "fine_tuned") return "tuned on\nthe pairs";
  if (control.name == "tempered") return "temp.\nscaled";
  return "intercept\nshifted";
}

SheetColumns repair_columns(const DebiasReport& r) {
  SheetColumns columns = sheet_columns("  {:17.}{\nbefore:>8} {\nrepaired\n:>8|}");
  std::string above = " trivial controls\n";
  for (const Contender& c : r.figures()) {
    if (c.name == "before" || c.name == "repaired") continue;
    columns.push_back(sheet_columns("{:>10}")[0]);
    columns.back().heading = above + control_words(c, r);
    above = "\n";
  }
  return columns;
}

// A row of the table is one figure of every contender. "-" = it was not measured.
struct RepairRows {
  const DebiasReport& report;
  SheetSection& section;
  SheetColumns columns = repair_columns(report);

  void add(const std::string& title,
           const std::function<SheetCell(const AuditReport&)>& figure, bool mark = false) {
    std::vector<SheetCell> cells = {title};
    for (const Contender& c : report.figures()) {
      cells.push_back(c.audit ? figure(*c.audit) : "n/a");
      cells.back().mark = mark && c.name == "repaired";
    }
    if (cells[1].text != "-")  // e.g. no favourable class
      section.row(columns, std::move(cells));
  }
  void add_of(const std::string& attribute, const std::string& title,
              const std::function<SheetCell(const AttributeAudit&)>& figure,
              bool mark = false) {
    add(
        title,
        [&](const AuditReport& audit) {
          const AttributeAudit* a = audit.find(attribute);
          return a == nullptr ? SheetCell("-") : figure(*a);
        },
        mark);
  }
  void add_difference(const std::string& attribute, const std::string& title,
                      const char* measure) {
    add_of(
        attribute, title,
        [&](const AttributeAudit& a) -> SheetCell {
          const Comparison* d = shown_difference(a, measure);
          if (d == nullptr) return "-";
          return {fixed(d->difference.value, 3), d->difference};
        },
        got_worse(report, attribute, measure));
  }
};

SheetCell gap_cell(const Interval& i) { return {gap(i.value), i}; }

SheetCell mean_gap(const AttributeAudit& a) {
  return a.flip ? gap_cell(flip_gap(*a.flip)) : "not read";
}

SheetCell shown_gap(const AttributeAudit& a) {
  if (!a.flip) return "not read";
  const auto [from, to] = shown_values(a);
  const FlipCell* cell = find_cell(*a.flip, from, to);
  return cell == nullptr ? "-" : gap_cell(cell->co);
}

bool is_repaired(const DebiasReport& r, const std::string& attribute) {
  return std::find(r.repaired.begin(), r.repaired.end(), attribute) != r.repaired.end();
}

bool judges_worst(const DebiasReport& r, const std::string& name) {
  const AttributeAudit* a = r.figures()[0].audit->find(name);
  return r.measure.starts_with("co") && r.rule.find("worst pair") != std::string::npos &&
         a != nullptr && a->flip && a->values.size() > 2 && a->flip->co_worst.defined();
}

void add_flip_gaps(const DebiasReport& r, RepairRows& rows) {
  const std::vector<AttributeAudit>& attributes = r.figures()[0].audit->attributes;
  for (const std::string& name : r.repaired)
    rows.add_of(name, "flip gap, " + name, mean_gap);
  // Of many values a target judges the worst pair, not the mean.
  for (const std::string& name : r.repaired)
    if (judges_worst(r, name))
      rows.add_of(name, "  worst pair", [](const AttributeAudit& a) -> SheetCell {
        return a.flip ? gap_cell(a.flip->co_worst) : "not read";
      });
  // Matched pairs: what is above the floor.
  for (const AttributeAudit& a : attributes)
    rows.add_of(a.name, "excess, " + a.name, [](const AttributeAudit& other) {
      return other.match ? gap_cell(other.match->excess) : "-";
    });
  for (const AttributeAudit& a : attributes) {
    if (is_repaired(r, a.name) || !a.flip) continue;
    const auto [from, to] = shown_values(a);
    const std::string about = a.values.size() == 2 ? "" : flip_words(a.values, from, to);
    rows.add_of(a.name, about.empty() ? "flip gap, " + a.name : about, shown_gap,
                got_worse(r, a.name, "co", about));
  }
}

void add_moved(const DebiasReport& r, SheetSection& s) {
  for (const Contender& c : r.figures())
    if (!c.audit) line(s, "  ", "n/a ({}): {}", c.title, c.reason);
  const Interval& change = r.accuracy_change;
  line(s, "  ", "accuracy, paired: {:+.1f} points ({:+.1f} .. {:+.1f})", 100 * change.value,
       100 * change.low, 100 * change.high);
  std::string groups;
  for (const GroupMove& g : r.moved.groups)
    if (is_repaired(r, g.attribute) && (g.gained != 0 || g.lost != 0))
      groups += fmt::format("{}{} +{} -{}", groups.empty() ? "" : ", ", g.group,
                            count(g.gained), count(g.lost));
  if (!groups.empty())
    s.line(fmt::format("  changed answers of {}: ", count(r.figures()[0].audit->rows)),
           groups, 4);
}

// Which candidate it is, and how well it was computed.
std::string candidate_words(const DebiasReport& r, const Candidate& candidate) {
  if (!std::isnan(candidate.gamma) && std::isnan(candidate.mu)) {
    return fmt::format(
        "lambda {:.4g}, gamma {:g} on the soft group gap, {}; {} (gradient "
        "{:.0e})",
        candidate.lambda, candidate.gamma, r.solve.solver, r.solve_status,
        r.solve.residual);
  }
  if (!std::isnan(candidate.gamma)) {
    return fmt::format("gamma {:g} on the soft odds gaps, mu {:g}; {} (gradient {:.0e})",
                       candidate.gamma, candidate.mu, r.solve_status, r.solve.residual);
  }
  if (r.hessian_source == "none" &&
      std::isfinite(candidate.lambda)) {  // a network's layers
    return fmt::format("lambda {:.4g}, {}; {} (gradient {:.0e})", candidate.lambda,
                       r.solve.solver, r.solve_status, r.solve.residual);
  }
  if (std::isnan(candidate.s)) {
    return fmt::format(
        "lambda {:.4g}, {} (gradient {:.0e}); Hessian: {} rows, damping {:.2g}",
        candidate.lambda, r.solve_status, r.solve.residual, r.hessian_source,
        r.solve.damping);
  }
  std::string words = fmt::format("s {:.4g}", candidate.s);
  if (candidate.K > 0) words += fmt::format(", {} training rows", count(candidate.K));
  words += fmt::format("; {} (residual {:.0e}); Hessian: {}, damping {:.2g}",
                       r.solve.solver, r.solve.residual, r.hessian_source, r.solve.damping);
  if (r.relative_gradient > 1e-3)
    words += "; only a hint: the head is not at an optimum of its training objective";
  return words;
}

// Of accuracy; nothing is -0.00.
std::string loss_points(double share) {
  const std::string text = fixed(100 * share, 2);
  return text == "-0.00" ? "0.00" : text;
}

// What DATA proves about the budget; "" = the rule has none.
std::string budget_words(const DebiasReport& r) {
  if (r.budget == Budget::none || r.risk >= 0.5) return "";
  const Candidate& chosen = r.candidates[at(r.chosen)];
  const std::string loss = fmt::format("loss {} points, at most {} (risk {:g} %)",
                                       loss_points(-chosen.accuracy_change.value),
                                       loss_points(chosen.most_loss), 100 * r.risk);
  if (r.budget == Budget::proven) return "budget proven: " + loss;
  const std::string why =
      r.budget != Budget::not_proven ? ""
      : r.choice_seen
          ? "; rows of the choice were used before, and these prove nothing"
          : fmt::format("; {} rows are too few to prove it", count(r.holdout_rows));
  return fmt::format("budget {}: {}{}", to_string(r.budget), loss, why);
}

// A repair that lowers the gap to less than half of what is left, and that keeps the budget
// only as measured; "" = there is none.
std::string stronger_words(const DebiasReport& r) {
  if (r.budget != Budget::proven || r.risk >= 0.5) return "";
  const auto bias = [](const Candidate& one) {
    double sum = 0;
    for (const Interval& i : one.bias) sum += i.value;
    return sum / static_cast<double>(std::max<std::size_t>(1, one.bias.size()));
  };
  const Candidate* best = nullptr;
  for (const Candidate& one : r.candidates)
    if (one.lowers_bias && one.keeps_rules && one.keeps_flips &&
        one.accuracy_change.value >= -r.max_accuracy_loss &&
        (best == nullptr || bias(one) < bias(*best)))
      best = &one;
  if (best == nullptr || !(bias(*best) < bias(r.candidates[at(r.chosen)]) / 2)) return "";
  return fmt::format(
      "A stronger repair keeps the budget as measured, but {} rows are too few to prove "
      "it: gap {} in place of {}, loss {} points, at most {}. More rows may prove "
      "it; --risk .5 takes it as it is.",
      count(r.holdout_rows), gap(bias(*best)), gap(bias(r.candidates[at(r.chosen)])),
      loss_points(-best->accuracy_change.value), loss_points(best->most_loss));
}

std::string on_test_words(const DebiasReport& r) {
  if (r.on_test == Verdict::none) return "";
  const std::string begin =
      fmt::format("{}rule: {} on test", r.on_test == Verdict::fail ? "RULE MISSED  " : "",
                  rule_word(r.on_test));
  if (r.on_test == Verdict::pass) return begin;
  if (r.test_seen && r.on_test == Verdict::unclear)
    return begin + ": rows of the test were used before, and these prove nothing";
  if (!r.mirrors_left.empty() && r.on_test == Verdict::unclear)
    return begin + ": a column that tells the attribute was not flipped with it";
  if (r.on_target.defined())
    return begin + fmt::format(": {} {}", gap(r.on_target.value), text::range(r.on_target));
  return begin + fmt::format(": loss {} points ({} .. {})",
                             loss_points(-r.accuracy_change.value),
                             loss_points(-r.accuracy_change.high),
                             loss_points(-r.accuracy_change.low));
}

// Who is still ahead in one attribute; "" = nobody, beyond the interval.
std::string still_ahead(const AttributeAudit& a) {
  const Comparison* d = shown_difference(a, "demographic_parity");
  if (d == nullptr) return "";
  const bool turned = d->difference.value < 0;
  const Interval i = turned ? -d->difference : d->difference;
  if (!(i.low > 0)) return "";
  const auto value = [&](int g) { return a.groups.groups[at(g)].value; };
  return fmt::format(
      "{}: {} still gets the favourable answer more often than {}, by {} ({} .. {}): other "
      "columns carry it. ",
      a.name, value(turned ? d->second : d->first), value(turned ? d->first : d->second),
      fixed(i.value, 3), fixed(i.low, 3), fixed(i.high, 3));
}

std::string overlap_words(const OverlapNote& note) {
  const RowOverlap& rows = note.rows;
  if (rows.same_set)
    return fmt::format("{} and {} are the same rows: figures are optimistic", note.role,
                       note.other);
  return fmt::format(
      "{} of the {} rows of {} are also in {} ({} by chance): figures are "
      "optimistic",
      count(rows.shared), count(rows.rows), note.role, note.other,
      count(std::lround(rows.by_chance)));
}

void add_top(const DebiasReport& r, SheetSection& s) {
  line(s, "model   ", "{}    {}", r.model, r.method);
  for (const DataNote& note : r.data)
    s.line(fmt::format("{:<7} ", note.role == "edit and hold-out" ? "data" : note.role),
           note.name + (note.rows > 0 ? fmt::format(", {} rows", count(note.rows)) : "") +
               (note.overlap < 0 ? "" : ", " + text::seen(note.overlap, note.by_chance)));
  for (const OverlapNote& note : r.overlaps)
    if (note.rows.beyond_chance()) s.line("!       ", overlap_words(note));
  if (r.ledger) s.line("ledger  ", words(*r.ledger));
  line(s, "rows    ", "{} edit ({}), {}", count(r.edit_rows),
       r.pairs > 0 ? count(r.pairs) + " pairs" : "matched pairs",
       r.folds > 0 ? fmt::format("in {} folds", r.folds)
                   : count(r.holdout_rows) + " hold-out");
}

}  // namespace

SheetSection repair_table(const DebiasReport& r) {
  SheetSection s;
  RepairRows rows{r, s};
  s.table(rows.columns);
  rows.add("accuracy", [](const AuditReport& a) -> SheetCell {
    return {percent(a.accuracy.value) + " %", a.accuracy};
  });
  add_flip_gaps(r, rows);
  for (const std::string& name : r.repaired) {
    const std::string suffix = r.repaired.size() == 1 ? ", difference" : ", " + name;
    rows.add_difference(name, text::favourable_word(r.task) + suffix, "demographic_parity");
    rows.add_difference(name, "TPR" + suffix, "equal_opportunity");
  }
  rows.add("log loss", [](const AuditReport& a) { return fixed(a.log_loss, 3); });
  add_moved(r, s);
  return s;
}

std::string caveats(const DebiasReport& r) {
  std::string words;
  for (const Contender& c : r.figures())
    if (c.name == "repaired")
      for (const std::string& name : r.repaired)
        if (const AttributeAudit* a = c.audit->find(name)) words += still_ahead(*a);
  for (const MeasureMove& m : r.moved.measures) {
    if (!m.worse || !is_seen(m) || m.measure != "co" || !m.about.empty()) continue;
    words += fmt::format(
        "The flip gap of {} was not repaired and got worse, {} -> {}: --attribute {}. ",
        m.attribute, gap(m.before.value), gap(m.after.value), m.attribute);
  }
  words +=
      r.measure == "equalized_odds_soft"
          ? "A matched pair is two persons, alike in what was compared: no claim on causes "
            "or on law."
          : "The flip leaves the other columns as they are: no claim on causes or on law.";
  if (!r.mirrors_left.empty())
    words += fmt::format(
        " {} {} what was repaired and {} not flipped with it: the flip gap says nothing "
        "about "
        "what the model knows from there.",
        fmt::join(r.mirrors_left, ", "), r.mirrors_left.size() == 1 ? "tells" : "tell",
        r.mirrors_left.size() == 1 ? "is" : "are");
  if (r.optimistic)
    words +=
        " Some of these rows were used before, in training or in another table: the "
        "figures are optimistic.";
  return words;
}

namespace {

// The rows of --test: others than those of DATA, or not.
std::string test_rows_words(const DebiasReport& r) {
  const std::string rows = count(r.test[0].audit->rows);
  for (const OverlapNote& note : r.overlaps)
    if (note.rows.beyond_chance() && (note.role == "test" || note.other == "test"))
      return fmt::format("the {} rows of --test, not all of them new", rows);
  return fmt::format("the {} others", rows);
}

}  // namespace

std::string not_repaired_words(const DebiasReport& r) {
  std::vector<std::string> gaps;
  for (std::size_t k = 0; k < r.repaired.size(); ++k)
    gaps.push_back(fmt::format("{} {}", r.repaired[k], gap(r.small_bias[k].value)));
  return fmt::format(
      "NOT REPAIRED: {} is not over {:g} on DATA ({}; --only-if-over). Nothing was "
      "written.",
      r.measure == "co" ? "the flip gap" : r.measure, r.only_if_over,
      fmt::join(gaps, ", "));
}

Sheet sheet_of(const DebiasReport& r) {
  Sheet sheet;
  sheet.command = "debias";
  SheetSection& top = sheet.add();
  add_top(r, top);
  if (!r.small_bias.empty()) {
    top.blank();
    top.line("", not_repaired_words(r));
    return sheet;
  }
  if (r.chosen < 0) {
    top.blank();
    line(top, "",
         "NO CANDIDATE of {} meets the rule: {}{}. Nothing was written. "
         "--best-effort writes the least biased one.",
         r.candidates.size(), r.rule, r.strict ? ", proven on DATA (--strict)" : "");
    return sheet;
  }
  SheetSection& s =
      sheet.add("REPAIR  ",
                fmt::format("{}, {} {} {}", r.rule,
                            r.folds > 0 ? "cross-fitted on the" : "chosen on the",
                            count(r.holdout_rows), r.folds > 0 ? "rows" : "hold-out rows"));
  s.line("         ", r.test.empty()
                          ? fmt::format("figures below: {} (give --test for others)",
                                        r.folds > 0 ? "cross-fitted on these rows"
                                                    : "hold-out, used for the choice")
                          : fmt::format("figures below from {}", test_rows_words(r)));
  for (SheetBlock& block : repair_table(r).blocks) s.blocks.push_back(std::move(block));
  if (text::rates_mislead(r.task)) s.line("  ", text::kRateWords);
  s.blank();
  s.line("", candidate_words(r, r.candidates[at(r.chosen)]));
  if (const std::string words = dropped_column_words(r.dropped, "the repair");
      !words.empty())
    s.line("", words);
  if (const std::string words = budget_words(r); !words.empty()) s.line("", words);
  if (const std::string words = stronger_words(r); !words.empty()) s.line("", words);
  if (const std::string words = on_test_words(r); !words.empty()) s.line("", words);
  if (r.leaves)
    line(s, "", "changed {} of {} leaf values in {} of {} trees, by {:.3g} at most",
         count(r.leaves->changed), count(r.leaves->leaves),
         count(std::ssize(r.leaves->trees)), count(r.leaves->all_trees), r.leaves->largest);
  for (const MonotoneNote& rule : r.monotone)
    line(s, "", "must not {} with {} ({}): {}", rule.direction > 0 ? "fall" : "rise",
         rule.input, rule.from_file ? "a rule of the model" : "--monotone",
         rule.after    ? "kept by every tree"
         : rule.before ? "broken by the repair"
                       : "broken, as by the original");
  SheetSection& end = sheet.add("WHAT THIS DOES NOT SAY");
  end.line("  ", caveats(r));
  for (const ProxyReport& proxy : r.proxies)
    end.line("  ", "Told by the other columns: " + words(proxy) + ".");
  return sheet;
}

}  // namespace fmd
