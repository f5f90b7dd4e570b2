"""Tables as people have them, through the command: what a newcomer sees, and what stops."""

import argparse
import json
import os
import pathlib
import pty
import random
import subprocess
import sys
import tempfile
import unittest

FMD = ""


def credit(rows=400):
    """Public data: sex as 1 and 2, education as codes, missing numbers as words."""
    draw = random.Random(1)
    lines = ["ID,LIMIT,SEX,EDUCATION,AGE,default"]
    for i in range(rows):
        sex, age = draw.choice([1, 2]), draw.choice([str(draw.randint(21, 70))] * 30 + ["NA", "nan", "Unknown"])
        answer = int(draw.random() < 0.25 + 0.3 * (sex == 1))
        lines.append(f"{i + 1},{draw.randint(10, 800) * 1000},{sex},{draw.randint(1, 4)},{age},{answer}")
    return "\n".join(lines) + "\n"


def europe(rows=400):
    """Semicolons, decimal commas, currency and percent signs, days first, free text."""
    draw = random.Random(2)
    words = ["kunde", "ist", "seit", "langem", "hier", "bekannt", "neu", "gut"]
    lines = ["Datum;Einkommen;Anteil;Geschlecht;Bemerkung;bewilligt"]
    for _ in range(rows):
        pay = f"{draw.randint(12000, 90000) + draw.random():,.2f}".translate(str.maketrans(",.", ".,"))
        share = f"{100 * draw.random():.1f} %".replace(".", ",")
        date = f"{draw.randint(1, 28):02}.{draw.randint(1, 12):02}.20{draw.randint(10, 22)}"
        sex = draw.choice("mw")
        note = " ".join(draw.choice(words) for _ in range(9))
        lines.append(f"{date};{pay} €;{share};{sex};{note};{'ja' if draw.random() < .4 + .2 * (sex == 'm') else 'nein'}")
    return "\n".join(lines) + "\n"


def loans(rows=400):
    """Tabs, dollars, month first, truth values, a label that sounds bad."""
    draw = random.Random(3)
    lines = ["applied\tamount\trate\thomeowner\trace\tdeny"]
    for _ in range(rows):
        race = draw.choice(["white", "white", "black"])
        amount = f"${draw.randint(500, 4000000):,}" if draw.random() > 0.05 else "N/A"
        lines.append(f"{draw.randint(1, 12)}/{draw.randint(1, 28)}/2021\t{amount}\t{20 * draw.random():.2f}%\t"
                     f"{draw.choice(['true', 'false'])}\t{race}\t"
                     f"{'yes' if draw.random() < .3 + .2 * (race == 'black') else 'no'}")
    return "\n".join(lines) + "\n"


class Columns(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.dir = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        (self.dir / name).write_text(text)
        return name

    def run_fmd(self, *args, code=0):
        run = subprocess.run([FMD, *args], cwd=self.dir, capture_output=True, text=True)
        self.assertEqual(run.returncode, code, f"{args}\n{run.stdout}\n{run.stderr}")
        return run

    def columns(self, *args):
        report = json.loads(self.run_fmd("columns", *args, "--json").stdout)
        return {c["name"]: c for c in report["columns"]}, {(w["column"], w["kind"]) for w in report["warnings"]}

    def test_codes_and_missing_words(self):
        self.write("credit.csv", credit())
        columns, warnings = self.columns("credit.csv", "--label", "default", "--attribute", "SEX")
        self.assertEqual([c["features"] for c in columns.values()], [1, 1, 1, 1, 2, 0])
        self.assertGreater(columns["AGE"]["share_missing"], 0)
        self.assertEqual(warnings, {("ID", "id"), ("SEX", "groups"), ("EDUCATION", "code"), ("default", "favorable")})
        columns, _ = self.columns("credit.csv", "--category", "EDUCATION")
        self.assertEqual(columns["EDUCATION"]["features"], 4)

    def test_sex_as_1_and_2_is_flipped(self):
        self.write("credit.csv", credit())
        run = self.run_fmd("train", "credit.csv", "--label", "default", "--attribute", "SEX", "-o", "m.safetensors")
        self.assertIn("SEX: 2 different whole numbers are taken as groups", run.stderr)
        audit = json.loads(self.run_fmd("audit", "m.safetensors", "credit.csv", "--json").stdout)
        self.assertEqual(sorted(g["value"] for g in audit["attributes"][0]["groups"]), ["1", "2"])
        self.assertGreater(audit["attributes"][0]["measures"]["co"]["value"], 0.1)
        self.assertEqual(audit["data"]["seen_in_training"], 400)

    def test_decimal_commas_and_free_text(self):
        self.write("europe.csv", europe())
        columns, warnings = self.columns("europe.csv", "--label", "bewilligt")
        self.assertEqual([c["type"] for c in columns.values()],
                         ["date", "number", "number", "category", "text", "category"])
        self.assertEqual(columns["Bemerkung"]["became"], "left out: free text")
        self.assertIn(("Bemerkung", "free_text"), warnings)
        # What was trained reads the same file again, and a part of it.
        run = self.run_fmd("train", "europe.csv", "--label", "bewilligt", "--positive", "ja", "--attribute",
                           "Geschlecht", "-o", "m.safetensors")
        self.assertIn("4 columns give 4 features", run.stdout)
        self.run_fmd("split", "europe.csv", "--parts", "a=.5,b=.5")
        audit = json.loads(self.run_fmd("audit", "m.safetensors", "b.csv", "--json").stdout)
        self.assertEqual(audit["rows"], 200)
        self.assertEqual(audit["data"]["seen_in_training"], 200)

    def test_dollars_tabs_and_dates(self):
        self.write("loans.tsv", loans())
        columns, warnings = self.columns("loans.tsv", "--label", "deny", "--attribute", "race")
        self.assertEqual([c["type"] for c in columns.values()],
                         ["date", "number", "number", "boolean", "category", "boolean"])
        self.assertEqual(columns["amount"]["features"], 2)
        self.assertIn(("applied", "date"), warnings)
        self.assertIn(("deny", "favorable"), warnings)
        _, warnings = self.columns("loans.tsv", "--label", "deny", "--favorable", "no")
        self.assertNotIn(("deny", "favorable"), warnings)

    def test_odd_cells_stop_training(self):
        rows = [f"{20 + i},{i % 2},{'ab'[i % 2]}" for i in range(60)] + ["1x5,1,a"]
        self.write("odd.csv", "age,sex,y\n" + "\n".join(rows) + "\n")
        run = self.run_fmd("train", "odd.csv", "--label", "y", "-o", "m.safetensors", code=15)
        self.assertIn('odd.csv, column "age": 60 of 61 cells are numbers, but not "1x5" (odd.csv, line 62)', run.stderr)
        self.assertIn("--category age", run.stderr)
        self.assertFalse((self.dir / "m.safetensors").exists())
        self.write("task.toml", 'missing = ["1x5"]\n')
        run = self.run_fmd("train", "odd.csv", "--label", "y", "--task", "task.toml", "-o", "m.safetensors")
        self.assertIn("2 columns give 3 features", run.stdout)
        self.run_fmd("audit", "m.safetensors", "odd.csv", "--attribute", "sex", "--min-group", "0")

    def mirrored(self, name, rows, seed, new=False, title=False):
        """sex_m and sex_f say the same; race is one-hot; title tells the sex too."""
        draw = random.Random(seed)
        lines = ["sex_m,sex_f,race_a,race_b,race_c,income,job,own" + (",title" if title else "") + ",y"]
        for i in range(rows):
            male, race = draw.random() < 0.5, draw.choice("abc")
            income = draw.gauss(50 + 8 * male, 10)
            job, own = draw.choice("xyz"), draw.choice(["yes", "no"])
            if new and i < 5:
                job, own = "new", "maybe"
            answer = int(draw.random() < 1 / (1 + 2.718 ** (-(income - 54) / 8 - 2 * (male - 0.5))))
            cells = [int(male), int(not male), *(int(race == r) for r in "abc"), f"{income:.2f}", job, own]
            cells += (["Mr"] if male else [draw.choice(["Ms", "Mrs"])]) if title else []
            lines.append(",".join(map(str, [*cells, answer])))
        return self.write(name, "\n".join(lines) + "\n")

    def test_unseen_categories_are_counted(self):
        self.mirrored("train.csv", 600, 1)
        self.mirrored("new.csv", 300, 2, new=True)
        train = ("train", "train.csv", "--label", "y", "--attribute", "sex_m")
        self.run_fmd(*train, "-o", "m.safetensors")
        run = self.run_fmd("predict", "m.safetensors", "new.csv", "-o", "p.csv")
        self.assertIn("new.csv: 5 cells of own have a category that training has not seen", run.stderr)
        audit = json.loads(self.run_fmd("audit", "m.safetensors", "new.csv", "--json").stdout)
        self.assertTrue(any("5 cells of job" in note for note in audit["notes"]))
        # Figures of tables without such cells are those of a model that refuses them.
        self.run_fmd(*train, "--unseen", "error", "-o", "strict.safetensors")
        run = self.run_fmd("predict", "strict.safetensors", "new.csv", "-o", "q.csv", code=17)
        self.assertIn('"new" is not one of the values', run.stderr)
        for model in ("m", "strict"):
            self.run_fmd("predict", f"{model}.safetensors", "train.csv", "-o", f"{model}.csv")
        self.assertEqual((self.dir / "m.csv").read_text(), (self.dir / "strict.csv").read_text())

    def test_mirrors_are_flipped_together(self):
        self.mirrored("train.csv", 1000, 1)
        self.mirrored("test.csv", 600, 2)
        run = self.run_fmd("train", "train.csv", "--label", "y", "--attribute", "sex_m", "-o", "m.safetensors")
        self.assertIn("sex_m: sex_f says the same; it is flipped with it", run.stderr)
        audit = json.loads(self.run_fmd("audit", "m.safetensors", "test.csv", "--json").stdout)
        self.assertEqual(audit["attributes"][0]["mirrors"], ["sex_f"])
        alone = self.write("one.csv", "\n".join(",".join(c for i, c in enumerate(line.split(",")) if i != 1)
                                                for line in (self.dir / "train.csv").read_text().splitlines()) + "\n")
        self.run_fmd("train", alone, "--label", "y", "--attribute", "sex_m", "-o", "one.safetensors")
        other = json.loads(self.run_fmd("audit", "one.safetensors", "test.csv", "--json").stdout)
        gaps = [a["attributes"][0]["measures"]["co"]["value"] for a in (audit, other)]
        self.assertAlmostEqual(gaps[0], gaps[1], delta=0.01)
        run = self.run_fmd("audit", "m.safetensors", "test.csv", "--scan", "--json")
        self.assertIn("sex_m: sex_f tells it too; a scan flips each column alone", run.stderr)
        self.assertIn("sex_f tells it too", " ".join(json.loads(run.stdout)["notes"]))

    def test_a_limit_with_a_mirror_left_behind_never_passes(self):
        self.mirrored("train.csv", 600, 1, title=True)
        self.run_fmd("train", "train.csv", "--label", "y", "--attribute", "sex_m", "-o", "m.safetensors")
        run = self.run_fmd("audit", "m.safetensors", "train.csv", "--fail-over", "co=.99", "--json", code=3)
        audit = json.loads(run.stdout)
        self.assertEqual(audit["attributes"][0]["mirrors_left"], ["title"])
        self.assertIn("it can be told from title", run.stderr)

    def test_one_hot_columns_are_one_attribute(self):
        self.mirrored("train.csv", 900, 1)
        self.run_fmd("train", "train.csv", "--label", "y", "--one-hot", "race=race_*", "-o", "m.safetensors")
        audit = json.loads(self.run_fmd("audit", "m.safetensors", "train.csv", "--json").stdout)
        self.assertEqual(sorted(g["value"] for g in audit["attributes"][0]["groups"]), ["a", "b", "c"])
        self.assertTrue(audit["attributes"][0]["measures"]["co"]["value"] > 0)
        # These are the rows of the training, which prove nothing.
        self.run_fmd("debias", "m.safetensors", "train.csv", "-o", "out.safetensors", code=3)

    def test_long_work_shows_progress_on_a_terminal(self):
        self.write("credit.csv", credit())
        ours, theirs = pty.openpty()
        subprocess.run([FMD, "train", "credit.csv", "--label", "default", "-o", "m.safetensors"], cwd=self.dir,
                       stdout=subprocess.DEVNULL, stderr=theirs, check=True)
        os.close(theirs)
        said = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            said += part
        os.close(ours)
        self.assertIn(b"training on 400 rows, step 1: gradient", said)

    def test_without_arguments_it_says_what_to_do(self):
        run = self.run_fmd(code=2)
        for line in ("fmd demo", "fmd columns YOUR.csv", "fmd train YOUR.csv", "fmd audit", "fmd debias"):
            self.assertIn(line, run.stderr)

    def test_help_begins_with_what_most_people_need(self):
        text = self.run_fmd("train", "--help").stdout
        first = text.split("\nOptions:\n")[1].split("\n\n")[0]
        for option in ("--out", "--label", "--positive", "--favorable", "--attribute"):
            self.assertIn(option, first)
        for option in ("--caliper", "--hidden", "--seed"):
            self.assertNotIn(option, first)
        for topic in ("Columns:", "Task:", "Matched pairs (--pairs match):", "Networks (--kind mlp):", "How to run:"):
            self.assertIn(f"\n{topic}\n", text)

    def test_numeric_labels_are_doubted(self):
        self.write("price.csv", "x,price\n" + "".join(f"{i % 7},{i % 5}\n" for i in range(100)))
        _, warnings = self.columns("price.csv", "--label", "price")
        self.assertIn(("price", "numeric_label"), warnings)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fmd", required=True)
    args, rest = parser.parse_known_args()
    FMD = str(pathlib.Path(args.fmd).resolve())
    unittest.main(argv=[sys.argv[0], *rest])
