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
    done = run(folder, "debias", "outside.onnx", "o.csv", "--task", "o.toml", "--best-effort", "-o", "moved.onnx")
    assert "needs outside.onnx.data" in done.stderr, done.stderr
    assert (folder / "outside.onnx.data").read_bytes() == second
    write_table(folder / "known.csv", known["inputs"])
    mine = scores(folder, "moved.onnx", folder / "known.csv")
    there = oracle(folder / "moved.onnx", known["inputs"])
    assert largest(mine, [probabilities("outside", row) for row in there]) < 1e-5
    run(folder, "undo", "moved.onnx.receipt.json", "-o", "again.onnx")
    assert (folder / "again.onnx").read_bytes() == (folder / "outside.onnx").read_bytes()
    (folder / "elsewhere").mkdir()
    # One file must stay beside the other one; a folder gets both, the head patched where it stands.
    done = run(folder, "debias", "outside.onnx", "o.csv", "--task", "o.toml", "--best-effort", "-o",
               "elsewhere/moved.onnx", status=2)
    assert "external data" in done.stderr and "-o elsewhere/moved" in done.stderr, done.stderr
    assert not os.listdir(folder / "elsewhere")
    done = run(folder, "debias", "outside.onnx", "o.csv", "--task", "o.toml", "--best-effort", "-o", "elsewhere/both")
    assert "outside.onnx.data" in done.stderr, done.stderr
    both = folder / "elsewhere/both"
    assert sorted(os.listdir(both)) == ["outside.onnx", "outside.onnx.data"]
    assert (both / "outside.onnx").read_bytes() == (folder / "outside.onnx").read_bytes()
    copy = (both / "outside.onnx.data").read_bytes()
    different = sum(a != b for a, b in zip(copy, second))
    assert len(copy) == len(second) and 0 < different <= 4 * 12, different  # 5 x 2 weights, 2 intercepts
    mine = scores(folder, "elsewhere/both/outside.onnx", folder / "known.csv")
    there = oracle(both / "outside.onnx", known["inputs"])
    assert largest(mine, [probabilities("outside", row) for row in there]) < 1e-5
    assert mine == scores(folder, "moved.onnx", folder / "known.csv")
    run(folder, "verify", "elsewhere/both.receipt.json", "--data", "o.csv")
    run(folder, "undo", "elsewhere/both.receipt.json", "-o", "elsewhere/back")
    for name in ("outside.onnx", "outside.onnx.data"):
        assert (folder / "elsewhere/back" / name).read_bytes() == (folder / name).read_bytes(), name


def shared(folder):
    """Two tensors with the same bytes of a second file: a copy cannot be patched, but one file can be written."""
    (folder / "three.bin").write_bytes(struct.pack("<3f", 1.2, .8, .9))
    place = {"location": "three.bin", "offset": 0, "length": 12}
    tensors = [onnx.outside("w", [3, 1], **place), onnx.outside("v", [3], **place), onnx.tensor("b", [1], [-.3])]
    nodes = [onnx.node("Add", ["x", "v"], ["h"]), onnx.node("Gemm", ["h", "w", "b"], ["y"])]
    (folder / "shared.onnx").write_bytes(onnx.model(onnx.graph(nodes, tensors, [onnx.value("x", ["n", 3])],
                                                               [onnx.value("y", ["n", 1])])))
    command = ["debias", "shared.onnx", "repair.csv", "--task", "task.toml", "--best-effort", "-o"]
    done = run(folder, *command, "shared_out", status=26)
    assert "have the same bytes" in done.stderr and not (folder / "shared_out").exists(), done.stderr
    run(folder, *command, "shared_out.onnx")
    assert (folder / "three.bin").read_bytes() == struct.pack("<3f", 1.2, .8, .9)


def half(values):
    return struct.pack(f"<{len(values)}e", *values)


def halves(folder):
    """A head of float16: numbers are rounded, and the file gives in ONNX Runtime what fmd predicts."""
    nodes = [onnx.node("Cast", ["x"], ["xh"], to=10), onnx.node("Tanh", ["xh"], ["h"]),
             onnx.node("Gemm", ["h", "w", "b"], ["z"], transB=1), onnx.node("Cast", ["z"], ["zf"], to=1),
             onnx.node("Softmax", ["zf"], ["y"], axis=1)]
    w = [-.9, -.6, -.5, .9, .6, .5]
    tensors = [onnx.tensor("w", [2, 3], [], kind=10, more=onnx.data(9, half(w))),
               onnx.tensor("b", [2], [], kind=10, more=onnx.data(9, half([.1, -.1])))]
    original = onnx.model(onnx.graph(nodes, tensors, [onnx.value("x", ["n", 3])], [onnx.value("y", ["n", 2])]))
    (folder / "half.onnx").write_bytes(original)
    task = ["--task", "task.toml"]
    inputs = inputs_of(folder / "test.csv")

    def gap(model):
        text = run(folder, "predict", model, "test.csv", *task).stdout.splitlines()[1:]
        mine = [[float(p) for p in line.split(",")[2:]] for line in text]
        return largest(mine, oracle(folder / model, inputs))
    assert gap("half.onnx") < 2e-3  # ONNX Runtime adds float16 numbers, fmd float64
    run(folder, "debias", "half.onnx", "repair.csv", "--test", "test.csv", *task, "-o", "half_repaired.onnx")
    changed = (folder / "half_repaired.onnx").read_bytes()
    assert len(changed) == len(original)
    allowed = {original.index(part) + k for part in (half(w), half([.1, -.1])) for k in range(len(part))}
    assert {k for k in range(len(original)) if original[k] != changed[k]} <= allowed and changed != original
    assert gap("half_repaired.onnx") < 2e-3
    run(folder, "verify", "half_repaired.onnx.receipt.json")
    run(folder, "undo", "half_repaired.onnx.receipt.json", "-o", "half_back.onnx")
    assert (folder / "half_back.onnx").read_bytes() == original


def ends(folder):
    """Ends of other exporters: [1 - p, p] of scikit-learn's networks, and one number that is reshaped or taken out."""
    w, b = onnx.tensor("w", [3, 1], [1.2, .8, .9]), onnx.tensor("b", [1], [-.3])
    one = onnx.tensor("one", [1], [1])
    shape = onnx.tensor("all", [1], [], kind=7, more=onnx.data(9, b"\xff" * 8))
    first = onnx.tensor("first", [], [], kind=7, more=onnx.data(9, bytes(8)))
    below = [onnx.node("Tanh", ["x"], ["h"]), onnx.node("MatMul", ["h", "w"], ["m"]),
             onnx.node("Add", ["m", "b"], ["z"]), onnx.node("Sigmoid", ["z"], ["p"])]
    inputs = inputs_of(folder / "test.csv")
    for name, more, tensors, width in (
            ("both", [onnx.node("Sub", ["one", "p"], ["q"]), onnx.node("Concat", ["q", "p"], ["y"], axis=1)], [one], 2),
            ("flat", [onnx.node("Reshape", ["p", "all"], ["y"])], [shape], 1),
            ("column", [onnx.node("Gather", ["p", "first"], ["y"], axis=1)], [first], 1)):
        dims = ["n", 2] if width == 2 else ["n"]
        (folder / f"{name}.onnx").write_bytes(onnx.model(onnx.graph(
            below + more, [w, b, *tensors], [onnx.value("x", ["n", 3])], [onnx.value("y", dims)])))
        run(folder, "debias", f"{name}.onnx", "repair.csv", "--task", "task.toml", "-o", f"{name}_out.onnx")
        for model in (f"{name}.onnx", f"{name}_out.onnx"):
            text = run(folder, "predict", model, "test.csv", "--task", "task.toml").stdout.splitlines()[1:]
            mine = [[float(line.split(",")[3])] for line in text]
            assert largest(mine, [[row[-1]] for row in oracle(folder / model, inputs)]) < 1e-5, model


def main():
    if not PYTHON.exists():
        skip("no ONNX Runtime in build/venv-onnx", download_refused=True)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        answers(folder)
        story(folder)
        outside(folder)
        shared(folder)
        halves(folder)
        ends(folder)


if __name__ == "__main__":
    main()
