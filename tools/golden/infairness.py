"""Losses of SenSR and SenSeI as the library inFairness computes them.

Needs inFairness with --no-deps, and of what it imports scikit-learn, pandas and POT. The network, rows, batches and
random starts are those of tests/support/torch_steps.py.
"""

import importlib.util
import json
import pathlib
from unittest import mock

import torch
from inFairness.distances import SensitiveSubspaceDistance, SquaredEuclideanDistance
from inFairness.fairalgo import SenSeI, SenSR
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def load_steps():
    spec = importlib.util.spec_from_file_location("torch_steps", ROOT / "tests" / "support" / "torch_steps.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def losses(steps, name, settings):
    net = steps.network_of(settings, 0)
    near = SensitiveSubspaceDistance()
    near.fit(steps.DIRECTIONS.T)
    loss = nn.CrossEntropyLoss(reduction="none")
    common = {"network": net, "distance_x": near, "loss_fn": loss, "eps": settings["epsilon"],
              "auditor_nsteps": settings["attack_steps"], "auditor_lr": settings["attack_rate"]}
    if name == "sensr":
        method = SenSR(**common, lr_lamb=settings["lambda_rate"], lr_param=1.0)
    else:
        answers = SquaredEuclideanDistance()
        answers.fit(steps.CLASSES)
        method = SenSeI(**common, distance_y=answers, rho=settings["rho"])
    adam = torch.optim.Adam(net.parameters(), lr=settings["rate"], weight_decay=settings["decay"])
    method.train()
    found = []
    for step in range(steps.STEPS):
        rows = steps.batch_of(step)

        def start(x, stream=steps.NOISE + step):  # where the library draws at random
            return steps.uniform(steps.SEED, stream, x.shape, 0, 1)

        with mock.patch("torch.rand_like", start):
            loss_now = method(steps.X[rows], steps.Y[rows]).loss
        adam.zero_grad()
        loss_now.backward()
        adam.step()
        found.append(loss_now.item())
    return found


def main(out_dir):
    steps = load_steps()
    golden = {"rows": steps.rows_hash(), "losses": {}}
    for name in ("sensr", "sensei"):
        settings = {**steps.COMMON, **steps.METHODS[name][1]}
        golden["losses"][name] = losses(steps, name, settings)
    (out_dir / "infairness.json").write_text(json.dumps(golden) + "\n", encoding="utf-8")
