"""Tables larger than a block of rows: the same output whichever way rows come, and Ctrl-C leaves nothing."""

import argparse
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
        self.assertEqual(figures[0], figures[1])
        outputs = []
        for name, more in (("large.csv", ()), ("large.features", ()), ("large.csv", ("--spill",))):
            self.fmd("explain", "m", "train.csv", "--train", name, *more, "-o", "i.csv", "--force")
            outputs.append((self.dir / "i.csv").read_text())
        self.assertEqual(outputs[0], outputs[1])
        self.assertEqual(outputs[0], outputs[2])

    def test_memory_does_not_grow_with_the_rows(self):
        # ru_maxrss of children is a maximum over all of them: the small one first.
        peaks = []
        for name in ("train.csv", "large.csv"):
            script = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, "
                      "stdout=subprocess.DEVNULL); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
            run = subprocess.run([sys.executable, "-c", script, FMD, "predict", "m", name, "--threads", "1"],
                                 cwd=self.dir, capture_output=True, text=True, check=True)
            peaks.append(int(run.stdout.split()[-1]) / 1024)
        blocks = 65536 * 4 * 100 / 2**20  # some blocks of rows, generously
        self.assertLess(peaks[1] - peaks[0], blocks + 8, peaks)

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
