#!/usr/bin/env python3
"""Writes tests/golden/metrics.json: what other programs say about small seeded problems.

Needs numpy, scipy, scikit-learn, fairlearn, statsmodels and torch. Usage: metrics.py OUT_DIR
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from fairlearn.metrics import (MetricFrame, demographic_parity_difference,
                               demographic_parity_ratio, equalized_odds_difference,
                               false_positive_rate, selection_rate, true_positive_rate)
from scipy.stats import norm
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint


def intervals():
    """Wilson, Newcombe, normal and plain quantiles."""
    shares = [(k, n, c) for k, n in ((0, 10), (10, 10), (1, 29), (81, 263), (15, 148), (1306, 4797))
              for c in (0.9, 0.95, 0.99)]
    pairs = [(56, 70, 48, 80), (9, 10, 3, 10), (6, 7, 2, 7), (5, 56, 0, 29), (0, 10, 0, 20),
             (10, 10, 0, 10), (2242, 5203, 1070, 4797)]
    values = np.random.default_rng(3).normal(size=41)
    return {
        "wilson": [[k, n, c, *proportion_confint(k, n, 1 - c, method="wilson")] for k, n, c in shares],
        "newcombe": [[*p, c, *confint_proportions_2indep(*p, method="newcomb", compare="diff",
                                                         alpha=1 - c)]
                     for p in pairs for c in (0.9, 0.95)],
        # Another method (score): near, not equal.
        "ratio": [[*p, *confint_proportions_2indep(*p, method="score", compare="ratio")]
                  for p in ((1070, 4797, 2242, 5203), (156, 942, 2810, 7742))],
        "normal": [[c, norm.ppf((1 + c) / 2)] for c in (0.1, 0.5, 0.8, 0.95, 0.99, 0.9999, 1 - 1e-9)],
        "percentile": {"values": values.tolist(),
                       "ends": [[c, *np.quantile(values, [(1 - c) / 2, (1 + c) / 2])]
                                for c in (0.5, 0.9, 0.95, 0.999)]},
    }


def scored():
    """Quality of scores by scikit-learn, with ties among the scores."""
    rng = np.random.default_rng(5)
    p = np.round(rng.uniform(0.02, 0.98, 200), 2)
    y = (rng.uniform(size=200) < p).astype(int)
    logits = rng.normal(size=(90, 3))
    many = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    label = rng.integers(0, 3, 90)
    return {
        "two": {"p": p.tolist(), "y": y.tolist(), "accuracy": accuracy_score(y, p >= 0.5),
                "log_loss": log_loss(y, p), "auc": roc_auc_score(y, p)},
        "three": {"p": many.tolist(), "y": label.tolist(),
                  "accuracy": accuracy_score(label, many.argmax(1)),
                  "log_loss": log_loss(label, many)},
    }


def groups():
    """Group rates and their differences by fairlearn."""
    rng = np.random.default_rng(7)
    n = 600
    group = rng.integers(0, 3, n)
    p = np.round(1 / (1 + np.exp(-(rng.normal(size=n) + 0.6 * group - 0.5))), 3)
    y = (rng.uniform(size=n) < 0.3 + 0.4 * p).astype(int)
    decision = (p >= 0.5).astype(int)
    frame = MetricFrame(metrics={"selection_rate": selection_rate, "tpr": true_positive_rate,
                                 "fpr": false_positive_rate, "accuracy": accuracy_score},
                        y_true=y, y_pred=decision, sensitive_features=group)
    same = dict(sensitive_features=group)
    return {
        "p": p.tolist(), "y": y.tolist(), "group": group.tolist(),
        "by_group": {name: frame.by_group[name].tolist() for name in frame.by_group},
        "demographic_parity": demographic_parity_difference(y, decision, **same),
        "demographic_parity_ratio": demographic_parity_ratio(y, decision, **same),
        "equal_opportunity": frame.difference()["tpr"],
        "equalized_odds": equalized_odds_difference(y, decision, **same),
        "accuracy_difference": frame.difference()["accuracy"],
    }


def probabilities(X, theta, outputs, sharpen=1.0):
    W = theta.reshape(outputs, -1)
    z = sharpen * (X @ W[:, :-1].T + W[:, -1])
    if outputs == 1:
        return torch.cat([torch.sigmoid(-z), torch.sigmoid(z)], 1)
    return torch.softmax(z, 1)


def spread(score, w, group, count):
    means = torch.stack([(w * score)[group == g].sum() / w[group == g].sum() for g in range(count)])
    if count == 2:
        return means[0] - means[1]
    share = torch.stack([w[group == g].sum() for g in range(count)]) / w.sum()
    return (share * (means - (share * means).sum()) ** 2).sum().sqrt()


def measures(problem, theta, outputs, favorable, count, sharpen):
    """Every bias measure of one problem, as functions of theta."""
    X, Xbar, y, w, group = (problem[k] for k in ("X", "Xbar", "y", "weight", "group"))
    p, q = probabilities(X, theta, outputs), probabilities(Xbar, theta, outputs)
    score = probabilities(X, theta, outputs, sharpen)[:, favorable]
    mean = lambda gap: (w * gap).sum() / w.sum()
    rows = torch.arange(len(y))
    group = group % count

    def soft(keep):
        return spread(score[keep], w[keep], group[keep], count)

    return {
        "co": mean((p - q)[rows, y].abs()),
        "co_tv": mean((p - q).abs().sum(1) / 2),
        "consistency": mean(((p - q) ** 2).sum(1)),
        "loss": mean(-p[rows, y].log()),
        "demographic_parity_soft": soft(y >= 0),
        "equal_opportunity_soft": soft(y == favorable),
        "false_positive_soft": soft(y != favorable),
    }


def gradients():
    """Values and gradients of the bias measures by automatic differentiation."""
    rng = np.random.default_rng(11)
    cases = []
    for outputs, favorable, count, sharpen in ((1, 1, 2, 1.0), (1, 0, 2, 4.0), (2, 1, 3, 1.0),
                                               (3, 2, 2, 1.0), (3, 0, 3, 4.0)):
        rows, cols = 40, 4
        X = np.round(rng.normal(size=(rows, cols)) * 64) / 64  # exact as float32
        Xbar = X.copy()
        Xbar[:, 0] = 1 - X[:, 0]
        y = rng.integers(0, max(2, outputs), rows)
        weight = rng.integers(1, 9, rows) / 8
        group = np.arange(rows) * 7 % 6
        theta = np.round(rng.normal(size=outputs * (cols + 1)), 3)
        problem = {"X": torch.tensor(X), "Xbar": torch.tensor(Xbar), "y": torch.tensor(y),
                   "weight": torch.tensor(weight), "group": torch.tensor(group)}
        found = {}
        for name in measures(problem, torch.tensor(theta), outputs, favorable, count, sharpen):
            t = torch.tensor(theta, requires_grad=True)
            value = measures(problem, t, outputs, favorable, count, sharpen)[name]
            value.backward()
            found[name] = {"value": value.item(), "gradient": t.grad.tolist()}
        cases.append({"outputs": outputs, "favorable": favorable, "groups": count,
                      "sharpen": sharpen, "X": X.ravel().tolist(), "Xbar": Xbar.ravel().tolist(),
                      "y": y.tolist(), "weight": weight.tolist(),
                      "group": (group % count).tolist(), "theta": theta.tolist(),
                      "measures": found})
    return cases


def main(out_dir):
    text = json.dumps({"intervals": intervals(), "scored": scored(), "groups": groups(),
                       "gradients": gradients()},
                      default=lambda x: x.item())
    (Path(out_dir) / "metrics.json").write_text(text.replace("], [", "],\n[") + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
