"""What a bias rests on, from the command."""

import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

FMD = ""


def fmd(*args, cwd, code=0):
    run = subprocess.run([FMD, *map(str, args)], cwd=cwd, capture_output=True, text=True, timeout=300)
    if run.returncode != code:
        raise AssertionError(f"fmd {args}: exit {run.returncode}, not {code}\n{run.stdout}\n{run.stderr}")
    return run


class Explain(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.dir = pathlib.Path(cls.folder.name)
        cls.demo = fmd("demo", "-o", ".", cwd=cls.dir).stdout

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def explain(self, *args, code=0, train="train.csv"):
        return fmd("explain", "income.safetensors", "measure.csv", "--train", train, *args, cwd=self.dir,
                   code=code)

    def json(self, *args):
        return json.loads(self.explain(*args, "--json").stdout)

    def rows(self, name):
        with open(self.dir / name, newline="") as f:
            return list(csv.DictReader(f))

    def test_the_demo_leaves_every_row(self):
        self.assertIn("2 EXPLAIN", self.demo)
        rows = self.rows("influence.csv")
        self.assertEqual(len(rows), 15000)
        self.assertEqual(sorted(int(r["row"]) for r in rows), list(range(1, 15001)))
        changes = [float(r["change"]) for r in rows]
        self.assertEqual(changes, sorted(changes))
        for a, b in zip(rows, rows[1:]):
            if a["change"] == b["change"]:
                self.assertLess(int(a["row"]), int(b["row"]))

    def test_rows_name_the_training_table(self):
        with open(self.dir / "train.csv", newline="") as f:
            train = list(csv.DictReader(f))
        for r in self.rows("influence.csv")[:50]:
            self.assertEqual(train[int(r["row"]) - 1]["sex"], r["sex"])
            self.assertEqual(train[int(r["row"]) - 1]["race"], r["race"])

    def test_screen_fits_and_json_agrees(self):
        screen = self.explain("--measure", "co:sex", "--check", 100).stdout
        self.assertLessEqual(max(map(len, screen.splitlines())), 80, screen)
        report = self.json("--measure", "co:sex", "--check", 100)
        measure, = report["measures"]
        self.assertTrue(report["at_optimum"])
        self.assertEqual(report["train"]["known_from_training"], 15000)
        self.assertLess(report["solve"]["residual"], 1e-8)
        check = measure["check"]
        self.assertLess(check["refitted"], 0)
        self.assertAlmostEqual(check["predicted"] / check["refitted"], 1, delta=.15)
        self.assertAlmostEqual(check["newton"] / check["refitted"], 1, delta=.05)
        self.assertEqual(sum(c["rows"] for c in measure["cells"]), 15000)
        total = sum(float(r["change"]) for r in self.rows("influence.csv"))
        self.assertAlmostEqual(sum(c["sum"] for c in measure["cells"]), total, places=9)
        self.assertIn(f"{check['refitted']:+.4f}", screen)

    def test_large_removals_go_in_rounds(self):
        measure, = self.json("--measure", "co:sex", "--check", 2000)["measures"]
        rounds = measure["in_rounds"]
        self.assertGreater(len(rounds["rounds"]), 1)
        self.assertLess(rounds["after"], rounds["before"])

    def test_several_measures_in_one_pass(self):
        args = [a for m in ("co:sex", "co:race", "demographic_parity_soft:sex", "equal_opportunity_soft", "loss")
                for a in ("--measure", m)]
        report = self.json(*args, "-o", "many.csv")
        names = [(m["measure"], m["attribute"]) for m in report["measures"]]
        self.assertEqual(names, [("co", "sex"), ("co", "race"), ("demographic_parity_soft", "sex"),
                                 ("equal_opportunity_soft", "sex"), ("equal_opportunity_soft", "race"),
                                 ("loss", None)])
        alone = {r["row"]: float(r["change"]) for r in self.rows("influence.csv")}
        for r in self.rows("many.csv")[::100]:
            self.assertAlmostEqual(float(r["change_co:sex"]) / alone[r["row"]], 1, delta=1e-6)

    def test_solvers_agree_and_threads_change_nothing(self):
        out = {}
        for threads in (1, 2, 4):
            for solver in ("cholesky", "cg"):
                name = f"{solver}{threads}.csv"
                self.explain("--measure", "co:sex", "--threads", threads, "--solver", solver, "--tolerance",
                             "1e-10", "-o", name)
                out.setdefault(solver, (self.dir / name).read_bytes())
                self.assertEqual((self.dir / name).read_bytes(), out[solver])
        exact = {r["row"]: float(r["change"]) for r in self.rows("cholesky1.csv")}
        largest = max(map(abs, exact.values()))
        for r in self.rows("cg1.csv"):
            self.assertAlmostEqual(float(r["change"]) / largest, exact[r["row"]] / largest, delta=1e-6)

    def test_a_factor_is_kept_and_used_again(self):
        first = self.json("--measure", "co:sex", "--cache", "factors")
        second = self.json("--measure", "demographic_parity_soft:sex", "--cache", "factors")
        self.assertFalse(first["solve"]["cached"])
        self.assertTrue(second["solve"]["cached"])
        self.assertEqual(len(list((self.dir / "factors").iterdir())), 1)

    def test_other_rows_as_training_rows_are_told(self):
        run = self.explain(train="repair.csv")
        self.assertIn("not known from training", run.stderr)
        self.assertIn("not at an optimum", run.stdout)

    def test_weights_of_training_rows_count(self):
        lines = (self.dir / "train.csv").read_text().splitlines()[:3001]
        weighted = [lines[0] + ",w"] + [f"{line},{1 + i % 3}" for i, line in enumerate(lines[1:])]
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "w.csv").write_text("\n".join(weighted) + "\n")
            fmd("train", "w.csv", "--label", "income", "--positive", ">50000", "--attribute", "sex", "--weight",
                "w", "--unseen", "bucket", "-o", "w.safetensors", cwd=folder)
            report = json.loads(fmd("explain", "w.safetensors", "w.csv", "--train", "w.csv", "--check", 20,
                                    "--json", cwd=folder).stdout)
        self.assertTrue(report["at_optimum"])
        check = report["measures"][0]["check"]
        self.assertAlmostEqual(check["predicted"] / check["refitted"], 1, delta=.3)

    def test_many_classes(self):
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder) / "m.safetensors"
            fmd("train", "train.csv", "--label", "marital_status", "--attribute", "sex", "-o", model, cwd=self.dir)
            args = ["explain", model, "measure.csv", "--train", "train.csv"]
            report = json.loads(fmd(*args, "--check", 50, "--json", cwd=self.dir).stdout)
            check = report["measures"][0]["check"]
            self.assertAlmostEqual(check["predicted"] / check["refitted"], 1, delta=.2)
            run = fmd(*args, "--measure", "demographic_parity_soft", cwd=self.dir, code=2)
            self.assertIn("--favorable", run.stderr)
            fmd(*args, "--measure", "demographic_parity_soft", "--favorable", "Married", cwd=self.dir)

    def test_curvature_of_other_rows(self):
        report = self.json("--measure", "co:sex", "--hessian", "data")
        self.assertEqual(report["solve"]["hessian"], "data")
        self.assertGreater(report["solve"]["damping"], 0)

    def test_errors_name_what_is_wrong(self):
        before = sorted(p.name for p in self.dir.iterdir())
        for args, code, words in (
                (["--measure", "demographic_parity"], 2, "decisions"),
                (["--measure", "nonsense"], 2, "nonsense"),
                (["--measure", "co:age"], 2, "age"),
                (["--measure", "loss:sex"], 2, "loss"),
                (["--solver", "newton"], 2, "newton"),
                (["--check", "-3"], 2, "check"),
                (["-o", "influence.csv"], 13, "influence.csv"),
                (["-o", "nowhere/x.csv"], 12, "nowhere")):
            run = self.explain(*args, code=code)
            self.assertIn(words, run.stderr)
        self.explain(train="absent.csv", code=11)
        fmd("explain", "income.safetensors", "measure.csv", cwd=self.dir, code=2)
        text = (self.dir / "measure.csv").read_text().splitlines()
        where = text[0].split(",").index("income")
        cells = text[5].split(",")
        with open(self.dir / "unlabelled.csv", "w") as f:
            cells[where] = "?"
            f.write("\n".join(text[:5] + [",".join(cells)] + text[6:]) + "\n")
        run = fmd("explain", "income.safetensors", "unlabelled.csv", "--train", "train.csv", cwd=self.dir,
                  code=15)
        self.assertIn("unlabelled.csv", run.stderr)
        (self.dir / "unlabelled.csv").unlink()
        self.assertEqual(sorted(p.name for p in self.dir.iterdir()), before)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fmd", required=True)
    args, rest = parser.parse_known_args()
    FMD = str(pathlib.Path(args.fmd).resolve())
    unittest.main(argv=[sys.argv[0], *rest])
