"""The job of layers_bench and its rivals: make_layers_job.py FOLDER OUT [SEED]

FOLDER has the four gzipped idx files of MNIST. Colored MNIST and its network are those of
make_influence_job.py; the job is its top three layers (21,210 parameters) on the outputs of the
first. They are fine-tuned on all rows by L-BFGS until F (l2 = 1e-3) hardly falls. Then, for each of
50 random groups of 600 rows, they are fine-tuned again without the group, and once with
all rows for as long: the difference of the two is what leaving the group out does to
B = mean |p_y(c) - p_y(cbar)| over 5,000 pairs.
Writes safetensors: X, y (60,000 rows), C, Cbar, pair_y, theta (layer by layer, rows W_k | b_k), l2,
groups (50 x 600 row numbers) and refitted (50 changes of B).
"""
import pathlib
import sys

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from colored_mnist import Job
from job import write
from layers import SIZES, flip_gap, logits, penalty, unpack

L2, GROUPS, ROWS, SETTLE, STEPS = 1e-3, 50, 600, 300, 40


def fine_tune(theta, X, y, weight, steps):
    """theta after so many steps of L-BFGS on F, where each row counts `weight`."""
    theta = theta.clone().requires_grad_(True)
    search = torch.optim.LBFGS([theta], max_iter=steps, max_eval=2 * steps, history_size=20,
                               tolerance_grad=0, tolerance_change=0, line_search_fn="strong_wolfe")

    def objective():
        search.zero_grad()
        losses = cross_entropy(logits(theta, X), y, reduction="none")
        value = (weight * losses).sum() / len(y) + penalty(theta, L2)
        value.backward()
        return value

    search.step(objective)
    return theta.detach(), float(objective()), float(theta.grad.norm())


def main():
    folder, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    job = Job(folder, seed)
    features = [torch.from_numpy(part) for part in job.through(1)]
    X, C, Cbar = (part.double() for part in features)
    y, pair_y = (torch.from_numpy(part.astype(np.int64)) for part in (job.y, job.pair_y))
    layers = [job.body[2], job.body[4], job.last]
    theta = torch.cat([torch.cat([part.weight, part.bias[:, None]], dim=1).reshape(-1) for part in layers])
    theta, every = theta.detach().double(), torch.ones(len(y), dtype=torch.float64)
    assert [W.shape for W in unpack(theta)] == [(b, a + 1) for a, b in zip(SIZES, SIZES[1:])]
    theta, value, slope = fine_tune(theta, X, y, every, SETTLE)
    print(f"F = {value:.6f}, gradient {slope:.1e}", file=sys.stderr)
    rng = np.random.default_rng(seed + 1)
    groups = np.stack([rng.choice(len(y), ROWS, replace=False) for _ in range(GROUPS)])
    same = float(flip_gap(fine_tune(theta, X, y, every, STEPS)[0], C, Cbar, pair_y))
    refitted = []
    for number, group in enumerate(groups):
        weight = every.clone()
        weight[torch.from_numpy(group)] = 0
        refitted.append(float(flip_gap(fine_tune(theta, X, y, weight, STEPS)[0], C, Cbar, pair_y)) - same)
        print(f"group {number + 1} of {GROUPS}: {refitted[-1]:+.6f}", file=sys.stderr)
    partial = out.with_suffix(".partial")
    write(partial, {"X": features[0].numpy(), "y": job.y, "C": features[1].numpy(), "Cbar": features[2].numpy(),
                    "pair_y": job.pair_y, "theta": theta.numpy(), "l2": np.array([L2]),
                    "groups": groups.astype(np.int32), "refitted": np.array(refitted)})
    partial.replace(out)


main()
