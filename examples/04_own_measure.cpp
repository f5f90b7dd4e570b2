// A new bias measure: how far the mean score of men is from that of women, both
// taken as log-odds. Any differentiable function of sums over rows fits.

#include <cstdio>

#include "fmd/core/blas.h"
#include "fmd/data/datasets.h"
#include "fmd/data/split.h"
#include "fmd/influence/influence.h"
#include "fmd/influence/ranking.h"
#include "fmd/pipeline/study.h"
#include "fmd/pipeline/train_model.h"

// B = mean z of group 0 - mean z of group 1, z the logit. Statistics: sum and count of
// each.
class LogOddsGap final : public fmd::BiasMeasure {
 public:
  [[nodiscard]] std::string name() const override { return "log_odds_gap"; }
  [[nodiscard]] bool on_pairs() const override { return false; }
  [[nodiscard]] fmd::Index statistics() const override { return 4; }
  void add(const fmd::MeasureRow& row, std::span<double> s) const override {
    if (row.group != 0 && row.group != 1) return;
    const std::size_t at = row.group == 0 ? 0 : 2;
    s[at] += row.weight * row.z[0];
    s[at + 1] += row.weight;
  }
  double value(std::span<const double> s, std::span<double> dF) const override {
    dF[0] = 1 / s[1];
    dF[1] = -s[0] / (s[1] * s[1]);
    dF[2] = -1 / s[3];
    dF[3] = s[2] / (s[3] * s[3]);
    return s[0] / s[1] - s[2] / s[3];
  }
  void dlogits(const fmd::MeasureRow& row, std::span<const double> dF, std::span<double> dz,
               std::span<double> /*dzbar*/) const override {
    if (row.group != 0 && row.group != 1) return;
    dz[0] += row.weight * dF[row.group == 0 ? 0 : 2];
  }
};

int main() {
  fmd::setup_blas();
  const fmd::Table table = fmd::load_dataset("demo", "");
  const fmd::Task task = fmd::find_dataset("demo").task;
  const auto parts =
      fmd::split_rows(fmd::labels(table, task), fmd::parse_parts("train=.5,test=.5"), 1);
  fmd::ThreadPool pool;
  const fmd::Exec exec{.pool = &pool};
  fmd::Table rows = fmd::select(table, parts[0]);
  const fmd::Model model = fmd::train_model(rows, task, "", {}, exec).model;
  const fmd::Study train = fmd::make_study(model, std::move(rows), task, true, exec);
  const fmd::Study test =
      fmd::make_study(model, fmd::select(table, parts[1]), task, true, exec);

  const LogOddsGap measure;
  const fmd::Attribute& sex = test.attributes[static_cast<std::size_t>(test.find("sex"))];
  const fmd::BiasTarget target{&measure,
                               {.pairs = nullptr, .rows = test.rows(), .group = sex.code}};
  fmd::InfluenceOptions options;
  options.curvature.l2 = model.note.l2;
  const fmd::InfluenceResult found = fmd::influence(fmd::linear_head(model), train.rows(),
                                                    model.theta, {target}, options, exec);
  const std::span<const double> change(found.change.data(),
                                       static_cast<std::size_t>(found.change.rows()));
  double sum = 0;
  for (const fmd::Index entry : fmd::most_harmful(change, 100))
    sum += change[static_cast<std::size_t>(entry)];
  std::printf("%s, %s and %s: %.2f\n", measure.name().c_str(), sex.values[0].c_str(),
              sex.values[1].c_str(), found.value[0]);
  std::printf("without the 100 strongest training rows: predicted %+.2f\n", sum);
  return 0;
}
