"""The job of influence_bench and its rivals: make_influence_job.py FOLDER OUT [SEED]

FOLDER has the four gzipped idx files of MNIST. Makes Colored MNIST with 99 % of each digit in
its own colour and trains the MLP 2352-100-100-100-10 (Adam 1e-3, batch 256); of the states after
each epoch the one is kept whose accuracy on the first 5,000 test digits, in random colours,
is nearest .5134. Its last layer is refitted in float64 to the optimum of F (l2 = 1e-3).
Writes safetensors: X, y (60,000 training rows of last hidden features), C, Cbar, pair_y (those
5,000 digits, and each in another colour), theta (row k = W_k | b_k) and l2.
"""
import pathlib
import sys

import numpy as np

from colored_mnist import Job
from job import write
from linear_head import flat_l2, hessian, inverse, probabilities, slopes, with_ones

L2, GOAL = 1e-3, 1e-10


def objective(W, X, y):
    P = probabilities(W, X)
    penalty = flat_l2(W.shape, L2) * W
    value = -np.log(P[np.arange(len(y)), y]).mean() + (penalty * W).sum() / 2
    return value, P, slopes(P, y).T @ X / len(y) + penalty


def optimum(X, y):
    """Newton's method in float64 with halved steps, from zero."""
    X, W = with_ones(X, np.float64), np.zeros((10, X.shape[1] + 1))
    value, P, gradient = objective(W, X, y)
    at_zero = np.linalg.norm(gradient)
    for _ in range(50):
        reached = np.linalg.norm(gradient) / at_zero
        print(f"F = {value:.12f}, relative gradient {reached:.1e}", file=sys.stderr)
        if reached <= GOAL:
            return W
        step, size = inverse(hessian(X, P, L2))(gradient), 1.0
        while (trial := objective(W - size * step, X, y))[0] > value + 1e-14:
            size /= 2
        W, (value, P, gradient) = W - size * step, trial
    raise SystemExit("the last layer did not reach its optimum")


def main():
    folder, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    job = Job(folder, seed)
    X, C, Cbar = job.through(3)
    partial = out.with_suffix(".partial")
    write(partial, {"X": X, "y": job.y, "C": C, "Cbar": Cbar, "pair_y": job.pair_y,
                    "theta": optimum(X, job.y).ravel(), "l2": np.array([L2])})
    partial.replace(out)


main()
