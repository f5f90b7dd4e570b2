"""Tables larger than a block of rows: the same output whichever way rows come, and Ctrl-C leaves nothing."""

import argparse
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

FMD = ""
ROWS = 200_000
HEADER = "age,sex,job,approved\n"
SCORES = ("audit", "--label", "approved", "--positive", "yes", "--attribute", "sex", "--scores")


def line(i):
    job = ["cook", "clerk", "baker", "smith", "tailor"][i * i % 5]
    return f"{20 + i * 7 % 40},{'FM'[i % 3 == 0]},{job},{['no', 'yes'][(i * 7 + i // 5 + i % 2) % 3 == 0]}\n"


class LargeFiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.dir = pathlib.Path(cls.folder.name)
        lines = [line(i) for i in range(2000)]
        (cls.dir / "train.csv").write_text(HEADER + "".join(lines))
        (cls.dir / "large.csv").write_text(HEADER + "".join(lines) * (ROWS // len(lines)))
        cls.fmd("train", "train.csv", "--label", "approved", "--positive", "yes", "--attribute", "sex", "-o", "m")
        cls.fmd("features", "m", "large.csv", "-o", "large.features")
        cls.scores("train.csv")
        cls.scores("large.csv")

    @classmethod
    def scores(cls, name):
        """NAME.scores: the table with a name for every person and p; NAME.pairs: the same of flipped rows."""
        table = (cls.dir / name).read_text().splitlines()
        p = [line.split(",")[-1] for line in cls.fmd("predict", "m", name).splitlines()]
        with open(cls.dir / f"{name}.scores", "w") as out:
            for i, (row, score) in enumerate(zip(table, p)):
                out.write(f"{row},{'p' if i == 0 else score},{'name' if i == 0 else f'person number {i}'}\n")
        cls.fmd("pairs", name, "--flip", "sex", "-o", "flipped.csv", "--force")
        p = [line.split(",")[-1] for line in cls.fmd("predict", "m", "flipped.csv").splitlines()]
        with open(cls.dir / f"{name}.pairs", "w") as out:
            for i, (row, score) in enumerate(zip((cls.dir / "flipped.csv").read_text().splitlines(), p)):
                out.write(f"{row},{'p' if i == 0 else score}\n")
        (cls.dir / "flipped.csv").unlink()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def fmd(cls, *args, code=0, **how):
        run = subprocess.run([FMD, *args], cwd=cls.dir, capture_output=True, text=True, **how)
        assert run.returncode == code, f"fmd {' '.join(args)}\n{run.stderr}"
        return run.stdout

    def test_features_stand_for_the_table(self):
        table = self.fmd("predict", "m", "large.csv")
        self.assertEqual(table.count("\n"), ROWS + 1)
        self.assertEqual(table, self.fmd("predict", "m", "large.features"))
        figures = [self.fmd("audit", "m", name).replace(name, "DATA").splitlines()
                   for name in ("large.csv", "large.features")]
        # The rows of the table repeat, which only a table shows.
        warned = next(k for k, line in enumerate(figures[0]) if line.startswith("WARNINGS"))
        self.assertIn("copied_rows", "\n".join(figures[0][warned:]))
        self.assertEqual(figures[0][:warned], figures[1][:warned])
        outputs = []
        for name, more in (("large.csv", ()), ("large.features", ()), ("large.csv", ("--spill",))):
            self.fmd("explain", "m", "train.csv", "--train", name, *more, "-o", "i.csv", "--force")
            outputs.append((self.dir / "i.csv").read_text())
        self.assertEqual(outputs[0], outputs[1])
        self.assertEqual(outputs[0], outputs[2])

    def test_scores_have_the_flip_gap_of_the_model(self):
        model = json.loads(self.fmd("audit", "m", "large.csv", "--json"))["attributes"][0]
        scores = json.loads(self.fmd(*SCORES, "large.csv.scores", "--pair-scores", "large.csv.pairs", "--json"))
        other = scores["attributes"][0]
        self.assertEqual(other["flips"]["pairs"], ROWS)
        self.assertAlmostEqual(model["measures"]["co"]["value"], other["measures"]["co"]["value"], 9)
        self.assertEqual(model["groups"][0]["tpr"], other["groups"][0]["tpr"])

    def peak(self, *command):
        """MB that a command took at most."""
        script = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, "
                  "stdout=subprocess.DEVNULL); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
        run = subprocess.run([sys.executable, "-c", script, FMD, *command, "--threads", "1"],
                             cwd=self.dir, capture_output=True, text=True, check=True)
        return int(run.stdout.split()[-1]) / 1024

    def test_memory_does_not_grow_with_the_rows(self):
        blocks = 65536 * 4 * 100 / 2**20  # some blocks of rows, generously
        for command in (("predict", "m", "NAME"), ("audit", "m", "NAME", "--scan"),
                        ("audit", "m", "NAME", "--attribute", "age:4", "--replicates", "50"),
                        (*SCORES, "NAME.scores", "--replicates", "50"),
                        (*SCORES, "NAME.scores", "--pair-scores", "NAME.pairs", "--replicates", "50"),
                        (*SCORES, "NAME.scores", "--scan")):
            peaks = [self.peak(*(word.replace("NAME", name) for word in command)) for name in ("train.csv", "large.csv")]
            # Up to 200,000 rows are kept for the bootstrap, by their scores and codes.
            kept = 48 if "--replicates" in command else 0
            self.assertLess(peaks[1] - peaks[0], blocks + kept + 8, (command, peaks))

    def test_ctrl_c_leaves_nothing(self):
        before = sorted(p.name for p in self.dir.iterdir())
        for verb in (("predict", "m", "large.csv"), ("features", "m", "large.csv")):
            stopped = False
            for _ in range(20):  # it may be done before it is interrupted
                run = subprocess.Popen([FMD, *verb, "-o", "out"], cwd=self.dir, stderr=subprocess.DEVNULL)
                while run.poll() is None and not list(self.dir.glob(".out.*")):
                    time.sleep(0.001)
                run.send_signal(signal.SIGINT)
                code = run.wait()
                (self.dir / "out").unlink(missing_ok=True)
                self.assertEqual(before, sorted(p.name for p in self.dir.iterdir()), verb)
                stopped = stopped or code == 130
            self.assertTrue(stopped, verb)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fmd", required=True)
    known, rest = parser.parse_known_args()
    FMD = str(pathlib.Path(known.fmd).resolve())
    unittest.main(argv=[sys.argv[0], *rest])
