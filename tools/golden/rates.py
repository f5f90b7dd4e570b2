#!/usr/bin/env python3
"""Writes tests/golden/rates.json: group rates, criteria, score metrics, indices and tests by other programs.

Needs numpy, scipy, scikit-learn, pandas, fairlearn, aif360, aequitas, smclarify and statsmodels. Usage: rates.py OUT_DIR
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.stats
import sklearn.metrics as skm
from aequitas.bias import Bias
from aequitas.group import Group
from aif360.datasets import BinaryLabelDataset
from aif360.metrics import ClassificationMetric
import aif360.sklearn.metrics as aif
from fairlearn import metrics as flm
from smclarify.bias import metrics as clarify
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

warnings.filterwarnings("ignore")


def table():
    """Rows of three groups and two levels of a control feature; group 0 is unprivileged, 1 privileged."""
    rng = np.random.default_rng(17)
    n = 500
    group = rng.choice(3, n, p=(0.3, 0.5, 0.2))
    level = rng.integers(0, 2, n)
    score = np.round(1 / (1 + np.exp(-(1.2 * rng.normal(size=n) + 0.5 * group - 0.6))), 2)
    y = (rng.uniform(size=n) < 0.15 + 0.6 * score + 0.05 * group).astype(int)
    return pd.DataFrame({"y": y, "score": score, "d": (score >= 0.5).astype(int), "group": group, "level": level})


def aif_metric(t, privileged=1, unprivileged=0):
    def dataset(label):
        rows = pd.DataFrame({"label": t[label].astype(float), "group": t.group.astype(float)})
        return BinaryLabelDataset(df=rows, label_names=["label"], protected_attribute_names=["group"])
    truth, decided = dataset("y"), dataset("d")
    decided.scores = t.score.to_numpy().reshape(-1, 1)
    return ClassificationMetric(truth, decided, unprivileged_groups=[{"group": unprivileged}],
                                privileged_groups=[{"group": privileged}])


def rates(t):
    """Per group: [tool, our name, values]."""
    found = []
    for name, attribute in {"base_rate": "base_rate", "selection_rate": "selection_rate",
                            "tpr": "true_positive_rate", "tnr": "true_negative_rate",
                            "fpr": "false_positive_rate", "fnr": "false_negative_rate",
                            "ppv": "positive_predictive_value", "npv": "negative_predictive_value",
                            "fdr": "false_discovery_rate", "for": "false_omission_rate",
                            "accuracy": "accuracy", "error_rate": "error_rate"}.items():
        values = []
        for g in range(3):
            metric = aif_metric(t, privileged=g, unprivileged=(g + 1) % 3)
            values.append(getattr(metric, attribute)(privileged=True))
        found.append(["aif360", name, values])
    for name, function in {"accuracy": skm.accuracy_score, "balanced_accuracy": skm.balanced_accuracy_score,
                           "f1": skm.f1_score, "mcc": skm.matthews_corrcoef, "tpr": skm.recall_score,
                           "ppv": skm.precision_score, "error_rate": skm.zero_one_loss}.items():
        found.append(["sklearn", name, [function(p.y, p.d) for _, p in t.groupby("group")]])
    for name, function in {"selection_rate": flm.selection_rate, "tpr": flm.true_positive_rate,
                           "tnr": flm.true_negative_rate, "fpr": flm.false_positive_rate,
                           "fnr": flm.false_negative_rate}.items():
        found.append(["fairlearn", name, [function(p.y, p.d) for _, p in t.groupby("group")]])
    return found


def criteria(t):
    """u = group 0, p = group 1: [tool, our name, value]."""
    m = aif_metric(t)
    names = {"statistical_parity_difference": m.statistical_parity_difference,
             "disparate_impact": m.disparate_impact,
             "equal_opportunity_difference": m.equal_opportunity_difference,
             "average_odds_difference": m.average_odds_difference,
             "average_abs_odds_difference": m.average_abs_odds_difference,
             "average_predictive_value_difference": m.average_predictive_value_difference,
             "equalized_odds_difference": m.equalized_odds_difference,
             "fpr_difference": m.false_positive_rate_difference, "fpr_ratio": m.false_positive_rate_ratio,
             "fnr_difference": m.false_negative_rate_difference, "fnr_ratio": m.false_negative_rate_ratio,
             "fdr_difference": m.false_discovery_rate_difference, "fdr_ratio": m.false_discovery_rate_ratio,
             "for_difference": m.false_omission_rate_difference, "for_ratio": m.false_omission_rate_ratio,
             "error_rate_difference": m.error_rate_difference, "error_rate_ratio": m.error_rate_ratio}
    found = [["aif360", name, function()] for name, function in names.items()]

    pair = t[t.group < 2].reset_index(drop=True)
    labels = aif_metric(pair)
    truth = ClassificationMetric(labels.dataset, labels.dataset, unprivileged_groups=[{"group": 0}],
                                 privileged_groups=[{"group": 1}])
    found += [["aif360", "base_rate_difference", truth.mean_difference()],
              ["aif360", "base_rate_ratio", truth.disparate_impact()]]

    same = dict(sensitive_features=pair.group)
    found.append(["fairlearn", "equalized_odds_ratio", flm.equalized_odds_ratio(pair.y, pair.d, **same)])

    unprivileged, positive, chosen = pair.group == 0, pair.y == 1, pair.d == 1
    for name, function in {"dca": clarify.DCA, "dcr": clarify.DCR, "dar": clarify.DAR, "drr": clarify.DRR,
                           "rd": clarify.RD, "sd": clarify.SD, "ad": clarify.AD,
                           "treatment_equality": clarify.TE}.items():
        found.append(["clarify", name, function(pair.score, unprivileged, positive, chosen)])
    found += [["clarify", "dppl", clarify.DPPL(pair.score, unprivileged, chosen)],
              ["clarify", "disparate_impact", clarify.DI(pair.score, unprivileged, chosen)]]
    by = [t[t.group == g] for g in (0, 1)]
    for name, function in {"predictive_parity": skm.precision_score, "equal_opportunity": skm.recall_score}.items():
        u, p = (function(part.y, part.d) for part in by)
        found += [["sklearn", name + "_difference", u - p], ["sklearn", name + "_ratio", u / p]]
    # The precision of either answer: that of the unfavourable one is NPV.
    gaps = [abs(np.subtract(*(skm.precision_score(part.y, part.d, pos_label=answer) for part in by))) for answer in (1, 0)]
    found.append(["sklearn", "conditional_use_accuracy_difference", max(gaps)])
    return found


def aggregates(t):
    """Fairlearn's aggregations of each rate, its odds and its control features."""
    metrics = {"selection_rate": flm.selection_rate, "tpr": flm.true_positive_rate, "fpr": flm.false_positive_rate,
               "accuracy": skm.accuracy_score}
    frame = flm.MetricFrame(metrics=metrics, y_true=t.y, y_pred=t.d, sensitive_features=t.group)
    found = {name: {"overall": frame.overall[name], "min": frame.group_min()[name], "max": frame.group_max()[name],
                    "difference": frame.difference()[name], "ratio": frame.ratio()[name],
                    "difference_to_overall": frame.difference(method="to_overall")[name],
                    "ratio_to_overall": frame.ratio(method="to_overall")[name]} for name in metrics}
    odds = [[agg, method, flm.equalized_odds_difference(t.y, t.d, sensitive_features=t.group, agg=agg, method=method),
             flm.equalized_odds_ratio(t.y, t.d, sensitive_features=t.group, agg=agg, method=method)]
            for agg in ("worst_case", "mean") for method in ("between_groups", "to_overall")]
    control = flm.MetricFrame(metrics=flm.selection_rate, y_true=t.y, y_pred=t.d, sensitive_features=t.group,
                              control_features=t.level)
    rest = [skm.recall_score(t.y[t.group == g], t.d[t.group == g])
            - skm.recall_score(t.y[t.group != g], t.d[t.group != g]) for g in range(3)]
    return {"rates": found, "odds": odds, "within": control.difference().tolist(), "tpr_versus_rest": rest}


def by_aequitas(t):
    """Group metrics and disparities; its k is the number of selected rows of all groups."""
    rows = pd.DataFrame({"score": t.d, "label_value": t.y, "group": t.group.astype(str)})
    frame, _ = Group().get_crosstabs(rows, attr_cols=["group"])
    names = {"tpr": "tpr", "tnr": "tnr", "for": "for", "fdr": "fdr", "fpr": "fpr", "fnr": "fnr", "npv": "npv",
             "precision": "ppv", "pprev": "selection_rate", "prev": "base_rate"}
    bias = Bias()
    keep = dict(alpha=0.05, mask_significance=False)
    disparity = {"majority": bias.get_disparity_major_group(frame, original_df=rows, **keep),
                 "smallest": bias.get_disparity_min_metric(frame, original_df=rows, **keep),
                 "predefined": bias.get_disparity_predefined_groups(frame, original_df=rows,
                                                                    ref_groups_dict={"group": "2"}, **keep)}
    return {"rates": [[ours, frame[theirs].tolist()] for theirs, ours in names.items()],
            "ppr": frame["ppr"].tolist(),
            "disparity": {reference: [["tpr", table["tpr_disparity"].tolist()], ["fpr", table["fpr_disparity"].tolist()],
                                      ["selection_rate", table["pprev_disparity"].tolist()]]
                          for reference, table in disparity.items()}}


def abroca(u, p):
    """Area between two ROC curves, straight between the merged false positive rates of both."""
    curves = [skm.roc_curve(part.y, part.score, drop_intermediate=False)[:2] for part in (u, p)]
    grid = np.unique(np.concatenate([curve[0] for curve in curves]))
    area = 0.0
    for a, b in zip(grid, grid[1:]):
        inner = np.array([a + (b - a) / 3, a + 2 * (b - a) / 3])
        d = np.interp(inner, *curves[0]) - np.interp(inner, *curves[1])
        left, right = 2 * d[0] - d[1], 2 * d[1] - d[0]
        if left * right >= 0:
            area += (b - a) * abs(left + right) / 2
        else:
            area += (b - a) * (left ** 2 + right ** 2) / (2 * (abs(left) + abs(right)))
    return area


def calibration(part):
    where = np.clip((10 * part.score).astype(int), 0, 9)
    bins = part.groupby(where).agg(rows=("y", "size"), y=("y", "mean"), score=("score", "mean"))
    gap = (bins.y - bins.score).abs()
    return (bins.rows * gap).sum() / len(part), gap.max()


def scores(t):
    found = []
    for g, part in t.groupby("group"):
        metric = aif_metric(t, privileged=g, unprivileged=(g + 1) % 3)
        positive, negative = part.score[part.y == 1], part.score[part.y == 0]
        ece, mce = calibration(part)
        found.append({"auc": skm.roc_auc_score(part.y, part.score),
                      "average_precision": skm.average_precision_score(part.y, part.score),
                      "ks": scipy.stats.ks_2samp(positive, negative).statistic,
                      "log_loss": skm.log_loss(part.y, part.score), "brier": skm.brier_score_loss(part.y, part.score),
                      "mae": skm.mean_absolute_error(part.y, part.score), "r2": skm.r2_score(part.y, part.score),
                      "mean_score": flm.mean_prediction(part.y, part.score), "ece": ece, "mce": mce,
                      "generalized_tpr": metric.generalized_true_positive_rate(privileged=True),
                      "generalized_fpr": metric.generalized_false_positive_rate(privileged=True),
                      "generalized_fnr": metric.generalized_false_negative_rate(privileged=True),
                      "generalized_tnr": metric.generalized_true_negative_rate(privileged=True)})
    by = [t[t.group == g] for g in range(3)]
    return {"by_group": found, "abroca": abroca(by[0], by[1]),
            "ks_distance": scipy.stats.ks_2samp(by[0].score, by[1].score).statistic}


def indices(t):
    """Entropy of benefits and differential fairness by AIF360; alpha = 0 by its formula, since AIF360 divides by mu."""
    m = aif_metric(t)
    benefit = t.score - t.y + 1
    return {"entropy": [[alpha, m.generalized_entropy_index(alpha=alpha)] for alpha in (0.5, 1, 2, 3)],
            "theil": m.theil_index(), "cv": m.coefficient_of_variation(),
            "between": [[alpha, m.between_all_groups_generalized_entropy_index(alpha=alpha)] for alpha in (1, 2)],
            "entropy_of_scores": [[0, -np.mean(np.log(benefit / benefit.mean()))],
                                  [1, aif.theil_index(benefit)], [2, aif.generalized_entropy_index(benefit, alpha=2)]],
            "epsilon": [[c, m.smoothed_empirical_differential_fairness(concentration=c)] for c in (1.0, 3.0)],
            "amplification": m.differential_fairness_bias_amplification()}


def statistics():
    rng = np.random.default_rng(23)
    x = rng.exponential(size=40)
    y = rng.normal(size=25)
    shares = [(k, n, c) for k, n in ((0, 10), (10, 10), (3, 17), (81, 263), (3000000, 10000000)) for c in (0.9, 0.99)]
    p = np.round(rng.uniform(size=12) ** 3, 4)

    def bca(samples, statistic):
        first = scipy.stats.bootstrap(samples, statistic, n_resamples=600, rng=rng, method="percentile",
                                      vectorized=False)
        ends = []
        for c in (0.9, 0.95):
            done = scipy.stats.bootstrap(samples, statistic, n_resamples=0, bootstrap_result=first, method="BCa",
                                         confidence_level=c, vectorized=False)
            ends.append([c, *done.confidence_interval])
        return {"samples": [s.tolist() for s in samples], "value": statistic(*samples),
                "replicates": first.bootstrap_distribution.tolist(), "ends": ends}

    counts = rng.integers(0, 4, 60).astype(float)  # rows of a table of four cells

    def share_ratio(rows):
        rows = np.asarray(rows)
        return np.sum(rows == 0) / (np.sum(rows == 0) + np.sum(rows == 1)) / np.mean(rows < 3)

    groups = ([1, 1, 1, 1, 0], [0, 0, 0, 1, 0, 1])
    exact = scipy.stats.permutation_test(groups, lambda a, b: abs(np.mean(a) - np.mean(b)), vectorized=False,
                                         n_resamples=np.inf, alternative="greater")
    return {
        "jeffreys": [[k, n, c, *proportion_confint(k, n, 1 - c, method="jeffreys")] for k, n, c in shares],
        "beta": [[v, a, b, scipy.stats.beta.cdf(v, a, b)] for v, a, b in
                 ((0.1, 0.5, 0.5), (0.7, 12, 3), (0.3001, 3e6, 7e6), (1e-6, 0.5, 20.5), (0.999, 300, 1.5))],
        "binomial": [[k, n, q, scipy.stats.binom.pmf(k, n, q)] for k, n, q in
                     ((3, 10, 0.2), (0, 7, 0.3), (7, 7, 0.3), (15, 30, 0.5), (3000500, 10000000, 0.3), (1, 1000, 0.01))],
        "bca_mean": bca((x,), np.mean),
        "bca_two": bca((x, y), lambda a, b: np.mean(a) - np.mean(b)),
        "bca_counts": bca((counts,), share_ratio),
        "p_values": p.tolist(), "holm": multipletests(p, method="holm")[1].tolist(),
        "benjamini_hochberg": multipletests(p, method="fdr_bh")[1].tolist(),
        "permutation": {"groups": groups, "p": exact.pvalue},
    }


def main(out_dir):
    t = table()
    found = {"rows": {name: t[name].tolist() for name in t}, "rates": rates(t), "criteria": criteria(t),
             "aggregates": aggregates(t), "aequitas": by_aequitas(t), "scores": scores(t), "indices": indices(t),
             "statistics": statistics()}
    text = json.dumps(found, default=lambda v: v.item())
    (Path(out_dir) / "rates.json").write_text(text.replace("], [", "],\n[").replace("}, ", "},\n") + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
