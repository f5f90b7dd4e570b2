"""Only the counts of an audit, by polars or NumPy, on the columns that audit_bench wrote.

audit_counts.py FOLDER TURNS [--only polars|numpy|multinomial]

Prints JSON: for each the least CPU and wall seconds, and the counts as a check.
"""
import json
import pathlib
import sys
import time

import numpy as np


def timed(turns, work):
    best_cpu = best_wall = float("inf")
    result = None
    for _ in range(turns):
        cpu, wall = time.process_time(), time.perf_counter()
        result = work()
        best_cpu = min(best_cpu, time.process_time() - cpu)
        best_wall = min(best_wall, time.perf_counter() - wall)
    return best_cpu, best_wall, result


def columns(folder):
    kinds = {"p": "f64", "y": "i32", "decision": "i32", "sex": "i32", "race": "i32"}
    return {name: np.fromfile(folder / f"{name}.{kind}", dtype=f"<{kind[0]}{int(kind[1:]) // 8}")
            for name, kind in kinds.items()}


def polars_counts(data, turns):
    import polars as pl

    # The narrowest types, which suit it best.
    frame = pl.DataFrame({"y": data["y"].astype(np.int8), "d": data["decision"].astype(np.int8),
                          "p": data["p"], "sex": data["sex"].astype(np.int8),
                          "race": data["race"].astype(np.int8)})
    d, y = pl.col("d").cast(pl.Int32), pl.col("y").cast(pl.Int32)
    lean = [pl.len().alias("n"), d.sum().alias("selected")]
    full = lean + [y.sum().alias("positives"), (d * y).sum().alias("tp")]

    def measure(figures, check):
        cpu, wall, tables = timed(turns, lambda: [
            frame.group_by(keys).agg(figures) for keys in (["sex"], ["race"], ["sex", "race"])])
        return {"cpu_s": cpu, "wall_s": wall, "version": pl.__version__,
                check: sorted(tables[0][check].to_list())}

    return measure(lean, "selected"), measure(full, "tp")


def numpy_counts(data, turns):
    sex, race, y, d = (data[name] for name in ("sex", "race", "y", "decision"))

    def work():
        cell = ((sex * 9 + race) * 2 + y) * 2 + d
        return np.bincount(cell, minlength=72).reshape(2, 9, 2, 2)

    cpu, wall, table = timed(turns, work)
    return {"cpu_s": cpu, "wall_s": wall, "version": np.__version__,
            "tp": sorted(table.sum(axis=1)[:, 1, 1].tolist())}


def numpy_multinomial(turns):
    counts = np.array([3120, 411, 902, 77, 2811, 1205, 640, 834])
    rng = np.random.default_rng(1)
    cpu, wall, _ = timed(20 * turns, lambda: rng.multinomial(counts.sum(), counts / counts.sum(),
                                                             size=10000))
    return {"cpu_s": cpu, "wall_s": wall, "version": np.__version__}


def main(folder, turns, only=None):
    found = {}
    if only in (None, "multinomial"):
        found["multinomial"] = numpy_multinomial(turns)
    if only in (None, "polars", "numpy"):
        data = columns(folder)
        if only in (None, "polars"):
            found["polars_lean"], found["polars"] = polars_counts(data, turns)
        if only in (None, "numpy"):
            found["numpy"] = numpy_counts(data, turns)
    print(json.dumps(found))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[4] if len(sys.argv) > 4 else None)
