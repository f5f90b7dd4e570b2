#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/pipeline/debias.h"
#include "pipeline/tables.h"
#include "support/close.h"

namespace fmd {
namespace {

// A network of three layers on made-up rows.
struct NetworkStory {
  test::Parts parts;
  Model model;

  NetworkStory()
      : parts(test::split_table(test::number_of_columns(4000, 5), test::made_up_task(), 3)),
        model(train_mlp(parts.train, parts.task, "",
                        {.hidden = {8, 6}, .adam = {.epochs = 8, .learning_rate = .01}}, {})
                  .model) {}
};

const NetworkStory& network_story() {
  static const NetworkStory made;
  return made;
}

DebiasOptions network_options(Index layers, NetworkOptimizer optimizer) {
  DebiasOptions options;
  options.repair = {"group"};
  options.points = 4;
  options.layers = layers;
  options.optimizer = optimizer;
  options.max_accuracy_loss = .1;
  options.audit.replicates = 50;
  return options;
}

double group_gap(const DebiasReport& report, std::size_t contender) {
  return report.test[contender].audit->find("group")->flip->co.value;
}

TEST(DebiasNetwork, AllLayersLoseTheFlipGapByEitherOptimizer) {
  for (const char* optimizer : {"lm", "adam"}) {
    const DebiasRun run = test::debias_run(network_story().model, network_story().parts,
                                           network_options(3, parse_optimizer(optimizer)));
    ASSERT_TRUE(run.found()) << optimizer;
    const DebiasReport report = run.measure(run.model());
    EXPECT_GT(group_gap(report, 0), 0.1);
    EXPECT_LT(group_gap(report, 1), 0.1 * group_gap(report, 0)) << optimizer;
    EXPECT_EQ(run.candidates().size(), 4U);
    EXPECT_NE(report.solve.solver, "");
    std::map<std::string, const Contender*> by_name;
    for (const Contender& c : report.test) by_name[c.name] = &c;
    // The first layer reads the columns: averaging works on networks, too.
    EXPECT_EQ(by_name.at("column_averaged")->audit->find("group")->flip->co.value, 0);
    ASSERT_TRUE(by_name.at("fine_tuned")->audit);
    EXPECT_GT(by_name.at("fine_tuned")->audit->find("group")->flip->co.value,
              group_gap(report, 1));
    EXPECT_TRUE(by_name.at("tempered")->audit);
    EXPECT_TRUE(by_name.at("intercept_shift")->audit);
  }
}

TEST(DebiasNetwork, LayersBelowAreHeld) {
  const DebiasRun run = test::debias_run(network_story().model, network_story().parts,
                                         network_options(2, NetworkOptimizer::lm));
  ASSERT_TRUE(run.found());
  const Vector &before = network_story().model.theta, &after = run.model().theta;
  ASSERT_EQ(before.size(), after.size());
  const Index below =
      network_story().model.head->widths()[1] * (network_story().model.head->inputs() + 1);
  EXPECT_EQ(Vector(before.head(below)), Vector(after.head(below)));
  EXPECT_NE(Vector(before.tail(after.size() - below)),
            Vector(after.tail(after.size() - below)));
}

TEST(DebiasNetwork, NewtonStepsWorkOnLayers) {
  for (const char* method : {"step", "remove", "replace"})
    for (const char* hessian : {"train", "data"}) {
      DebiasOptions options = network_options(2, NetworkOptimizer::automatic);
      options.method = parse_method(method);
      options.hessian = parse_hessian(hessian);
      options.best_effort = true;
      options.newton.rows = std::string(method) == "step" ? 0 : 50;
      const DebiasRun run =
          test::debias_run(network_story().model, network_story().parts, options);
      ASSERT_FALSE(run.candidates().empty());
      for (const Candidate& point : run.candidates()) EXPECT_TRUE(point.theta.allFinite());
      EXPECT_TRUE(run.found());
      EXPECT_EQ(run.measure(run.model()).hessian_source,
                std::string(hessian) == "train" ? "train" : "edit pairs");
    }
}

TEST(DebiasNetwork, APointCanBeTakenByItsLambda) {
  DebiasOptions options = network_options(3, NetworkOptimizer::adam);
  const DebiasRun run =
      test::debias_run(network_story().model, network_story().parts, options);
  const Candidate& wanted = run.candidates()[1];
  options.at.lambda = wanted.lambda;
  const DebiasRun again =
      test::debias_run(network_story().model, network_story().parts, options);
  ASSERT_TRUE(again.found());
  EXPECT_EQ(again.model().theta, wanted.theta);
}

TEST(DebiasNetwork, SaysWhatIsWrong) {
  const auto run = [](const DebiasOptions& options) {
    return test::debias_run(network_story().model, network_story().parts, options).found();
  };
  EXPECT_ERROR(run(network_options(4, NetworkOptimizer::automatic)), ErrorKind::bad_option,
               "the model has 3");
  EXPECT_ERROR(run(network_options(0, NetworkOptimizer::automatic)), ErrorKind::bad_option,
               "the model has 3");
  DebiasOptions options = network_options(2, NetworkOptimizer::automatic);
  options.method = RepairMethod::path;
  EXPECT_ERROR(run(options), ErrorKind::unsupported, "path");
}

}  // namespace
}  // namespace fmd
