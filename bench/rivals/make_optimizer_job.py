"""The job of optimizer_bench: make_optimizer_job.py FOLDER OUT

FOLDER has adult.data. Columns are encoded as the command does it: one-hot values, standardised
numbers; sex comes first. Writes safetensors: X, y (20,000 rows), C, Cbar, pair_y (5,000 other
rows, and each with the other sex), theta and l2 (not used).
"""
import csv
import pathlib
import sys

import numpy as np

from job import write

NUMBERS, SEX, TRAIN, PAIRS = (0, 2, 4, 10, 11, 12), 9, 20_000, 5_000


def main():
    folder, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    with open(folder / "adult.data", newline="") as file:
        rows = [[cell.strip() for cell in row] for row in csv.reader(file) if len(row) == 15]
    rows = [rows[i] for i in np.random.default_rng(1).permutation(len(rows))[:TRAIN + PAIRS]]
    parts = []
    for j in (SEX, *(j for j in range(14) if j not in NUMBERS and j != SEX)):
        cells = np.array([row[j] for row in rows])
        parts.append(cells[:, None] == np.unique(cells)[None, :])
    numbers = np.array([[float(row[j]) for j in NUMBERS] for row in rows])
    parts.append((numbers - numbers.mean(0)) / numbers.std(0))
    X = np.hstack(parts).astype(np.float32)
    y = np.array([row[14] == ">50K" for row in rows]).astype(np.int32)
    C = X[TRAIN:]
    Cbar = C.copy()
    Cbar[:, [0, 1]] = C[:, [1, 0]]
    write(out, {"X": X[:TRAIN], "y": y[:TRAIN], "C": C, "Cbar": Cbar, "pair_y": y[TRAIN:],
                "theta": np.zeros(1), "l2": np.zeros(1)})


main()
