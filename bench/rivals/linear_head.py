"""A softmax head in numpy: F, its Hessian, the flip gap B and the influence of rows on it.

W has a row for each class, weights then intercept; rows of features end with a 1.
F = mean cross entropy + l2/2 |weights|^2. Arithmetic is in the type of the features.
"""
import numpy as np
from scipy.linalg import cho_factor, cho_solve

BLOCK = 2048  # rows whose weighted copies stay in the cache


def with_ones(X, kind):
    return np.hstack([X.astype(kind, copy=False), np.ones((len(X), 1), kind)])


def probabilities(W, X):
    Z = X @ W.T.astype(X.dtype)
    Z -= Z.max(axis=1, keepdims=True)
    np.exp(Z, out=Z)
    Z /= Z.sum(axis=1, keepdims=True)
    return Z


def slopes(P, y):
    """Gradient of each row's loss in its logits: p - e_y."""
    S = P.copy()
    S[np.arange(len(y)), y] -= 1
    return S


def flat_l2(shape, l2):
    penalty = np.full(shape, l2)
    penalty[:, -1] = 0
    return penalty


def hessian(X, P, l2):
    """Mean Hessian of F in float64, with the gauge term that removes its null space."""
    (n, d), C = X.shape, P.shape[1]
    H = np.zeros((C, d, C, d))
    root = np.sqrt(P)
    for first in range(0, n, BLOCK):
        rows = slice(first, first + BLOCK)
        for k in range(C):
            for j in range(k):
                A = X[rows] * (root[rows, k] * root[rows, j])[:, None]
                H[k, :, j] -= A.T @ A  # numpy calls SYRK for a product of this form
    for k in range(C):
        for j in range(k):
            H[j, :, k] = H[k, :, j]
    for k in range(C):  # sum_j p_j = 1, so blocks of a row add up to 0
        H[k, :, k] = -H[k].sum(axis=1)
    H = H.reshape(C * d, C * d) / n
    H[np.diag_indices(C * d)] += flat_l2((C, d), l2).ravel()
    gauge = np.trace(H) / (C * d) / C
    for k in range(C):
        for j in range(C):
            H[k * d + np.arange(d), j * d + np.arange(d)] += gauge
    return H


def bias_gradient(W, C, Cbar, y):
    """Of B = mean |p_y(c) - p_y(cbar)|, as a matrix like W."""
    rows, sides = np.arange(len(y)), [probabilities(W, X) for X in (C, Cbar)]
    sign = np.sign(sides[0][rows, y] - sides[1][rows, y]) / len(y)
    total = np.zeros_like(W)
    for P, X, s in ((sides[0], C, sign), (sides[1], Cbar, -sign)):
        total -= (slopes(P, y) * (s * P[rows, y])[:, None]).T @ X
    return total


def changes(V, P, X, y):
    """dB of each row when it is removed: (p - e_y)^T V (phi, 1) / n."""
    return np.einsum("nk,nk->n", slopes(P, y), X @ V.T.astype(X.dtype)) / len(y)


def inverse(H):
    """H^-1 as a function of a matrix like W, by a Cholesky factor."""
    factor = cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
    return lambda G: cho_solve(factor, G.ravel(), check_finite=False).reshape(G.shape)
