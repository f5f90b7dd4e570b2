#!/usr/bin/env python3
"""Writes tests/golden/baselines.json: post-processing, weights and refits by AIF360, scipy and scikit-learn.

Needs numpy, scipy, scikit-learn, pandas and aif360. Usage: baselines.py OUT_DIR
"""

import json
import logging
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.optimize
from sklearn.linear_model import LogisticRegression

logging.disable(logging.CRITICAL)
warnings.filterwarnings("ignore")

from aif360.algorithms.postprocessing import (CalibratedEqOddsPostprocessing, EqOddsPostprocessing,
                                              RejectOptionClassification)
from aif360.algorithms.preprocessing import Reweighing
from aif360.datasets import BinaryLabelDataset

GROUPS = {"unprivileged_groups": [{"group": 0}], "privileged_groups": [{"group": 1}]}
METRICS = {"statistical_parity": "Statistical parity difference", "average_odds": "Average odds difference",
           "equal_opportunity": "Equal opportunity difference"}


def rows(seed, n, gap, noise):
    """Labels, scores with ties and groups; group 1 is privileged."""
    rng = np.random.default_rng(seed)
    group = (rng.uniform(size=n) < 0.6).astype(int)
    z = rng.normal(size=n) + gap * (group - 0.5)
    y = (rng.uniform(size=n) < 1 / (1 + np.exp(-1.5 * z))).astype(int)
    score = np.round(1 / (1 + np.exp(-(1.5 * z + noise * rng.normal(size=n)))), 3)
    return pd.DataFrame({"y": y, "score": score, "d": (score >= 0.5).astype(int), "group": group})


def datasets(t):
    def dataset(label):
        made = BinaryLabelDataset(df=pd.DataFrame({"label": t[label].astype(float), "group": t.group.astype(float)}),
                                  label_names=["label"], protected_attribute_names=["group"])
        return made
    truth, decided = dataset("y"), dataset("d")
    decided.scores = t.score.to_numpy(dtype=float).reshape(-1, 1)
    return truth, decided


def equalized_odds(truth, decided):
    found = EqOddsPostprocessing(**GROUPS, seed=1).fit(truth, decided).model_params
    # Their order: privileged kept, privileged granted, then the unprivileged group's.
    return {"keep": [found.x[2], found.x[0]], "grant": [found.x[3], found.x[1]], "objective": found.fun}


def calibrated_odds(truth, decided, cost):
    found = CalibratedEqOddsPostprocessing(**GROUPS, cost_constraint=cost, seed=1).fit(truth, decided)
    return {"mix": [found.unpriv_mix_rate, found.priv_mix_rate],
            "base_rate": [found.base_rate_unpriv, found.base_rate_priv]}


def reject_option(truth, decided, metric, bound, thresholds, margins):
    found = RejectOptionClassification(**GROUPS, low_class_thresh=0.01, high_class_thresh=0.99,
                                       num_class_thresh=thresholds, num_ROC_margin=margins,
                                       metric_name=METRICS[metric], metric_ub=bound, metric_lb=-bound)
    found.fit(truth, decided)
    labels = found.predict(decided).labels.ravel().astype(int)
    return {"metric": metric, "bound": bound, "thresholds": thresholds, "margins": margins,
            "threshold": found.classification_threshold, "margin": found.ROC_margin, "labels": labels.tolist()}


def reweighing(truth):
    found = Reweighing(**GROUPS).fit(truth)
    return [[found.w_up_unfav, found.w_up_fav], [found.w_p_unfav, found.w_p_fav]]  # [group][label]


def postprocessing():
    cases = []
    for seed, n, gap, noise in ((1, 300, 1.0, 0.5), (2, 500, 2.5, 1.0), (3, 200, 0.2, 2.0)):
        t = rows(seed, n, gap, noise)
        truth, decided = datasets(t)
        case = {name: t[name].tolist() for name in ("y", "score", "d", "group")}
        case["equalized_odds"] = equalized_odds(truth, decided)
        case["calibrated_odds"] = {cost: calibrated_odds(truth, decided, cost) for cost in ("fpr", "fnr", "weighted")}
        case["reject_option"] = [reject_option(truth, decided, metric, bound, 25, 12)
                                 for metric in METRICS for bound in (0.05, 0.001)]
        # No cell is within bounds that no metric can meet: then the least metric is taken.
        case["reject_option"].append(reject_option(truth, decided, "statistical_parity", -2, 10, 5))
        if seed == 1:
            case["reject_option"].append(reject_option(truth, decided, "statistical_parity", 0.05, 100, 50))
        case["reweighing"] = reweighing(truth)
        cases.append(case)
    return cases


def main(out):
    golden = {"postprocessing": postprocessing()}
    (out / "baselines.json").write_text(json.dumps(golden) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
