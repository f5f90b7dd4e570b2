"""Every command says so when what it prints is lost: stdout that is full, closed, or a pipe nobody reads."""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

FMD = ""
TABLE = "age,sex,job,approved\n" + "".join(
    f"{20 + i % 40},{'FM'[i % 2]},{['cook', 'clerk', 'baker'][i % 3]},{['no', 'yes'][(i * 7 + i // 5) % 3 == 0]}\n"
    for i in range(300))
AUDIT = ("audit", "model", "rows.csv", "--replicates", "50")
SCORES = ("audit", "--scores", "scores.csv", "--label", "approved", "--positive", "yes", "--attribute", "sex",
          "--replicates", "50")
DEBIAS = ("debias", "model", "rows.csv", "--attribute", "sex", "--best-effort", "--points", "2", "--replicates",
          "50", "--force", "-o", "out")
# Each command in each form that prints to stdout.
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
]


def run(command, cwd, **how):
    return subprocess.run([FMD, *command], cwd=cwd, stderr=subprocess.PIPE, text=True, timeout=120, **how)


class LostOutput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.holder.cleanup)
        cls.dir = pathlib.Path(cls.holder.name)
        (cls.dir / "rows.csv").write_text(TABLE)
        for command in (("train", "rows.csv", "--label", "approved", "--positive", "yes", "--attribute", "sex",
                         "-o", "model"),
                        ("predict", "model", "rows.csv", "-o", "p.csv"),
                        ("debias", "model", "rows.csv", "--attribute", "sex", "--method", "average-column",
                         "--best-effort", "--replicates", "50", "-o", "repaired")):
            made = run(command, cls.dir, stdout=subprocess.PIPE)
            if made.returncode != 0:
                raise AssertionError(made.stderr)
        rows = (cls.dir / "rows.csv").read_text().splitlines()
        scores = (cls.dir / "p.csv").read_text().splitlines()
        place = scores[0].split(",").index("p_yes")
        (cls.dir / "scores.csv").write_text("\n".join(
            f"{row},{'p' if i == 0 else score.split(',')[place]}"
            for i, (row, score) in enumerate(zip(rows, scores))) + "\n")

    def prints(self, command):
        """The exit code of the command where nothing is in its way; it must print something."""
        done = run(command, self.dir, stdout=subprocess.PIPE)
        self.assertTrue(done.stdout, f"{command} prints nothing: the test shows nothing")
        self.assertIn(done.returncode, (0, 1, 3), f"{command}: {done.stderr}")

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
