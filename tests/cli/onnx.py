#!/usr/bin/env python3
"""ONNX models: answers as ONNX Runtime gives them, every command, only the head's bytes change."""

import csv
import glob
import json
import math
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile

import onnx_writer as onnx
from skip import skip

FMD = sys.argv[sys.argv.index("--fmd") + 1]
TREE = pathlib.Path(__file__).resolve().parent.parent.parent
MODELS = TREE / "tests/files/onnx"
PYTHON = TREE / "build/venv-onnx/bin/python"
# Runs a model in plain ONNX Runtime: inputs as JSON on stdin, the last output as JSON on stdout.
ORACLE = """
import json, sys, numpy, onnxruntime
session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
types = {i.name: i.type for i in session.get_inputs()}
kinds = {"tensor(float)": "float32", "tensor(int64)": "int64", "tensor(double)": "float64"}
given = {k: numpy.array(v, dtype=kinds[types[k]]) for k, v in json.load(sys.stdin).items()}
y = session.run([session.get_outputs()[-1].name], given)[0]
print(json.dumps(numpy.asarray(y, dtype="float64").reshape(len(y), -1).tolist()))
"""


def run(folder, *arguments, status=0):
    done = subprocess.run([FMD, *map(str, arguments)], cwd=folder, capture_output=True, text=True)
    assert done.returncode == status, (arguments, done.returncode, done.stdout, done.stderr)
    return done


def oracle(model, inputs):
    done = subprocess.run([PYTHON, "-c", ORACLE, model], input=json.dumps(inputs), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def probabilities(name, row):
    """What fmd must say for an output of ONNX Runtime."""
    if name in ("matmul", "text", "skl", "skl_three"):  # these end in probabilities
        return row
    if name in ("gemm", "two"):
        return [1 - row[0], row[0]]
    if len(row) == 1:
        return [1 / (1 + math.exp(row[0])), 1 / (1 + math.exp(-row[0]))]
    top = max(row)
    parts = [math.exp(z - top) for z in row]
    return [p / sum(parts) for p in parts]


def write_table(path, inputs):
    """The inputs as columns of a table, and the [[inputs]] that name them."""
    columns, task = {}, ""
    for name, values in inputs.items():
        width = len(values[0])
        names = [name] if width == 1 else [f"{name}{k}" for k in range(width)]
        for k, column in enumerate(names):
            columns[column] = [row[k] for row in values]
        if width > 1:
            task += f"[[inputs]]\nname = {json.dumps(name)}\ncolumns = {json.dumps(names)}\n"
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(columns)
        table.writerows(zip(*columns.values()))
    path.with_suffix(".toml").write_text(task, encoding="utf-8")


def scores(folder, model, table):
    text = run(folder, "predict", model, table, "--task", table.with_suffix(".toml")).stdout.splitlines()
    return [[float(p) for p in line.split(",")[2:]] for line in text[1:]]


def largest(a, b):
    assert len(a) == len(b), (len(a), len(b))
    return max(abs(x - y) for left, right in zip(a, b) for x, y in zip(left, right))


def answers(folder):
    """fmd predicts what ONNX Runtime predicted when the models were made."""
    for name, known in json.loads((MODELS / "answers.json").read_text(encoding="utf-8")).items():
        if isinstance(known["inputs"].get("image"), list):
            continue  # of images: tests/cli/images.py
        table = folder / f"{name}.csv"
        write_table(table, known["inputs"])
        mine = scores(folder, MODELS / f"{name}.onnx", table)
        gap = largest(mine, [probabilities(name, row) for row in known["output"]])
        assert gap < 1e-5, (name, gap)


def make_story(folder, count=1600):
    """A network that uses sex, on labels that do not depend on it."""
    draw = random.Random(3)
    rows = []
    for i in range(count):
        x = [draw.gauss(0, 1), draw.gauss(0, 1), draw.randrange(2)]
        p = 1 / (1 + math.exp(-1.5 * x[0] - x[1]))
        rows.append([i, f"{x[0]:.5f}", f"{x[1]:.5f}", x[2], "yes" if draw.random() < p else "no"])
    for name, part in (("repair", rows[: count // 2]), ("test", rows[count // 2:])):
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["id", "x1", "x2", "sex", "label"], *part])
    (folder / "task.toml").write_text(
        'label = "label"\nclasses = ["no", "yes"]\nid = "id"\n[[inputs]]\n'
        'columns = ["x1", "x2", "sex"]\n[[attributes]]\nname = "sex"\nvalues = ["0", "1"]\n', encoding="utf-8")
    w0 = [.9, .1, .2, .2, .8, -.3, .1, .2, 1.1, .3, .3, -.8, -.5, .2, .4]  # [5, 3]
    w1 = [1.5, 1.1, 1.4, -.9, -.7]
    nodes = [onnx.node("Gemm", ["x", "w0", "b0"], ["a"], transB=1), onnx.node("Tanh", ["a"], ["h"]),
             onnx.node("Gemm", ["h", "w1", "b1"], ["z"], transB=1), onnx.node("Sigmoid", ["z"], ["y"])]
    tensors = [onnx.tensor("w0", [5, 3], w0), onnx.tensor("b0", [5], [.1, 0, -.4, .2, 0]),
               onnx.tensor("w1", [1, 5], w1), onnx.tensor("b1", [1], [-.31])]
    model = onnx.model(onnx.graph(nodes, tensors, [onnx.value("x", ["n", 3])], [onnx.value("y", ["n", 1])]))
    (folder / "net.onnx").write_bytes(model)
    return model, struct.pack("<5f", *w1), struct.pack("<f", -.31)


def inputs_of(table):
    with table.open(encoding="utf-8") as file:
        return {"x": [[float(r["x1"]), float(r["x2"]), float(r["sex"])] for r in csv.DictReader(file)]}


def story(folder):
    """Every command on one model; the repaired file gives in ONNX Runtime what fmd predicts."""
    original, w1, b1 = make_story(folder)
    task = ["--task", "task.toml"]
    before = json.loads(run(folder, "audit", "net.onnx", "test.csv", *task, "--json").stdout)
    gap = before["attributes"][0]["measures"]["co"]["value"]
    assert gap > .05, gap
    run(folder, "audit", "net.onnx", "test.csv", *task, "--scan")
    run(folder, "features", "net.onnx", "test.csv", *task, "-o", "test.features")
    kept = json.loads(run(folder, "audit", "net.onnx", "test.csv", *task, "--json", "--threads", "1").stdout)
    assert kept["attributes"] == before["attributes"], "threads change figures"
    run(folder, "explain", "net.onnx", "test.csv", "--train", "repair.csv", *task, "-o", "influence.csv")
    run(folder, "compare", "repair.csv", "--model", "net.onnx", *task, "-o", "compare.json")

    for layers in ("1", "all"):
        out = f"repaired{layers}.onnx"
        run(folder, "debias", "net.onnx", "repair.csv", "--test", "test.csv", *task, "--layers", layers, "-o", out)
        changed = (folder / out).read_bytes()
        assert len(changed) == len(original) and changed != original
        if layers == "1":  # nothing but the last layer's numbers
            allowed = {original.index(part) + k for part in (w1, b1) for k in range(len(part))}
            assert {k for k in range(len(original)) if original[k] != changed[k]} <= allowed
        after = json.loads(run(folder, "audit", out, "test.csv", *task, "--json").stdout)
        assert after["attributes"][0]["measures"]["co"]["value"] < gap / 2, after
        text = run(folder, "predict", out, "test.csv", *task).stdout.splitlines()[1:]
        mine = [[float(line.split(",")[3])] for line in text]
        assert largest(mine, oracle(folder / out, inputs_of(folder / "test.csv"))) < 1e-5
        run(folder, "verify", f"{out}.receipt.json")
        run(folder, "undo", f"{out}.receipt.json", "-o", f"back{layers}.onnx")
        assert (folder / f"back{layers}.onnx").read_bytes() == original

    for method in ("path", "step", "remove", "replace"):
        run(folder, "debias", "net.onnx", "repair.csv", "--train", "repair.csv", *task, "--method", method,
            "--best-effort", "-o", f"{method}.onnx")
    refused = run(folder, "debias", "net.onnx", "repair.csv", *task, "--method", "average-column", "-o", "a.onnx",
                  status=26)
    assert "column" in refused.stderr, refused.stderr


def outside(folder):
    """Numbers in a second file: that file stays as it is."""
    for file in glob.glob(str(MODELS / "outside.onnx*")):
        shutil.copy(file, folder)
    second = (folder / "outside.onnx.data").read_bytes()
    known = json.loads((MODELS / "answers.json").read_text(encoding="utf-8"))["outside"]
    draw = random.Random(1)
    inputs = [[draw.gauss(0, 1) for _ in range(6)] for _ in range(600)]
    with (folder / "o.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["x0", "x1", "x2", "x3", "x4", "x5", "y"],
                                    *([*x[:5], int(x[5] > 0), int(x[0] > draw.gauss(0, 1))] for x in inputs)])
    (folder / "o.toml").write_text('label = "y"\n[[attributes]]\nname = "x5"\nvalues = ["0", "1"]\n[[inputs]]\n'
                                   'columns = ["x0", "x1", "x2", "x3", "x4", "x5"]\n', encoding="utf-8")
    run(folder, "debias", "outside.onnx", "o.csv", "--task", "o.toml", "--best-effort", "-o", "moved.onnx")
    assert (folder / "outside.onnx.data").read_bytes() == second
    write_table(folder / "known.csv", known["inputs"])
    mine = scores(folder, "moved.onnx", folder / "known.csv")
    there = oracle(folder / "moved.onnx", known["inputs"])
    assert largest(mine, [probabilities("outside", row) for row in there]) < 1e-5
    run(folder, "undo", "moved.onnx.receipt.json", "-o", "again.onnx")
    assert (folder / "again.onnx").read_bytes() == (folder / "outside.onnx").read_bytes()
    (folder / "elsewhere").mkdir()
    done = run(folder, "debias", "outside.onnx", "o.csv", "--task", "o.toml", "--best-effort", "-o",
               "elsewhere/moved.onnx", status=20)
    assert "external data" in done.stderr and not os.listdir(folder / "elsewhere"), done.stderr


def main():
    if not PYTHON.exists():
        skip("no ONNX Runtime in build/venv-onnx", download_refused=True)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        answers(folder)
        story(folder)
        outside(folder)


if __name__ == "__main__":
    main()
