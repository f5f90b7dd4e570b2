#include "fmd/influence/explain_state.h"

#include <limits>

#include <gtest/gtest.h>

#include "fmd/influence/influence.h"
#include "influence/influence_setting.h"
#include "support/close.h"

namespace fmd {
namespace {

using Setting = test::InfluenceSetting;

const std::vector<std::string> kExplained = {
    "co",  "co_tv", "consistency", "demographic_parity_soft", "equal_opportunity_soft",
    "loss"};

struct ExplainedMeasures {
  std::vector<std::unique_ptr<BiasMeasure>> owned;
  std::vector<const BiasMeasure*> all;

  ExplainedMeasures() {
    for (const std::string& name : kExplained) owned.push_back(make_measure(name));
    for (const auto& measure : owned) all.push_back(measure.get());
  }
};

// Entries [first, last) of the training rows, and of the rows and pairs of the measures.
struct ExplainedPart {
  std::vector<Index> train, measured;
  PairSet pairs;

  ExplainedPart(const Setting& s, double first, double last) {
    const auto range = [&](Index rows) {
      std::vector<Index> numbers;
      for (auto i = static_cast<Index>(first * static_cast<double>(rows));
           i < static_cast<Index>(last * static_cast<double>(rows)); ++i)
        numbers.push_back(i);
      return numbers;
    };
    train = range(s.train.rows().size());
    measured = range(s.measured.pairs.size());
    for (const Index i : measured)
      pairs.weight.push_back(s.measured.pairs.weight[static_cast<std::size_t>(i)]);
    pairs.c = s.measured.pairs.c, pairs.cbar = s.measured.pairs.cbar;
    pairs.c.subset = pairs.cbar.subset = measured;
  }

  void add_to(ExplainState& state, const Setting& s) const {
    Rows rows = s.train.rows();
    rows.subset = train;
    if (!train.empty()) state.add_training(rows);  // an empty subset is all rows
    if (measured.empty()) return;
    Rows on = s.measured.c.rows();
    on.subset = measured;
    for (std::size_t j = 0; j < kExplained.size(); ++j)
      state.add(j, {&pairs, on, s.measured.group});
  }
};

ExplainState explained_state(const Setting& s, const ExplainedMeasures& m, double first,
                             double last) {
  ExplainState state(s.head, s.theta, m.all);
  ExplainedPart(s, first, last).add_to(state, s);
  return state;
}

TEST(ExplainState, TellsWhatInfluenceTells) {
  for (const Index classes : {2, 3}) {
    const Setting s(5000, classes, true);
    const ExplainedMeasures m;
    std::vector<BiasTarget> targets;
    for (const BiasMeasure* measure : m.all) targets.push_back({measure, s.data()});
    const InfluenceResult whole =
        influence(s.head, s.train.rows(), s.theta, targets, s.options(), {});
    const ExplainSolution solved = explained_state(s, m, 0, 1).solve({.l2 = s.l2});
    EXPECT_CLOSE(solved.value, whole.value, 1e-12);
    EXPECT_CLOSE(changes(s.head, s.train.rows(), s.theta, solved, {}), whole.change, 1e-9);
    EXPECT_NEAR(solved.relative_gradient, whole.relative_gradient, 1e-9);
    EXPECT_EQ(solved.solve.solver, "cholesky");
  }
}

TEST(ExplainState, AnyCutInAnyOrderGivesTheSameBits) {
  const Setting s(5000, 3, true);
  const ExplainedMeasures m;
  const ExplainSolution whole = explained_state(s, m, 0, 1).solve({.l2 = s.l2});
  const Matrix all = changes(s.head, s.train.rows(), s.theta, whole, {});
  for (const auto& cuts : {std::vector<double>{0, .0007, .5, 1}, {0, .83, .8301, .9, 1}}) {
    ExplainState merged(s.head, s.theta, m.all);
    for (std::size_t k = cuts.size() - 1; k > 0; --k)
      merged.merge(explained_state(s, m, cuts[k - 1], cuts[k]));
    const ExplainSolution parts = merged.solve({.l2 = s.l2});
    EXPECT_EQ(parts.value, whole.value);
    EXPECT_EQ(parts.v, whole.v);
    EXPECT_EQ(parts.relative_gradient, whole.relative_gradient);
    // The second pass, part by part.
    const ExplainedPart last(s, cuts[cuts.size() - 2], 1);
    Rows rows = s.train.rows();
    rows.subset = last.train;
    EXPECT_EQ(changes(s.head, rows, s.theta, parts, {}),
              Matrix(all.bottomRows(std::ssize(last.train))));
  }
}

TEST(ExplainState, IsSavedAndRefusesWhatIsNotItsOwn) {
  const Setting s(300, 2);
  const ExplainedMeasures m;
  const ExplainState state = explained_state(s, m, 0, 1);
  ByteWriter out;
  state.save(out);
  ExplainState read(s.head, s.theta, m.all);
  ByteReader in(out.bytes());
  read.load(in);
  EXPECT_EQ(in.left(), 0u);
  EXPECT_EQ(read.solve().v, state.solve().v);

  const Vector other = 2 * s.theta;
  ExplainState of_other(s.head, other, m.all);
  EXPECT_ERROR(of_other.merge(state), ErrorKind::wrong_model, "other models");
  ExplainState fewer(s.head, s.theta, {m.all[0]});
  ByteReader again(out.bytes());
  EXPECT_ERROR(fewer.load(again), ErrorKind::wrong_model, "other measures");
  for (const std::size_t size : {0, 4, 40, 100, 1000}) {
    Bytes cut = out.bytes();
    cut.resize(size);
    ByteReader reader(cut);
    EXPECT_ERROR(read.load(reader), ErrorKind::bad_model, "");
    EXPECT_EQ(read.solve().v, state.solve().v);  // as it was
  }
}

TEST(ExplainState, NamesWhatItCannotSum) {
  Setting s(300, 2);
  const ExplainedMeasures m;
  EXPECT_ERROR(ExplainState(s.head, s.theta, m.all).solve(), ErrorKind::bad_data,
               "no training rows");
  ExplainState without(s.head, s.theta, m.all);
  without.add_training(s.train.rows());
  EXPECT_ERROR(without.solve(), ErrorKind::bad_data, "to measure it on");
  const auto huge = make_dense(std::vector<float>(8, 1e20F), 2, 4);
  const std::vector<std::int32_t> labels = {0, 1};
  const Vector zero = Vector::Zero(s.head.parameters());
  ExplainState state(s.head, zero, m.all);
  EXPECT_ERROR(state.add_training({huge.get(), labels, {}, {}}), ErrorKind::bad_data,
               "scale the features");
  s.train.y[7] = 5;
  EXPECT_ERROR(without.add_training(s.train.rows()), ErrorKind::bad_data, "label 5");
  const LinearHead wide(3000, 1);
  const Vector many = Vector::Zero(wide.parameters());
  EXPECT_ERROR(ExplainState(wide, many, m.all), ErrorKind::unsupported, "in one run");
}

}  // namespace
}  // namespace fmd
