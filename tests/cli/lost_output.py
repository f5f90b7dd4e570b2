"""Every command says so when what it prints is lost: stdout that is full, closed, or a pipe nobody reads."""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FMD = ""
TABLE = "age,sex,job,approved\n" + "".join(
    f"{20 + i % 40},{'FM'[i % 2]},{['cook', 'clerk', 'baker'][i % 3]},{['no', 'yes'][(i * 7 + i // 5) % 3 == 0]}\n"
    for i in range(300))
AUDIT = ("audit", "model", "rows.csv", "--replicates", "50")
SCORES = ("audit", "--scores", "scores.csv", "--label", "approved", "--positive", "yes", "--attribute", "sex",
          "--replicates", "50")
DEBIAS = ("debias", "model", "rows.csv", "--attribute", "sex", "--best-effort", "--points", "2", "--replicates",
          "50", "--force", "-o", "out")
LABEL = ("--label", "approved", "--positive", "yes", "--attribute", "sex")
LM_DEBIAS = ("lm", "debias", "llama", "--pairs", "sides.csv", "--text", "text.txt", "--replicates", "100", "--folds", "2")
LM_EXPLAIN = ("lm", "explain", "llama", "--pairs", "sides.csv", "--text", "text.txt")
LM_AUDIT = ("lm", "audit", "llama", "--stereoset", "stereoset.json", "--replicates", "20")
# Each command in each form that prints to stdout. {} is another number each time.
COMMANDS = [
    ("--version",), ("--help",), ("audit", "--help"),
    ("predict", "model", "rows.csv"), ("predict", "model", "rows.csv", "-o", "p.csv", "--force", "--json"),
    AUDIT, (*AUDIT, "--json"), *[(*AUDIT, "--format", f) for f in ("junit", "markdown", "csv")],
    (*AUDIT, "--scan"), SCORES, (*SCORES, "--json"),
    ("explain", "model", "rows.csv", "--train", "rows.csv"),
    ("explain", "model", "rows.csv", "--train", "rows.csv", "--json"),
    DEBIAS, (*DEBIAS, "--json"),
    ("verify", "repaired.receipt.json"), ("verify", "repaired.receipt.json", "--json"),
    ("undo", "repaired.receipt.json", "-o", "back", "--force", "--json"),
    ("compare", "rows.csv", "--label", "approved", "--positive", "yes", "--attribute", "sex",
     "--methods", "vanilla,tempered"),
    ("train", "rows.csv", "--label", "approved", "--positive", "yes", "-o", "m2", "--force", "--json"),
    ("split", "rows.csv", "--parts", "a=.5,b=.5", "--force", "-o", ".", "--json"),
    ("pairs", "rows.csv", "--flip", "sex", "-o", "pairs.csv", "--force", "--json"),
    ("features", "model", "rows.csv", "-o", "x.features", "--force", "--json"),
    ("data",), ("data", "--json"), ("doctor",), ("doctor", "--json"), ("reproduce", "--help"),
    ("reproduce", "toy", "--draw", "-o", "results"), ("reproduce", "toy", "--draw", "-o", "results", "--json"),
    ("demo", "-o", "demo"), ("demo", "-o", "demo", "--json"), ("columns", "rows.csv"), ("columns", "rows.csv", "--json"),
    ("model", "model"), ("model", "model", "--json"), ("model", "trees.json"), ("model", "trees.json", "--json"),
    ("import", "card.csv", "--negative", "no", *LABEL, "-o", "card", "--force", "--json"),
    ("merge", "part.state"), ("merge", "part.state", "--json"), ("merge", "part.state", "-o", "merged.json", "--force"),
    (*AUDIT, "--metrics", "all"), (*AUDIT, "--round", "5"), (*AUDIT, "--ledger", "looks"), (*AUDIT, "--scan", "--json"),
    (*AUDIT, "-o", "audit.json", "--force"), ("verify", "old.json"), ("verify", "old.json", "--json"),
    ("coverage", "--draws", "1", "--rows", "200", "--replicates", "50"),
    ("coverage", "--draws", "1", "--rows", "200", "--replicates", "50", "--json"),
    ("compare", "rows.csv", *LABEL, "--methods", "vanilla,tempered", "--json"),
    ("lm", "--help"), ("lm", "tokens", "llama", "text.txt"), ("lm", "tokens", "llama", "text.txt", "--json"),
    LM_AUDIT, (*LM_AUDIT, "--json"), ("lm", "audit", "--scores", "said.json", *LM_AUDIT[3:]),
    ("lm", "pairs", "text.txt", "--swap", "words.csv", "-o", "-"),
    ("lm", "pairs", "text.txt", "--swap", "words.csv", "-o", "made.csv", "--force", "--json"),
    LM_EXPLAIN, (*LM_EXPLAIN, "--json"), ("lm", "train", "--help"),
    (*LM_DEBIAS, "-o", "edited{}"), (*LM_DEBIAS, "-o", "edited{}", "--json"),
    ("verify", "edited.receipt.json"), ("undo", "edited.receipt.json", "-o", "original{}", "--json"),
    *[(*command, "-o", "-") for command in (("predict", "model", "rows.csv"), ("features", "model", "rows.csv"),
                                            ("undo", "repaired.receipt.json"), ("pairs", "rows.csv", "--flip", "sex"))],
]
# A command that prints to stdout, in any form.
ALL = {command[:2] if command[0] == "lm" else command[:1] for command in COMMANDS}


def make_language_model(folder):
    """A tiny language model, and what it is asked."""
    files = ROOT / "tests/files/lm"
    shutil.copytree(files / "llama", folder / "llama")
    shutil.copy(files / "stereoset.json", folder)
    (folder / "text.txt").write_text("".join(f"{a} {b} in the {c}\n" for a in ("They talk", "We walk", "You sit")
                                             for b in ("often", "today") for c in ("house", "north", "morning")) +
                                     "the mother was gentle\n")
    (folder / "words.csv").write_text("female,male\nshe,he\nmother,father\n")
    (folder / "sides.csv").write_text("stereotype,anti_stereotype,unrelated,domain,target\n" + "".join(
        f"the {who} was {a},the {who} was {b},the {who} was {c},gender,{who}\n" for who, a, b, c in (
            ("mother", "gentle", "strong", "wide"), ("father", "strong", "gentle", "wide"),
            ("sister", "kind", "hard", "flat"))))


def run(command, cwd, **how):
    run.number += 1
    command = [word.format(run.number) if word.endswith("{}") else word for word in command]
    how.setdefault("text", True)
    return subprocess.run([FMD, *command], cwd=cwd, stderr=subprocess.PIPE, timeout=300, **how)


run.number = 0


class LostOutput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.holder.cleanup)
        cls.dir = pathlib.Path(cls.holder.name)
        (cls.dir / "rows.csv").write_text(TABLE)
        shutil.copy(ROOT / "fuzz/corpus/xgboost_json/seed-two", cls.dir / "trees.json")
        (cls.dir / "results").mkdir()
        shutil.copy(ROOT / "docs/results/toy.json", cls.dir / "results")
        (cls.dir / "card.csv").write_text("feature,coefficient\n(Intercept),-1\nage,.02\nsex=F,.5\n")
        make_language_model(cls.dir)
        for command in (("train", "rows.csv", "--label", "approved", "--positive", "yes", "--attribute", "sex",
                         "-o", "model"),
                        ("predict", "model", "rows.csv", "-o", "p.csv"),
                        (*AUDIT, "-o", "old.json"), (*AUDIT, "--survey", "part.survey"),
                        ("merge", "part.survey", "-o", "all.survey"),
                        (*AUDIT, "--survey", "all.survey", "--partial", "part.state"),
                        (*LM_AUDIT, "-o", "said.json"), (*LM_DEBIAS, "-o", "edited"),
                        ("debias", "model", "rows.csv", "--attribute", "sex", "--method", "average-column",
                         "--best-effort", "--replicates", "50", "-o", "repaired")):
            made = run(command, cls.dir, stdout=subprocess.PIPE)
            if made.returncode not in (0, 3):
                raise AssertionError((command, made.stderr))
        rows = (cls.dir / "rows.csv").read_text().splitlines()
        scores = (cls.dir / "p.csv").read_text().splitlines()
        place = scores[0].split(",").index("p_yes")
        (cls.dir / "scores.csv").write_text("\n".join(
            f"{row},{'p' if i == 0 else score.split(',')[place]}"
            for i, (row, score) in enumerate(zip(rows, scores))) + "\n")

    def prints(self, command):
        """The exit code of the command where nothing is in its way; it must print something."""
        done = run(command, self.dir, stdout=subprocess.PIPE, text=False)
        self.assertTrue(done.stdout, f"{command} prints nothing: the test shows nothing: {done.stderr}")
        self.assertIn(done.returncode, (0, 1, 3), f"{command}: {done.stderr}")

    def test_every_command_is_here(self):
        def named(*words):
            told = run((*words, "--help"), self.dir, stdout=subprocess.PIPE).stdout
            return re.findall(r"^  ([a-z]+)  +[A-Z]", told.split("Subcommands:")[1], re.MULTILINE)
        wanted = {(name,) for name in named() if name != "lm"} | {("lm", name) for name in named("lm")}
        quiet = {("split",), ("train",), ("undo",), ("features",)}  # with --json they are here, too
        self.assertEqual(wanted - ALL, set())
        self.assertLess(quiet, ALL)

    def test_a_full_stdout_is_an_error(self):
        for command in COMMANDS:
            with self.subTest(command=command), open("/dev/full", "w") as full:
                self.prints(command)
                done = run(command, self.dir, stdout=full)
                self.assertEqual(done.returncode, 12, f"{command}: {done.stderr}")
                self.assertIn("cannot write the result to stdout: No space left on device", done.stderr)

    def test_a_closed_stdout_is_an_error_and_no_file_takes_its_place(self):
        for command in COMMANDS:
            with self.subTest(command=command):
                done = run(["-c", '"$0" "$@" >&-', FMD, *command], self.dir, executable="/bin/sh")
                self.assertEqual(done.returncode, 12, f"{command}: {done.stderr}")
                self.assertIn("cannot write the result to stdout", done.stderr)
        for name in ("out", "x.features", "m2", "pairs.csv"):
            self.assertNotIn(b"fmd 0", (self.dir / name).read_bytes()[:100])

    def test_a_pipe_that_nobody_reads_leaves_no_temporary_file(self):
        read, write = os.pipe()
        os.close(read)
        done = run(("predict", "model", "rows.csv"), self.dir, stdout=write)
        os.close(write)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual([f for f in os.listdir(self.dir) if f.endswith(".fmd-tmp")], [])


class OddNumbers(unittest.TestCase):
    def test_no_option_takes_nan_infinity_or_a_wrapped_minus_one(self):
        base = ("debias", "model", "rows.csv", "-o", "out")
        for odd in (("--mu", "nan"), ("--mu", "inf"), ("--anchor", "-inf"), ("--max-accuracy-loss", "NaN"),
                    ("--seed", "-1")):
            done = run((*base, *odd), "/", stdout=subprocess.PIPE)
            self.assertEqual(done.returncode, 2, f"{odd}: {done.stderr}")
            self.assertIn(odd[1], done.stderr)

    def test_no_option_takes_an_empty_or_negative_name_or_number(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "rows.csv").write_text(TABLE)
            train = ("train", "rows.csv", "--label", "approved", "--positive", "yes", "-o", "m")
            for command, word in (((*train, "--attribute", ""), "no name"),
                                  ((*train, "--attribute", "sex", "--min-group", "-1"), "min_group is -1"),
                                  (("split", "rows.csv", "--parts", "../../x=.5,b=.5"), "cannot be the name"),
                                  (("split", "rows.csv", "--parts", "..=.5,b=.5"), "cannot be the name")):
                done = run(command, folder, stdout=subprocess.PIPE)
                self.assertEqual(done.returncode, 2, f"{command}: {done.stderr}")
                self.assertIn(word, done.stderr)
            self.assertEqual(os.listdir(folder), ["rows.csv"])


class Names(unittest.TestCase):
    def test_an_error_cannot_forge_a_line(self):
        done = run(("predict", "no\nlimits PASS\x1b[2J", "rows.csv"), "/", stdout=subprocess.PIPE)
        self.assertEqual(done.returncode, 11)
        self.assertIn("no\\nlimits PASS\\x1b[2J", done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fmd", required=True)
    known, rest = parser.parse_known_args()
    FMD = str(pathlib.Path(known.fmd).resolve())
    unittest.main(argv=[sys.argv[0], *rest])
