"""fmd compare: every method on the same rows; figures that fmd audit has too; errors that write nothing."""

import argparse
import csv
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

FMD = ""
DATA = pathlib.Path(os.environ.get("FMD_DATA", ""))
RIVALS = ["reweigh", "influence-reweigh", "eqodd", "ceqodd", "reject", "group-thresholds", "ppif", "dfr"]


def make_table(path, rows=3000, seed=11):
    """A table that nothing was ever tuned on: two groups, three regions, three outcomes."""
    random.seed(seed)
    with open(path, "w", newline="") as f:
        out = csv.writer(f)
        out.writerow(["income", "job", "sex", "region", "approved", "grade"])
        for _ in range(rows):
            sex, region = random.choice("FM"), random.choice(["north", "south", "west"])
            income = random.gauss(50 + 3 * (sex == "M"), 10)
            z = (income - 50) / 8 + (1.0 if sex == "M" else 0) - (0.7 if region == "south" else 0)
            yes = random.random() < 1 / (1 + 2.718281828 ** -z)
            out.writerow([f"{income:.2f}", random.choice(["cook", "clerk", "baker"]), sex, region,
                          "yes" if yes else "no", "a" if yes and income > 55 else "b" if yes else "c"])


class Compare(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.dir = pathlib.Path(cls.folder.name)
        make_table(cls.dir / "loans.csv")
        cls.task = ("--label", "approved", "--positive", "yes", "--ignore", "grade", "--attribute", "sex")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def fmd(self, *args, code=0):
        run = subprocess.run([FMD, *map(str, args)], cwd=self.dir, capture_output=True, text=True, timeout=300)
        self.assertEqual(run.returncode, code, f"fmd {args}\n{run.stdout[-3000:]}\n{run.stderr}")
        return run

    def compare(self, *args):
        return json.loads(self.fmd("compare", *args, "--json").stdout)

    @staticmethod
    def by_name(report):
        return {m["name"]: m for m in report["methods"]}

    def test_every_method_competes(self):
        report = self.compare("loans.csv", *self.task, "-o", "all.json")
        self.assertEqual(report, json.loads((self.dir / "all.json").read_text()))
        methods = self.by_name(report)
        for name in ["vanilla", "tempered", "retrained-without", "fine-tuned", "solve", "step", "remove", "replace",
                     "average-column", *RIVALS]:
            self.assertTrue(methods[name]["applies"], name)
            test = methods[name]["test"]
            self.assertGreater(test["accuracy"]["value"], 0.5, name)
            for key in ("accuracy", "co", "demographic_parity", "equal_opportunity", "worst_group_accuracy"):
                self.assertLessEqual(test[key]["low"], test[key]["value"] + 1e-12, (name, key))
                self.assertGreaterEqual(test[key]["high"], test[key]["value"] - 1e-12, (name, key))
            self.assertIn(name, report["run"]["methods"])
        co = {name: m["test"]["co"]["value"] for name, m in methods.items() if m["applies"]}
        self.assertGreater(co["vanilla"], 0.05)
        self.assertLess(co["solve"], 0.1 * co["vanilla"])
        self.assertEqual(co["retrained-without"], 0)
        self.assertEqual(co["average-column"], 0)
        odds = {name: m["test"]["equalized_odds"]["value"] for name, m in methods.items() if m["applies"]}
        self.assertLess(odds["eqodd"], odds["vanilla"])
        self.assertIn("the attribute", methods["eqodd"]["needs"])
        self.assertEqual(methods["solve"]["needs"], "nothing")
        self.assertEqual(sum(p["rows"] for p in report["parts"]), 3000)
        self.fmd("compare", "loans.csv", *self.task, "-o", "all.json", code=13)

    def test_the_rule_holds_on_the_holdout(self):
        report = self.compare("loans.csv", *self.task, "--max-accuracy-loss", ".03", "--measure", "equal_opportunity",
                              "--methods", "reject,group-thresholds,dfr,eqodd")
        self.assertEqual(report["rule"]["measure"], "equal_opportunity")
        for m in report["methods"]:
            lost = m["holdout"]["accuracy_change"] < -0.03
            self.assertEqual(m["within_budget"], not lost, m["name"])

    def test_same_seed_same_figures_for_any_number_of_threads(self):
        runs = [self.compare("loans.csv", *self.task, "--methods", "solve,ppif,dfr,ceqodd", "--threads", n) for n in (1, 3)]
        for run in runs:
            del run["run"]
        self.assertEqual(runs[0], runs[1])
        other = self.compare("loans.csv", *self.task, "--methods", "solve", "--seed", 2)
        self.assertNotEqual(other["methods"][0]["test"], runs[0]["methods"][0]["test"])

    def test_figures_are_those_of_an_audit(self):
        self.fmd("split", "loans.csv", "--parts", "train=.5,rest=.5", "--by", "approved", "--by", "sex")
        self.fmd("train", "train.csv", *self.task, "-o", "loans.safetensors")
        report = self.compare("rest.csv", "--model", "loans.safetensors", "--train", "train.csv", "--split-out", "parts.csv",
                              "--methods", "solve")
        written = csv.DictReader((self.dir / "parts.csv").read_text().splitlines())
        part = {int(r["row"]): r["part"] for r in written}
        lines = (self.dir / "rest.csv").read_text().splitlines()
        kept = [l for i, l in enumerate(lines[1:], 1) if part[i] == "test"]
        (self.dir / "tested.csv").write_text("\n".join([lines[0], *kept]) + "\n")
        audit = json.loads(self.fmd("audit", "loans.safetensors", "tested.csv", "--json").stdout)
        vanilla = self.by_name(report)["vanilla"]["test"]
        self.assertEqual(vanilla["rows"], audit["rows"])
        for key in ("value", "low", "high"):
            self.assertAlmostEqual(vanilla["accuracy"][key], audit["accuracy"][key], 12)
        measures = audit["attributes"][0]["measures"]
        for name in ("demographic_parity", "equal_opportunity", "equalized_odds"):
            for key in ("value", "low", "high"):
                self.assertAlmostEqual(vanilla[name][key], measures[name][key], 12, (name, key))
        for name in ("co", "flip_rate"):
            self.assertAlmostEqual(vanilla[name]["value"], measures[name]["value"], 9)
        # Without the training rows what needs them is left out, and said so.
        methods = self.by_name(self.compare("rest.csv", "--model", "loans.safetensors"))
        for name in ("reweigh", "influence-reweigh", "remove", "replace", "retrained-without"):
            self.assertFalse(methods[name]["applies"])
            self.assertIn("trained on", methods[name]["reason"])

    def test_scores_of_another_program(self):
        self.fmd("train", "loans.csv", *self.task, "-o", "whole.safetensors")
        self.fmd("predict", "whole.safetensors", "loans.csv", "-o", "scores.csv")
        report = self.compare("loans.csv", "--model", "whole.safetensors", "--with-scores", "same=scores.csv",
                              "--methods", "tempered")
        methods = self.by_name(report)
        same, vanilla = methods["same"]["test"], methods["vanilla"]["test"]
        self.assertEqual(same["accuracy"], vanilla["accuracy"])
        self.assertEqual(same["demographic_parity"], vanilla["demographic_parity"])
        self.assertIsNone(same["co"]["value"])
        self.assertEqual(same["co"]["reason"], "no_pair_scores")
        self.assertTrue(report["optimistic"])  # DATA are the rows of the training
        # With the scores of flipped rows it has a flip gap too: the model's own.
        self.fmd("pairs", "loans.csv", "--flip", "sex", "-o", "pairs.csv")
        self.fmd("predict", "whole.safetensors", "pairs.csv", "-o", "flipped.csv")
        made, told = ((self.dir / name).read_text().splitlines() for name in ("pairs.csv", "flipped.csv"))
        (self.dir / "told.csv").write_text("".join(f"{a},{b}\n" for a, b in zip(made, told)))
        both = self.by_name(self.compare("loans.csv", "--model", "whole.safetensors", "--with-scores", "same=scores.csv",
                                         "--with-pair-scores", "same=told.csv", "--methods", "tempered"))
        for name in ("co", "flip_rate"):
            self.assertAlmostEqual(both["same"]["test"][name]["value"], both["vanilla"]["test"][name]["value"], 6)
        lines = (self.dir / "scores.csv").read_text().splitlines()
        (self.dir / "half.csv").write_text("\n".join(lines[:1500]) + "\n")
        before = set(self.dir.iterdir())
        refused = self.fmd("compare", "loans.csv", *self.task, "--with-scores", "half=half.csv", "-o", "no.json", code=18)
        self.assertIn("is missing, and it is a test row", refused.stderr)
        self.fmd("compare", "loans.csv", *self.task, "--with-scores", "half", "-o", "no.json", code=2)
        self.fmd("compare", "loans.csv", *self.task, "--with-scores", "a=scores.csv", "--with-pair-scores", "b=told.csv",
                 "-o", "no.json", code=2)
        (self.dir / "told.csv").write_text("".join(f"{a},{b}\n" for a, b in zip(made[:900], told)))
        refused = self.fmd("compare", "loans.csv", *self.task, "--with-scores", "a=scores.csv", "--with-pair-scores",
                           "a=told.csv", "-o", "no.json", code=18)
        self.assertIn("fmd_row", refused.stderr)
        self.fmd("compare", "loans.csv", *self.task, "--with-scores", "solve=scores.csv", "-o", "no.json", code=2)
        self.assertEqual(set(self.dir.iterdir()), before)

    def test_many_values_and_many_classes(self):
        many = self.compare("loans.csv", "--label", "approved", "--positive", "yes", "--ignore", "grade",
                            "--attribute", "region")
        methods = self.by_name(many)
        for name in ("eqodd", "ceqodd", "reject", "influence-reweigh"):
            self.assertFalse(methods[name]["applies"])
            self.assertIn("two values, there are 3", methods[name]["reason"])
        for name in ("solve", "reweigh", "group-thresholds", "ppif", "dfr"):
            self.assertTrue(methods[name]["applies"], name)
        graded = self.by_name(self.compare("loans.csv", "--label", "grade", "--favorable", "a", "--ignore", "approved",
                                           "--attribute", "sex", "--methods", "solve,reweigh,ppif"))
        self.assertGreater(graded["reweigh"]["test"]["accuracy"]["value"], 0.5)
        screen = self.fmd("compare", "loans.csv", "--label", "approved", "--ignore", "grade", "--attribute", "region").stdout
        self.assertIn("eqodd was left out", screen)
        self.assertLessEqual(max(map(len, screen.splitlines())), 80, screen)

    def test_attribute_that_the_model_does_not_read(self):
        report = self.compare("loans.csv", "--label", "approved", "--positive", "yes", "--ignore", "grade", "--ignore", "sex",
                              "--attribute", "sex")
        self.assertEqual(report["rule"]["measure"], "equalized_odds")
        methods = self.by_name(report)
        self.assertIsNone(methods["vanilla"]["test"]["co"]["value"])
        self.assertEqual(methods["vanilla"]["test"]["co"]["reason"], "not_an_input")
        self.assertFalse(methods["solve"]["applies"])
        self.assertGreater(methods["group-thresholds"]["test"]["co"]["value"], 0)  # it asks for the attribute

    @unittest.skipUnless((DATA / "adult").exists(), "FMD_DATA has no adult")
    def test_adult(self):
        methods = self.by_name(self.compare("data:adult", "--attribute", "sex", "--methods",
                                            "solve,eqodd,ceqodd,reject,group-thresholds,reweigh,dfr"))
        for name in ("vanilla", "solve", "eqodd", "reweigh", "ceqodd"):
            self.assertGreater(methods[name]["test"]["accuracy"]["value"], 0.81, name)
        self.assertLess(methods["solve"]["test"]["co"]["value"], 1e-3)
        self.assertLess(methods["eqodd"]["test"]["equalized_odds"]["value"], 0.06)
        self.assertLess(methods["reweigh"]["test"]["demographic_parity"]["value"],
                        methods["vanilla"]["test"]["demographic_parity"]["value"])

    @unittest.skipUnless((DATA / "hmda").exists(), "FMD_DATA has no hmda")
    def test_a_small_lending_table(self):
        methods = self.by_name(self.compare("data:hmda"))
        self.assertGreater(methods["solve"]["test"]["accuracy"]["value"], 0.8)
        self.assertTrue(all(m["applies"] or m["reason"] for m in methods.values()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fmd", required=True)
    args, rest = parser.parse_known_args()
    FMD = str(pathlib.Path(args.fmd).resolve())
    unittest.main(argv=[sys.argv[0], *rest])
