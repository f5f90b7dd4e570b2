#include "fmd/metrics/confusion.h"

#include <algorithm>
#include <cmath>

#include "metrics/statistics/divide.h"

namespace fmd {
namespace {

// The rates as functions. The tables of rates and of criteria point to them.
Share base_rate(const Confusion& c) { return {c.positives(), c.labelled()}; }
Share selection_rate(const Confusion& c) { return {c.selected(), c.rows()}; }
Share tpr(const Confusion& c) { return {c.tp, c.positives()}; }
Share fnr(const Confusion& c) { return {c.fn, c.positives()}; }
Share tnr(const Confusion& c) { return {c.tn, c.negatives()}; }
Share fpr(const Confusion& c) { return {c.fp, c.negatives()}; }
Share ppv(const Confusion& c) { return {c.tp, c.tp + c.fp}; }
Share fdr(const Confusion& c) { return {c.fp, c.tp + c.fp}; }
Share npv(const Confusion& c) { return {c.tn, c.tn + c.fn}; }
Share omitted(const Confusion& c) { return {c.fn, c.tn + c.fn}; }
Share accuracy_share(const Confusion& c) { return {c.tp + c.tn, c.labelled()}; }
Share error_rate(const Confusion& c) { return {c.fp + c.fn, c.labelled()}; }

template <Share (*share)(const Confusion&)>
double rate(const Confusion& c) {
  return share(c).value();
}

double balanced_accuracy(const Confusion& c) { return (rate<tpr>(c) + rate<tnr>(c)) / 2; }

double f1(const Confusion& c) { return divide(2 * c.tp, 2 * c.tp + c.fp + c.fn); }

double mcc(const Confusion& c) {
  const double margins = std::sqrt(c.tp + c.fp) * std::sqrt(c.tp + c.fn) *
                         std::sqrt(c.tn + c.fp) * std::sqrt(c.tn + c.fn);
  return divide(c.tp * c.tn - c.fp * c.fn, margins);
}

double fn_fp_ratio(const Confusion& c) { return divide(c.fn, c.fp); }

double conditional_acceptance(const Confusion& c) {
  return divide(c.positives(), c.tp + c.fp);
}

double conditional_rejection(const Confusion& c) {
  return divide(c.negatives(), c.tn + c.fn);
}

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

using RateOf = double (*)(const Confusion&);

template <RateOf r>
double difference(const Confusion& u, const Confusion& p) {
  return r(u) - r(p);
}

template <RateOf r>
double turned(const Confusion& u, const Confusion& p) {
  return r(p) - r(u);
}

template <RateOf r>
double ratio(const Confusion& u, const Confusion& p) {
  return divide(r(u), r(p));
}

// Half the sum of two differences.
template <RateOf r, RateOf s>
double average(const Confusion& u, const Confusion& p) {
  return (difference<r>(u, p) + difference<s>(u, p)) / 2;
}

template <RateOf r, RateOf s>
double average_abs(const Confusion& u, const Confusion& p) {
  return (std::abs(difference<r>(u, p)) + std::abs(difference<s>(u, p))) / 2;
}

// std::max and std::min drop a NaN in one place and keep it in the other. Undefined must
// stay undefined.
double both(double a, double b, bool larger) {
  if (std::isnan(a) || std::isnan(b)) return kUndefined;
  return larger ? std::max(a, b) : std::min(a, b);
}

template <RateOf r, RateOf s>
double larger_abs(const Confusion& u, const Confusion& p) {
  return both(std::abs(difference<r>(u, p)), std::abs(difference<s>(u, p)), true);
}

template <RateOf r>
double smaller_over_larger(const Confusion& u, const Confusion& p) {
  return divide(both(r(u), r(p), false), both(r(u), r(p), true));
}

template <RateOf r, RateOf s>
double worst_ratio(const Confusion& u, const Confusion& p) {
  return both(smaller_over_larger<r>(u, p), smaller_over_larger<s>(u, p), false);
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
      {"selection_rate", "selection rate", "selected / rows", rate<selection_rate>,
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

std::vector<double> selected_shares(const std::vector<Confusion>& groups) {
  double all = 0;
  for (const Confusion& group : groups) all += group.selected();
  std::vector<double> shares;
  for (const Confusion& group : groups) shares.push_back(divide(group.selected(), all));
  return shares;
}

const std::vector<CriterionInfo>& group_criteria() {
  constexpr RateOf kBase = rate<base_rate>, kSelection = rate<selection_rate>,
                   kTpr = rate<tpr>, kTnr = rate<tnr>, kFpr = rate<fpr>, kFnr = rate<fnr>,
                   kPpv = rate<ppv>, kNpv = rate<npv>, kFdr = rate<fdr>,
                   kFor = rate<omitted>, kError = rate<error_rate>,
                   kAccuracy = rate<accuracy_share>;
  static const std::vector<CriterionInfo> all{
      {"base_rate_difference", "difference of favourable labels", "base_u - base_p", false,
       difference<kBase>, "base_rate", false},
      {"base_rate_ratio", "ratio of favourable labels", "base_u / base_p", true,
       ratio<kBase>, "base_rate", false},
      {"statistical_parity_difference", "statistical parity difference", "SR_u - SR_p",
       false, difference<kSelection>, "selection_rate", false},
      {"disparate_impact", "disparate impact", "SR_u / SR_p", true, ratio<kSelection>,
       "selection_rate", false},
      {"equal_opportunity_difference", "equal opportunity difference", "TPR_u - TPR_p",
       false, difference<kTpr>, "tpr", false},
      {"equal_opportunity_ratio", "equal opportunity ratio", "TPR_u / TPR_p", true,
       ratio<kTpr>, "tpr", false},
      {"equalized_odds_difference", "equalized odds difference",
       "max(|TPR_u - TPR_p|, |FPR_u - FPR_p|)", false, larger_abs<kTpr, kFpr>, nullptr,
       false},
      {"equalized_odds_ratio", "equalized odds ratio",
       "min(smaller TPR / larger TPR, smaller FPR / larger FPR)", true,
       worst_ratio<kTpr, kFpr>, nullptr, false},
      {"average_odds_difference", "average odds difference",
       "((FPR_u - FPR_p) + (TPR_u - TPR_p)) / 2", false, average<kFpr, kTpr>, nullptr,
       false},
      {"average_abs_odds_difference", "average absolute odds difference",
       "(|FPR_u - FPR_p| + |TPR_u - TPR_p|) / 2", false, average_abs<kFpr, kTpr>, nullptr,
       false},
      {"average_predictive_value_difference", "average predictive value difference",
       "((PPV_u - PPV_p) + (FOR_u - FOR_p)) / 2", false, average<kPpv, kFor>, nullptr,
       false},
      {"conditional_use_accuracy_difference", "conditional use accuracy difference",
       "max(|PPV_u - PPV_p|, |NPV_u - NPV_p|)", false, larger_abs<kPpv, kNpv>, nullptr,
       false},
      {"predictive_parity_difference", "predictive parity difference", "PPV_u - PPV_p",
       false, difference<kPpv>, "ppv", false},
      {"predictive_parity_ratio", "predictive parity ratio", "PPV_u / PPV_p", true,
       ratio<kPpv>, "ppv", false},
      {"npv_difference", "negative predictive value difference", "NPV_u - NPV_p", false,
       difference<kNpv>, "npv", false},
      {"npv_ratio", "negative predictive value ratio", "NPV_u / NPV_p", true, ratio<kNpv>,
       "npv", false},
      {"tnr_difference", "true negative rate difference", "TNR_u - TNR_p", false,
       difference<kTnr>, "tnr", false},
      {"tnr_ratio", "true negative rate ratio", "TNR_u / TNR_p", true, ratio<kTnr>, "tnr",
       false},
      {"fpr_difference", "false positive rate difference", "FPR_u - FPR_p", false,
       difference<kFpr>, "fpr", false},
      {"fpr_ratio", "false positive rate ratio", "FPR_u / FPR_p", true, ratio<kFpr>, "fpr",
       false},
      {"fnr_difference", "false negative rate difference", "FNR_u - FNR_p", false,
       difference<kFnr>, "fnr", false},
      {"fnr_ratio", "false negative rate ratio", "FNR_u / FNR_p", true, ratio<kFnr>, "fnr",
       false},
      {"fdr_difference", "false discovery rate difference", "FDR_u - FDR_p", false,
       difference<kFdr>, "fdr", false},
      {"fdr_ratio", "false discovery rate ratio", "FDR_u / FDR_p", true, ratio<kFdr>, "fdr",
       false},
      {"for_difference", "false omission rate difference", "FOR_u - FOR_p", false,
       difference<kFor>, "for", false},
      {"for_ratio", "false omission rate ratio", "FOR_u / FOR_p", true, ratio<kFor>, "for",
       false},
      {"error_rate_difference", "error rate difference", "ERR_u - ERR_p", false,
       difference<kError>, "error_rate", false},
      {"error_rate_ratio", "error rate ratio", "ERR_u / ERR_p", true, ratio<kError>,
       "error_rate", false},
      {"accuracy_ratio", "accuracy ratio", "ACC_u / ACC_p", true, ratio<kAccuracy>,
       "accuracy", false},
      {"balanced_accuracy_difference", "balanced accuracy difference", "BACC_u - BACC_p",
       false, difference<balanced_accuracy>, "balanced_accuracy", false},
      {"f1_difference", "F1 score difference", "F1_u - F1_p", false, difference<f1>, "f1",
       false},
      {"mcc_difference", "Matthews correlation difference", "MCC_u - MCC_p", false,
       difference<mcc>, "mcc", false},
      {"treatment_equality", "treatment equality", "FN_u / FP_u - FN_p / FP_p", false,
       difference<fn_fp_ratio>, "fn_fp_ratio", false},
      {"ad", "accuracy difference (Clarify)", "ACC_p - ACC_u", false, turned<kAccuracy>,
       "accuracy", true},
      {"dca", "difference in conditional acceptance (Clarify)",
       "(TP_p + FN_p) / (TP_p + FP_p) - (TP_u + FN_u) / (TP_u + FP_u)", false,
       turned<conditional_acceptance>, "conditional_acceptance", true},
      {"dcr", "difference in conditional rejection (Clarify)",
       "(TN_u + FP_u) / (TN_u + FN_u) - (TN_p + FP_p) / (TN_p + FN_p)", false,
       difference<conditional_rejection>, "conditional_rejection", false},
      {"dar", "difference in acceptance rates (Clarify)", "PPV_p - PPV_u", false,
       turned<kPpv>, "ppv", true},
      {"drr", "difference in rejection rates (Clarify)", "NPV_u - NPV_p", false,
       difference<kNpv>, "npv", false},
      {"rd", "recall difference (Clarify)", "TPR_p - TPR_u", false, turned<kTpr>, "tpr",
       true},
      {"sd", "specificity difference (Clarify)", "TNR_u - TNR_p", false, difference<kTnr>,
       "tnr", false},
      {"dppl", "difference in positive proportions of predictions (Clarify)", "SR_p - SR_u",
       false, turned<kSelection>, "selection_rate", true},
  };
  return all;
}

const CriterionInfo* find_criterion(std::string_view name) {
  return find(group_criteria(), name);
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

}  // namespace fmd
