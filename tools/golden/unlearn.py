"""References for tests/unlearn: a small problem with a sigmoid and with a softmax head.

Everything is computed from the definitions in float64: the optimum of F by scikit-learn, the
gradients and the Hessian by PyTorch's automatic differentiation, the consistency matrix pair by
pair, the path by a linear solve, and the minimum of J by PyTorch's L-BFGS.
"""

import json
import pathlib

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression

ROWS, INPUTS, L2 = 40, 4, 0.05
TERMS = {"anchor": 1.2, "fit": 0.4, "lambda": 6.0, "mu": 0.03}
LAMBDAS = [0.1, 3.0, 1000.0]


def make_data(outputs):
    """Rows, partners that differ in two columns, labels and weights; features fit float32."""
    rng = np.random.default_rng(20 + outputs)
    x = rng.normal(size=(ROWS, INPUTS)).astype(np.float32).astype(np.float64)
    xbar = x.copy()
    xbar[:, 0] *= -1
    xbar[:, 2] += rng.normal(0.5, 0.5, size=ROWS)
    xbar = xbar.astype(np.float32).astype(np.float64)
    classes = max(outputs, 2)
    true = rng.normal(size=(classes, INPUTS))
    y = np.argmax(x @ true.T + rng.gumbel(size=(ROWS, classes)), axis=1)
    weight = rng.choice([0.25, 0.5, 1.0], size=ROWS)
    return {"x": x, "xbar": xbar, "y": y, "weight": weight}


def log_scores(x, theta, outputs):
    """Log probabilities of all classes; theta holds one row (weights, intercept) per output."""
    w = theta.reshape(outputs, INPUTS + 1)
    z = torch.as_tensor(x) @ w[:, :-1].T + w[:, -1]
    if outputs == 1:
        z = torch.cat([torch.zeros_like(z), z], dim=1)
    return torch.log_softmax(z, dim=1)


def training_objective(data, theta, outputs):
    logp = log_scores(data["x"], theta, outputs)
    loss = -logp[torch.arange(ROWS), torch.as_tensor(data["y"])].mean()
    weights = theta.reshape(outputs, INPUTS + 1)[:, :-1]
    return loss + L2 / 2 * (weights**2).sum()


def unlearn_objective(data, theta, theta0, outputs):
    rows, y = torch.arange(ROWS), torch.as_tensor(data["y"])
    old = log_scores(data["x"], theta0, outputs).detach()
    c = log_scores(data["x"], theta, outputs)
    cbar = log_scores(data["xbar"], theta, outputs)
    share = torch.as_tensor(data["weight"] / data["weight"].sum())
    anchor = (old.exp() * (old - c)).sum(1).mean()
    fit = (share * -(c[rows, y] + cbar[rows, y]) / 2).sum()
    gap = (share * ((c.exp() - cbar.exp()) ** 2).sum(1)).sum()
    return (
        TERMS["anchor"] * anchor
        + TERMS["fit"] * fit
        + TERMS["lambda"] * gap
        + TERMS["mu"] / 2 * ((theta - theta0) ** 2).sum()
    )


def fit_by_sklearn(data, outputs):
    model = LogisticRegression(C=1 / (ROWS * L2), tol=1e-13, max_iter=100000, solver="newton-cg")
    model.fit(data["x"], data["y"])
    theta = np.hstack([model.coef_, model.intercept_[:, None]]).reshape(-1)
    assert theta.size == outputs * (INPUTS + 1), "a class has no rows"
    return theta


def secant_slope(z, zbar):
    """Mean of diag(p) - p p^T between two vectors of logits, by 80 Gauss-Legendre nodes."""
    nodes, weights = np.polynomial.legendre.leggauss(80)
    total = np.zeros((z.size, z.size))
    for node, weight in zip(nodes, weights):
        line = zbar + (node + 1) / 2 * (z - zbar)
        p = np.exp(line - line.max())
        p /= p.sum()
        total += weight / 2 * (np.diag(p) - np.outer(p, p))
    return total


def consistency_matrix(data, theta, outputs):
    """Mean of delta delta^T (x) Sbar^T Sbar, parameters in theta's order."""
    w = theta.reshape(outputs, INPUTS + 1)
    size = outputs * (INPUTS + 1)
    G = np.zeros((size, size))
    share = data["weight"] / data["weight"].sum()
    for i in range(ROWS):
        z = w[:, :-1] @ data["x"][i] + w[:, -1]
        zbar = w[:, :-1] @ data["xbar"][i] + w[:, -1]
        delta = np.append(data["x"][i] - data["xbar"][i], 0.0)
        if outputs == 1:
            # The same model as a two-class softmax: its logits are -z/2 and z/2.
            S = secant_slope(np.array([-z[0], z[0]]) / 2, np.array([-zbar[0], zbar[0]]) / 2)
            half = np.array([-0.5, 0.5])
            M = np.array([[half @ S @ S @ half]])
        else:
            S = secant_slope(z, zbar)
            M = S.T @ S
        G += share[i] * np.kron(M, np.outer(delta, delta))
    return G


def minimise(data, theta0, outputs):
    """L-BFGS, begun anew a few times: its line search stops short of the last digits."""
    theta = theta0.clone().requires_grad_(True)
    for _ in range(20):
        optimizer = torch.optim.LBFGS(
            [theta], max_iter=500, tolerance_grad=1e-13, tolerance_change=0,
            line_search_fn="strong_wolfe",
        )

        def closure():
            optimizer.zero_grad()
            value = unlearn_objective(data, theta, theta0, outputs)
            value.backward()
            return value

        optimizer.step(closure)
    return theta.detach()


def gradient_of(function, theta):
    theta = theta.clone().requires_grad_(True)
    value = function(theta)
    value.backward()
    return value.item(), theta.grad.numpy()


def case(outputs):
    data = make_data(outputs)
    fitted = fit_by_sklearn(data, outputs)
    theta0 = torch.as_tensor(fitted)
    rng = np.random.default_rng(outputs)
    theta = theta0 + torch.as_tensor(rng.normal(0, 0.5, size=fitted.size))
    F, F_gradient = gradient_of(lambda t: training_objective(data, t, outputs), theta)
    J, J_gradient = gradient_of(lambda t: unlearn_objective(data, t, theta0, outputs), theta)
    H = torch.autograd.functional.hessian(
        lambda t: training_objective(data, t, outputs), theta0
    ).numpy()
    G = consistency_matrix(data, fitted, outputs)
    gauge = np.kron(np.ones((outputs, outputs)), np.eye(INPUTS + 1)) if outputs > 1 else 0 * H
    anchor = H + gauge
    path = [np.linalg.solve(anchor + 2 * lam * G, anchor @ fitted) for lam in LAMBDAS]
    lowest = minimise(data, theta0, outputs)
    value, last = gradient_of(lambda t: unlearn_objective(data, t, theta0, outputs), lowest)
    assert np.abs(last).max() < 1e-8, f"the minimum of J is not reached: {np.abs(last).max()}"
    _, at_fit = gradient_of(lambda t: training_objective(data, t, outputs), theta0)
    assert np.abs(at_fit).max() < 1e-8, f"the fit is not at its optimum: {np.abs(at_fit).max()}"
    return {
        "rows": ROWS, "inputs": INPUTS, "outputs": outputs, "l2": L2, "terms": TERMS,
        "x": data["x"].ravel().tolist(), "xbar": data["xbar"].ravel().tolist(),
        "y": data["y"].tolist(), "weight": data["weight"].tolist(),
        "fitted": fitted.tolist(), "theta": theta.tolist(),
        "F": F, "F_gradient": F_gradient.tolist(), "hessian": H.ravel().tolist(),
        "J": J, "J_gradient": J_gradient.tolist(), "G": G.ravel().tolist(),
        "lambdas": LAMBDAS, "path": [t.tolist() for t in path],
        "minimum": lowest.tolist(), "minimum_value": value,
    }


def main(out_dir):
    torch.set_default_dtype(torch.float64)
    result = {"sigmoid": case(1), "softmax": case(3)}
    out = pathlib.Path(out_dir) / "unlearn.json"
    out.write_text(json.dumps(result, indent=None, separators=(",", ":")) + "\n")
