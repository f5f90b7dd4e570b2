"""Files that earlier releases wrote stay readable: tests/compat/v*, one folder for each release.

What is compared holds on every machine. Scores and figures agree up to rounding. The ends of bootstrapped
intervals do not: which rows are drawn depends on the last bits of their scores, and those on the CPU.
"""

import argparse
import csv
import gzip
import hashlib
import json
import math
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

FMD = ""
COMPAT = pathlib.Path(__file__).resolve().parent.parent / "compat"
ROUNDING = 1e-12  # of scores
FIGURES = 1e-9    # of figures of the same scores
SOLVED = 1e-6     # of what is solved again, or went through float32: the tolerance of `fmd verify`
SAMPLED = 0.25    # of ends of intervals by 200 draws from 60 rows

# Of a figure: the value counts, ends of intervals and tests by random draws do not.
DRAWN = {"low", "high", "p_value", "adjusted_p_value"}
# What `verify` must find true on every machine; the rest may differ in ends of intervals. Repairs of two or
# more layers have many minima: another CPU ends near the same one, not within SOLVED of it.
ALWAYS = ("model", "undo", "repair", "solve")
OF_A_MINIMUM = ("repair", "solve")
MINIMA = 0.05


def near(a, b, tolerance):
    return abs(a - b) <= tolerance * max(1.0, abs(b))


def figures(node, where=""):
    """Every number of a JSON by its place, but for what is drawn at random."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key not in DRAWN:
                yield from figures(value, f"{where}.{key}")
    elif isinstance(node, list):
        for k, value in enumerate(node):
            yield from figures(value, f"{where}[{k}]")
    elif isinstance(node, (int, float)) and not isinstance(node, bool):
        yield where, float(node)


def read_tensors(path):
    """Tensors of doubles of a safetensors file: {name: (shape, numbers)}."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, note in json.loads(data[8:8 + size]).items():
        if name == "__metadata__" or note["dtype"] != "F64":
            continue
        first, last = (8 + size + offset for offset in note["data_offsets"])
        tensors[name] = (note["shape"], struct.unpack(f"<{(last - first) // 8}d", data[first:last]))
    return tensors


def parameters(path):
    """theta of a model: layer by layer, the lowest first, rows of weights and intercept."""
    tensors, theta = read_tensors(path), []
    for name in sorted(n.removesuffix(".weight") for n in tensors if n.endswith(".weight")):
        (outputs, inputs), weight = tensors[f"{name}.weight"]
        for k, bias in enumerate(tensors[f"{name}.bias"][1]):
            theta += [*weight[k * inputs:(k + 1) * inputs], bias]
        assert len(weight) == outputs * inputs
    return theta


def key_of(point):
    """What `debias --at` takes for a point of a path."""
    return ",".join(f"{key}={point[key]!r}" for key in ("lambda", "s", "K", "gamma", "mu") if key in point)


class Release:
    """The tests of one release; `folder` is its folder."""

    folder: pathlib.Path

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.base = pathlib.Path(cls.temporary.name) / "base"
        cls.base.mkdir()
        cls.contents = json.loads((cls.folder / "contents.json").read_text())
        for kind in ("tables", "models", "features", "tasks", "repairs", "audits", "scores"):
            for path in (cls.folder / kind).iterdir():
                if path.name.endswith(".json.gz"):
                    (cls.base / path.name[:-3]).write_bytes(gzip.decompress(path.read_bytes()))
                else:
                    shutil.copy(path, cls.base)
        shutil.copytree(cls.folder / "cache", cls.base / "cache")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def setUp(self):
        self.dir = pathlib.Path(self.temporary.name) / "copy"
        shutil.copytree(self.base, self.dir)
        self.addCleanup(shutil.rmtree, self.dir)

    def fmd(self, *args, code=0):
        run = subprocess.run([FMD, *map(str, args)], cwd=self.dir, capture_output=True, text=True, timeout=300)
        codes = (code,) if isinstance(code, int) else code
        self.assertIn(run.returncode, codes, f"fmd {args}:\n{run.stdout}\n{run.stderr}")
        return run

    def json(self, *args, code=0):
        return json.loads(self.fmd(*args, "--json", code=code).stdout)

    def edit(self, name, old, new):
        """One damage to a copy: every `old` becomes `new`, of the same length."""
        data = (self.dir / name).read_bytes()
        self.assertIn(old, data)
        self.assertEqual(len(old), len(new))
        (self.dir / name).write_bytes(data.replace(old, new))

    def cut(self, name):
        data = (self.dir / name).read_bytes()
        (self.dir / name).write_bytes(data[:len(data) // 2])

    def assert_figures(self, now, stored, tolerance=FIGURES):
        """Every stored figure is there and the same; there may be new ones beside them."""
        now, stored = dict(figures(now)), dict(figures(stored))
        self.assertGreater(len(stored), 20)
        for where, value in stored.items():
            self.assertIn(where, now)
            self.assertTrue(near(now[where], value, tolerance), f"{where}: {now[where]!r}, stored {value!r}")

    def assert_audit(self, now, stored):
        """As assert_figures, but for gaps between groups: of an attribute without a named reference they are now
        those of the widest pair, a difference at least 0 and a ratio at most 1."""
        now, stored = dict(figures(now)), dict(figures(stored))
        self.assertGreater(len(stored), 20)
        for where, value in stored.items():
            self.assertIn(where, now)
            if near(now[where], value, FIGURES):
                continue
            self.assertIn(".measures.", where)
            measure = where.split(".measures.")[1].split(".")[0]
            if measure.endswith("_ratio") or measure == "disparate_impact":
                wide = now[where] <= min(value, 1 / value) + FIGURES
            else:
                wide = now[where] >= abs(value) - FIGURES
            self.assertTrue(wide, f"{where}: {now[where]!r}, stored {value!r}")

    # Files.

    def test_files_are_as_they_were_written(self):
        listed = {}
        for line in (self.folder / "SHA256SUMS").read_text().splitlines():
            value, name = line.split("  ", 1)
            listed[name] = value
        there = {str(path.relative_to(self.folder)): hashlib.sha256(path.read_bytes()).hexdigest()
                 for path in self.folder.rglob("*") if path.is_file() and path.name != "SHA256SUMS"}
        self.assertEqual(there, listed, "files of a release never change")

    # Models.

    def assert_scores(self, text, name):
        """The CSV of `fmd predict` has the stored scores."""
        stored = gzip.decompress((self.folder / f"scores/{name}.scores.csv.gz").read_bytes()).decode()
        now, then = (list(csv.reader(t.splitlines())) for t in (text, stored))
        self.assertEqual(now[0], then[0])
        self.assertEqual(len(now), len(then))
        for a, b in zip(now[1:], then[1:]):
            self.assertEqual(a[:2], b[:2])
            for x, y in zip(a[2:], b[2:]):
                self.assertLessEqual(abs(float(x) - float(y)), ROUNDING * float(y), (name, a, b))

    def test_models_give_the_same_scores(self):
        for name in self.contents["models"]:
            with self.subTest(name):
                self.assert_scores(self.fmd("predict", f"{name}.safetensors", "test.csv").stdout, name)
        for feature in self.contents["features"]:
            if feature["table"] == "test.csv":
                with self.subTest(feature["name"]):
                    model = feature["model"]
                    text = self.fmd("predict", f"{model}.safetensors", f"{feature['name']}.features").stdout
                    self.assert_scores(text, model)

    def test_damaged_models_are_noticed(self):
        name = "logistic.safetensors"
        data = bytearray((self.dir / name).read_bytes())
        size = struct.unpack("<Q", data[:8])[0]
        first = 8 + size + json.loads(data[8:8 + size])["head.weight"]["data_offsets"][0]
        data[first + 6] ^= 8  # a weight becomes another one: the file is whole, the scores are not
        (self.dir / name).write_bytes(data)
        with self.assertRaises(AssertionError):
            self.assert_scores(self.fmd("predict", name, "test.csv").stdout, "logistic")
        self.edit("numbers.safetensors", b'"fmd.format":"1"', b'"fmd.format":"9"')
        self.assertIn("9", self.fmd("predict", "numbers.safetensors", "test.csv", code=26).stderr)
        self.cut("network.safetensors")
        self.fmd("predict", "network.safetensors", "test.csv", code=20)

    def test_training_rows_are_known_again(self):
        rows = len((self.dir / "train.csv").read_text().splitlines()) - 1
        for name in self.contents["models"]:
            with self.subTest(name):
                data = self.json("audit", f"{name}.safetensors", "train.csv", "--attribute", "sex", "--replicates", 50,
                                 "--permutations", 0)["data"]
                self.assertEqual(data["seen_in_training"], rows)
        data = self.json("audit", "logistic.safetensors", "test.csv", "--attribute", "sex", "--replicates", 50,
                         "--permutations", 0)["data"]
        self.assertLess(data["seen_in_training"], rows / 10)

    # Repairs.

    def layers(self, repair):
        return json.loads((self.dir / f"{repair['name']}.safetensors.receipt.json").read_text())["options"]["layers"]

    def test_receipts_are_verified(self):
        for repair in self.contents["repairs"]:
            with self.subTest(repair["name"]):
                receipt = f"{repair['name']}.safetensors.receipt.json"
                report = self.json("verify", receipt, code=(0, 1))
                results = {check["what"]: check["result"] for check in report["checks"]}
                self.assertLessEqual(set(repair["checks"]), set(results))
                for check in report["checks"]:
                    what = check["what"]
                    one_minimum = what not in OF_A_MINIMUM or self.layers(repair) == 1
                    if what.startswith("data") or (what in ALWAYS and one_minimum):
                        self.assertEqual(check["result"], repair["checks"][what], report)
                # Another CPU draws other rows for intervals; all the rest agrees.
                self.json("verify", receipt, "--tolerance", SAMPLED)

    def test_figures_of_receipts(self):
        """Measured before and after on the test rows, but for ends of intervals."""
        for repair in self.contents["repairs"]:
            receipt = json.loads((self.dir / f"{repair['name']}.safetensors.receipt.json").read_text())
            self.assertEqual(receipt["schema"], 1)
            if "before" not in receipt["measures"]["test"]:
                continue
            more = []
            for option in ("--pairs", "--groups", "--key"):
                if option in repair["args"]:
                    more += [option, repair["args"][repair["args"].index(option) + 1]]
            for when, model in (("before", repair["model"]), ("after", repair["name"])):
                with self.subTest(f"{repair['name']}, {when}"):
                    now = self.json("audit", f"{model}.safetensors", "test.csv", "--attribute", "sex", "--replicates",
                                    50, "--permutations", 0, *more)
                    stored = receipt["measures"]["test"][when]
                    self.assertEqual(now["rows"], stored.get("rows", now["rows"]))
                    self.assert_figures(now["accuracy"] | now["attributes"][0]["measures"],
                                        stored["accuracy"] | stored["attributes"][0]["measures"], SOLVED)

    def test_damaged_receipts_are_noticed(self):
        receipt = "solve.safetensors.receipt.json"
        text = json.loads((self.dir / receipt).read_text())
        text["measures"]["test"]["after"]["accuracy"]["value"] += 0.5
        (self.dir / receipt).write_text(json.dumps(text))
        self.json("verify", receipt, "--tolerance", SAMPLED, code=1)
        self.edit("path.safetensors.receipt.json", b'"schema": 1', b'"schema": 9')
        for command in (["verify"], ["undo", "-o", "back.safetensors"]):
            done = self.fmd(command[0], "path.safetensors.receipt.json", *command[1:], code=20)
            self.assertIn("reads receipts of schema 1 and 2, not 9", done.stderr)
        self.cut("step.safetensors.receipt.json")
        self.fmd("verify", "step.safetensors.receipt.json", code=20)
        self.fmd("undo", "step.safetensors.receipt.json", "-o", "back.safetensors", code=20)
        self.assertFalse((self.dir / "back.safetensors").exists())

    def test_undo_gives_back_the_original(self):
        for repair in self.contents["repairs"]:
            with self.subTest(repair["name"]):
                self.fmd("undo", f"{repair['name']}.safetensors.receipt.json", "-o", "back.safetensors", "--force")
                self.assertEqual((self.dir / "back.safetensors").read_bytes(),
                                 (self.folder / f"models/{repair['model']}.safetensors").read_bytes())

    def test_damaged_undo_files_are_noticed(self):
        self.edit("solve.safetensors.undo", b"fmd undo 1", b"fmd undo 9")
        self.cut("step.safetensors.undo")
        for name in ("solve", "step"):
            self.fmd("undo", f"{name}.safetensors.receipt.json", "-o", "back.safetensors", code=20)
            self.assertFalse((self.dir / "back.safetensors").exists())

    # Runs that were killed.

    def leave_killed_run(self):
        """What a run left that was killed before its files got their names."""
        for path in (self.folder / "killed").iterdir():
            data = path.read_bytes()
            if path.suffix == ".gz":
                data = gzip.decompress(data)
            (self.dir / path.name.removesuffix(".gz")).write_bytes(data)
        self.assertTrue((self.dir / "killed.safetensors.fmd-journal").exists())
        self.assertFalse((self.dir / "killed.safetensors").exists())

    def test_a_killed_run_is_finished(self):
        self.leave_killed_run()
        self.json("verify", "killed.safetensors.receipt.json", "--tolerance", SAMPLED)
        self.assertEqual([path.name for path in self.dir.iterdir() if "fmd-" in path.name], [])
        self.path_of("killed")
        self.fmd("undo", "killed.safetensors.receipt.json", "-o", "back.safetensors")
        self.assertEqual((self.dir / "back.safetensors").read_bytes(), (self.dir / "logistic.safetensors").read_bytes())

    def test_a_damaged_journal_is_noticed(self):
        self.leave_killed_run()
        self.edit("killed.safetensors.fmd-journal", b"fmd-journal 1", b"fmd-journal 9")
        self.assertIn("journal", self.fmd("verify", "killed.safetensors.receipt.json", code=12).stderr)

    # Paths.

    def path_of(self, name):
        """The points of a path and the parameters of each."""
        path = json.loads((self.dir / f"{name}.safetensors.path.json").read_text())
        self.assertEqual((path["schema"], path["kind"]), (1, "fmd path"))
        tensors = read_tensors(self.dir / path["tensors"])
        (points, count), theta = tensors["theta"]
        self.assertEqual(points, len(path["points"]))
        for k, point in enumerate(path["points"]):
            for key in ("lambda", "s", "K"):
                if key in point and point[key] != "infinity":
                    self.assertEqual(tensors[key][1][k], point[key])
        return path, [theta[k * count:(k + 1) * count] for k in range(points)]

    def assert_theta(self, now, stored, tolerance):
        self.assertEqual(len(now), len(stored))
        for a, b in zip(now, stored):
            self.assertTrue(math.isfinite(a) and near(a, b, tolerance), (a, b))

    def test_paths_hold_the_repaired_models(self):
        for repair in self.contents["repairs"]:
            with self.subTest(repair["name"]):
                path, theta = self.path_of(repair["name"])
                chosen = theta[path["chosen"]]
                self.assert_theta(parameters(self.dir / f"{repair['name']}.safetensors")[-len(chosen):], chosen, 0)

    def test_any_point_of_a_path_is_made_again(self):
        for repair in self.contents["repairs"]:
            with self.subTest(repair["name"]):
                path, theta = self.path_of(repair["name"])
                other = next((k for k, point in enumerate(path["points"]) if k != path["chosen"] and key_of(point)
                              and point.get("lambda") != "infinity"), None)
                if other is None:
                    self.assertIn(repair["name"], ("replace", "average_column"))  # one point
                    continue
                self.fmd("debias", f"{repair['model']}.safetensors", "repair.csv", "--attribute", "sex",
                         *repair["args"], "--folds", "0", "--at", key_of(path["points"][other]), "--force", "-o",
                         "at.safetensors")
                made = parameters(self.dir / "at.safetensors")[-len(theta[other]):]
                self.assert_theta(made, theta[other], SOLVED if self.layers(repair) == 1 else MINIMA)
                with self.assertRaises(AssertionError):
                    self.assert_theta(made, theta[path["chosen"]], SOLVED)

    def test_damaged_paths_are_noticed(self):
        self.cut("solve.safetensors.path.safetensors")
        with self.assertRaises(struct.error):
            self.path_of("solve")
        self.edit("step.safetensors.path.json", b'"schema": 1', b'"schema": 9')
        with self.assertRaises(AssertionError):
            self.path_of("step")

    # Features, scores, tasks: audits and explanations of them.

    def stored_audit(self, name):
        return json.loads((self.base / f"{name}.audit.json").read_text())

    def test_audits_say_the_same(self):
        for audit in self.contents["audits"]:
            with self.subTest(audit["name"]):
                # A threshold that is not the model's is allowed by name now.
                allowed = ("--allow", "other_threshold") if audit["name"] == "task" else ()
                now = self.json("audit", *audit["args"], "--replicates", 200, "--permutations", 50, *allowed,
                                code=audit["exit"])
                stored = self.stored_audit(audit["figures"])
                self.assertEqual(now["verdict"], stored["verdict"])
                self.assert_audit({key: now[key] for key in ("rows", "accuracy", "attributes")},
                                  {key: stored[key] for key in ("rows", "accuracy", "attributes")})

    def influence(self, text):
        rows = list(csv.DictReader(text.splitlines()))
        return {row["row"]: (row["label"], row["sex"], float(row["change"])) for row in rows}

    def assert_influence(self, name):
        args = next(e["args"] for e in self.contents["explanations"] if e["name"] == name)
        report = self.json("explain", *args, "-o", "now.csv", "--force")
        now = self.influence((self.dir / "now.csv").read_text())
        packed = (self.folder / f"influence/{name}.influence.csv.gz").read_bytes()
        stored = self.influence(gzip.decompress(packed).decode())
        self.assertEqual(set(now), set(stored))
        largest = max(abs(change) for _, _, change in stored.values())
        self.assertGreater(largest, 0)
        for row, (label, sex, change) in stored.items():
            self.assertEqual(now[row][:2], (label, sex))
            self.assertLessEqual(abs(now[row][2] - change), SOLVED * largest, row)
        return report

    def test_explanations_say_the_same(self):
        for explained in self.contents["explanations"]:
            with self.subTest(explained["name"]):
                self.assert_influence(explained["name"])

    def test_damaged_features_are_noticed(self):
        self.cut("numbers_test.features")
        self.fmd("predict", "numbers.safetensors", "numbers_test.features", code=20)
        self.edit("softmax_test.features", b'\\"schema\\":1', b'\\"schema\\":9')
        self.assertIn("schema", self.fmd("predict", "softmax.safetensors", "softmax_test.features", code=20).stderr)
        self.fmd("predict", "numbers.safetensors", "logistic_test.features", code=20)  # of another encoder

    def test_kept_factors_are_found(self):
        self.assertTrue(self.assert_influence("dense")["solve"]["cached"])
        factor = next((self.dir / "cache").iterdir())
        data = bytearray(factor.read_bytes())
        data[len(data) // 2] ^= 1
        factor.write_bytes(data)
        self.assertFalse(self.assert_influence("dense")["solve"]["cached"])  # made anew
        self.assertTrue(self.assert_influence("dense")["solve"]["cached"])

    def test_damaged_scores_and_tasks_are_noticed(self):
        audits = {audit["name"]: audit["args"] for audit in self.contents["audits"]}
        lines = gzip.decompress((self.dir / "scored.csv.gz").read_bytes()).decode().splitlines()
        lines[1] = lines[1].rsplit(",", 1)[0] + ",1.5"
        (self.dir / "scored.csv.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
        self.assertIn("line 2", self.fmd("audit", *audits["scores"], code=15).stderr)
        self.edit("gate.toml", b"min_label", b"min_lapel")
        self.assertIn("min_lapel", self.fmd("audit", *audits["task"], code=19).stderr)

    # Earlier audits.

    def test_an_earlier_audit_is_compared_with(self):
        same = self.json("audit", "logistic.safetensors", "test.csv", "--attribute", "sex", "--baseline",
                         "table.audit.json", "--fail-on-worse")
        earlier = same["baseline"]
        self.assertEqual((earlier["model"], earlier["same_data"]), ("logistic.safetensors", True))
        self.assertEqual((earlier["worse"], earlier["better"]), (0, 0))
        self.assertGreater(len(earlier["changes"]), 20)
        for change in earlier["changes"]:
            self.assertTrue(near(change["after"]["value"], change["before"]["value"], FIGURES), change)
        repaired = self.json("audit", "average_column.safetensors", "test.csv", "--attribute", "sex", "--baseline",
                             "table.audit.json")
        co = next(c for c in repaired["baseline"]["changes"] if c["measure"] == "co")
        stored = self.stored_audit("table")["attributes"][0]["measures"]["co"]["value"]
        self.assertEqual(co["before"]["value"], stored)
        self.assertLess(co["after"]["value"], stored / 10)

    def test_damaged_earlier_audits_are_noticed(self):
        audit = ("audit", "logistic.safetensors", "test.csv", "--attribute", "sex", "--baseline", "table.audit.json")
        self.edit("table.audit.json", b'"schema": 1', b'"schema": 9')
        self.assertIn("schema 9", self.fmd(*audit, code=26).stderr)
        self.edit("table.audit.json", b'"schema": 9', b'"schema": 1')
        self.cut("table.audit.json")
        self.fmd(*audit, code=20)


def add_releases():
    found = sorted(path for path in COMPAT.glob("v*") if path.is_dir())
    assert found, f"{COMPAT} has no release"
    for folder in found:
        name = "Release_" + folder.name.replace(".", "_")
        globals()[name] = type(name, (Release, unittest.TestCase), {"folder": folder})


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fmd", required=True)
    args, rest = parser.parse_known_args()
    FMD = str(pathlib.Path(args.fmd).resolve())
    add_releases()
    unittest.main(argv=[sys.argv[0], *rest])
