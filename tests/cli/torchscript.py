#!/usr/bin/env python3
"""TorchScript models: answers as PyTorch gives them, every command, only the head's bytes change."""

import csv
import io
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile
import zipfile

from skip import skip

FMD = sys.argv[sys.argv.index("--fmd") + 1]
TREE = pathlib.Path(__file__).resolve().parent.parent.parent
PYTHON = TREE / "build/venv-torch/bin/python"
PLUGIN = pathlib.Path(FMD).parent / "fmd_torch.so"
ALLOW = "--allow-torchscript"

ORACLE = """
import csv, json, sys, torch
torch.set_num_threads(1)
rows = [[float(r["x1"]), float(r["x2"]), float(r["sex"])] for r in csv.DictReader(open("test.csv"))]
print(json.dumps(torch.jit.load(sys.argv[1])(torch.tensor(rows)).detach().double().tolist()))
"""


def run(folder, *arguments, status=0):
    done = subprocess.run([FMD, *map(str, arguments)], cwd=folder, capture_output=True, text=True)
    assert done.returncode == status, (arguments, done.returncode, done.stdout, done.stderr)
    return done


def torch(folder, *arguments):
    done = subprocess.run([PYTHON, *map(str, arguments)], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write_rows(folder, count=1200):
    draw = random.Random(3)
    rows = []
    for i in range(count):
        x = [draw.gauss(0, 1), draw.gauss(0, 1), draw.randrange(2)]
        label = "yes" if 1.5 * x[0] + x[1] + draw.gauss(0, 1.5) > 0 else "no"
        rows.append([i, f"{x[0]:.5f}", f"{x[1]:.5f}", x[2], label])
    for name, part in (("repair", rows[: count // 2]), ("test", rows[count // 2:])):
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["id", "x1", "x2", "sex", "label"], *part])
    (folder / "task.toml").write_text(
        'label = "label"\nclasses = ["no", "yes"]\nid = "id"\n[[inputs]]\n'
        'columns = ["x1", "x2", "sex"]\n[[attributes]]\nname = "sex"\nvalues = ["0", "1"]\n', encoding="utf-8")
    (folder / "plain.toml").write_text('[[inputs]]\ncolumns = ["x1", "x2", "sex"]\n', encoding="utf-8")
    (folder / "short.toml").write_text('[[inputs]]\ncolumns = ["x1", "x2"]\n', encoding="utf-8")


def probabilities(row, name):
    """Of all classes, from what the model answers."""
    if name in ("script", "trace", "flat"):
        return [1 - row[0], row[0]]
    if name == "three":
        return row
    top = max(row)
    parts = [math.exp(z - top) for z in row]
    return [p / sum(parts) for p in parts]


def scores(folder, model, task):
    text = run(folder, "predict", model, "test.csv", "--task", task, ALLOW).stdout.splitlines()[1:]
    return [[float(p) for p in line.split(",")[2:]] for line in text]


def largest(a, b):
    assert len(a) == len(b), (len(a), len(b))
    return max(abs(x - y) for left, right in zip(a, b) for x, y in zip(left, right))


def answers(folder):
    """fmd predicts what PyTorch predicts, for scripted and traced models."""
    for name, known in json.loads((folder / "answers.json").read_text(encoding="utf-8")).items():
        gap = largest(scores(folder, f"{name}.pt", "plain.toml"), [probabilities(row, name) for row in known])
        assert gap < 1e-5, (name, gap)
        assert "TorchScript" in run(folder, "model", f"{name}.pt", ALLOW).stdout


def entries(data):
    archive = zipfile.ZipFile(io.BytesIO(data))
    assert archive.testzip() is None  # every checksum is right
    return {name: archive.read(name) for name in archive.namelist()}


def story(folder):
    """Every command; the repaired file gives in PyTorch what fmd predicts."""
    task = ["--task", "task.toml", ALLOW]
    for name, head in (("flat", {"flat/data/2", "flat/data/3"}), ("script", {"script/data/9", "script/data/10"})):
        original = (folder / f"{name}.pt").read_bytes()
        before = run(folder, "audit", f"{name}.pt", "test.csv", *task, "--json").stdout
        one = run(folder, "audit", f"{name}.pt", "test.csv", *task, "--json", "--threads", "1").stdout
        assert json.loads(one)["attributes"] == json.loads(before)["attributes"], "threads change figures"
        run(folder, "debias", f"{name}.pt", "repair.csv", "--test", "test.csv", *task, "--layers", "1",
            "--best-effort", "-o", f"{name}_out.pt")
        changed = (folder / f"{name}_out.pt").read_bytes()
        assert len(changed) == len(original) and changed != original
        old, new = entries(original), entries(changed)
        assert {key for key in old if old[key] != new[key]} <= head, [key for key in old if old[key] != new[key]]
        told = json.loads(torch(folder, "-c", ORACLE, f"{name}_out.pt"))
        gap = largest(scores(folder, f"{name}_out.pt", "task.toml"), [probabilities(row, name) for row in told])
        assert gap < 1e-5, (name, gap)
        run(folder, "verify", f"{name}_out.pt.receipt.json", ALLOW)
        run(folder, "undo", f"{name}_out.pt.receipt.json", "-o", f"{name}_back.pt")
        assert (folder / f"{name}_back.pt").read_bytes() == original
    before = json.loads(run(folder, "audit", "flat.pt", "test.csv", *task, "--json").stdout)
    after = json.loads(run(folder, "audit", "flat_out.pt", "test.csv", *task, "--json").stdout)
    gaps = [report["attributes"][0]["measures"]["co"]["value"] for report in (before, after)]
    assert gaps[0] > .05 and gaps[1] < gaps[0] / 2, gaps
    run(folder, "explain", "flat.pt", "test.csv", "--train", "repair.csv", *task, "-o", "influence.csv")
    run(folder, "features", "script.pt", "test.csv", *task, "-o", "test.features")
    run(folder, "predict", "script_out.pt", "test.features", *task)  # the repaired model finds them too


PICTURES = """
import json, sys, torch
torch.set_num_threads(1)
with open("test.npy", "rb") as file:
    data = file.read()
X = torch.frombuffer(bytearray(data[10 + int.from_bytes(data[8:10], "little"):]), dtype=torch.float32)
with torch.no_grad():
    print(json.dumps(torch.softmax(torch.jit.load(sys.argv[1])(X.reshape(-1, 3, 8, 8)), 1).double().tolist()))
"""


def pictures(folder):
    """A traced ResNet whose input is a tensor for each row: only the last layer changes, and it answers as told."""
    (folder / "pictures.toml").write_text(
        'label = "label"\nclasses = ["no", "yes"]\nid = "id"\n[[inputs]]\ntensor = "*.npy"\n'
        '[[attributes]]\nname = "sex"\nvalues = ["0", "1"]\n', encoding="utf-8")
    task = ["--task", "pictures.toml", ALLOW]
    run(folder, "debias", "resnet.pt", "repair.csv", "--test", "test.csv", *task, "--pairs", "match:cosine",
        "--best-effort", "-o", "resnet_out.pt")
    old, new = entries((folder / "resnet.pt").read_bytes()), entries((folder / "resnet_out.pt").read_bytes())
    changed = [key for key in old if old[key] != new[key]]
    assert 0 < len(changed) <= 2 and all(len(old[key]) in (2 * 8 * 4, 2 * 4) for key in changed), changed
    told = json.loads(torch(folder, "-c", PICTURES, "resnet_out.pt"))
    assert largest(scores(folder, "resnet_out.pt", "pictures.toml"), told) < 1e-5
    run(folder, "undo", "resnet_out.pt.receipt.json", "-o", "resnet_back.pt")
    assert (folder / "resnet_back.pt").read_bytes() == (folder / "resnet.pt").read_bytes()


def other_version(folder):
    """The file as a later PyTorch may write it: a higher version of the format."""
    with zipfile.ZipFile(folder / "flat.pt") as old, zipfile.ZipFile(folder / "later.pt", "w") as new:
        for name in old.namelist():
            new.writestr(name, b"99\n" if name.endswith("/version") else old.read(name))


def bad_input(folder):
    """Each wrong file gets its own words, and nothing is written."""
    data = (folder / "flat.pt").read_bytes()
    (folder / "cut.pt").write_bytes(data[:-200])
    (folder / "middle.pt").write_bytes(data[:300] + data[900:])
    (folder / "pickle.pt").write_bytes(b"\x80\x02cos\nsystem\n(X\x04\x00\x00\x00touchtR.")
    with zipfile.ZipFile(folder / "flat.pt") as old, zipfile.ZipFile(folder / "call.pt", "w") as new:
        for name in old.namelist():
            call = b"\x80\x02cos\nsystem\nX\x0c\x00\x00\x00touch hackedtR."
            new.writestr(name, call if name.endswith("/data.pkl") else old.read(name))
    with zipfile.ZipFile(folder / "keras.pt", "w") as new:
        new.writestr("config.json", "{}")
    other_version(folder)
    before = sorted(path.name for path in folder.iterdir())
    cases = [  # file, exit status (20 bad-model, 26 unsupported), words, words of the hint, with the flag
        ("flat.pt", 26, "a TorchScript model", "--allow-torchscript", False),
        ("old.pt", 26, "a Python pickle", "never executed", True),
        ("pickle.pt", 26, "a Python pickle", "never executed", True),
        ("state.pt", 26, "a state_dict or a whole module", "torch.jit.script", True),
        ("state.pt", 26, "a state_dict or a whole module", "torch.jit.script", False),
        ("keras.pt", 26, "a zip archive", "never executed", True),
        ("cut.pt", 20, "a damaged or cut off archive", "save the model again", True),
        ("middle.pt", 20, "a damaged or cut off archive", "save the model again", True),
        ("call.pt", 20, "refuses it", "torch.jit.load", True),
        ("later.pt", 20, "version", "save the model with this version of PyTorch", True),
        ("no_tail.pt", 26, "does not end in a dense layer", "--scores", True),
        ("frozen.pt", 26, "torch.jit.freeze", "--scores", True),
        ("tied.pt", 26, "at another place too", "weights of its own", True),
    ]
    for name, status, words, hint, allowed in cases:
        done = run(folder, "predict", name, "test.csv", "--task", "plain.toml", *([ALLOW] if allowed else []),
                   "-o", "p.csv", status=status)
        assert words in done.stderr and hint in done.stderr, (name, done.stderr)
    shape = run(folder, "predict", "flat.pt", "test.csv", "--task", "short.toml", ALLOW, status=19)
    assert "takes 3 numbers for each row, 2 columns" in shape.stderr, shape.stderr
    assert sorted(path.name for path in folder.iterdir()) == before


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if not PYTHON.exists() or not PLUGIN.exists():
            skip("no PyTorch in build/venv-torch", download_refused=True)
        write_rows(folder)
        torch(folder, TREE / "tests/support/torch_models.py")
        answers(folder)
        story(folder)
        pictures(folder)
        bad_input(folder)


if __name__ == "__main__":
    main()
