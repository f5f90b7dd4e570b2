"""Damped Gauss-Newton on solve's objective in plain PyTorch: solve_torch.py JOB OUT LAMBDA REPEATS

J = mean KL(p_old || p) over c + LAMBDA mean |p(c) - p(cbar)|^2, by Levenberg-Marquardt: products of the
Gauss-Newton matrix by one forward (jvp) and one backward sweep (vjp), conjugate gradients to a
relative residual of .1 and at most 50 steps, 15 steps in all. Writes theta and prints JSON with J.
"""
import json
import sys

import numpy as np
import torch
from torch.func import jvp, vjp

from job import best_of, read, write
from layers import logits

STEPS, CG_STEPS, RESIDUAL, DAMPING = 15, 50, 0.1, 0.1


def slope(p, u):
    """S u with S = diag(p) - p p^T."""
    return p * u - p * (p * u).sum(1, keepdim=True)


def objective(z, zbar, old, weight):
    p, q = z.softmax(1), zbar.softmax(1)
    kl = (old * (old.clamp_min(1e-30).log() - z.log_softmax(1))).sum(1).mean()
    return kl + weight * ((p - q) ** 2).sum(1).mean(), p, q


def conjugate_gradients(product, b):
    x, r = torch.zeros_like(b), b.clone()
    p, rr = r.clone(), float(r @ r)
    goal = RESIDUAL ** 2 * rr
    for _ in range(CG_STEPS):
        Ap = product(p)
        alpha = rr / float(p @ Ap)
        x, r = x + alpha * p, r - alpha * Ap
        new = float(r @ r)
        if new <= goal:
            break
        p, rr = r + new / rr * p, new
    return x


def solve(theta, C, Cbar, weight):
    m, both = len(C), torch.cat([C, Cbar])

    def forward(t):
        return logits(t, both)

    with torch.no_grad():
        old = forward(theta)[:m].softmax(1)
    damping, steps = DAMPING, 0
    while steps < STEPS:
        z, pull = vjp(forward, theta)
        value, p, q = objective(z[:m], z[m:], old, weight)
        gap = p - q
        h = torch.cat([p - old + 2 * weight * slope(p, gap), -2 * weight * slope(q, gap)]) / m
        gradient = pull(h)[0]

        def curvature(v):
            u = jvp(forward, (theta,), (v,))[1]
            r = slope(p, u[:m]) - slope(q, u[m:])
            back = torch.cat([slope(p, u[:m]) + 2 * weight * slope(p, r), -2 * weight * slope(q, r)]) / m
            return pull(back)[0]

        while steps < STEPS:
            steps += 1
            step = conjugate_gradients(lambda v: curvature(v) + damping * v, -gradient)
            predicted = -float(gradient @ step) - 0.5 * float(step @ curvature(step))
            trial = forward(theta + step)
            fall = float(value - objective(trial[:m], trial[m:], old, weight)[0])
            ratio = fall / predicted
            damping = 4 * damping if ratio < 0.25 else damping / 3 if ratio > 0.75 else damping
            if fall > 0:
                theta = theta + step
                break
    z = forward(theta)
    return theta, float(objective(z[:m], z[m:], old, weight)[0])


def main():
    job, weight = read(sys.argv[1]), float(sys.argv[3])
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    theta, C, Cbar = (torch.tensor(job[name], dtype=torch.float32) for name in ("theta", "C", "Cbar"))
    (found, value), cpu, wall = best_of(int(sys.argv[4]), lambda: solve(theta, C, Cbar, weight))
    write(sys.argv[2], {"theta": found.double().numpy()})
    print(json.dumps({"version": torch.__version__, "cpu_s": cpu, "wall_s": wall, "objective": value}))


main()
