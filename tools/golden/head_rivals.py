#!/usr/bin/env python3
"""Writes tests/golden/head_rivals.json: INLP and SentenceDebias by scikit-learn, LEACE by concept-erasure.

Needs numpy, scipy, scikit-learn, torch and concept-erasure. Usage: head_rivals.py OUT_DIR
"""

import json
import sys
from pathlib import Path

import numpy as np
import scipy.linalg
import torch
from concept_erasure import LeaceFitter
from sklearn.decomposition import PCA
from sklearn.svm import LinearSVC


def rows(seed, n, d, classes):
    """Points whose mean depends on the class along two directions, with unequal spread."""
    rng = np.random.default_rng(seed)
    label = np.arange(n) % classes
    X = rng.normal(size=(n, d)) * np.linspace(0.5, 2.0, d) + rng.normal(size=d)
    X[:, 0] += 1.5 * label
    X[:, 1] -= 0.7 * (label == 1)
    return X, label


def row_space(W):
    if np.allclose(W, 0):
        return np.zeros((W.shape[1], W.shape[1]))
    basis = scipy.linalg.orth(W.T)
    return basis @ basis.T


def svm(X, label):
    return LinearSVC(fit_intercept=False, dual=False, C=1.0, tol=1e-12, max_iter=100000, random_state=0).fit(X, label)


def inlp(X, label, iterations):
    d = X.shape[1]
    removed, P, accuracy = np.zeros((d, d)), np.eye(d), []
    for _ in range(iterations):
        model = svm(X @ P, label)
        accuracy.append(float(model.score(X @ P, label)))
        removed += row_space(model.coef_)
        P = np.eye(d) - row_space(removed)
    return P, accuracy


def sentence_directions(variants, components):
    scaled = [v / np.linalg.norm(v, axis=1, keepdims=True) for v in variants]
    mean = sum(scaled) / len(scaled)
    return PCA(n_components=components).fit(np.concatenate([v - mean for v in scaled])).components_


def leace(X, label, classes):
    x, z = torch.from_numpy(X), torch.nn.functional.one_hot(torch.from_numpy(label), classes).double()
    fitter = LeaceFitter(X.shape[1], classes, dtype=torch.float64, shrinkage=False, constrain_cov_trace=False,
                         svd_tol=1e-9)
    eraser = fitter.update(x, z).eraser
    return eraser(x).numpy()


def main(out):
    cases = []
    for seed, n, d, classes, iterations in [(1, 60, 5, 2, 2), (2, 90, 8, 3, 2)]:
        X, label = rows(seed, n, d, classes)
        P, accuracy = inlp(X, label, iterations)
        rng = np.random.default_rng(seed + 100)
        variants = [rng.normal(size=(20, d)) + k * np.eye(d)[2] for k in range(classes)]
        cases.append({
            "features": d, "classes": classes, "iterations": iterations,
            "X": X.ravel().tolist(), "label": label.tolist(),
            "svm": svm(X, label).coef_[0].tolist(), "svm_class": 1 if classes == 2 else 0,
            "inlp": P.ravel().tolist(), "accuracy": accuracy,
            "variants": [v.ravel().tolist() for v in variants],
            "directions": sentence_directions(variants, 2).ravel().tolist(),
            "leace": leace(X, label, classes).ravel().tolist(),
        })
    (Path(out) / "head_rivals.json").write_text(json.dumps({"cases": cases}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
