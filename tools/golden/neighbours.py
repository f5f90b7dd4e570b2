#!/usr/bin/env python3
"""Writes tests/golden/neighbours.json: consistency and flip test by scikit-learn's neighbours.

Consistency as AIF360 defines it, 1 - mean |yhat_i - mean of yhat over the k nearest rows|, the row itself
among them. The flip test as Clarify defines it: a classifier by the k nearest rows of the favoured group
answers for the other group; (F+ - F-) / n.

Needs numpy and scikit-learn. Usage: neighbours.py OUT_DIR
"""

import json
import sys
from pathlib import Path

import numpy as np
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors


def main(out_dir):
    rng = np.random.default_rng(13)
    n = 300
    X = rng.normal(size=(n, 4)).astype(np.float32).astype(float)
    group = rng.integers(0, 2, n)
    decision = (X[:, 0] + 0.8 * group + 0.7 * rng.normal(size=n) > 0.4).astype(int)
    found = {}
    for k in (1, 5, 9):
        near = NearestNeighbors(n_neighbors=k).fit(X).kneighbors(X, return_distance=False)
        found[str(k)] = 1 - np.abs(decision - decision[near].mean(1)).mean()
    own, other = group == 0, group == 1
    theirs = KNeighborsClassifier(n_neighbors=5).fit(X[other], decision[other]).predict(X[own])
    plus = ((decision[own] == 0) & (theirs == 1)).sum()
    minus = ((decision[own] == 1) & (theirs == 0)).sum()
    text = json.dumps({"X": X.ravel().tolist(), "decision": decision.tolist(), "group": group.tolist(),
                       "consistency": found, "flip_test": (plus - minus) / own.sum()})
    (Path(out_dir) / "neighbours.json").write_text(text.replace("], ", "],\n") + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
