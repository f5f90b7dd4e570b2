"""Influence in numpy: exact in float64, and three ways with passes in float32. See job.run_rival."""
import numpy as np

from job import run_rival
from linear_head import bias_gradient, changes, flat_l2, hessian, inverse, probabilities, with_ones

TOLERANCE = 1e-3  # |H v - g| / |g| of the iterative ways
SAMPLE = 4000  # rows of the Hessian that preconditions


def direct(job, P, X, G):
    return inverse(hessian(X, P, job["l2"][0]))(G)


def conjugate_gradients(job, P, X, G, precondition):
    l2 = flat_l2(G.shape, job["l2"][0])

    def times(V):
        U = P * (X @ V.T.astype(X.dtype))
        U -= P * U.sum(axis=1, keepdims=True)
        return U.T @ X / len(X) + l2 * V

    V, R = np.zeros_like(G), G.copy()
    Z = precondition(R)
    D, rz = Z, np.vdot(R, Z)
    while np.linalg.norm(R) > TOLERANCE * np.linalg.norm(G):
        HD = times(D)
        step = rz / np.vdot(D, HD)
        V, R = V + step * D, R - step * HD
        Z = precondition(R)
        rz, before = np.vdot(R, Z), rz
        D = Z + rz / before * D
    return V


def jacobi(job, P, X, G):
    diagonal = (P * (1 - P)).T @ (X * X) / len(X) + flat_l2(G.shape, job["l2"][0])
    return conjugate_gradients(job, P, X, G, lambda R: R / diagonal)


def sampled(job, P, X, G):
    some = slice(None, None, len(X) // SAMPLE)
    return conjugate_gradients(job, P, X, G, inverse(hessian(X[some], P[some], job["l2"][0])))


def way(kind, solve):
    def prepare(job):
        def run():
            X, C, Cbar = (with_ones(job[name], kind) for name in ("X", "C", "Cbar"))
            W = job["theta"].reshape(-1, X.shape[1])
            P = probabilities(W, X)
            G = bias_gradient(W, C, Cbar, job["pair_y"])
            return changes(solve(job, P, X, G), P, X, job["y"])
        return run
    return prepare


run_rival(np.__version__, {
    "exact": way(np.float64, direct), "cholesky": way(np.float32, direct),
    "cg": way(np.float32, jacobi), "sampled": way(np.float32, sampled)})
