#pragma once

#include <cmath>

#include "fmd/metrics/confusion.h"

// The rates as functions, which the tables of rates and of criteria point to.
namespace fmd::rates {

inline double divide(double a, double b) { return b == 0 ? kUndefined : a / b; }

inline Share base_rate(const Confusion& c) { return {c.positives(), c.labelled()}; }
inline Share selection_rate(const Confusion& c) { return {c.selected(), c.rows()}; }
inline Share tpr(const Confusion& c) { return {c.tp, c.positives()}; }
inline Share fnr(const Confusion& c) { return {c.fn, c.positives()}; }
inline Share tnr(const Confusion& c) { return {c.tn, c.negatives()}; }
inline Share fpr(const Confusion& c) { return {c.fp, c.negatives()}; }
inline Share ppv(const Confusion& c) { return {c.tp, c.tp + c.fp}; }
inline Share fdr(const Confusion& c) { return {c.fp, c.tp + c.fp}; }
inline Share npv(const Confusion& c) { return {c.tn, c.tn + c.fn}; }
inline Share omitted(const Confusion& c) { return {c.fn, c.tn + c.fn}; }
inline Share accuracy_share(const Confusion& c) { return {c.tp + c.tn, c.labelled()}; }
inline Share error_rate(const Confusion& c) { return {c.fp + c.fn, c.labelled()}; }

template <Share (*share)(const Confusion&)>
inline double rate(const Confusion& c) {
  return share(c).value();
}

inline double balanced_accuracy(const Confusion& c) {
  return (rate<tpr>(c) + rate<tnr>(c)) / 2;
}

inline double f1(const Confusion& c) { return divide(2 * c.tp, 2 * c.tp + c.fp + c.fn); }

inline double mcc(const Confusion& c) {
  const double margins = std::sqrt(c.tp + c.fp) * std::sqrt(c.tp + c.fn) *
                         std::sqrt(c.tn + c.fp) * std::sqrt(c.tn + c.fn);
  return divide(c.tp * c.tn - c.fp * c.fn, margins);
}

inline double fn_fp_ratio(const Confusion& c) { return divide(c.fn, c.fp); }

inline double conditional_acceptance(const Confusion& c) {
  return divide(c.positives(), c.tp + c.fp);
}

inline double conditional_rejection(const Confusion& c) {
  return divide(c.negatives(), c.tn + c.fn);
}

}  // namespace fmd::rates
