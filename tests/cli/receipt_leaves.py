"""Every leaf of a receipt is changed, one at a time. `fmd verify` must catch and name it, or docs/verify.md must
list it under "What is not claimed"."""

import argparse
import fnmatch
import json
import math
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "tests/support"))
import onnx_writer as onnx  # noqa: E402

FMD = ""
DEBIAS = ("--test", "test.csv", "--points", 3, "--replicates", 50, "--max-accuracy-loss", ".5", "--threads", 1)
TASK = ("--label", "approved", "--positive", "yes", "--attribute", "sex")


def not_claimed():
    """The patterns of the list in the docs, and those that hold for receipts of schema 1 alone."""
    text = (TREE / "docs/verify.md").read_text()
    section = text.split("## What is not claimed")[1].split("\n## ")[0]
    rows = [line.split("|") for line in section.splitlines() if line.startswith("| `")]
    every, old = [], []
    for _, names, schema, *_ in rows:
        (old if schema.strip() == "1" else every).extend(name.strip(" `") for name in names.split(","))
    return every, old


def leaves(value, path=()):
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list) and value:
        for at, inner in enumerate(value):
            yield from leaves(inner, (*path, at))
    else:
        yield path


def dotted(path):
    text = ""
    for key in path:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else key
    return text


def value_at(receipt, path):
    for key in path:
        receipt = receipt[key]
    return receipt


OTHER_WORDS = {"auto": "cholesky", "solve": "path", "flip": "match", "train": "edit", "counted": "error"}


def other(value):
    """Another value of the same type; where words are few, another word that is allowed."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * 1.25 + 0.125
    if isinstance(value, str):
        return OTHER_WORDS.get(value, value + "x")
    return ["x"] if value == [] else {"x": 1} if value == {} else 1


def changed(receipt, path):
    copy = json.loads(json.dumps(receipt))
    inner = copy
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = other(inner[path[-1]])
    return copy


def make_tables(folder):
    draw = random.Random(5)
    for name, rows in (("train", 240), ("repair", 200), ("test", 120)):
        with open(folder / f"{name}.csv", "w") as out:
            out.write("sex,income,years,approved\n")
            for _ in range(rows):
                sex, income, years = draw.random() < .5, round(draw.gauss(0, 1), 4), round(draw.gauss(0, 1), 4)
                chance = 1 / (1 + math.exp(-income + .4 * years - (1 if sex else -1)))
                out.write(f"{int(sex)},{income},{years},{'yes' if draw.random() < chance else 'no'}\n")


def make_onnx(path):
    nodes = [onnx.node("Gemm", ["x", "w0", "b0"], ["a"], transB=1), onnx.node("Tanh", ["a"], ["h"]),
             onnx.node("Gemm", ["h", "w1", "b1"], ["z"], transB=1), onnx.node("Sigmoid", ["z"], ["y"])]
    draw = random.Random(7)
    w0 = [round(draw.gauss(0, .7), 3) for _ in range(15)]
    tensors = [onnx.tensor("w0", [5, 3], w0), onnx.tensor("b0", [5], [.1, 0, -.4, .2, 0]),
               onnx.tensor("w1", [1, 5], [.9, -.6, .8, .7, -.5]), onnx.tensor("b1", [1], [-.31])]
    path.write_bytes(onnx.model(onnx.graph(nodes, tensors, [onnx.value("x", ["n", 3])], [onnx.value("y", ["n", 1])])))


def make_trees(path):
    """LightGBM's text format: two trees on sex, income and years."""
    def tree(number, feature, threshold, values):
        return (f"Tree={number}\nnum_leaves=3\nnum_cat=0\nsplit_feature={feature[0]} {feature[1]}\n"
                f"split_gain=1 1\nthreshold={threshold[0]} {threshold[1]}\ndecision_type=2 2\nleft_child=-1 -2\n"
                f"right_child=1 -3\nleaf_value={values[0]} {values[1]} {values[2]}\nleaf_weight=1 1 1\n"
                f"leaf_count=60 60 60\ninternal_value=0 0\ninternal_weight=0 0\ninternal_count=180 120\n"
                f"is_linear=0\nshrinkage=1\n\n\n")
    trees = [tree(0, (0, 1), (.5, .2), (-.8, -.1, .9)), tree(1, (1, 2), (-.3, .1), (-.6, .5, .2))]
    head = ("tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx=2\n"
            "objective=binary sigmoid:1\nfeature_names=sex income years\nfeature_infos=[0:1] [-4:4] [-4:4]\n"
            f"tree_sizes={' '.join(str(len(t)) for t in trees)}\n\n")
    path.write_text(head + "".join(trees) + "end of trees\n\nfeature_importances:\nsex=1\n\nparameters:\n"
                    "end of parameters\n\npandas_categorical:null\n")


class Leaves(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.dir = pathlib.Path(temporary.name)
        make_tables(self.dir)

    def call(self, *args, codes=(0,)):
        run = subprocess.run([FMD, *map(str, args)], cwd=self.dir, capture_output=True, text=True, timeout=300)
        if codes and run.returncode not in codes:
            raise AssertionError(f"fmd {args}: exit {run.returncode}\n{run.stdout}\n{run.stderr}")
        return run

    def verify(self, receipt):
        """Exit code and everything that was said, with long details whole."""
        run = self.call("verify", receipt, "--threads", 1, "--json", codes=None)
        return run.returncode, run.stdout + run.stderr

    def check(self, out, step=7):
        """Every step-th leaf of OUT's receipt, in schema 2 and as an earlier version wrote it."""
        every, old = not_claimed()
        path = self.dir / f"{out}.receipt.json"
        receipt = json.loads(path.read_text())
        self.assertEqual(receipt["schema"], 2)
        used = self.check_leaves(path, receipt, every, step)
        if "files" in receipt["model"]:
            return used
        receipt["schema"] = 1
        del receipt["overlaps"]
        self.path_of_schema_1(out)
        return used | self.check_leaves(path, receipt, every + old, step)

    def path_of_schema_1(self, out):
        path = self.dir / f"{out}.path.json"
        points = json.loads(path.read_text())
        for key in ("options", "task", "seed"):
            del points[key]
        path.write_text(json.dumps({**points, "schema": 1}))

    def check_leaves(self, path, receipt, unclaimed, step):
        path.write_text(json.dumps(receipt))
        code, said = self.verify(path.name)
        self.assertEqual(code, 0, said)
        slips, used = [], set()
        for leaf in list(leaves(receipt))[::step]:
            path.write_text(json.dumps(changed(receipt, leaf)))
            code, said = self.verify(path.name)
            name = dotted(leaf)
            listed = [pattern for pattern in unclaimed
                      if fnmatch.fnmatchcase(name.replace("[", "(").replace("]", ")"),
                                             pattern.replace("[", "(").replace("]", ")"))]
            used.update(listed)
            self.assertLess(code, 100, f"{name}: {said}")
            word = next(key for key in reversed(leaf) if isinstance(key, str))
            settings = leaf[0] in ("schema", "model", "data", "options", "task", "seed", "kind")
            new = other(value_at(receipt, leaf))
            shown = isinstance(new, str) and new in said
            named = name in said or (settings and (word in said or shown))
            # Settings that change no figure are compared with the path file, which schema 1 does not have them in.
            if receipt["schema"] == 1 and leaf[0] in ("task", "options"):
                continue
            if not listed and (code in (0, 3) or not named):
                slips.append(f"{name}: exit {code}")
        self.assertEqual(slips, [])
        return used

    def test_linear_and_the_list_has_nothing_in_vain(self):
        self.call("train", "train.csv", *TASK, "-o", "m.safetensors")
        self.call("debias", "m.safetensors", "repair.csv", "--train", "train.csv", "--attribute", "sex", *DEBIAS,
                  "--ledger", "looks.ledger", "-o", "out.safetensors")
        every, old = not_claimed()
        # There is nothing to note here; honest.py has a receipt with notes.
        self.assertEqual(self.check("out.safetensors", step=1), set(every + old) - {"notes*"})

    def test_network(self):
        self.call("train", "train.csv", *TASK, "--kind", "mlp", "--hidden", "4", "-o", "m.safetensors")
        self.call("debias", "m.safetensors", "repair.csv", "--train", "train.csv", "--attribute", "sex", *DEBIAS,
                  "-o", "out.safetensors")
        self.check("out.safetensors")

    def test_trees(self):
        make_trees(self.dir / "trees.txt")
        self.call("debias", "trees.txt", "repair.csv", *TASK, *DEBIAS, "-o", "out.txt")
        self.check("out.txt")

    def test_onnx(self):
        make_onnx(self.dir / "net.onnx")
        task = self.dir / "task.toml"
        task.write_text('label = "approved"\nclasses = ["no", "yes"]\n[[inputs]]\n'
                        'columns = ["income", "sex", "years"]\n[[attributes]]\nname = "sex"\nvalues = ["0", "1"]\n')
        made = self.call("debias", "net.onnx", "repair.csv", "--task", task, *DEBIAS, "-o", "out.onnx", codes=None)
        if "onnx" in made.stderr and "backend" in made.stderr:
            self.skipTest(made.stderr)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.check("out.onnx")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fmd", required=True)
    args, rest = parser.parse_known_args()
    FMD = shutil.which(args.fmd) or str(pathlib.Path(args.fmd).resolve())
    unittest.main(argv=[sys.argv[0], *rest])
