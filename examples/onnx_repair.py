#!/usr/bin/env python3
"""Trains a small network in PyTorch, exports it, repairs it with fmd, and serves it with ONNX Runtime.

onnx_repair.py [--fmd PATH] [FOLDER]

Needs: pip install torch onnx onnxscript onnxruntime. The data are made up: who gets a loan depends on
income and debt, but past decisions were kinder to one group, and the network learns it.
"""

import argparse
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnxruntime
import torch

COLUMNS = ["income", "debt", "years", "group"]


def make_rows(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(count, 4)).astype(np.float32)
    x[:, 3] = draw.integers(0, 2, size=count)
    z = 1.4 * x[:, 0] - x[:, 1] + 0.4 * x[:, 2] + 0.9 * x[:, 3] - 0.4
    return x, (draw.logistic(size=count) < z).astype(np.int64)


def write_csv(path: Path, x: np.ndarray, y: np.ndarray) -> None:
    lines = [",".join([*COLUMNS, "loan"])]
    for row, label in zip(x, y):
        lines.append(",".join([*(f"{v:.6g}" for v in row[:3]), str(int(row[3])), str(label)]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def train(x: np.ndarray, y: np.ndarray) -> torch.nn.Module:
    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
    optimiser = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(300):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(net(torch.from_numpy(x)), torch.from_numpy(y)).backward()
        optimiser.step()
    return net.eval()


def changed_by_flip(model: Path, x: np.ndarray) -> float:
    """Share of the answers that change when the group alone changes, as a server would give them."""
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    other = x.copy()
    other[:, 3] = 1 - other[:, 3]
    first, second = (session.run(None, {"x": rows})[0].argmax(1) for rows in (x, other))
    return float((first != second).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains, exports, repairs and serves a network.")
    parser.add_argument("--fmd", default="fmd")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("onnx-example"))
    arguments = parser.parse_args()
    folder = arguments.folder
    folder.mkdir(exist_ok=True)
    fmd = shutil.which(arguments.fmd) or arguments.fmd
    rows = {name: make_rows(count, seed) for seed, (name, count) in
            enumerate({"train": 4000, "repair": 2000, "test": 4000}.items())}
    for name, (x, y) in rows.items():
        write_csv(folder / f"{name}.csv", x, y)
    torch.onnx.export(train(*rows["train"]), (torch.from_numpy(rows["train"][0][:2]),), folder / "loan.onnx",
                      input_names=["x"], output_names=["y"], dynamic_axes={"x": {0: "n"}, "y": {0: "n"}},
                      dynamo=False)
    (folder / "task.toml").write_text(
        'label = "loan"\n[[attributes]]\nname = "group"\nvalues = ["0", "1"]\n'
        f"[[inputs]]\ncolumns = {COLUMNS}\n".replace("'", '"'), encoding="utf-8")
    for command in ("audit loan.onnx test.csv", "debias loan.onnx repair.csv --test test.csv -o repaired.onnx --force"):
        subprocess.run([str(Path(fmd).resolve()), *command.split(), "--task", "task.toml"], cwd=folder, check=True)
    for name in ("loan.onnx", "repaired.onnx"):
        print(f"{name}: {100 * changed_by_flip(folder / name, rows['test'][0]):.1f} % of the answers change "
              "with the group alone")


if __name__ == "__main__":
    main()
