"""kill -9 before every change of the disk: old files or new ones, and the next run cleans up.

Each run is the command in fmd_faulty (tests/faulty), which is killed before its N-th system call that
changes the disk, for N = 1, 2, ... until a run comes to its end.
"""

import argparse
import hashlib
import json
import lost_output
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

FMD = FAULTY = ""
LEAST_KILLS = 100
SIDES = (".receipt.json", ".undo", ".path.json", ".path.safetensors", ".rows")
TABLE = "age,sex,job,approved\n" + "".join(
    f"{20 + i % 40},{'FM'[i % 2]},{['cook', 'clerk', 'baker'][i % 3]},{['no', 'yes'][(i * 7 + i // 5) % 3 == 0]}\n"
    for i in range(300))
DEBIAS = ("debias", "model", "rows.csv", "--attribute", "sex", "--best-effort", "--points", "2", "--replicates",
          "50", "--threads", "1", "-o", "w/out")


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def memory_folder():
    """A new folder, in memory where possible: the tests sync thousands of times."""
    return tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)


class Killed(unittest.TestCase):
    kills = 0  # runs that a kill really ended

    @classmethod
    def tearDownClass(cls):
        print(f"{cls.kills} runs were ended by a kill", file=sys.stderr)
        if cls is Killed and cls.kills < LEAST_KILLS:
            raise AssertionError(f"{cls.kills} runs were ended by a kill, at least {LEAST_KILLS} are needed")

    def setUp(self):
        self.holder = memory_folder()
        self.addCleanup(self.holder.cleanup)
        self.top = pathlib.Path(self.holder.name)
        self.dir = self.top / "now"
        (self.dir / "w").mkdir(parents=True)
        (self.dir / "rows.csv").write_text(TABLE)
        self.fmd("train", "rows.csv", "--label", "approved", "--positive", "yes", "--attribute", "sex",
                 "-o", "model", "--threads", "1")
        self.model = (self.dir / "model").read_bytes()

    # Running

    def start(self, program, *args):
        return subprocess.run([*map(str, (*program, *args))], cwd=self.dir, capture_output=True, text=True, timeout=60)

    def fmd(self, *args, codes=(0,)):
        run = self.start([FMD], *args)
        self.assertIn(run.returncode, codes, f"fmd {' '.join(map(str, args))}\n{run.stdout}\n{run.stderr}")
        return run

    def killed_at(self, number, *args):
        """Kills the command before its call `number`; false when it came to its end before that."""
        run = self.start([FAULTY, "kill", number], *args)
        self.assertIn(run.returncode, (0, -signal.SIGKILL), run.stderr)
        Killed.kills += run.returncode == -signal.SIGKILL
        return run.returncode != 0

    def at_every_call(self, prepare, args, check):
        """prepare, kill, check for each call in turn; the number of calls."""
        self.keep("start")
        for number in range(1, 1000):
            self.back_to("start")
            prepare()
            if not self.killed_at(number, *args):
                return number - 1
            with self.subTest(f"killed before call {number}"):
                check()
        self.fail("a thousand calls, and no end")

    def keep(self, name):
        shutil.rmtree(self.top / name, ignore_errors=True)
        shutil.copytree(self.dir, self.top / name)

    def back_to(self, name):
        shutil.rmtree(self.dir)
        shutil.copytree(self.top / name, self.dir)

    # Looking

    def files(self):
        return {p.name: p.read_bytes() for p in (self.dir / "w").iterdir()}

    def assert_tidy(self):
        strays = [n for n in self.files() if "fmd-" in n]
        self.assertEqual(strays, [], "files of the killed run are left")

    def assert_whole(self, files, expected):
        """The six files of one repair that fit each other; expected: the bytes that no clock changes."""
        self.assertEqual(set(files), {"out", *("out" + s for s in SIDES)})
        for name in ("out", "out.undo", "out.path.safetensors", "out.path.json"):
            self.assertEqual(files[name], expected[name], name)
        receipt = json.loads(files["out.receipt.json"])
        self.assertEqual(receipt["model"]["sha256_after"], sha256(files["out"]))
        self.assertEqual(receipt["model"]["sha256_before"], sha256(self.model))

    def assert_undo_works(self):
        self.fmd("undo", "w/out.receipt.json", "-o", "back", "--force")
        self.assertEqual((self.dir / "back").read_bytes(), self.model)
        self.assert_tidy()

    def check_raw(self, found, old, new):
        """What stands there right after the kill, before anybody has cleaned up."""
        plain = {n: b for n, b in found.items() if "fmd-" not in n}
        if "out.fmd-journal" in found:  # complete, written down, being renamed: OUT comes last
            for name in ("out", "out.undo", "out.path.json", "out.path.safetensors"):
                self.assertTrue(plain.get(name) in (old.get(name), new[name]), f"{name} is neither old nor new")
        else:
            self.assertTrue(plain == old or plain.get("out") == new["out"], sorted(found))
        if plain.get("out") == new["out"]:
            self.assert_whole(plain, new)

    # Cases

    def debias_once(self, *more):
        self.fmd(*DEBIAS, *more)
        made = self.files()
        self.assert_whole(made, made)
        return made

    def kill_debias(self, old, new, *force):
        seen = {"old": 0, "new": 0}

        def prepare():
            for name, content in old.items():
                (self.dir / "w" / name).write_bytes(content)

        def check():
            self.check_raw(self.files(), old, new)
            self.keep("killed")
            # Undo at once: it finishes or takes back the killed run first.
            self.fmd("undo", "w/out.receipt.json", "-o", "back", codes=(0,) if old else (0, 11))
            self.assert_tidy()
            found = self.files()
            seen["old" if found == old else "new"] += 1
            if found != old:
                self.assert_whole(found, new)
            if found:
                self.assertEqual((self.dir / "back").read_bytes(), self.model)
            # Or the same run again: without --force it finds the finished files, and says so.
            self.back_to("killed")
            again = self.fmd(*DEBIAS, *force, codes=(0,) if force or not found else (13,))
            self.assert_tidy()
            self.assert_whole(self.files(), new)
            self.assertEqual(again.returncode == 0, bool(force) or not found)
            self.assert_undo_works()

        calls = self.at_every_call(prepare, (*DEBIAS, *force), check)
        print(f"debias {' '.join(force) or 'to a new name'}: killed before each of {calls} calls; "
              f"{seen['old']} left the old files, {seen['new']} the new ones", flush=True)
        self.assertGreater(calls, 50)
        self.assertGreater(min(seen.values()), 5)

    def test_debias_to_a_new_name(self):
        new = self.debias_once()
        shutil.rmtree(self.dir / "w")
        (self.dir / "w").mkdir()
        self.kill_debias({}, new)

    def test_debias_over_an_old_out(self):
        old = self.debias_once("--method", "average-column")
        new = self.debias_once("--force")
        self.assertNotEqual(old["out"], new["out"])
        self.kill_debias(old, new, "--force")

    def test_other_commands(self):
        self.debias_once()
        made = self.files()
        (self.dir / "card.csv").write_text("feature,coefficient\n(Intercept),-1\nage,.02\nsex=F,.5\n")
        lost_output.make_language_model(self.dir)
        self.fmd("audit", "model", "rows.csv", "--replicates", "50", "--threads", "1", "--survey", "part.survey")
        some = ("audit", "model", "rows.csv", "--replicates", "50", "--threads", "1")
        commands = {
            "import": ("import", "card.csv", "--label", "approved", "--positive", "yes", "--negative", "no", "-o", "w/a"),
            "merge": ("merge", "part.survey", "-o", "w/a"),
            "survey": (*some, "--survey", "w/a"),
            "partial": (*some, "--survey", "part.survey", "--partial", "w/a"),
            "lm pairs": ("lm", "pairs", "text.txt", "--swap", "words.csv", "-o", "w/a"),
            "lm audit": ("lm", "audit", "llama", "--stereoset", "stereoset.json", "--replicates", "20", "--threads", "1",
                         "-o", "w/a"),
            "explain": ("explain", "model", "rows.csv", "--train", "rows.csv", "--threads", "1", "--spill", "-o", "w/a"),
            "coverage": ("coverage", "--draws", "1", "--rows", "200", "--replicates", "50", "--threads", "1", "-o", "w/a"),
            "train": ("train", "rows.csv", "--label", "approved", "--threads", "1", "-o", "w/a"),
            "features": ("features", "model", "rows.csv", "--threads", "1", "-o", "w/a"),
            "predict": ("predict", "model", "rows.csv", "--threads", "1", "-o", "w/a"),
            "pairs": ("pairs", "rows.csv", "--flip", "sex", "-o", "w/a"),
            "audit": ("audit", "model", "rows.csv", "--replicates", "50", "--threads", "1", "-o", "w/a"),
            "undo": ("undo", "w/out.receipt.json", "-o", "w/a"),
            "split": ("split", "rows.csv", "--parts", "a=.5,b=.3,c=.2", "-o", "w"),
        }
        for name, args in commands.items():
            targets = {"split": ("a.csv", "b.csv", "c.csv"), "train": ("a.rows", "a")}.get(name, ("a",))
            with self.subTest(name):
                self.kill_command(name, args, targets, made)
            self.back_to("start")

    def kill_command(self, name, args, targets, others):
        self.fmd(*args)
        new = self.files()
        for target in targets:
            (self.dir / "w" / target).unlink()
        total = 0
        for old in ({}, {t: b"old " + t.encode() for t in targets}):
            before = {**others, **old}

            def prepare():
                for target, content in old.items():
                    (self.dir / "w" / target).write_bytes(content)

            def check():
                plain = {n: b for n, b in self.files().items() if "fmd-" not in n}
                last = targets[-1]
                whole = plain in (before, new) or (len(targets) > 1 and plain.get(last) == old.get(last))
                differ = sorted(n for n in {*plain, *before, *new} if plain.get(n) not in (before.get(n), new.get(n)))
                self.assertTrue(whole, (name, sorted(plain), sorted(new), differ))
                again = self.fmd(*args, *force, codes=(0, 13))
                self.assertTrue(again.returncode == 0 or not force)
                self.assertEqual(self.files(), new)

            force = ("--force",) if old else ()
            total += self.at_every_call(prepare, (*args, *force), check)
            self.back_to("start")
        print(f"{name}: killed before each of {total} calls", flush=True)
        self.assertGreater(total, 5)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fmd", required=True)
    args, rest = parser.parse_known_args()
    FMD = str(pathlib.Path(args.fmd).resolve())
    FAULTY = os.environ.get("FMD_FAULTY") or str(pathlib.Path(FMD).parent / "tests/fmd_faulty")
    unittest.main(argv=[sys.argv[0], *rest])
