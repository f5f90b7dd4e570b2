"""Looks at a test set are counted in a ledger; fingerprints of training rows stand beside the model."""

import argparse
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import story  # noqa: E402  (make_table)

FMD = ""
TASK = ("--label", "approved", "--positive", "yes", "--id", "id", "--attribute", "sex")


class Ledger(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.base = pathlib.Path(cls.folder.name) / "base"
        cls.base.mkdir()
        story.make_table(cls.base / "loans.csv")
        cls.call("split", "loans.csv", "--by", "approved", cwd=cls.base)
        cls.call("train", "train.csv", *TASK, "-o", "m.safetensors", cwd=cls.base)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @staticmethod
    def call(*args, cwd, code=0):
        run = subprocess.run([FMD, *map(str, args)], cwd=cwd, capture_output=True, text=True, timeout=300)
        if run.returncode != code:
            raise AssertionError(f"fmd {args}: exit {run.returncode}, not {code}\n{run.stdout}\n{run.stderr}")
        return run

    def setUp(self):
        self.dir = pathlib.Path(self.folder.name) / "copy"
        shutil.copytree(self.base, self.dir)
        self.addCleanup(shutil.rmtree, self.dir)

    def look(self, table="test.csv", *more, code=0):
        return self.call("audit", "m.safetensors", table, "--replicates", 50, "--ledger", "looks", *more, cwd=self.dir,
                         code=code)

    def test_a_set_is_known_again_when_its_file_was_saved_again(self):
        self.assertIn("look 1 at these rows, with 1 model and seed 1", self.look().stdout)
        lines = (self.dir / "test.csv").read_text().splitlines()
        rows = lines[1:]
        random.Random(3).shuffle(rows)
        (self.dir / "again.csv").write_text("\r\n".join([lines[0], *rows]) + "\r\n")
        report = json.loads(self.look("again.csv", "--seed", 9, "--json").stdout)
        self.assertEqual((report["ledger"]["looks"], report["ledger"]["seeds"]), (2, [1, 9]))
        (self.dir / "part.csv").write_text("\n".join(lines[:-1]) + "\n")
        self.assertIn("look 1 at these rows", self.look("part.csv").stdout)
        # A repair that reports on these rows is a look at them too; its receipt has the count.
        self.call("debias", "m.safetensors", "repair.csv", "--test", "test.csv", "--replicates", 50, "--max-accuracy-loss",
                  ".5", "--ledger", "looks", "-o", "out.safetensors", cwd=self.dir, code=3)  # both hold a few equal rows
        receipt = json.loads((self.dir / "out.safetensors.receipt.json").read_text())
        self.assertEqual(receipt["ledger"]["looks"], 3)
        self.call("verify", "out.safetensors.receipt.json", cwd=self.dir)

    def test_a_changed_line_is_named_and_stops_the_look(self):
        for seed in (1, 2, 3):
            self.look("test.csv", "--seed", seed)
        whole = (self.dir / "looks").read_text()
        self.assertEqual(whole.count("\n"), 3)
        (self.dir / "looks").write_text(whole.replace('"seed":2', '"seed":1'))
        self.assertIn("looks, line 2: it was changed", self.look(code=25).stderr)
        (self.dir / "looks").write_text("".join(whole.splitlines(keepends=True)[1:]))
        self.assertIn("looks, line 1", self.look(code=25).stderr)
        self.assertIn("no line of a ledger", self.call("audit", "m.safetensors", "test.csv", "--ledger", "train.csv",
                                                       cwd=self.dir, code=18).stderr)
        self.call("audit", "m.safetensors", "test.csv", "--scan", "--ledger", "looks", cwd=self.dir, code=2)

    def test_writers_at_the_same_time(self):
        runs = [subprocess.Popen([FMD, "audit", "m.safetensors", "test.csv", "--replicates", "50", "--threads", "1",
                                  "--ledger", "looks", "--seed", str(seed)], cwd=self.dir, stdout=subprocess.DEVNULL)
                for seed in range(8)]
        self.assertEqual([run.wait() for run in runs], [0] * 8)
        report = json.loads(self.look("test.csv", "--json").stdout)
        self.assertEqual((report["ledger"]["looks"], report["ledger"]["seeds"]), (9, list(range(8))))

    def test_an_audit_is_measured_again(self):
        self.call("audit", "m.safetensors", "test.csv", "--replicates", 80, "--fail-over",
                  "co:sex=.9", "-o", "audit.json", cwd=self.dir)
        self.call("verify", "audit.json", cwd=self.dir)
        whole = json.loads((self.dir / "audit.json").read_text())

        def verify(change, *more, code=1):
            report = json.loads(json.dumps(whole))
            change(report)
            (self.dir / "audit.json").write_text(json.dumps(report))
            run = self.call("verify", "audit.json", *more, "--json", cwd=self.dir, code=code)
            return {c["what"]: c for c in json.loads(run.stdout)["checks"]}

        changes = {"verdict": lambda r: r.update(verdict="fail"),
                   "accuracy.low": lambda r: r["accuracy"].update(low=.99),
                   "seed": lambda r: r.update(seed=7),
                   "limits": lambda r: r["task"]["limits"].append("co:sex=.5") if "limits" in r["task"] else
                   r["limits"].clear(),
                   "seen_in_training": lambda r: r["data"].update(seen_in_training=5)}
        for name, change in changes.items():
            checks = verify(change)
            said = " ".join(c["detail"] for c in checks.values() if c["result"] == "differs")
            self.assertTrue(said, name)
            if name != "seed":  # another seed, other intervals
                self.assertIn(name, said)
        (self.dir / "test.csv").rename(self.dir / "moved.csv")
        self.assertEqual(verify(lambda r: None, code=3)["data"]["result"], "unchecked")
        self.assertEqual(verify(lambda r: None, "--data", "moved.csv", code=0)["figures"]["result"], "ok")
        self.assertEqual(verify(lambda r: None, "--data", "train.csv")["data"]["result"], "differs")

    def test_training_rows_stand_beside_the_model(self):
        seen = lambda *more: json.loads(self.call("audit", "m.safetensors", "train.csv", "--replicates", 50, *more,
                                                  "--json", cwd=self.dir).stdout)["data"]["seen_in_training"]
        rows = len((self.dir / "train.csv").read_text().splitlines()) - 1
        self.assertEqual(seen(), rows)
        self.assertNotIn(b"row_hashes", (self.dir / "m.safetensors").read_bytes())
        # A model that is given away without them answers the same, and tells nothing.
        (self.dir / "m.safetensors.rows").rename(self.dir / "kept")
        self.assertIsNone(seen())
        self.assertEqual(seen("--training-rows", "kept"), rows)
        # Those of another model are refused.
        self.call("train", "repair.csv", *TASK, "-o", "other.safetensors", cwd=self.dir)
        (self.dir / "other.safetensors.rows").rename(self.dir / "m.safetensors.rows")
        run = self.call("audit", "m.safetensors", "train.csv", cwd=self.dir, code=21)
        self.assertIn("training rows of another model", run.stderr)
        # A repair hands them on; its receipt has counts alone.
        (self.dir / "kept").rename(self.dir / "m.safetensors.rows")
        self.call("debias", "m.safetensors", "repair.csv", "--replicates", 50, "--max-accuracy-loss", ".5", "-o",
                  "out.safetensors", cwd=self.dir)
        self.assertEqual((self.dir / "out.safetensors.rows").read_bytes(), (self.dir / "m.safetensors.rows").read_bytes())
        self.assertNotIn("row_hashes", (self.dir / "out.safetensors.receipt.json").read_text())
        self.call("verify", "out.safetensors.receipt.json", cwd=self.dir)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fmd", required=True)
    args, rest = parser.parse_known_args()
    FMD = str(pathlib.Path(args.fmd).resolve())
    unittest.main(argv=[sys.argv[0], *rest])
