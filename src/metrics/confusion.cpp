#include "fmd/metrics/confusion.h"

#include <algorithm>
#include <cmath>

#include "metrics/confusion_rates.h"

namespace fmd {
namespace {

using namespace rates;

template <typename Info>
const Info* find(const std::vector<Info>& all, std::string_view name) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Info& i) { return i.name == name; });
  return found == all.end() ? nullptr : &*found;
}

Index count(double x) { return static_cast<Index>(x); }

bool whole(const Share& s) {
  return std::trunc(s.hits) == s.hits && std::trunc(s.of) == s.of;
}

}  // namespace

void Confusion::add(const Confusion& other) {
  tp += other.tp;
  fp += other.fp;
  tn += other.tn;
  fn += other.fn;
  selected_unlabelled += other.selected_unlabelled;
  rejected_unlabelled += other.rejected_unlabelled;
}

const std::vector<RateInfo>& group_rates() {
  static const std::vector<RateInfo> all{
      {"base_rate", "favourable labels", "(TP + FN) / n", rate<base_rate>, base_rate},
      {"selection_rate", "selection rate", "(TP + FP) / n", rate<selection_rate>,
       selection_rate},
      {"tpr", "true positive rate", "TP / (TP + FN)", rate<tpr>, tpr},
      {"tnr", "true negative rate", "TN / (TN + FP)", rate<tnr>, tnr},
      {"fpr", "false positive rate", "FP / (TN + FP)", rate<fpr>, fpr},
      {"fnr", "false negative rate", "FN / (TP + FN)", rate<fnr>, fnr},
      {"ppv", "positive predictive value", "TP / (TP + FP)", rate<ppv>, ppv},
      {"npv", "negative predictive value", "TN / (TN + FN)", rate<npv>, npv},
      {"fdr", "false discovery rate", "FP / (TP + FP)", rate<fdr>, fdr},
      {"for", "false omission rate", "FN / (TN + FN)", rate<omitted>, omitted},
      {"accuracy", "accuracy", "(TP + TN) / n", rate<accuracy_share>, accuracy_share},
      {"error_rate", "error rate", "(FP + FN) / n", rate<error_rate>, error_rate},
      {"balanced_accuracy", "balanced accuracy", "(TPR + TNR) / 2", balanced_accuracy,
       nullptr},
      {"f1", "F1 score", "2 TP / (2 TP + FP + FN)", f1, nullptr},
      {"mcc", "Matthews correlation",
       "(TP TN - FP FN) / sqrt((TP + FP)(TP + FN)(TN + FP)(TN + FN))", mcc, nullptr},
      {"fn_fp_ratio", "false negatives per false positive", "FN / FP", fn_fp_ratio,
       nullptr},
      {"conditional_acceptance", "favourable labels per selected row",
       "(TP + FN) / (TP + FP)", conditional_acceptance, nullptr},
      {"conditional_rejection", "unfavourable labels per rejected row",
       "(TN + FP) / (TN + FN)", conditional_rejection, nullptr},
  };
  return all;
}

const RateInfo* find_rate(std::string_view name) { return find(group_rates(), name); }

const CriterionInfo* find_criterion(std::string_view name) {
  return find(group_criteria(), name);
}

Interval share_interval(const Share& share, double confidence) {
  if (!whole(share)) return {share.value(), kUndefined, kUndefined};
  return wilson(count(share.hits), count(share.of), confidence);
}

Interval share_difference(const Share& first, const Share& second, double confidence) {
  if (!whole(first) || !whole(second))
    return {first.value() - second.value(), kUndefined, kUndefined};
  return newcombe(count(first.hits), count(first.of), count(second.hits), count(second.of),
                  confidence);
}

Interval share_ratio(const Share& first, const Share& second, double confidence) {
  if (!whole(first) || !whole(second))
    return {divide(first.value(), second.value()), kUndefined, kUndefined};
  return rate_ratio(count(first.hits), count(first.of), count(second.hits),
                    count(second.of), confidence);
}

Interval criterion_interval(const CriterionInfo& criterion, const Confusion& u,
                            const Confusion& p, double confidence) {
  const RateInfo* rate = criterion.rate == nullptr ? nullptr : find_rate(criterion.rate);
  if (rate == nullptr || rate->share == nullptr)
    return {criterion.value(u, p), kUndefined, kUndefined};
  const Share first = rate->share(criterion.turned ? p : u);
  const Share second = rate->share(criterion.turned ? u : p);
  return (criterion.ratio ? share_ratio : share_difference)(first, second, confidence);
}

std::vector<double> selected_shares(const std::vector<Confusion>& groups) {
  double all = 0;
  for (const Confusion& group : groups) all += group.selected();
  std::vector<double> shares;
  for (const Confusion& group : groups) shares.push_back(divide(group.selected(), all));
  return shares;
}

}  // namespace fmd
