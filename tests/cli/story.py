"""The command from a CSV to a repaired model and back, as a person would use it."""

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


def fmd(*args, cwd, code=0):
    run = subprocess.run([FMD, *map(str, args)], cwd=cwd, capture_output=True, text=True, timeout=300)
    if run.returncode != code:
        raise AssertionError(f"fmd {args}: exit {run.returncode}, not {code}\n{run.stdout}\n{run.stderr}")
    return run


def make_table(path, rows=3000, seed=1, numeric_sex=False):
    """A made-up lending table: text with commas and quotes, missing cells, a many-valued attribute."""
    random.seed(seed)
    with open(path, "w", newline="") as f:
        out = csv.writer(f)
        out.writerow(["id", "income", "job", "sex", "region", "approved"])
        for i in range(rows):
            sex = random.choice(["F", "M"])
            region = random.choice(["north", "south", 'the "far", west'])
            income = random.gauss(50, 10)
            z = (income - 50) / 8 + (1.0 if sex == "M" else 0) - (0.7 if region == "south" else 0)
            yes = random.random() < 1 / (1 + 2.718281828 ** -z)
            out.writerow([i, "?" if random.random() < 0.02 else f"{income:.2f}",
                          random.choice(["cook", "clerk", ""]),
                          {"F": 0, "M": 1}[sex] if numeric_sex else sex, region, "yes" if yes else "no"])


class Story(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.dir = pathlib.Path(cls.folder.name)
        make_table(cls.dir / "loans.csv")
        fmd("split", "loans.csv", "--by", "approved", "--by", "sex", cwd=cls.dir)
        fmd("train", "train.csv", "--label", "approved", "--positive", "yes", "--id", "id",
            "--attribute", "sex", "--attribute", "region", "-o", "loans.safetensors", cwd=cls.dir)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def json(self, *args, code=0):
        return json.loads(fmd(*args, "--json", cwd=self.dir, code=code).stdout)

    def test_split_keeps_rows_as_they_stand(self):
        lines = (self.dir / "loans.csv").read_bytes().splitlines()
        parts = [(self.dir / f"{p}.csv").read_bytes().splitlines() for p in ("train", "repair", "test")]
        for part in parts:
            self.assertEqual(part[0], lines[0])
        self.assertEqual(sorted(sum((p[1:] for p in parts), [])), sorted(lines[1:]))

    def test_audit_screen_and_json_agree(self):
        screen = fmd("audit", "loans.safetensors", "test.csv", cwd=self.dir).stdout
        report = self.json("audit", "loans.safetensors", "test.csv")
        for word in ("FLIP TEST", "GROUPS", "verdict: none", "reads  sex: yes"):
            self.assertIn(word, screen)
        self.assertLessEqual(max(map(len, screen.splitlines())), 80, screen)
        self.assertEqual(report["verdict"], "none")
        # Equal rows happen by chance; these are not many more than that.
        self.assertLess(report["data"]["seen_in_training"], 40 + 2 * report["data"]["seen_by_chance"])
        self.assertIn(f"accuracy {100 * report['accuracy']['value']:.1f} %", screen)
        seen = self.json("audit", "loans.safetensors", "train.csv")["data"]["seen_in_training"]
        self.assertEqual(seen, len((self.dir / "train.csv").read_text().splitlines()) - 1)

    def test_limits_decide_the_exit_code(self):
        co = self.json("audit", "loans.safetensors", "test.csv")["attributes"][0]["measures"]["co"]
        def over(value, code, *more):
            return fmd("audit", "loans.safetensors", "test.csv", "--fail-over", f"co:sex={value}", *more,
                       cwd=self.dir, code=code)
        over(co["low"] / 2, 1)
        over(co["high"] * 2, 0)
        self.assertIn("NOT ENOUGH", over(co["value"], 3).stdout)
        over(co["value"], 1, "--on-unclear", "fail")
        over(co["value"], 0, "--on-unclear", "pass")

    def test_task_file_holds_limits(self):
        (self.dir / "task.toml").write_text('[limits]\n"co:sex" = 0.001\n')
        run = fmd("audit", "loans.safetensors", "test.csv", "--task", "task.toml", cwd=self.dir, code=1)
        self.assertTrue(run.stdout.rstrip().splitlines()[-1].startswith("verdict: FAIL"))

    def test_debias_repeat_at_and_undo(self):
        args = ("debias", "loans.safetensors", "repair.csv", "--attribute", "sex", "--train", "train.csv",
                "--test", "test.csv", "--target", "co=.005")
        screen = fmd(*args, "-o", "a.safetensors", cwd=self.dir).stdout
        for word in ("trivial controls", "WHAT THIS DOES NOT SAY", "accuracy, paired", "changed answers"):
            self.assertIn(word, screen)
        self.assertLessEqual(max(map(len, screen.splitlines())), 80, screen)
        fmd(*args, "-o", "b.safetensors", "--threads", 1, cwd=self.dir)
        self.assertEqual((self.dir / "a.safetensors").read_bytes(), (self.dir / "b.safetensors").read_bytes())
        # An existing OUT is an error; the model itself is never overwritten.
        fmd(*args, "-o", "a.safetensors", cwd=self.dir, code=13)
        fmd(*args, "-o", "loans.safetensors", "--force", cwd=self.dir, code=13)
        fmd(*args, "-o", "a.safetensors", "--force", cwd=self.dir)
        audit = self.json("audit", "a.safetensors", "test.csv", "--fail-over", "co:sex=.01")
        self.assertEqual(audit["verdict"], "pass")
        # Any point of the path can be had, and is the model whose figures stand there.
        path = json.loads((self.dir / "a.safetensors.path.json").read_text())
        point = path["points"][5]
        fmd(*args[:9], "--at", f"lambda={point['lambda']!r}", "-o", "c.safetensors", cwd=self.dir)
        receipt = json.loads((self.dir / "c.safetensors.receipt.json").read_text())
        self.assertEqual(receipt["chosen"]["lambda"], point["lambda"])
        self.assertEqual(receipt["chosen"]["on_holdout"]["accuracy"], point["accuracy"])
        self.assertEqual(receipt["chosen"]["on_holdout"]["measures"], point["measures"])
        fmd("undo", "a.safetensors.receipt.json", "-o", "back.safetensors", cwd=self.dir)
        self.assertEqual((self.dir / "back.safetensors").read_bytes(),
                         (self.dir / "loans.safetensors").read_bytes())
        left = [p.name for p in self.dir.iterdir() if "fmd-tmp" in p.name or "journal" in p.name]
        self.assertEqual(left, [])

    def repaired(self, data, *more, code=0, out="budget.safetensors"):
        for file in self.dir.glob(f"{out}*"):
            file.unlink()
        done = fmd("debias", "loans.safetensors", data, "--attribute", "sex", "--replicates", 200, *more, "-o", out,
                   cwd=self.dir, code=code)
        receipt = self.dir / f"{out}.receipt.json"
        return done.stdout, json.loads(receipt.read_text()) if receipt.exists() else None

    def test_a_budget_is_proven_or_it_says_so(self):
        lines = (self.dir / "repair.csv").read_text().splitlines()
        (self.dir / "few.csv").write_text("\n".join(lines[:201]) + "\n")
        # One candidate; the budget lies between its measured loss and what 200 rows prove.
        one = ("few.csv", "--method", "average-column")
        figures = self.repaired(*one, "--max-accuracy-loss", "1")[1]["chosen"]["on_holdout"]
        self.assertGreater(figures["most_loss"], max(0, -figures["accuracy_change"]["value"]))
        between = (figures["most_loss"] + max(0, -figures["accuracy_change"]["value"])) / 2
        budget = ("--max-accuracy-loss", repr(between))
        screen, receipt = self.repaired(*one, *budget, code=3)
        self.assertIn("budget not proven", screen)
        self.assertIn("too few to prove it", " ".join(screen.split()))
        chosen = receipt["chosen"]
        self.assertEqual(chosen["budget"], "not proven")
        self.assertEqual(chosen["on_holdout"], figures)
        self.assertEqual(receipt["schema"], 2)
        self.assertEqual(receipt["folds"], 5)
        self.assertEqual(receipt["rows"]["edit"], 200)
        self.assertEqual(receipt["rows"]["holdout"], 200)
        self.assertEqual(receipt["figures_from"], "cross-fitted on the rows used for the choice")
        self.repaired(*one, *budget, "--best-effort")
        screen, receipt = self.repaired(*one, *budget, "--strict", code=1)
        self.assertIn("NO CANDIDATE", screen)
        self.assertIsNone(receipt)
        # The point estimate is enough, or the budget is larger: no doubt is left.
        self.assertEqual(self.repaired(*one, *budget, "--risk", ".5")[1]["chosen"]["budget"], "proven")
        screen, receipt = self.repaired(*one, "--max-accuracy-loss", repr(figures["most_loss"] + .001))
        self.assertIn("budget proven", screen)

    def test_a_rule_that_is_missed_on_test_is_said(self):
        generous = ("--max-accuracy-loss", ".15")
        self.repaired("repair.csv", *generous)
        answers = []
        for model in ("loans.safetensors", "budget.safetensors"):
            fmd("predict", model, "test.csv", "-o", "scores.csv", "--force", cwd=self.dir)
            with open(self.dir / "scores.csv", newline="") as f:
                answers.append([row["predicted"] for row in csv.DictReader(f)])
        lines = (self.dir / "test.csv").read_text().splitlines()
        truth = [line.rsplit(",", 1)[1] for line in lines[1:]]
        lost = [k for k, y in enumerate(truth) if answers[0][k] == y != answers[1][k]]
        kept = [k for k, y in enumerate(truth) if answers[0][k] == y == answers[1][k]]
        self.assertGreater(len(lost), 10)

        def on(rows, code):
            (self.dir / "unlucky.csv").write_text("\n".join(lines[:1] + [lines[1 + k] for k in rows]) + "\n")
            return self.repaired("repair.csv", *generous, "--test", "unlucky.csv", code=code)

        screen, receipt = on(lost + kept[:10], 1)
        self.assertEqual(receipt["rule"], "missed on test")
        self.assertIn("RULE MISSED", screen)
        screen, receipt = on(lost[:5] + kept[:25], 0)
        self.assertEqual(receipt["rule"], "unclear on test")
        self.assertNotIn("RULE MISSED", screen)
        screen, receipt = on(kept, 0)
        self.assertEqual(receipt["rule"], "kept on test")
        self.assertIn("Dropping the column does", " ".join(screen.split()))
        fmd("verify", "budget.safetensors.receipt.json", cwd=self.dir)
        path = self.dir / "budget.safetensors.receipt.json"
        for key, value in (("rule", "missed on test"), ("folds", 4)):
            changed = {**receipt, key: value}
            path.write_text(json.dumps(changed))
            self.assertIn("DIFFERS", fmd("verify", path.name, cwd=self.dir, code=1).stdout)
        self.assertTrue(receipt["dropping_the_column"])

    def test_newton_methods(self):
        for method, key in (("step", ("s",)), ("remove", ("s", "K")), ("replace", ("s", "K"))):
            args = ("debias", "loans.safetensors", "repair.csv", "--attribute", "sex", "--train", "train.csv",
                    "--method", method, "--max-accuracy-loss", ".1", "--replicates", 100)
            out = f"{method}.safetensors"
            screen = fmd(*args, "-o", out, cwd=self.dir).stdout
            self.assertLessEqual(max(map(len, screen.splitlines())), 80, screen)
            fmd(*args, "-o", "one.safetensors", "--threads", 1, "--force", cwd=self.dir)
            self.assertEqual((self.dir / out).read_bytes(), (self.dir / "one.safetensors").read_bytes())
            receipt = json.loads((self.dir / f"{out}.receipt.json").read_text())
            self.assertEqual(receipt["solve"]["method"], method)
            self.assertLess(receipt["measures"]["holdout"]["change"]["sex"]["co"]["measured"], 0)
            point = json.loads((self.dir / f"{out}.path.json").read_text())["points"][3]
            self.assertEqual(point["kind"], method)
            at = ",".join(f"{k}={point[k]!r}" for k in key)
            fmd(*args, "--at", at, "-o", "at.safetensors", "--force", cwd=self.dir)
            chosen = json.loads((self.dir / "at.safetensors.receipt.json").read_text())["chosen"]
            self.assertEqual(chosen["on_holdout"], point)
            fmd("undo", "at.safetensors.receipt.json", "-o", "at_back", "--force", cwd=self.dir)
            self.assertEqual((self.dir / "at_back").read_bytes(), (self.dir / "loans.safetensors").read_bytes())
        # Without training rows: only step.
        args = ("debias", "loans.safetensors", "repair.csv", "--attribute", "sex", "-o", "none.safetensors")
        run = fmd(*args, "--method", "remove", cwd=self.dir, code=2)
        self.assertIn("--train FILE", run.stderr)
        fmd(*args, "--method", "step", "--scale", "much", cwd=self.dir, code=2)
        fmd(*args, "--method", "step", "--scale", "as-printed", cwd=self.dir, code=1)
        self.assertFalse((self.dir / "none.safetensors").exists())

    def test_no_candidate_writes_nothing(self):
        before = sorted(p.name for p in self.dir.iterdir())
        fmd("debias", "loans.safetensors", "repair.csv", "--attribute", "sex", "--method", "path",
            "--target", "co=0", "-o", "none.safetensors", cwd=self.dir, code=1)
        self.assertEqual(sorted(p.name for p in self.dir.iterdir()), before)

    def test_scores_of_another_program(self):
        fmd("pairs", "test.csv", "--flip", "sex", "-o", "flipped.csv", "--force", cwd=self.dir)
        for name in ("test", "flipped"):
            fmd("predict", "loans.safetensors", f"{name}.csv", "-o", f"{name}_p.csv", "--force", cwd=self.dir)
            with open(self.dir / f"{name}.csv", newline="") as f, \
                    open(self.dir / f"{name}_p.csv", newline="") as g, \
                    open(self.dir / f"{name}_scored.csv", "w", newline="") as h:
                reader = csv.DictReader(f)
                out = csv.DictWriter(h, [*reader.fieldnames, "p"])
                out.writeheader()
                for row, p in zip(reader, csv.DictReader(g)):
                    out.writerow({**row, "p": p["p_yes"]})
        direct = self.json("audit", "loans.safetensors", "test.csv")
        outside = self.json("audit", "--scores", "test_scored.csv", "--pair-scores", "flipped_scored.csv",
                            "--label", "approved", "--positive", "yes", "--attribute", "sex")
        self.assertAlmostEqual(direct["accuracy"]["value"], outside["accuracy"]["value"], 9)
        for measure in ("co", "flip_rate", "demographic_parity", "equal_opportunity"):
            self.assertAlmostEqual(direct["attributes"][0]["measures"][measure]["value"],
                                   outside["attributes"][0]["measures"][measure]["value"], 9)

    def test_groups_from_a_second_file(self):
        with open(self.dir / "loans.csv", newline="") as f, \
                open(self.dir / "groups.csv", "w", newline="") as g:
            out = csv.writer(g)
            out.writerow(["id", "caste"])
            for row in csv.DictReader(f):
                out.writerow([row["id"], "x" if int(row["id"]) % 2 else "y"])
        report = self.json("audit", "loans.safetensors", "test.csv", "--groups", "groups.csv", "--key", "id",
                           "--attribute", "caste", "--fail-over", "co:caste=.5", code=3)
        caste = report["attributes"][0]
        self.assertFalse(caste["reads"])
        self.assertIsNone(caste["measures"]["co"]["value"])
        self.assertEqual(caste["measures"]["co"]["reason"], "not_an_input")
        # Not even when unclear counts as a pass.
        fmd("audit", "loans.safetensors", "test.csv", "--groups", "groups.csv", "--key", "id", "--attribute",
            "caste", "--fail-over", "co:caste=.5", "--on-unclear", "pass", cwd=self.dir, code=3)
        fmd("debias", "loans.safetensors", "repair.csv", "--groups", "groups.csv", "--key", "id",
            "--attribute", "caste", "-o", "caste.safetensors", cwd=self.dir, code=23)

    def test_a_numeric_attribute_names_values(self):
        make_table(self.dir / "coded.csv", rows=400, numeric_sex=True)
        args = ("train", "coded.csv", "--label", "approved", "--positive", "yes", "--id", "id")
        run = fmd(*args, "--attribute", "income", "-o", "coded.safetensors", cwd=self.dir, code=19)
        self.assertIn("values", run.stderr)
        (self.dir / "coded.toml").write_text(
            '[[attributes]]\nname = "sex"\nvalues = ["0", "1"]\nreference = "1"\n')
        fmd(*args, "--task", "coded.toml", "-o", "coded.safetensors", cwd=self.dir)
        report = self.json("audit", "coded.safetensors", "coded.csv")
        self.assertGreater(report["attributes"][0]["measures"]["co"]["value"], 0.05)

    def test_given_pairs(self):
        with open(self.dir / "loans.csv", newline="") as f, \
                open(self.dir / "twins.csv", "w", newline="") as g:
            reader = csv.DictReader(f)
            out = csv.DictWriter(g, reader.fieldnames)
            out.writeheader()
            for row in reader:
                out.writerow({**row, "sex": "M" if row["sex"] == "F" else "F"})
        given = ("--attribute", "sex", "--pairs", "given:twins.csv", "--id", "id")
        flip = self.json("audit", "loans.safetensors", "test.csv", "--attribute", "sex")
        audit = self.json("audit", "loans.safetensors", "test.csv", *given)
        self.assertAlmostEqual(flip["attributes"][0]["measures"]["co"]["value"],
                               audit["attributes"][0]["measures"]["co"]["value"], 12)
        fmd("debias", "loans.safetensors", "repair.csv", *given, "--target", "co=.005", "--test", "test.csv",
            "-o", "given.safetensors", cwd=self.dir)
        audit = self.json("audit", "given.safetensors", "test.csv", *given)
        self.assertLess(audit["attributes"][0]["measures"]["co"]["value"], 0.005)

    def test_unseen_category(self):
        text = (self.dir / "test.csv").read_text().splitlines()
        text[3] = text[3].replace(text[3].split(",")[2], "pilot", 1)
        (self.dir / "odd.csv").write_text("\n".join([text[0], "9999,50,pilot,F,north,yes"] + text[1:]) + "\n")
        fmd("train", "train.csv", "--label", "approved", "--positive", "yes", "--id", "id", "--unseen",
            "error", "--attribute", "sex", "-o", "strict.safetensors", "--force", cwd=self.dir)
        run = fmd("predict", "strict.safetensors", "odd.csv", cwd=self.dir, code=17)
        self.assertIn('line 2, column "job"', run.stderr)
        self.assertIn("pilot", run.stderr)
        run = fmd("predict", "loans.safetensors", "odd.csv", "-o", "odd_p.csv", "--force", cwd=self.dir)
        self.assertIn("1 cell of job has a category that training has not seen", run.stderr)

    def test_help_has_examples(self):
        for command in ("demo", "split", "train", "predict", "audit", "merge", "pairs", "debias", "undo", "verify", "data",
                        "doctor"):
            self.assertIn("Example", fmd(command, "--help", cwd=self.dir).stdout, command)
        fmd("audit", "--no-such-flag", cwd=self.dir, code=2)
        fmd(cwd=self.dir, code=2)

    def test_demo(self):
        run = fmd("demo", cwd=self.dir)
        for word in ("1 AUDIT", "REPAIR", "WHAT THIS DOES NOT SAY", "no network"):
            self.assertIn(word, run.stdout)
        self.assertLessEqual(max(map(len, run.stdout.splitlines())), 80, run.stdout)
        first = (self.dir / "fmd-demo/repaired.safetensors").read_bytes()
        fmd("demo", "--threads", 1, cwd=self.dir)
        self.assertEqual((self.dir / "fmd-demo/repaired.safetensors").read_bytes(), first)
        fmd("undo", "fmd-demo/repaired.safetensors.receipt.json", "-o", "demo_back", cwd=self.dir)
        self.assertEqual((self.dir / "demo_back").read_bytes(),
                         (self.dir / "fmd-demo/income.safetensors").read_bytes())

    def test_a_rate_is_for_training(self):
        (self.dir / "rate.toml").write_text('threshold = "rate=.2"\n')
        fmd("train", "train.csv", "--label", "approved", "--positive", "yes", "--id", "id", "--attribute", "sex",
            "--task", "rate.toml", "-o", "rate.safetensors", cwd=self.dir)
        report = self.json("audit", "rate.safetensors", "train.csv", "--task", "rate.toml")
        rates = [(g["rows"], g["selection_rate"]) for g in report["attributes"][0]["groups"]]
        self.assertAlmostEqual(sum(n * r for n, r in rates) / sum(n for n, _ in rates), .2, delta=.01)
        run = fmd("audit", "loans.safetensors", "test.csv", "--threshold", "rate=.2", cwd=self.dir, code=2)
        self.assertIn("training", run.stderr)

    def test_doctor_and_data(self):
        doctor = self.json("doctor")
        self.assertGreater(doctor["gemm_f64_gflops"], 0.1)
        self.assertIn("adult", fmd("data", cwd=self.dir).stdout)
        os.environ.pop("FMD_DATA", None)
        run = fmd("train", "data:adult", "-o", "x.safetensors", cwd=self.dir, code=24)
        self.assertIn("adult.data", run.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fmd", required=True)
    args, rest = parser.parse_known_args()
    FMD = str(pathlib.Path(args.fmd).resolve())
    unittest.main(argv=[sys.argv[0], *rest])
