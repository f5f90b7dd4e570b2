"""The audit as a gate: ranges of numbers, formats, limits, what changed since an earlier audit, the scan."""

import argparse
import csv
import io
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

FMD = ""


def people(seed, rows=3000):
    """Answers lean on sex, age and job; some rows do not tell their region."""
    rng = random.Random(seed)
    lines = ["age,sex,job,region,income"]
    for _ in range(rows):
        age, sex, job = rng.randint(18, 80), rng.choice("FM"), rng.choice(["cook", "a|b", 'x "<&>"'])
        z = (age - 45) / 12 + (1.2 if sex == "M" else -1) + (0.5 if job == "cook" else 0) + rng.gauss(0, 1.5)
        region = rng.choice(["north", "south", ""])
        cell = '"x ""<&>"""' if job.startswith("x") else job
        lines.append(f"{age},{sex},{cell},{region},{'high' if z > 0 else 'low'}")
    return "\n".join(lines) + "\n"


class Gate(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.dir = pathlib.Path(cls.folder.name)
        (cls.dir / "train.csv").write_text(people(1))
        (cls.dir / "test.csv").write_text(people(2))
        (cls.dir / "other.csv").write_text(people(3))
        cls.run_fmd("train", "train.csv", "--label", "income", "--positive", "high", "--attribute", "sex",
                    "--ignore", "region", "-o", "new.safetensors")
        cls.run_fmd("debias", "new.safetensors", "other.csv", "--attribute", "sex", "--best-effort",
                    "-o", "fixed.safetensors")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def run_fmd(cls, *args, code=0):
        run = subprocess.run([FMD, *args], cwd=cls.dir, capture_output=True, text=True, timeout=120)
        assert run.returncode == code, f"fmd {' '.join(args)}: {run.returncode}\n{run.stdout}\n{run.stderr}"
        return run.stdout

    def audit(self, *args, code=0, model="new.safetensors"):
        return self.run_fmd("audit", model, "test.csv", *args, code=code)

    def test_ranges_of_a_number(self):
        report = json.loads(self.audit("--attribute", "age:4", "--json"))
        age = report["attributes"][0]
        ages = sorted(int(line.split(",")[0]) for line in (self.dir / "test.csv").read_text().splitlines()[1:])
        self.assertEqual(len(age["cuts"]), 3)
        for group, low, high in zip(age["groups"], [0, *age["cuts"]], [*age["cuts"], 200]):
            self.assertEqual(group["rows"], sum(low <= a < high for a in ages))
            self.assertLess(abs(group["rows"] - 750), 60)
        self.assertIsNone(age["measures"]["co"]["value"])
        self.assertEqual(age["measures"]["co"]["reason"], "ranges_of_a_number")
        slope = age["slope"]["per_deviation"]
        self.assertTrue(0 < slope["low"] < slope["value"] < slope["high"])
        (self.dir / "task.toml").write_text('[[attributes]]\nname = "age"\ncuts = [30, 60]\nreference = "30 to 60"\n')
        named = json.loads(self.audit("--task", "task.toml", "--json"))["attributes"][0]
        self.assertEqual([g["value"] for g in named["groups"]], ["under 30", "30 to 60", "60 and over"])
        self.assertEqual(named["reference"], "30 to 60")
        screen = self.audit("--attribute", "age:4")
        self.assertIn("a range begins at its cut: ", screen)
        self.assertLess(max(map(len, screen.splitlines())), 81)
        # A model keeps them, and the task in its file round trips.
        self.run_fmd("train", "train.csv", "--label", "income", "--positive", "high", "--attribute", "age:3",
                     "--ignore", "region", "-o", "age.safetensors")
        kept = json.loads(self.audit("--json", model="age.safetensors"))
        self.assertEqual(len(kept["attributes"][0]["groups"]), 3)
        self.assertEqual(kept["task"]["attributes"][0]["quantiles"], 3)

    def test_ranges_stand_beside_a_repair(self):
        (self.dir / "both.toml").write_text(
            '[[attributes]]\nname = "sex"\n[[attributes]]\nname = "age"\nquantiles = 4\n')
        self.run_fmd("debias", "new.safetensors", "other.csv", "--task", "both.toml", "--best-effort", "--test",
                     "test.csv", "-o", "both.safetensors")
        receipt = json.loads((self.dir / "both.safetensors.receipt.json").read_text())
        self.assertIn('"quantiles"', json.dumps(receipt))
        self.run_fmd("verify", "both.safetensors.receipt.json")
        explained = self.run_fmd("explain", "new.safetensors", "test.csv", "--train", "train.csv", "--task", "both.toml",
                                 "--measure", "demographic_parity_soft:age", "-o", "influence.csv", "--json")
        self.assertIn("under ", explained)
        self.run_fmd("explain", "new.safetensors", "test.csv", "--train", "train.csv", "--task", "both.toml",
                     "--measure", "co:age", "-o", "influence2.csv", code=2)

    def test_rows_without_a_value_are_a_group(self):
        region = json.loads(self.audit("--attribute", "region", "--json"))["attributes"][0]
        values = [line.split(",")[-2] for line in (self.dir / "test.csv").read_text().splitlines()[1:]]
        groups = {g["value"]: g["rows"] for g in region["groups"]}
        self.assertEqual(groups, {"north": values.count("north"), "south": values.count("south"),
                                  "(missing)": values.count("")})
        self.assertNotEqual(region["reference"], "(missing)")
        compared = {c["second"] for c in region["measures"]["demographic_parity"]["comparisons"]}
        self.assertIn("(missing)", compared)

    def test_junit_is_xml_with_a_case_per_limit(self):
        limits = ("--fail-over", "co:sex=.001", "--fail-over", "demographic_parity:sex=.9",
                  "--fail-over", "co:region=.1", "--fail-over", "demographic_parity:job=0")
        text = self.audit("--attribute", "sex", "--attribute", "region", "--attribute", "job",
                          "--format", "junit", *limits, code=1)
        root = ElementTree.fromstring(text)
        cases = root.findall("./testsuite/testcase")
        self.assertEqual(len(cases), 4)
        self.assertEqual([root.get("tests"), root.get("failures")],
                         ["4", str(len(root.findall(".//failure")))])
        by_name = {c.get("name"): c for c in cases}
        self.assertIsNotNone(by_name["co:sex <= .001"].find("failure"))
        passed = by_name["demographic_parity:sex <= .900"]
        self.assertEqual([child.tag for child in passed], ["system-out"])
        self.assertIn("not read by the model", by_name["co:region <= .100"].find("skipped").get("message"))
        # Limits come from task.toml as well, floors among them.
        (self.dir / "limits.toml").write_text('[limits]\n"selection_ratio:sex" = 0.8\n')
        root = ElementTree.fromstring(self.audit("--task", "limits.toml", "--format", "junit", code=1))
        self.assertEqual(root.find(".//testcase").get("name"), "selection_ratio:sex >= .800")
        self.assertEqual(len(ElementTree.fromstring(self.audit("--format", "junit")).findall(".//testcase")), 0)

    def test_limits_name_what_they_judge(self):
        limits = ("--attribute", "job", "--limit", "co:job=.0001", "--limit", "co_mean:job=.9",
                  "--limit", "demographic_parity_difference:job=.9", "--limit", "demographic_parity_ratio:job=.01")
        report = json.loads(self.audit(*limits, "--json", code=1))
        self.assertEqual([one["measure"] for one in report["limits"]],
                         ["co_worst", "co_mean", "demographic_parity", "selection_ratio"])
        self.assertEqual([one.get("asked") for one in report["limits"]],
                         ["co", None, "demographic_parity_difference", "demographic_parity_ratio"])
        self.assertEqual([one["verdict"] for one in report["limits"]], ["fail", "pass", "pass", "pass"])
        job = report["attributes"][0]
        self.assertFalse(job["reference_named"])
        self.assertEqual(report["limits"][2]["lines"][0]["high"], job["measures"]["demographic_parity"]["widest"]["high"])
        self.assertEqual(job["measures"]["demographic_parity"]["widest"]["pairs"], 3)
        root = ElementTree.fromstring(self.audit(*limits, "--format", "junit", code=1))
        self.assertIn("co_worst:job <= .000100", [c.get("name") for c in root.iter("testcase")])
        self.assertIn("co_worst:job", self.audit(*limits, code=1))
        # With a named reference each group is judged against it.
        (self.dir / "cook.toml").write_text('[[attributes]]\nname = "job"\nreference = "cook"\n')
        named = json.loads(self.audit("--task", "cook.toml", "--limit", "demographic_parity:job=.9", "--json"))
        self.assertTrue(named["attributes"][0]["reference_named"])
        self.assertEqual([line["about"] for line in named["limits"][0]["lines"]], ["a|b", 'x "<&>"'])

    def judged(self, model, data, *args, code, warnings):
        """The audit of a limit that passes by itself, in every form."""
        args = ("audit", model, data, "--attribute", "sex", "--limit", "co_mean:sex=.99", *args)
        report = json.loads(self.run_fmd(*args, "--json", code=code))
        self.assertEqual([w["name"] for w in report["warnings"]], warnings)
        verdict = "pass" if code == 0 else "not_enough_evidence"
        # Each limit says so too: a reader of one line, or of one test case, must not see a pass.
        self.assertEqual(report["limits"][0]["verdict"], verdict)
        self.assertEqual(report["limits"][0]["lines"][0]["verdict"], verdict)
        self.assertEqual("reason" in report["limits"][0], code != 0)
        self.assertEqual(report["verdict"], verdict)
        cases = ElementTree.fromstring(self.run_fmd(*args, "--format", "junit", code=code)).iter("testcase")
        limit = [case for case in cases if not case.get("name").startswith("warning")][0]
        self.assertEqual(limit.find("skipped") is None, code == 0)
        if code != 0:
            self.assertIn("no pass because of", limit.find("skipped").get("message"))
            self.assertRegex(limit.find("skipped").get("message"), r"\d\.\d+ \[")
        for text in (self.run_fmd(*args, code=code), self.run_fmd(*args, "--format", "markdown", code=code),
                     self.run_fmd(*args, "--format", "junit", code=code)):
            for name in warnings:
                self.assertIn(name, text.replace("\\_", "_"))  # as Markdown escapes it
        return report

    def test_warnings_keep_limits_from_passing(self):
        lines = (self.dir / "test.csv").read_text().splitlines()
        self.judged("new.safetensors", "test.csv", code=0, warnings=[])
        (self.dir / "copies.csv").write_text("\n".join(lines[:1] + lines[1:201] * 21) + "\n")
        seen = self.judged("new.safetensors", "copies.csv", code=3, warnings=["copied_rows"])
        self.assertIn("21 times", seen["warnings"][0]["text"])
        self.judged("new.safetensors", "copies.csv", "--on-unclear", "pass", code=3, warnings=["copied_rows"])
        allowed = self.judged("new.safetensors", "copies.csv", "--allow", "copied_rows", code=0, warnings=["copied_rows"])
        self.assertTrue(allowed["warnings"][0]["allowed"])
        self.assertEqual(allowed["attributes"], seen["attributes"])
        self.judged("new.safetensors", "test.csv", "--threshold", ".7", code=3, warnings=["other_threshold"])
        self.judged("new.safetensors", "test.csv", "--threshold", ".9999", code=3,
                    warnings=["constant_answer", "other_threshold"])
        self.judged("new.safetensors", "test.csv", "--threshold", ".9999", "--allow",
                    "constant_answer,other_threshold", code=0, warnings=["constant_answer", "other_threshold"])
        run = subprocess.run([FMD, "audit", "new.safetensors", "test.csv", "--allow", "copied_row"], cwd=self.dir,
                             capture_output=True, text=True, timeout=120)
        self.assertEqual(run.returncode, 2)
        self.assertIn("did you mean copied_rows?", run.stderr)

    def test_warnings_of_rows_and_labels(self):
        rng = random.Random(5)
        rows = []
        for _ in range(1500):
            sex, pay = rng.choice("FM"), rng.gauss(0, 1)
            rows.append(f"{sex},{pay:.6f},{'same' if pay > 0 else 'other'},{'high' if pay > 0 else 'low'}")
        head = "sex,pay,grade,income\n"
        (self.dir / "unique.csv").write_text(head + "\n".join(rows[:800]) + "\n")
        (self.dir / "fresh.csv").write_text(head + "\n".join(rows[800:]) + "\n")
        (self.dir / "mixed.csv").write_text(head + "\n".join(rows[700:]) + "\n")
        (self.dir / "twins.csv").write_text(head + "\n".join(rows[800:] + rows[800:1000]) + "\n")
        self.run_fmd("train", "unique.csv", "--label", "income", "--positive", "high", "--attribute", "sex",
                     "--ignore", "grade", "-o", "unique.safetensors")
        self.judged("unique.safetensors", "fresh.csv", code=0, warnings=[])
        self.judged("unique.safetensors", "mixed.csv", code=3, warnings=["seen_in_training"])
        self.judged("unique.safetensors", "twins.csv", code=3, warnings=["copied_rows"])
        told = self.judged("unique.safetensors", "fresh.csv", "--attribute", "grade", code=3,
                           warnings=["label_is_attribute"])
        self.assertIn("grade", told["warnings"][0]["text"])

    def test_a_few_rows_never_pass(self):
        lines = (self.dir / "test.csv").read_text().splitlines()
        (self.dir / "six.csv").write_text("\n".join(lines[:7]) + "\n")
        args = ("audit", "new.safetensors", "six.csv", "--attribute", "sex", "--limit", "co:sex=1")
        report = json.loads(self.run_fmd(*args, "--json", code=3))
        self.assertEqual(report["limits"][0]["verdict"], "not_enough_evidence")
        self.assertIn("50 rows", report["limits"][0]["reason"])
        self.assertIn("50 rows", self.run_fmd(*args, code=3))

    def test_junit_passes_have_figures(self):
        root = ElementTree.fromstring(self.audit("--limit", "co_mean:sex=.99", "--format", "junit"))
        self.assertRegex(root.find(".//testcase/system-out").text, r"\d\.\d+ \[")

    def test_the_screen_says_what_a_true_positive_is(self):
        words = "favourable rate among favourable labels"
        self.assertNotIn(words, self.audit())
        self.assertIn(words, self.audit("--favorable", "low"))
        self.assertIn("flip gap (co)", self.audit())

    def test_one_list_of_measures_serves_every_command(self):
        (self.dir / "policy.toml").write_text('[[attributes]]\nname = "sex"\n[limits]\n"disparate_impact:sex" = 0.8\n')
        self.audit("--task", "policy.toml", code=1)
        self.run_fmd("debias", "new.safetensors", "other.csv", "--task", "policy.toml", "--best-effort",
                     "-o", "policy.safetensors")
        self.run_fmd("debias", "new.safetensors", "other.csv", "--target", "flip_gap=.5", "-o", "gap.safetensors")
        for args in (("debias", "new.safetensors", "other.csv", "--target", "demografic_parity=.1", "-o", "x"),
                     ("compare", "other.csv", "--model", "new.safetensors", "--measure", "demografic_parity"),
                     ("audit", "new.safetensors", "test.csv", "--limit", "demografic_parity=.1")):
            with self.subTest(args):
                run = subprocess.run([FMD, *args], cwd=self.dir, capture_output=True, text=True, timeout=120)
                self.assertEqual(run.returncode, 2, run.stderr)
                self.assertIn("did you mean demographic_parity", run.stderr)

    def test_csv_has_the_figures_of_the_json(self):
        args = ("--attribute", "sex", "--attribute", "job")
        report = json.loads(self.audit(*args, "--json"))
        lines = list(csv.DictReader(io.StringIO(self.audit(*args, "--format", "csv"))))
        self.assertEqual(list(lines[0]), ["attribute", "group", "measure", "value", "low", "high", "rows", "reason"])
        found = {(l["attribute"], l["group"], l["measure"]): l for l in lines}
        self.assertEqual(len(found), len(lines))
        for attribute in report["attributes"]:
            for group in attribute["groups"]:
                line = found[attribute["name"], group["value"], "selection_rate"]
                self.assertAlmostEqual(float(line["value"]), group["selection_rate"], 12)
                self.assertEqual(int(line["rows"]), group["rows"])
            co = attribute["measures"]["co"]
            line = found[attribute["name"], "", "co"]
            self.assertEqual([float(line[k]) for k in ("value", "low", "high")], [co[k] for k in ("value", "low", "high")])

    def test_formats_and_files(self):
        markdown = self.audit("--attribute", "job", "--format", "markdown")
        self.assertIn("a\\|b", markdown)
        screen = self.audit("--format", "markdown", "-o", "audit.md")
        self.assertIn("FLIP TEST", screen)
        self.assertIn("| flip test |", (self.dir / "audit.md").read_text())
        self.audit("-o", "plain.json")
        self.assertEqual(json.loads((self.dir / "plain.json").read_text())["command"], "audit")
        self.assertEqual(self.audit("--format", "json"), self.audit("--json"))
        out = self.audit("--format", "csv", "--json", "-o", "audit.csv")
        json.loads(out)
        self.assertTrue((self.dir / "audit.csv").read_text().startswith("attribute,group,"))

    def test_what_changed_since_an_earlier_audit(self):
        self.audit("-o", "old.json", model="fixed.safetensors")
        report = json.loads(self.audit("--baseline", "old.json", "--json"))["baseline"]
        self.assertTrue(report["same_data"])
        self.assertFalse(report["paired"])
        co = next(c for c in report["changes"] if c["measure"] == "co")
        self.assertEqual(co["direction"], "worse")  # the new one is the one before the repair
        self.assertAlmostEqual(co["change"]["value"], co["after"]["value"] - co["before"]["value"], 12)
        screen = self.audit("--baseline", "old.json")
        self.assertRegex(screen, r"co:sex .* WORSE")
        self.assertIn("not paired", screen)
        self.assertLess(max(map(len, screen.splitlines())), 81)
        self.audit("--baseline", "old.json", "--fail-on-worse", code=1)
        # The other way round it got better, and the same audit is no change.
        self.audit("-o", "now.json")
        back = json.loads(self.audit("--baseline", "now.json", "--fail-on-worse", "--json", model="fixed.safetensors",
                                     code=0 if self.nothing_worse("now.json") else 1))
        self.assertEqual(next(c for c in back["baseline"]["changes"] if c["measure"] == "co")["direction"], "better")
        same = json.loads(self.audit("--baseline", "now.json", "--fail-on-worse", "--json"))["baseline"]
        self.assertEqual(same["worse"], 0)
        self.assertTrue(all(c["change"]["value"] == 0 for c in same["changes"]))

    def nothing_worse(self, baseline):
        report = json.loads(self.audit("--baseline", baseline, "--json", model="fixed.safetensors"))
        return report["baseline"]["worse"] == 0

    def test_the_earlier_model_pairs_the_rows(self):
        args = ("--baseline-model", "fixed.safetensors", "--json")
        paired = json.loads(self.audit(*args))["baseline"]
        self.audit("-o", "old2.json", model="fixed.safetensors")
        apart = json.loads(self.audit("--baseline", "old2.json", "--json"))["baseline"]
        self.assertTrue(paired["paired"])
        def change(report, measure):
            return next(c for c in report["changes"] if c["measure"] == measure)
        for measure in ("accuracy", "co", "demographic_parity"):
            a, b = change(paired, measure), change(apart, measure)
            self.assertTrue(a["paired"], measure)
            self.assertAlmostEqual(a["change"]["value"], b["change"]["value"], 9)
            width = lambda c: c["change"]["high"] - c["change"]["low"]
            self.assertLess(width(a), width(b), measure)
        self.audit("--baseline-model", "fixed.safetensors", "--baseline", "old2.json")
        self.audit("-o", "mine.json")
        self.audit("--baseline-model", "fixed.safetensors", "--baseline", "mine.json", code=21)

    def test_scan(self):
        report = json.loads(self.audit("--scan", "--json"))
        columns = {c["name"]: c for c in report["columns"]}
        self.assertEqual(set(columns), {"age", "sex", "job", "region"})
        self.assertEqual(len(report["intersections"]), 6)
        self.assertGreater(columns["sex"]["findings"], 0)
        self.assertEqual(columns["region"]["findings"], 0)
        self.assertEqual(columns["region"]["reads"], False)
        self.assertEqual(columns["age"]["flip"]["kind"], "slope")
        self.assertEqual(report["comparisons"], sum(c["comparisons"] for k in ("columns", "intersections") for c in report[k]))
        self.assertEqual(report["intersections"], sorted(
            report["intersections"], key=lambda c: -max([abs(w["difference"]["value"]) for w in c["worst"] if w["finding"]] or [0])))
        screen = self.audit("--scan", "--top", "2")
        self.assertLess(max(map(len, screen.splitlines())), 81)
        self.assertFalse(any(line.endswith(" ") for line in screen.splitlines()))
        self.assertIn("more: --top", screen)
        named = json.loads(self.audit("--scan", "--scan-columns", "sex,job", "--json"))
        self.assertEqual({c["name"] for c in named["columns"]}, {"sex", "job"})
        self.audit("--scan", "-o", "scan.json")
        self.assertEqual(json.loads((self.dir / "scan.json").read_text()), report)
        for threads in ("1", "2"):
            self.assertEqual(json.loads(self.audit("--scan", "--json", "--threads", threads)), report)

    def test_scan_of_scores(self):
        predicted = self.run_fmd("predict", "new.safetensors", "test.csv").splitlines()[1:]
        rows = (self.dir / "test.csv").read_text().splitlines()
        (self.dir / "scored.csv").write_text("\n".join(
            [rows[0] + ",p"] + [f"{r},{p.split(',')[-1]}" for r, p in zip(rows[1:], predicted)]) + "\n")
        report = json.loads(self.run_fmd("audit", "--scores", "scored.csv", "--label", "income", "--positive", "high",
                                         "--scan", "--json"))
        direct = json.loads(self.audit("--scan", "--json"))
        self.assertEqual({c["name"]: c["worst"] for c in report["columns"]},
                         {c["name"]: c["worst"] for c in direct["columns"]})
        self.assertIsNone(report["columns"][0]["flip"]["value"])
        ranges = json.loads(self.run_fmd("audit", "--scores", "scored.csv", "--label", "income", "--positive", "high",
                                         "--attribute", "age:4", "--json"))["attributes"][0]
        self.assertEqual(ranges["slope"]["reason"], "no_model")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fmd", required=True)
    args, rest = parser.parse_known_args()
    FMD = str(pathlib.Path(args.fmd).resolve())
    unittest.main(argv=[sys.argv[0], *rest])
