#include "fmd/pipeline/previous_model.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "fmd/core/error.h"

namespace fmd {
namespace {

int position(const std::vector<std::string>& names, const std::string& name) {
  const auto at = std::find(names.begin(), names.end(), name);
  return at == names.end() ? -1 : static_cast<int>(at - names.begin());
}

// The previous model on the rows: the rows as it sees them, its pairs and scores.
struct Sides {
  Study study;
  std::vector<std::optional<StudyPairs>> pairs;
  Scored scored;
};

Sides sides(const Model& model, const Table& table, const Exec& exec) {
  Sides result{make_study(model, table, model.task, false, exec), {}, {}};
  result.pairs = make_pairs(model, result.study, model.task, {}, exec);
  result.scored = score(model, result.study, {}, exec);
  return result;
}

class Pairing {
 public:
  Pairing(const Model& previous, const Sides& before, const Model& now, const Study& study,
          const std::vector<std::optional<StudyPairs>>& pairs, const AuditOptions& options,
          const Exec& exec)
      : previous_(previous),
        before_(before),
        now_(now),
        study_(study),
        pairs_(pairs),
        options_(options),
        exec_(exec),
        after_(score(now, study, {}, exec)) {}

  // after - before, undefined where the figure cannot be paired by row.
  [[nodiscard]] Interval change(const AuditFigure& figure) const {
    if (figure.attribute.empty()) {
      return figure.measure == "accuracy"
                 ? accuracy_change(before_.scored, after_, options_.confidence,
                                   options_.replicates, exec_)
                 : Interval{};
    }
    const Index a = study_.find(figure.attribute);
    if (a < 0) return {};
    if (figure.measure == "co" || figure.measure == "co_tv" ||
        figure.measure == "flip_rate")
      return flips(static_cast<std::size_t>(a), figure.measure);
    return rates(study_.attributes[static_cast<std::size_t>(a)], figure);
  }

 private:
  [[nodiscard]] Interval flips(std::size_t a, const std::string& measure) const {
    if (!before_.pairs[a] || !pairs_[a]) return {};
    const PairScores was = score_pairs(previous_, before_.study, *before_.pairs[a], exec_);
    const PairScores is = score_pairs(now_, study_, *pairs_[a], exec_);
    if (was.unit != is.unit) return {};
    const Vector difference = unit_gaps(is, measure) - unit_gaps(was, measure);
    std::vector<double> known;
    for (const double x : difference)
      if (!std::isnan(x)) known.push_back(x);
    if (known.empty()) return {};
    return bootstrap_mean(
        Eigen::Map<const Vector>(known.data(), static_cast<Index>(known.size())),
        options_.confidence, options_.replicates, exec_);
  }

  [[nodiscard]] Interval rates(const Attribute& attribute,
                               const AuditFigure& figure) const {
    static const std::vector<std::string> kRates = {"selection_rate", "tpr", "fpr",
                                                    "accuracy"};
    const bool soft =
        figure.measure == "demographic_parity_soft" && figure.rate == "mean_score";
    const bool difference =
        figure.measure == "demographic_parity" || figure.measure == "equal_opportunity" ||
        figure.measure == "equalized_odds" || figure.measure == "accuracy_difference";
    if (!soft && !(difference && position(kRates, figure.rate) >= 0)) return {};
    const int first = position(attribute.groups, figure.first),
              second = position(attribute.groups, figure.second);
    if (first < 0 || second < 0) return {};
    return group_difference_change(before_.scored, after_, attribute.group, first, second,
                                   figure.rate, options_.confidence, options_.replicates,
                                   exec_);
  }

  const Model& previous_;
  const Sides& before_;
  const Model& now_;
  const Study& study_;
  const std::vector<std::optional<StudyPairs>>& pairs_;
  const AuditOptions& options_;
  const Exec& exec_;
  Scored after_;
};

}  // namespace

AuditChanges compare_models(Model previous, const Model& now, const Study& study,
                            const std::vector<std::optional<StudyPairs>>& pairs,
                            const AuditReport& report, const AuditOptions& options,
                            const Exec& exec) {
  if (previous.task.classes != now.task.classes) {
    throw Error(ErrorKind::wrong_model,
                fmt::format("the previous model answers {}, this one {}",
                            fmt::join(previous.task.classes, ", "),
                            fmt::join(now.task.classes, ", ")),
                "compare models of one task");
  }
  // It decides by its own threshold. Attributes and labels are the same for both models.
  const double threshold = previous.task.threshold;
  previous.task = now.task;
  previous.task.threshold = threshold;
  previous.task.limits.clear();
  const Sides before = sides(previous, study.table, exec);
  const AuditReport was = audit_model(previous, before.study, before.pairs, options, exec);
  AuditChanges result = compare_audits(parse_audit(to_json(was), "the previous model"),
                                       parse_audit(to_json(report), "this audit"));
  result.same_data = result.paired = true;
  const Pairing pairing(previous, before, now, study, pairs, options, exec);
  const auto figures = static_cast<Index>(result.changes.size());
  for (FigureChange& change : result.changes)
    set_paired_change(pairing.change(change.after), options.confidence, figures, change);
  return result;
}

}  // namespace fmd
