"""What must not pass, and what must be said: limits on many values, rows that were used before, mirrors, proxies,
audits that somebody edited, and figures that reveal a person."""

import argparse
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

FMD = ""


def people(seed, rows, races=("a", "b", "c"), copies=1):
    """sex_f mirrors sex_m, title does but for a few rows and has three values, club tells race in part."""
    rng = random.Random(seed)
    lines = ["sex_m,sex_f,title,race,club,age,pay,answer"]
    for _ in range(rows):
        male = rng.random() < 0.5
        race = rng.choices(races, [6, 3] + [1] * (len(races) - 2))[0]
        seen = male if rng.random() > 0.004 else not male
        title = "Mr" if seen else rng.choice(["Mrs", "Ms"])
        club = race if rng.random() < 0.6 else rng.choice(races)
        pay = round(rng.gauss(30 + 8 * male, 10), 1)
        z = pay + 10 * male + 0.2 * rng.randint(18, 80) - 5 * (race != "a") + rng.gauss(0, 8) - 45
        lines += [f"{int(male)},{int(not male)},{title},{race},{club},{rng.randint(18, 80)},{pay},{'yes' if z > 0 else 'no'}"] * copies
    return "\n".join(lines) + "\n"


class Honest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.dir = pathlib.Path(cls.folder.name)
        for seed, name in enumerate(("train", "data", "test")):
            (cls.dir / f"{name}.csv").write_text(people(seed, 2500))
        cls.run_fmd("train", "train.csv", "--label", "answer", "--positive", "yes", "--attribute", "sex_m",
                    "--attribute", "race", "-o", "model.safetensors")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def run_fmd(cls, *args, code=0):
        run = subprocess.run([FMD, *map(str, args)], cwd=cls.dir, capture_output=True, text=True, timeout=120)
        assert run.returncode == code, f"fmd {' '.join(map(str, args))}: {run.returncode}\n{run.stdout}\n{run.stderr}"
        return run.stdout

    def audit(self, *args, code=0, data="test.csv"):
        return self.run_fmd("audit", "model.safetensors", data, *args, code=code)

    def limits(self, *args, **how):
        report = json.loads(self.audit("--json", *args, **how))
        return {(one["measure"], one["attribute"]): one for one in report["limits"]}

    def test_the_mean_of_many_values_does_not_pass_for_the_worst_pair(self):
        # One value alone has 100 rows: the worst pair is not known.
        small = [line for k, line in enumerate(people(5, 400).splitlines())
                 if k == 0 or line.split(",")[3] == "a" or k % 6 == 0]
        (self.dir / "small.csv").write_text("\n".join(small) + "\n")
        limit = self.limits("--attribute", "race", "--limit", "co:race=.5", data="small.csv", code=3)
        self.assertEqual(limit["co_worst", "race"]["verdict"], "not_enough_evidence")
        self.assertEqual(limit["co_worst", "race"]["lines"], [])
        # The mean is a lower bound of the worst pair, so it can fail.
        limit = self.limits("--attribute", "race", "--limit", "co:race=.0001", data="small.csv", code=1)
        self.assertEqual(limit["co_worst", "race"]["verdict"], "fail")
        self.limits("--attribute", "race", "--limit", "co_mean:race=.5", data="small.csv")

    def test_a_target_on_many_values_judges_the_worst_pair(self):
        # Race tells the answer, so that every lower flip gap costs accuracy, and the rule takes the highest that passes.
        for seed, name in enumerate(("told", "asked")):
            rng = random.Random(seed)
            lines = ["race,x,answer"]
            for _ in range(3000):
                race, x = rng.choice("abc"), round(rng.gauss(0, 1), 3)
                lines.append(f"{race},{x},{'yes' if x + 2 * 'abc'.index(race) - 2 + rng.gauss(0, 1) > 0 else 'no'}")
            (self.dir / f"{name}.csv").write_text("\n".join(lines) + "\n")
        self.run_fmd("train", "told.csv", "--label", "answer", "--positive", "yes", "--attribute", "race", "-o", "told.safetensors")
        worst = {}
        for measure in ("co", "co_mean"):
            self.run_fmd("debias", "told.safetensors", "asked.csv", "--target", f"{measure}=.2", "--points", "100",
                         "-o", f"{measure}.safetensors")
            receipt = json.loads((self.dir / f"{measure}.safetensors.receipt.json").read_text())
            worst[measure] = receipt["measures"]["holdout"]["after"]["attributes"][0]["measures"]["co_worst"]
        self.assertLessEqual(worst["co"]["high"], .205)  # the audit resamples, the choice does not
        self.assertGreater(worst["co_mean"]["low"], .2)

    def test_a_mirror_that_is_left_passes_nowhere(self):
        name = "left_mirror: title"
        args = ("--attribute", "sex_m", "--limit", "co:sex_m=.9")
        limit = self.limits(*args, code=3)["co", "sex_m"]
        self.assertEqual((limit["verdict"], limit["reason"]), ("not_enough_evidence", name))
        self.audit(*args, "--on-unclear", "pass", code=3)
        row = next(line for line in self.audit(*args, "--format", "markdown", code=3).splitlines() if "left" in line and "|" in line)
        self.assertIn("not enough evidence", row)
        self.assertNotIn("| pass |", self.audit(*args, "--format", "markdown", code=3))
        self.assertIn("<skipped", self.audit(*args, "--format", "junit", code=3))
        screen = self.run_fmd("debias", "model.safetensors", "data.csv", "--attribute", "sex_m", "--test", "test.csv",
                              "-o", "left.safetensors", "--force", code=3)
        self.assertIn("rule: unclear on test", screen)
        self.assertIn("title tells what was repaired", " ".join(screen.split()))
        self.assertEqual(json.loads((self.dir / "left.safetensors.receipt.json").read_text())["mirrors_left"], ["title"])

    def test_rows_that_are_not_flipped_are_counted(self):
        lines = (self.dir / "test.csv").read_text().splitlines()
        for k in range(1, 31):
            cells = lines[k].split(",")
            cells[3] = "new" if k <= 20 else ""
            lines[k] = ",".join(cells)
        (self.dir / "unseen.csv").write_text("\n".join(lines) + "\n")
        args = ("--attribute", "race")
        report = json.loads(self.audit(*args, "--json", data="unseen.csv"))
        self.assertEqual(report["attributes"][0]["flips"]["rows_left_out"], 30)
        self.assertIn("30 rows are not flipped", self.audit(*args, data="unseen.csv"))
        self.assertIn("30 rows are not flipped", self.audit(*args, "--format", "markdown", data="unseen.csv"))
        # Few of them are masked, and nothing else tells how few.
        for k in range(10, 31):
            lines[k] = people(9, 30).splitlines()[k]
        (self.dir / "few.csv").write_text("\n".join(lines) + "\n")
        text = self.audit(*args, "--json", data="few.csv")
        flips = json.loads(text)["attributes"][0]["flips"]
        self.assertEqual(flips["rows_left_out"], "<10")
        self.assertEqual(flips["rows"] % 10, 0)
        self.assertNotIn("2491", text)

    def test_one_large_group_is_shown_and_no_line_is_longer_than_80(self):
        lines = (self.dir / "test.csv").read_text().splitlines()
        race = lines[0].split(",").index("race")
        few = {"a": 600, "b": 60, "c": 30}
        kept = []
        for line in lines[1:]:
            value = line.split(",")[race]
            few[value] -= 1
            if few[value] >= 0:
                kept.append(line)
        (self.dir / "lone.csv").write_text("\n".join(lines[:1] + kept) + "\n")
        screen = self.audit("--attribute", "race", "--limit", "equal_opportunity=.2", data="lone.csv", code=3)
        self.assertLessEqual(max(map(len, screen.splitlines())), 80, screen)
        self.assertRegex(screen, r"\n  a +600  \d")  # its rates
        self.assertIn("not compared: fewer than two groups", screen)
        self.assertIn("equal_opportunity:race <= .200\n", screen)
        self.assertNotIn("mean, the 1 values", screen)
        json_limits = json.loads(self.audit("--attribute", "race", "--limit", "equal_opportunity=.2", "--json",
                                            data="lone.csv", code=3))["limits"]
        self.assertEqual(json_limits[0]["verdict"], "not_enough_evidence")

    def test_a_stronger_repair_that_is_not_proven_is_named(self):
        for seed, (name, rows) in enumerate((("many", 3000), ("few", 300))):
            rng = random.Random(seed)
            lines = ["race,x,answer"]
            for _ in range(rows):
                race, x = rng.choice("ab"), round(rng.gauss(0, 1), 3)
                lines.append(f"{race},{x},{'yes' if x + .5 * (race == 'b') + rng.gauss(0, .7) > 0 else 'no'}")
            (self.dir / f"{name}.csv").write_text("\n".join(lines) + "\n")
        self.run_fmd("train", "many.csv", "--label", "answer", "--positive", "yes", "--attribute", "race", "-o", "few.safetensors")
        found = []
        for budget in (".01", ".05"):
            screen = self.run_fmd("debias", "few.safetensors", "few.csv", "--max-accuracy-loss", budget, "-o", "less.safetensors",
                                  "--force")
            self.assertIn("budget proven", screen)
            self.assertNotIn("-0.00", screen)
            receipt = json.loads((self.dir / "less.safetensors.receipt.json").read_text())
            points = json.loads((self.dir / "less.safetensors.path.json").read_text())["points"]
            gap = lambda point: point["measures"]["race"]["co"]["value"]
            chosen = [p for p in points if p["lambda"] == receipt["chosen"]["lambda"]][0]
            keeps = [p for p in points if p["lowers_bias"] and p["accuracy_change"]["value"] >= -float(budget)]
            found.append(min(map(gap, keeps)) < gap(chosen) / 2)
            self.assertEqual("A stronger repair" in screen, found[-1], screen)
        self.assertEqual(found, [True, False])

    def test_figures_of_rows_that_are_not_others_are_not_called_so(self):
        screen = self.run_fmd("debias", "model.safetensors", "data.csv", "--attribute", "race", "--test", "data.csv",
                              "--max-accuracy-loss", ".2", "-o", "same.safetensors", "--force", code=3)
        self.assertIn("not all of them new", screen)
        self.assertNotIn("others\n", screen)

    def test_rows_of_the_training_prove_nothing(self):
        screen = self.run_fmd("debias", "model.safetensors", "train.csv", "--attribute", "race", "-o", "seen.safetensors",
                              "--force", code=3)
        self.assertIn("budget not proven", screen)
        self.assertNotIn("rule:", screen)  # there is no test
        screen = self.run_fmd("debias", "model.safetensors", "data.csv", "--attribute", "race", "--test", "train.csv",
                              "--max-accuracy-loss", ".2", "-o", "seen.safetensors", "--force", code=3)
        self.assertIn("rule: unclear on test", screen)
        self.assertEqual(json.loads((self.dir / "seen.safetensors.receipt.json").read_text())["rule"], "unclear on test")
        self.run_fmd("debias", "model.safetensors", "data.csv", "--attribute", "race", "--test", "test.csv",
                     "--max-accuracy-loss", ".2", "-o", "seen.safetensors", "--force")

    def test_a_missing_file_of_training_rows_is_said(self):
        self.assertIn("seen in training", self.audit().replace("equal a training row", "seen in training"))
        bare = self.dir / "bare"
        bare.mkdir()
        (bare / "model.safetensors").write_bytes((self.dir / "model.safetensors").read_bytes())
        screen = self.run_fmd("audit", "bare/model.safetensors", "train.csv")
        self.assertIn("not compared with the rows of the training", screen)

    def verify(self, audit, data, code):
        return self.run_fmd("verify", audit, "--model", "model.safetensors", "--data", data, code=code)

    def test_audits_with_warnings_verify_and_edited_ones_do_not(self):
        cases = {"threshold": ("test.csv", ("--threshold", ".3"), 3),
                 "allowed": ("train.csv", ("--allow", "seen_in_training"), 0),
                 "rounded": ("test.csv", ("--round", "20"), 0)}
        for name, (data, args, code) in cases.items():
            with self.subTest(name):
                self.audit("--attribute", "race", "--limit", "co=.9", *args, "-o", f"{name}.json", "--force", data=data,
                           code=code)
                self.verify(f"{name}.json", data, 0)
                audit = json.loads((self.dir / f"{name}.json").read_text())
                if name == "rounded":
                    audit["accuracy"]["value"] += .01
                audit["warnings"], audit["verdict"] = [], "pass"
                (self.dir / "edited.json").write_text(json.dumps(audit))
                self.verify("edited.json", data, 1)

    def test_proxies_are_named(self):
        scan = json.loads(self.audit("--scan", "--json"))
        sex, race = scan["proxies"]
        self.assertGreater(sex["auc"]["value"], .99)
        self.assertEqual(sex["columns"][0]["column"], "sex_f")
        # club tells race for 6 of 10: p(club = race) is known, and so is the AUC of being told by it.
        self.assertEqual(race["columns"][0]["column"], "club")
        self.assertNotIn("age", [c["column"] for c in race["columns"]])
        self.assertTrue(.7 < race["auc"]["low"] < race["auc"]["value"] < race["auc"]["high"] < .95)
        self.assertIn("PROXIES", self.audit("--scan"))
        screen = self.run_fmd("debias", "model.safetensors", "data.csv", "--attribute", "sex_m", "--best-effort", "-o",
                              "proxy.safetensors", "--force")
        self.assertIn("Told by the other columns: sex_m", screen)
        receipt = json.loads((self.dir / "proxy.safetensors.receipt.json").read_text())
        names = [c["column"] for c in receipt["proxies"][0]["columns"]]
        self.assertEqual(names[0], "title")      # left as it is
        self.assertNotIn("sex_f", names)         # flipped with it
        self.run_fmd("verify", "proxy.safetensors.receipt.json")
        self.assertIn("sex_m: sex_f says the same; it is flipped with it", receipt["notes"])
        receipt["notes"] = ["other words"]  # not claimed
        (self.dir / "proxy.safetensors.receipt.json").write_text(json.dumps(receipt))
        self.run_fmd("verify", "proxy.safetensors.receipt.json")
        receipt["proxies"][0]["columns"] = []
        (self.dir / "proxy.safetensors.receipt.json").write_text(json.dumps(receipt))
        self.run_fmd("verify", "proxy.safetensors.receipt.json", code=1)

    def test_rounded_reports_hide_one_row(self):
        lines = (self.dir / "test.csv").read_text().splitlines()
        (self.dir / "less.csv").write_text("\n".join(lines[:-1]) + "\n")
        figures = []
        for data in ("test.csv", "less.csv"):
            report = json.loads(self.audit("--attribute", "race", "--round", "50", "--json", data=data))
            groups = report["attributes"][0]["groups"]
            self.assertTrue(all(group["rows"] % 50 == 0 for group in groups))
            self.assertEqual(report["data"]["rows"] % 50, 0)
            text = json.dumps(report)
            self.assertNotIn("2499", text)
            rates = [value for group in groups for value in (group["selection_rate"], group["tpr"])]
            # A changed answer is a whole row.
            rates.append(report["attributes"][0]["measures"]["flip_rate"]["value"])
            self.assertTrue(all(abs(value - round(value, 2)) < 1e-12 for value in rates))
            figures.append((groups[0]["rows"], report["accuracy"]["value"], rates))
        self.assertEqual(*figures)

    def test_help_begins_with_few_options_and_intervals_have_one_kind(self):
        for verb in ("audit", "debias", "explain", "compare", "train"):
            first = self.run_fmd(verb, "--help").split("\nOptions:")[1].split("\n\n")[0]
            count = len(re.findall(r"^  -", first, re.M))
            self.assertLessEqual(count, 20, f"{verb}: {count} options before the topics")
        self.audit("--intervals", "bca", code=2)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fmd", required=True)
    args, rest = parser.parse_known_args()
    FMD = str(pathlib.Path(args.fmd).resolve())
    unittest.main(argv=[sys.argv[0], *rest])
