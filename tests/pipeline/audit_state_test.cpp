#include "fmd/pipeline/audit_state.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/core/rng.h"
#include "pipeline/tables.h"
#include "support/close.h"

namespace fmd {
namespace {

template <typename State>
State through_bytes(const State& state) {
  return std::get<State>(parse_state(state_bytes(state), "a.state"));
}

// Rows cut into parts, each with its own name, and the audit made from them.
struct InParts {
  ModelInMemory model;
  std::vector<DataSource> pieces;
  AuditOptions options = {.replicates = 60, .permutations = 20};

  InParts(const Model& from, const Table& table, const std::vector<Index>& cuts)
      : model(from) {
    Index first = 0;
    for (std::size_t k = 0; k <= cuts.size(); ++k) {
      const Index last = k == cuts.size() ? table.rows() : cuts[k];
      std::vector<Index> rows(static_cast<std::size_t>(last - first));
      std::iota(rows.begin(), rows.end(), first);
      Table piece = select(table, rows);
      piece.source = "piece " + std::to_string(k);
      pieces.push_back(DataSource::table(std::move(piece)));
      first = last;
    }
  }

  [[nodiscard]] SurveyState survey(const std::vector<std::size_t>& order) const {
    SurveyState all = through_bytes(survey_part(model, pieces[order[0]], options, {}));
    for (std::size_t k = 1; k < order.size(); ++k)
      all.merge(through_bytes(survey_part(model, pieces[order[k]], options, {})));
    return all;
  }

  [[nodiscard]] AuditState count(const std::vector<std::size_t>& order) const {
    const SurveyState all = through_bytes(survey(order));
    AuditState state = through_bytes(audit_part(model, pieces[order[0]], all, options, {}));
    for (std::size_t k = 1; k < order.size(); ++k)
      state.merge(through_bytes(audit_part(model, pieces[order[k]], all, options, {})));
    return state;
  }
};

// The report without the names of its files.
std::string figures(AuditReport report) {
  report.data.clear();
  return to_json(report);
}

// Two attributes with values, one of them with missing cells, and ranges of a number.
struct Case {
  Model model;
  Table table;
};

Case made_up_case(Index rows, std::uint64_t seed) {
  Task task = test::made_up_task();
  Table table = test::number_of_columns(rows, seed);
  Rng rng(seed, "holes");
  Column club{.name = "club", .kind = ColumnKind::category, .levels = {"x", "y", "z"}};
  for (Index i = 0; i < rows; ++i)
    club.codes.push_back(static_cast<std::int32_t>(rng.below(4)) - 1);
  club.missing = std::count(club.codes.begin(), club.codes.end(), -1);
  Model model = train_model(test::number_of_columns(2000, 9), task, "", {}, {}).model;
  table.columns.push_back(club);
  model.task.attributes.push_back({.name = "club", .columns = {"club"}});
  model.task.attributes.push_back({.name = "x", .columns = {"x"}, .quantiles = 4});
  return {model, table};
}

TEST(AuditState, AnyCutAndAnyOrderGiveTheBitsOfOneRun) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    const Case c = made_up_case(1500 + static_cast<Index>(seed) * 37, seed);
    Rng rng(seed, "cuts");
    std::vector<Index> cuts;
    for (int k = 0; k < 3; ++k) cuts.push_back(40 + rng.below(c.table.rows() - 80));
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    InParts parts(c.model, c.table, cuts);
    if (seed % 2 == 0) parts.options.intervals = Bootstrap::bca;
    const std::string expected =
        figures(audit(parts.model, DataSource::table(c.table), parts.options, {}));
    std::vector<std::size_t> order(parts.pieces.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (int turn = 0; turn < 4; ++turn) {
      EXPECT_EQ(figures(parts.count(order).report({})), expected);
      const std::string name = parts.count(order).report({}).data;
      EXPECT_EQ(name.substr(0, 16), "piece 0, piece 1");
      for (std::size_t i = order.size() - 1; i > 0; --i)
        std::swap(order[i],
                  order[static_cast<std::size_t>(rng.below(static_cast<Index>(i) + 1))]);
    }
  }
}

TEST(AuditState, ASurveyFindsWhatOneLookFinds) {
  const Case c = made_up_case(700, 3);
  Task task = c.model.task;
  task.attributes.push_back({.name = "both", .columns = {"group", "third"}});
  task.attributes.push_back({.name = "third again",
                             .columns = {"third"},
                             .values = {"w", "u"},
                             .reference = "u"});
  task.attributes.push_back({.name = "old", .columns = {"x"}, .cuts = {-1, 0.5}});
  Model model = c.model;
  model.task = task;
  const InParts parts(model, c.table, {100, 333});
  const std::vector<Attribute> found = parts.survey({2, 0, 1}).attributes();
  ASSERT_EQ(found.size(), task.attributes.size());
  for (std::size_t a = 0; a < found.size(); ++a) {
    const Attribute expected = read_attribute(c.table, task.attributes[a]);
    EXPECT_EQ(found[a].values, expected.values);
    EXPECT_EQ(found[a].groups, expected.groups);
    EXPECT_EQ(found[a].cuts, expected.cuts);
    EXPECT_EQ(found[a].reference, expected.reference);
    EXPECT_EQ(found[a].missing, expected.missing);
    ASSERT_EQ(found[a].cells.size(), expected.cells.size());
    for (std::size_t v = 0; v < expected.cells.size(); ++v)
      for (std::size_t k = 0; k < expected.cells[v].size(); ++k)
        EXPECT_EQ(found[a].cells[v][k].text, expected.cells[v][k].text);
  }
}

TEST(AuditState, WhatDoesNotBelongTogetherIsRefused) {
  const Case c = made_up_case(600, 4);
  const InParts parts(c.model, c.table, {200});
  const SurveyState survey = parts.survey({0, 1});
  AuditState first = audit_part(parts.model, parts.pieces[0], survey, parts.options, {});
  EXPECT_ERROR(static_cast<void>(first.report({})), ErrorKind::bad_data,
               "200 of the 600 rows");
  EXPECT_ERROR(first.merge(first), ErrorKind::bad_option,
               "the rows of piece 0 are in two states");
  Model other = c.model;
  other.theta[0] += 1e-9;
  EXPECT_ERROR(first.merge(audit_part(ModelInMemory(other), parts.pieces[1], survey,
                                      parts.options, {})),
               ErrorKind::wrong_model, "other models or tasks");
  AuditOptions options = parts.options;
  options.confidence = .9;
  EXPECT_ERROR(first.merge(audit_part(parts.model, parts.pieces[1], survey, options, {})),
               ErrorKind::bad_option, "other options");
  const SurveyState half = survey_part(parts.model, parts.pieces[1], parts.options, {});
  EXPECT_ERROR(
      first.merge(audit_part(parts.model, parts.pieces[1], half, parts.options, {})),
      ErrorKind::bad_option, "other surveys");
  Model fewer = c.model;
  fewer.task.attributes.pop_back();
  EXPECT_ERROR(static_cast<void>(audit_part(ModelInMemory(fewer), parts.pieces[0], survey,
                                            parts.options, {})),
               ErrorKind::bad_option, "survey is of other attributes");
  options = parts.options;
  options.neighbours = 3;
  EXPECT_ERROR(
      static_cast<void>(audit_part(parts.model, parts.pieces[0], survey, options, {})),
      ErrorKind::unsupported, "look at all rows together");
}

TEST(AuditState, DamagedBytesAreAnError) {
  const Case c = made_up_case(300, 5);
  const InParts parts(c.model, c.table, {});
  const SurveyState survey = parts.survey({0});
  const AuditState state =
      audit_part(parts.model, parts.pieces[0], survey, parts.options, {});
  for (const Bytes& whole : {state_bytes(survey), state_bytes(state)}) {
    for (std::size_t at = 0; at < whole.size(); at += 1 + whole.size() / 97) {
      Bytes changed = whole;
      changed[at] ^= 0x41;
      EXPECT_ERROR(static_cast<void>(parse_state(changed, "a.state")), ErrorKind::bad_model,
                   "a.state");
      EXPECT_ERROR(static_cast<void>(parse_state(std::span(whole).first(at), "a.state")),
                   ErrorKind::bad_model, "a.state");
    }
  }
}

}  // namespace
}  // namespace fmd
