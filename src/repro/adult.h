#pragma once

#include <map>

#include "fmd/baselines/baseline.h"
#include "fmd/pipeline/study.h"
#include "fmd/pipeline/train_model.h"
#include "repro/curves.h"
#include "repro/experiment.h"

namespace fmd::repro {

// Adult with one seed: a model trained on all complete rows of adult.data. Some rows of
// adult.test are D_ex; the figures are reported on the others.
class AdultIncome {
 public:
  AdultIncome(World& world, const Unit& unit, const Exec& exec);

  // The top layers of the model; 0 = all of them.
  [[nodiscard]] const Stage& stage(Index layers);
  // Control: the features of the attribute are replaced by their means.
  [[nodiscard]] Measured average_column(const std::string& id);
  // solve on all layers, started from the averaged column, where no pair has a gap. It
  // needs far fewer iterations than from the trained model.
  [[nodiscard]] Measured solve_from_average(const std::string& id,
                                            const Settings& settings);
  // Control: a model of the same kind, trained without the attribute's column.
  [[nodiscard]] Measured retrained(const std::string& id);
  // A rival method, by its name in baselines(), fitted on the rows of D_ex; one that fits
  // the last layer again does so on the training rows.
  [[nodiscard]] Measured rival(const std::string& id, const std::string& name);
  // A method that trains a network from scratch on the training rows; settings: network,
  // its name in baselines(), and effort.
  [[nodiscard]] Measured network(const std::string& id, const Settings& settings);
  // Accuracy and bias of solve on the last layer for each lambda, as JSON.
  [[nodiscard]] std::string pareto(const Settings& settings);
  [[nodiscard]] const Curves& curves() const { return curves_; }
  [[nodiscard]] std::map<std::string, double> facts() const { return facts_; }

 private:
  [[nodiscard]] Vector averaged() const;
  [[nodiscard]] Score scored(const BaselineCandidate& candidate, const Side& side) const;
  // The candidate that is most accurate on the hold-out.
  [[nodiscard]] std::size_t best_of(const Stage& stage,
                                    const std::vector<BaselineCandidate>& candidates) const;
  // Its figures on the rows that report.
  [[nodiscard]] Measured measured(const std::string& id, const Stage& stage,
                                  const BaselineCandidate& candidate) const;
  [[nodiscard]] Side side(const Model& model, const Table& table) const;

  Exec exec_;
  std::string attribute_;
  Task task_;
  Table train_, edit_, holdout_, report_;
  Model model_;
  std::map<Index, Stage> stages_;
  std::filesystem::path checkpoints_;
  Curves curves_{{"accuracy", "bias"}};
  std::map<std::string, double> facts_;
};

[[nodiscard]] UnitResult run_adult(World& world, const Unit& unit, const Exec& exec);

}  // namespace fmd::repro
