#!/usr/bin/env python3
"""Writes tests/golden/baselines.json: post-processing, weights and refits by AIF360, inFairness, scipy and scikit-learn.

Needs numpy, scipy, scikit-learn, pandas and aif360; inFairness (0.2.3, without what it asks for) and torch. Usage: baselines.py OUT_DIR
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


def influence_weights():
    """Li and Liu's two linear programs, by NumPy and scipy's HiGHS."""
    rng = np.random.default_rng(5)
    n, m, d, l2 = 120, 80, 3, 0.02

    def draw(size):
        group = rng.integers(0, 2, size)
        X = np.round(rng.normal(size=(size, d)) + 0.5 * group[:, None], 3).astype(np.float32).astype(float)
        y = (rng.uniform(size=size) < 1 / (1 + np.exp(-(X[:, 0] + group - 0.5)))).astype(int)
        return X, y, group
    (X, y, _), (V, v, group) = draw(n), draw(m)
    sigmoid = lambda z: 1 / (1 + np.exp(-z))
    A, B = np.c_[X, np.ones(n)], np.c_[V, np.ones(m)]
    ridge = l2 * np.diag([1] * d + [0])
    theta = np.zeros(d + 1)
    for _ in range(50):
        p = sigmoid(A @ theta)
        theta -= np.linalg.solve((A * (p * (1 - p))[:, None]).T @ A / n + ridge, A.T @ (p - y) / n + ridge @ theta)
    p, q = sigmoid(A @ theta), sigmoid(B @ theta)
    H = (A * (p * (1 - p))[:, None]).T @ A + n * ridge
    loss = -np.log(np.where(v == 1, q, 1 - q))
    cases = []
    for fairness, beta, gamma, alpha in (("equal_opportunity", 0.5, 0.2, 0.1), ("demographic_parity", 0.3, 0.1, 0.1),
                                         ("equal_opportunity", 1.0, 1.0, 0.05)):
        parity = fairness == "demographic_parity"
        part = [(group == g) & ((v == 1) | parity) for g in (0, 1)]
        value, slope = (q, q * (1 - q)) if parity else (loss, q - 1)
        F = value[part[0]].mean() - value[part[1]].mean()
        gradient = sum(s * (slope[k, None] * B[k]).mean(axis=0) for s, k in ((1, part[0]), (-1, part[1])))
        F, gradient = abs(F), np.sign(F) * gradient
        f = (p - y) * (A @ np.linalg.solve(H, gradient))
        u = (p - y) * (A @ np.linalg.solve(H, B.T @ (q - v)))
        first = F < -np.minimum(f, 0).sum()
        solved = first and scipy.optimize.linprog(np.ones(n), A_ub=[f, u], b_ub=[-beta * F, gamma * np.minimum(u, 0).sum()],
                                                  bounds=(0, 1), method="highs")
        undone = bool(first and solved.status == 0)
        if not undone:
            solved = scipy.optimize.linprog(f, A_ub=[u, np.ones(n)], b_ub=[0, alpha * n], bounds=(0, 1), method="highs")
        cases.append({"fairness": fairness, "beta": beta, "gamma": gamma, "alpha": alpha, "F": F, "undone": undone,
                      "objective": solved.fun, "f": f.tolist(), "u": u.tolist()})
    return {"X": X.ravel().tolist(), "y": y.tolist(), "V": V.ravel().tolist(), "v": v.tolist(), "group": group.tolist(),
            "features": d, "l2": l2, "theta": theta.tolist(), "cases": cases}


def box_programs():
    """min c.x, two rows, 0 <= x <= 1."""
    rng = np.random.default_rng(6)
    cases = []
    for k in range(40):
        n = int(rng.integers(2, 30))
        c, a0, a1 = (np.round(rng.normal(size=n), 2) for _ in range(3))
        if k % 3 == 0:
            c = np.ones(n)
        b = np.round(rng.normal(size=2) * (1 + n / 10), 2)
        found = scipy.optimize.linprog(c, A_ub=[a0, a1], b_ub=b, bounds=(0, 1), method="highs")
        cases.append({"c": c.tolist(), "a0": a0.tolist(), "a1": a1.tolist(), "b": b.tolist(),
                      "feasible": found.status == 0, "objective": found.fun})
    return cases


def sparse_logistic():
    rng = np.random.default_rng(7)
    X = np.round(rng.normal(size=(150, 6)), 3)
    y = (rng.uniform(size=150) < 1 / (1 + np.exp(-(X[:, 0] - 0.5 * X[:, 1] + 0.4)))).astype(int)
    cases = []
    for C in (1.0, 0.1, 0.03):
        fit = LogisticRegression(penalty="l1", C=C, solver="saga", tol=1e-12, max_iter=200000).fit(X, y)
        # It stops early where all weights are 0: the intercept is finished here.
        z = X @ fit.coef_[0]
        b = scipy.optimize.brentq(lambda b: (1 / (1 + np.exp(-z - b)) - y).sum(), -5, 5, xtol=1e-13)
        cases.append({"C": C, "w": fit.coef_[0].tolist(), "b": b})
    return {"X": X.ravel().tolist(), "y": y.tolist(), "features": 6, "cases": cases}


def smoothing():
    """The exact way of inFairness.postprocessing.GraphLaplacianIF, in double precision."""
    import torch
    from inFairness.utils.postprocessing import build_graph_from_dists, get_laplacian, laplacian_solve
    torch.set_default_dtype(torch.float64)
    rng = np.random.default_rng(8)
    A, Z = np.round(rng.normal(size=(25, 3)), 3), np.round(rng.normal(size=(25, 2)), 3)
    D = ((A[:, None] - A[None]) ** 2).sum(axis=2)
    cases = []
    for lam, theta, tau, normalised in ((0.1, 1, 2, False), (10, 0.3, 1.5, False), (1, 0.5, 2, True), (30, 1, 0.4, True)):
        # Its threshold is that of the distance, ours that of its square.
        W, rows = build_graph_from_dists(torch.tensor(D), theta, tau ** 0.5, normalised)
        assert len(rows) == len(Z)
        L = get_laplacian(W, normalised)
        L = (L + L.T) / 2 if normalised else L
        cases.append({"lambda": lam, "theta": theta, "tau": tau, "normalised": normalised,
                      "f": laplacian_solve(L, torch.tensor(Z), lam).numpy().ravel().tolist()})
    return {"A": A.ravel().tolist(), "Z": Z.ravel().tolist(), "cases": cases}


def main(out):
    golden = {"postprocessing": postprocessing(), "influence_weights": influence_weights(), "box_programs": box_programs(),
              "sparse_logistic": sparse_logistic(), "smoothing": smoothing()}
    (out / "baselines.json").write_text(json.dumps(golden) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
