#include "fmd/report/debias_report.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fmd/version.h"
#include "report/debias_report.h"
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

Json data_json(const std::vector<DataNote>& notes) {
  Json all = Json::array();
  for (const DataNote& note : notes) {
    Json one = {{"role", note.role}, {"name", note.name}};
    one["sha256"] = note.sha256.empty() ? Json(nullptr) : Json(note.sha256);
    one["rows"] = note.rows > 0 ? Json(note.rows) : Json(nullptr);
    one["split_seed"] = note.split_seed ? Json(*note.split_seed) : Json(nullptr);
    one["overlap_with_training"] = note.overlap < 0 ? Json(nullptr) : Json(note.overlap);
    one["overlap_by_chance"] = number(note.by_chance);
    if (!note.key.empty()) one["key"] = note.key;
    all.push_back(one);
  }
  return all;
}

// What names a candidate: lambda, or s and, where training rows were taken, K.
Json key_json(const Candidate& candidate) {
  Json json = Json::object();
  if (std::isinf(candidate.lambda))
    json["lambda"] = "infinity";
  else if (!std::isnan(candidate.lambda))
    json["lambda"] = candidate.lambda;
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
  Json json = {{"rule", r.rule}, {"candidates", r.candidates.size()}};
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

}  // namespace

std::string receipt_json(const DebiasReport& r, const RunNote& run) {
  Json json;
  json["schema"] = 1;
  json["kind"] = "fmd receipt";
  json["says"] =
      fmt::format("repaired for the {} of {} on {}",
                  r.measure == "equalized_odds_soft" ? "gap of soft odds" : "flip gap",
                  fmt::join(r.repaired, ", "), r.data[0].name);
  json["model"] = {{"name", r.model},
                   {"out", r.out},
                   {"sha256_before", r.model_sha256},
                   {"sha256_after", r.out_sha256}};
  json["data"] = data_json(r.data);
  json["rows"] = {
      {"edit", r.edit_rows}, {"holdout", r.holdout_rows}, {"edit_pairs", r.pairs}};
  json["optimistic"] = r.optimistic;
  json["task"] = Json::parse(to_json(r.task));
  json["repaired"] = r.repaired;
  json["options"] = Json::parse(r.options);
  json["chosen"] = chosen_json(r);
  json["solve"] = {{"method", r.method},
                   {"status", r.solve_status},
                   {"solver", r.solve.solver},
                   {"residual", number(r.solve.residual)},
                   {"damping", number(r.solve.damping)},
                   {"rcond", number(r.solve.rcond)},
                   {"iterations", r.solve.iterations},
                   {"relative_gradient", number(r.relative_gradient)},
                   {"hessian_rows", r.hessian_source}};
  json["measures"] = {
      {"holdout", part_json(r.holdout, r.predicted_holdout, r.repaired, "none")},
      {"test", part_json(r.test, r.predicted_test, r.repaired, "no --test was given")}};
  json["accuracy_change"] = interval_json(r.accuracy_change);
  json["moved"] = moved_json(r.moved);
  json["controls"] = contenders_json(r.figures(), true);
  json["attribute_use"] = Json::array();
  for (const AttributeUse& use : r.attribute_use) {
    json["attribute_use"].push_back({{"attribute", use.attribute},
                                     {"read_by_model", use.read_by_model},
                                     {"used_to_choose_weights", use.chose_weights},
                                     {"needed_at_prediction", use.needed_at_prediction}});
  }
  json["figures_from"] = r.test.empty() ? "hold-out, used for the choice" : "test";
  json["versions"] = {{"fmd", kVersion}, {"cpu_kernel", r.blas_kernel}};
  json["seed"] = r.seed;
  json["run"] = {
      {"date", run.date}, {"seconds", run.seconds}, {"cpu_seconds", run.cpu_seconds}};
  return json.dump(2) + "\n";
}

std::string path_json(const DebiasReport& r) {
  Json json;
  json["schema"] = 1;
  json["kind"] = "fmd path";
  json["rows"] = {{"holdout", r.holdout_rows}};
  json["repaired"] = r.repaired;
  json["measure"] = r.measure;
  json["tensors"] = r.out + ".path.safetensors";
  json["chosen"] = r.chosen;
  json["points"] = Json::array();
  for (const Candidate& candidate : r.candidates)
    json["points"].push_back(candidate_json(candidate, r.repaired, r.measure));
  return json.dump(2) + "\n";
}

namespace {

using text::bare;
using text::clip;
using text::count;
using text::fixed;
using text::gap;
using text::percent;
using text::wrap;

const Contender* find_contender(const std::vector<Contender>& all,
                                const std::string& name) {
  for (const Contender& c : all)
    if (c.name == name) return &c;
  return nullptr;
}

const AttributeAudit* audit_of(const Contender& c, const std::string& name) {
  return c.audit ? c.audit->find(name) : nullptr;
}

std::string flip_gap(const Contender& c, const std::string& name) {
  const AttributeAudit* a = audit_of(c, name);
  if (a == nullptr) return "-";
  if (!a->flip) return "not read";
  return gap((a->flip->co.defined() ? a->flip->co : a->flip->co_tv).value);
}

// The reference against the largest other group: the pair of values that screens show.
std::pair<int, int> shown_values(const AttributeAudit& a) {
  const int from = std::max(0, a.groups.reference);
  return {from, from == 0 ? 1 : 0};
}

std::string pair_gap(const Contender& c, const std::string& name) {
  const AttributeAudit* a = audit_of(c, name);
  if (a == nullptr) return "-";
  if (!a->flip) return "not read";
  const auto [from, to] = shown_values(*a);
  for (const FlipCell& cell : a->flip->cells)
    if (cell.from == from && cell.to == to) return gap(cell.co.value);
  return "-";
}

const Comparison* shown_difference(const AttributeAudit& a, const char* measure) {
  const GroupMeasure* m = a.groups.find(measure);
  if (m == nullptr || m->comparisons.empty()) return nullptr;
  const int second = shown_values(a).second;
  for (const Comparison& c : m->comparisons)
    if (c.second == second) return &c;
  return &m->comparisons[0];
}

std::string group_difference(const Contender& c, const std::string& name,
                             const char* measure) {
  const AttributeAudit* a = audit_of(c, name);
  const Comparison* d = a == nullptr ? nullptr : shown_difference(*a, measure);
  return d == nullptr ? "-" : fixed(d->difference.value, 3);
}

bool got_worse(const DebiasReport& r, const std::string& attribute,
               const std::string& measure) {
  for (const MeasureMove& m : r.moved.measures)
    if (m.attribute == attribute && m.measure == measure && m.worse) return true;
  return false;
}

using Cell = std::function<std::string(const Contender&)>;

std::string table_row(const DebiasReport& r, const std::string& title, const Cell& cell_of,
                      bool mark) {
  if (cell_of(r.figures()[0]) == "-")
    return "";  // nothing was measured, e.g. no favourable class
  std::string out = fmt::format("  {:<17}", clip(title, 17));
  for (const Contender& c : r.figures()) {
    std::string cell = c.audit ? cell_of(c) : "n/a";
    if (c.name == "repaired") {
      out += fmt::format(" {:>8}{} |", cell, mark ? " !" : "  ");
    } else {
      out += fmt::format("{:>{}}", cell, c.name == "before" ? 8 : 10);
    }
  }
  return out + "\n";
}

// The two lines above a control's figures.
std::pair<std::string, std::string> control_words(const Contender& control,
                                                  const DebiasReport& r) {
  const std::string without = r.repaired.size() == 1 ? clip(r.repaired[0], 9) : "them";
  if (control.name == "column_averaged") return {"column", "averaged"};
  if (control.name == "retrained_without_column")
    return {"retrained", "w/o " + clip(without, 5)};
  if (control.name == "fine_tuned") return {"tuned on", "the pairs"};
  if (control.name == "tempered") return {"temp.", "scaled"};
  return {"intercept", "shifted"};
}

std::string table_head(const DebiasReport& r) {
  std::string first = fmt::format("  {:<17}{:>8} {:>8}   |", "", "before", "repaired");
  std::string second = fmt::format("  {:<17}{:>8} {:>8}   |", "", "", "");
  for (const Contender& c : r.figures()) {
    if (c.name == "before" || c.name == "repaired") continue;
    const auto [above, below] = control_words(c, r);
    first += fmt::format("{:>10}", above);
    second += fmt::format("{:>10}", below);
  }
  return fmt::format("  {:<17}{:>8} {:>8}   | trivial controls\n", "", "", "") + first +
         "\n" + second + "\n";
}

std::string moved_lines(const DebiasReport& r) {
  const Contender& before = r.figures()[0];
  std::string out;
  for (const Contender& c : r.figures())
    if (!c.audit) out += fmt::format("  n/a ({}): {}\n", c.title, c.reason);
  out += fmt::format("  accuracy, paired: {:+.1f} points ({:+.1f} .. {:+.1f})\n",
                     100 * r.accuracy_change.value, 100 * r.accuracy_change.low,
                     100 * r.accuracy_change.high);
  std::string groups;
  for (const GroupMove& g : r.moved.groups) {
    if (std::find(r.repaired.begin(), r.repaired.end(), g.attribute) == r.repaired.end())
      continue;
    if (g.gained == 0 && g.lost == 0) continue;
    groups += fmt::format("{}{} +{} -{}", groups.empty() ? "" : ", ", g.group,
                          count(g.gained), count(g.lost));
  }
  if (!groups.empty()) {
    const std::string lead =
        fmt::format("  changed answers of {}: ", count(before.audit->rows));
    out += lead + wrap(groups, lead.size(), 4) + "\n";
  }
  return out;
}

// Matched pairs: what is above the floor.
std::string match_excess(const Contender& c, const std::string& name) {
  const AttributeAudit* a = audit_of(c, name);
  if (a == nullptr || !a->match) return "-";
  return gap(a->match->excess.value);
}

// Which candidate it is, and how well it was computed.
std::string candidate_words(const DebiasReport& r, const Candidate& candidate) {
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
  return wrap(words, 0, 0);
}

}  // namespace

std::string repair_table(const DebiasReport& r) {
  std::string out = table_head(r);
  out += table_row(
      r, "accuracy",
      [](const Contender& c) { return percent(c.audit->accuracy.value) + " %"; }, false);
  for (const std::string& name : r.repaired)
    out += table_row(
        r, "flip gap, " + name, [&](const Contender& c) { return flip_gap(c, name); },
        false);
  const Contender& before = r.figures()[0];
  for (const AttributeAudit& a : before.audit->attributes)
    out += table_row(
        r, "excess, " + a.name, [&](const Contender& c) { return match_excess(c, a.name); },
        false);
  for (const AttributeAudit& a : before.audit->attributes) {
    if (std::find(r.repaired.begin(), r.repaired.end(), a.name) != r.repaired.end() ||
        !a.flip)
      continue;
    const auto [from, to] = shown_values(a);
    const std::string title = a.values.size() == 2
                                  ? "flip gap, " + a.name
                                  : a.values[static_cast<std::size_t>(from)] + " -> " +
                                        a.values[static_cast<std::size_t>(to)];
    out += table_row(
        r, title, [&](const Contender& c) { return pair_gap(c, a.name); },
        got_worse(r, a.name, "co"));
  }
  for (const std::string& name : r.repaired) {
    const std::string suffix = r.repaired.size() == 1 ? "difference" : name;
    out += table_row(
        r, text::favourable_word(r.task) + ", " + suffix,
        [&](const Contender& c) { return group_difference(c, name, "demographic_parity"); },
        got_worse(r, name, "demographic_parity"));
    out += table_row(
        r, "TPR, " + suffix,
        [&](const Contender& c) { return group_difference(c, name, "equal_opportunity"); },
        got_worse(r, name, "equal_opportunity"));
  }
  out += table_row(
      r, "log loss", [](const Contender& c) { return fixed(c.audit->log_loss, 3); }, false);
  return out + moved_lines(r);
}

std::string caveats(const DebiasReport& r) {
  const Contender* after = find_contender(r.figures(), "repaired");
  std::string words;
  for (const std::string& name : r.repaired) {
    const AttributeAudit* a = audit_of(*after, name);
    const Comparison* d =
        a == nullptr ? nullptr : shown_difference(*a, "demographic_parity");
    if (d == nullptr) continue;
    const Interval i = d->difference.value < 0 ? -d->difference : d->difference;
    const auto& groups = a->groups.groups;
    const auto first =
        static_cast<std::size_t>(d->difference.value < 0 ? d->second : d->first);
    const auto second =
        static_cast<std::size_t>(d->difference.value < 0 ? d->first : d->second);
    if (i.low > 0)
      words += fmt::format(
          "{}: {} still gets the favourable answer more often than {}, by {} ({} .. {}): "
          "other columns carry it. ",
          name, groups[first].value, groups[second].value, fixed(i.value, 3),
          fixed(i.low, 3), fixed(i.high, 3));
  }
  for (const MeasureMove& m : r.moved.measures) {
    if (!m.worse || m.measure != "co" || !m.about.empty()) continue;
    words += fmt::format(
        "The flip gap of {} was not repaired and got worse, {} -> {}: --attribute {}. ",
        m.attribute, gap(m.before.value), gap(m.after.value), m.attribute);
  }
  words +=
      r.measure == "equalized_odds_soft"
          ? "A matched pair is two persons, alike in what was compared: no claim on causes "
            "or on law."
          : "The flip leaves the other columns as they are: no claim on causes or on law.";
  if (r.optimistic)
    words += " Some of these rows were used in training: the figures are optimistic.";
  return "  " + wrap(words, 2, 2) + "\n";
}

std::string screen(const DebiasReport& r) {
  std::string out = fmt::format("model   {}    {}\n", r.model, r.method);
  for (const DataNote& note : r.data) {
    std::string words = note.name;
    if (note.rows > 0) words += fmt::format(", {} rows", count(note.rows));
    if (note.overlap >= 0) words += ", " + text::seen(note.overlap, note.by_chance);
    out += fmt::format("{:<7} {}\n", note.role == "edit and hold-out" ? "data" : note.role,
                       wrap(words, 8, 8));
  }
  out += fmt::format("rows    {} edit ({} pairs), {} hold-out\n", count(r.edit_rows),
                     count(r.pairs), count(r.holdout_rows));
  if (r.chosen < 0) {
    const std::string words = fmt::format(
        "NO CANDIDATE of {} meets the rule: {}. Nothing was written. --best-effort writes "
        "the least biased one.",
        r.candidates.size(), r.rule);
    return out + "\n" + wrap(words, 0, 0) + "\n";
  }
  const Candidate& candidate = r.candidates[static_cast<std::size_t>(r.chosen)];
  const std::string rule =
      fmt::format("{}, chosen on the {} hold-out rows", r.rule, count(r.holdout_rows));
  out += "\nREPAIR   " + wrap(rule, 9, 9) + "\n";
  out += r.test.empty() ? "         figures below: hold-out, used for the choice (give "
                          "--test for others)\n"
                        : fmt::format("         figures below from the {} others\n",
                                      count(r.test[0].audit->rows));
  out += repair_table(r);
  out += "\n" + candidate_words(r, candidate) + "\n";
  out += "\nWHAT THIS DOES NOT SAY\n" + caveats(r);
  return out;
}

}  // namespace fmd
