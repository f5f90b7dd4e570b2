"""A full disk, a read-only folder and edited files: a clear error, nothing lost, nothing left.

Faults are made three ways: by fmd_faulty (tests/faulty) at every single change of the disk, by limits of
the system that need no rights, and on real full or read-only file systems where they can be mounted.
"""

import argparse
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

FMD = FAULTY = ""
TABLE = "age,sex,job,approved\n" + "".join(
    f"{20 + i % 40},{'FM'[i % 2]},{['cook', 'clerk', 'baker'][i % 3]},{['no', 'yes'][(i * 7 + i // 5) % 3 == 0]}\n"
    for i in range(300))
DEBIAS = ("debias", "model", "rows.csv", "--attribute", "sex", "--best-effort", "--points", "2", "--replicates",
          "50", "--threads", "1", "-o", "w/out")
WORDS = {"once": "No space left", "full": "No space left", "readonly": "Read-only file system"}
WRITERS = {
    "debias": (*DEBIAS, "--force"),
    "train": ("train", "rows.csv", "--label", "approved", "--threads", "1", "--force", "-o", "w/a"),
    "predict": ("predict", "model", "rows.csv", "--threads", "1", "--force", "-o", "w/a"),
    "features": ("features", "model", "rows.csv", "--threads", "1", "--force", "-o", "w/a"),
    "explain": ("explain", "model", "rows.csv", "--train", "rows.csv", "--threads", "1", "--spill", "--force",
                "-o", "w/a"),
    "pairs": ("pairs", "rows.csv", "--flip", "sex", "--force", "-o", "w/a"),
    "audit": ("audit", "model", "rows.csv", "--replicates", "50", "--threads", "1", "--force", "-o", "w/a"),
    "undo": ("undo", "w/out.receipt.json", "--force", "-o", "w/a"),
    "import": ("import", "card.csv", "--label", "approved", "--positive", "yes", "--negative", "no", "--force", "-o", "w/a"),
    "survey": ("audit", "model", "rows.csv", "--replicates", "50", "--threads", "1", "--survey", "w/a", "--force"),
    "merge": ("merge", "part.survey", "--force", "-o", "w/a"),
    "lm pairs": ("lm", "pairs", "text.txt", "--swap", "words.csv", "--force", "-o", "w/a"),
    "ledger": ("audit", "model", "rows.csv", "--replicates", "50", "--threads", "1", "--ledger", "w/looks"),
    "split": ("split", "rows.csv", "--parts", "a=.5,b=.5", "--force", "-o", "w"),
}


def can_mount():
    """Whether a mount of our own works here: it needs rights that root in a container may not have."""
    return subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
                          capture_output=True).returncode == 0


class Base(unittest.TestCase):
    def setUp(self):
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        holder = tempfile.TemporaryDirectory(dir=memory)
        self.addCleanup(holder.cleanup)
        self.dir = pathlib.Path(holder.name) / "now"
        (self.dir / "w").mkdir(parents=True)
        (self.dir / "rows.csv").write_text(TABLE)
        self.fmd("train", "rows.csv", "--label", "approved", "--positive", "yes", "--attribute", "sex",
                 "-o", "model", "--threads", "1")
        self.fmd(*DEBIAS, "--method", "average-column")
        (self.dir / "card.csv").write_text("feature,coefficient\n(Intercept),-1\nage,.02\nsex=F,.5\n")
        (self.dir / "text.txt").write_text("she is here\nhe is there\n")
        (self.dir / "words.csv").write_text("female,male\nshe,he\n")
        self.fmd("audit", "model", "rows.csv", "--replicates", "50", "--threads", "1", "--survey", "part.survey")
        self.fmd("audit", "model", "rows.csv", "--replicates", "50", "--ledger", "w/looks")

    def start(self, *command, **how):
        return subprocess.run([*map(str, command)], cwd=self.dir, capture_output=True, text=True, timeout=60, **how)

    def fmd(self, *args, code=0):
        run = self.start(FMD, *args)
        self.assertEqual(run.returncode, code, f"fmd {' '.join(map(str, args))}\n{run.stdout}\n{run.stderr}")
        return run

    def files(self):
        return {str(p.relative_to(self.dir)): p.read_bytes() for p in self.dir.rglob("*") if p.is_file()}

    def back_to(self, files):
        shutil.rmtree(self.dir / "w")
        (self.dir / "w").mkdir()
        for name, content in files.items():
            (self.dir / name).write_bytes(content)

    def assert_refused(self, run, words, code=12):
        self.assertEqual(run.returncode, code, f"{run.stdout}\n{run.stderr}")
        self.assertIn("fmd: error[", run.stderr)
        self.assertIn(words, run.stderr)
        self.assertIn("hint:", run.stderr)


class Faults(Base):
    def test_at_every_call_of_every_command(self):
        for target in ("a", "a.csv", "b.csv"):
            (self.dir / "w" / target).write_text("old")
        old = self.files()
        for name, args in WRITERS.items():
            self.back_to(old)
            calls = int(self.start(FAULTY, "count", 1, *args).stderr.split()[-3])
            for fault, words in WORDS.items():
                refused = self.try_every_call(name, args, fault, words, old, calls)
                print(f"{name}, {fault}: at each of {calls} calls, an error at {refused}", flush=True)
                self.assertGreater(refused, 1)

    def try_every_call(self, name, args, fault, words, old, calls):
        refused = 0
        for number in range(1, calls + 1):
            self.back_to(old)
            run = self.start(FAULTY, fault, number, *args)
            with self.subTest(f"{name}, {fault} at call {number}"):
                if run.returncode != 0:  # a call that only tidies up may fail without harm
                    self.assert_refused(run, words)
                    self.check_left(run, old, may_leave=fault == "readonly")
                    refused += 1
                self.fmd(*args)  # the disk is well again
                self.assertEqual([f for f in self.files() if "fmd-" in f], [])
        return refused

    def check_left(self, run, old, may_leave):
        """The old files as they were; or the new ones, complete, and the words say so."""
        found = self.files()
        if "in place" not in run.stderr:
            self.assertEqual({f: b for f, b in found.items() if "fmd-" not in f}, old)
            if not may_leave:
                self.assertEqual(found, old, "something was left")

    def test_a_file_that_may_not_grow(self):
        """The system itself refuses the bytes, also in the middle of a file."""
        old = self.files()

        def limited(size):
            def limit():
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
            return limit
        for size in (0, 1, 100, 1000, 3000):
            for name, args in WRITERS.items():
                run = self.start(FMD, *args, preexec_fn=limited(size))
                if run.returncode == 0:  # a small file that fits
                    self.back_to(old)
                    continue
                self.assert_file_too_large(run)
                self.assertEqual(self.files(), old, f"{name} with at most {size} bytes")

    def assert_file_too_large(self, run):
        self.assertEqual(run.returncode, 12, run.stderr)
        self.assertIn("File too large", run.stderr)


class Mounted(Base):
    """Real file systems, each in a mount namespace of its own."""

    @classmethod
    def setUpClass(cls):
        cls.possible = can_mount()
        if not cls.possible:  # the same faults are made at every call above
            print("no mounts here: full and read-only disks are only simulated", flush=True)

    def mounted(self, options, script):
        """Runs a script with a file system mounted at w; $FMD and the old files are there."""
        shutil.copytree(self.dir / "w", self.dir / "old")
        return self.start("unshare", "-m", "sh", "-ec",
                          f'mount -t tmpfs -o {options} tmpfs w\ncp old/* w/\n{script}', env={**os.environ, "FMD": FMD})

    def test_a_full_disk(self):
        if not self.possible:
            return
        need = sum(len(c) // 4096 + 1 for c in self.files().values())
        for spare in (0, 1, 3, 6):  # pages of 4 kB
            shutil.rmtree(self.dir / "old", ignore_errors=True)
            run = self.mounted("size=4M", f'''
                dd if=/dev/zero of=w/filler bs=4k 2>/dev/null || true
                truncate -s -{4096 * spare} w/filler
                status=0; "$FMD" {" ".join(DEBIAS)} --force || status=$?
                ls -A w > after; cmp old/out w/out; cmp old/out.undo w/out.undo
                cmp old/out.receipt.json w/out.receipt.json
                "$FMD" undo w/out.receipt.json -o back --force; cmp back model
                exit $status''')
            with self.subTest(f"{spare} of some {need} pages free"):
                self.assert_refused(run, "No space left")
                self.assertEqual({*(self.dir / "after").read_text().split()},
                                 {p.name for p in (self.dir / "old").iterdir()} | {"filler"})

    def test_a_read_only_folder(self):
        if not self.possible:
            return
        for name, args in WRITERS.items():
            shutil.rmtree(self.dir / "old", ignore_errors=True)
            run = self.mounted("size=4M", f'''
                mount -o remount,ro w
                status=0; "$FMD" {" ".join(args)} || status=$?
                for file in old/*; do cmp "$file" "w/${{file#old/}}"; done
                ls -A w > after; exit $status''')
            with self.subTest(name):
                self.assert_refused(run, "Read-only file system")
                self.assertEqual({*(self.dir / "after").read_text().split()},
                                 {p.name for p in (self.dir / "old").iterdir()})

    def test_undo_reads_from_a_read_only_folder(self):
        if not self.possible:
            return
        run = self.mounted("size=4M", '''
            mount -o remount,ro w
            "$FMD" undo w/out.receipt.json -o back; cmp back model''')
        self.assertEqual(run.returncode, 0, run.stderr)


class Edited(Base):
    def assert_undo_refused(self, code, words):
        before = self.files()
        self.assert_refused(self.start(FMD, "undo", "w/out.receipt.json", "-o", "back"), words, code)
        self.assertEqual(self.files(), before, "something was written")

    def test_every_edited_byte_of_out_and_undo(self):
        for name, step in (("out", 97), ("out.undo", 7)):
            path = self.dir / "w" / name
            content = path.read_bytes()
            for at in {*range(0, len(content), step), len(content) - 1}:
                path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1:])
                before = self.files()
                run = self.start(FMD, "undo", "w/out.receipt.json", "-o", "back")
                with self.subTest(f"{name}, byte {at}"):
                    self.assertIn(run.returncode, (20, 21), run.stderr)
                    self.assertEqual(self.files(), before)
            path.write_bytes(content + b"x")
            self.assertIn(self.start(FMD, "undo", "w/out.receipt.json", "-o", "back").returncode, (20, 21))
            path.write_bytes(content)
        self.fmd("undo", "w/out.receipt.json", "-o", "back")

    def test_edited_receipts(self):
        path = self.dir / "w/out.receipt.json"
        receipt = json.loads(path.read_text())
        for key in ("sha256_before", "sha256_after"):
            for value, code, words in (("0" * 64, 21, "is not the one in the receipt"), (None, 20, key),
                                       (5, 20, key)):
                with self.subTest(f"{key}: {value}"):
                    path.write_text(json.dumps({**receipt, "model": {**receipt["model"], key: value}}))
                    self.assert_undo_refused(code, words)
        for text in ("", "[", "[]", '{"model": 3}', "\0"):
            path.write_text(text)
            self.assert_undo_refused(20, "not an fmd receipt")
        # The hashes of another run's pair do not help: the three files must fit each other.
        other = json.loads(json.dumps(receipt))
        other["model"]["sha256_before"], other["model"]["sha256_after"] = (
            receipt["model"]["sha256_after"], receipt["model"]["sha256_before"])
        path.write_text(json.dumps(other))
        self.assert_undo_refused(21, "is not the one in the receipt")

    def test_undo_after_the_folder_was_moved(self):
        (self.dir / "w").rename(self.dir / "moved to")
        (self.dir / "rows.csv").unlink()
        model = (self.dir / "model").read_bytes()
        (self.dir / "model").unlink()
        self.fmd("undo", "moved to/out.receipt.json", "-o", "back")
        self.assertEqual((self.dir / "back").read_bytes(), model)

    def test_a_killed_run_in_a_folder_that_was_moved(self):
        model = (self.dir / "model").read_bytes()
        old = self.files()
        for number in range(1, 1000):
            self.back_to(old)
            if self.start(FAULTY, "kill", number, *DEBIAS, "--force").returncode == 0:
                return
            (self.dir / "w").rename(self.dir / "moved")
            self.fmd("undo", "moved/out.receipt.json", "-o", "back", "--force")
            self.assertEqual((self.dir / "back").read_bytes(), model)
            self.assertEqual([n for n in self.files() if "fmd-" in n], [])
            (self.dir / "moved").rename(self.dir / "w")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fmd", required=True)
    args, rest = parser.parse_known_args()
    FMD = str(pathlib.Path(args.fmd).resolve())
    FAULTY = os.environ.get("FMD_FAULTY") or str(pathlib.Path(FMD).parent / "tests/fmd_faulty")
    unittest.main(argv=[sys.argv[0], *rest])
