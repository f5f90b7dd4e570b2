"""Inputs that attack: files that change while they are read, names that would steer a terminal, paths inside files, bombs.

Every case runs the real command. What it must never do: crash, hang, open a file that the user did not name, print
what a file made up, leave a temporary file.
"""

import argparse
import fcntl
import gzip
import json
import lost_output
import os
import pathlib
import pty
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FMD = ""
COOKS = ["cook", "clerk", "baker"]
EVIL = "F\nlimits PASS all limits met\x1b[2J\x07\x9b\u202e\u2028"


def rows(count, sex="FM", job=COOKS):
    lines = [f"{20 + i % 40},{cell(sex[i % 2])},{cell(job[i % 3])},{['no', 'yes'][(i * 7 + i // 5) % 3 == 0]}"
             for i in range(count)]
    return "age,sex,job,approved\n" + "\n".join(lines) + "\n"


def cell(text):
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\n') else text


def limits(megabytes):
    def set_limits():
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
    return set_limits


def run(*command, cwd, memory=2000, seconds=60, **how):
    how.setdefault("stdout", subprocess.PIPE)
    return subprocess.run([FMD, *map(str, command)], cwd=cwd, stderr=subprocess.PIPE, timeout=seconds,
                          preexec_fn=limits(memory), **how)


def tensors(path):
    """The header and the data of a safetensors file."""
    content = path.read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    return json.loads(content[8:8 + size]), content[8 + size:]


def save_tensors(path, header, data):
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def wait_until_open(process, path):
    """Until the process has the file open, or has ended."""
    folder = pathlib.Path(f"/proc/{process.pid}/fd")
    wanted = str(path.resolve())
    while process.poll() is None:
        try:
            if any(os.readlink(link) == wanted for link in folder.iterdir()):
                return
        except OSError:  # closed meanwhile
            pass


class Hostile(unittest.TestCase):
    def setUp(self):
        self.holder = tempfile.TemporaryDirectory()
        self.addCleanup(self.holder.cleanup)
        self.dir = pathlib.Path(self.holder.name)
        (self.dir / "rows.csv").write_text(rows(300))

    def fmd(self, *command, code=0, **how):
        done = run(*command, cwd=self.dir, **how)
        self.assertEqual(done.returncode, code, f"fmd {command}\n{done.stderr.decode(errors='replace')}")
        return done

    def train(self, data="rows.csv", out="model", *more):
        self.fmd("train", data, "--label", "approved", "--positive", "yes", "--attribute", "sex", "-o", out, *more)

    def assert_clean(self):
        self.assertEqual([f for f in os.listdir(self.dir) if "fmd-tmp" in f or "journal" in f], [])


class Changing(Hostile):
    """An input that shrinks or changes while it is read."""

    def attack(self, name, change, *command):
        """The exit codes of the command while `change` works on the file, at several moments."""
        content = (self.dir / name).read_bytes()
        codes = []
        for delay in (0.0, 0.001, 0.003, 0.01) * 5:
            if len(codes) >= 4 and any(codes):  # on a busy machine a change may come too late
                break
            (self.dir / name).write_bytes(content)
            process = subprocess.Popen([FMD, *command], cwd=self.dir, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE)
            wait_until_open(process, self.dir / name)
            time.sleep(delay)
            change(self.dir / name)
            error = process.communicate(timeout=120)[1].decode()
            self.assertGreaterEqual(process.returncode, 0, f"signal {-process.returncode}: {error}")
            codes.append(process.returncode)
            self.assertIn(process.returncode, (0, 11, 14, 18, 20), error)
            self.assert_clean()
        (self.dir / name).write_bytes(content)
        return codes

    def test_a_table_that_shrinks_is_an_error_and_no_signal(self):
        self.train()
        (self.dir / "big.csv").write_text(rows(200_000))
        shrink = lambda path: os.truncate(path, 5000)
        for command in (("predict", "model", "big.csv", "-o", "p.csv", "--force", "--threads", "1"),
                        ("audit", "model", "big.csv", "--replicates", "50", "--threads", "1")):
            codes = self.attack("big.csv", shrink, *command)
            self.assertIn(11, codes, f"no run met the change: {codes}")

    def test_features_and_packed_tables_that_shrink_are_errors(self):
        self.train()
        (self.dir / "big.csv").write_text(rows(200_000))
        self.fmd("features", "model", "big.csv", "-o", "big.features")
        codes = self.attack("big.features", lambda path: os.truncate(path, 5000), "audit", "model", "big.features",
                            "--replicates", "50")
        self.assertIn(11, codes, f"no run met the change: {codes}")
        with gzip.open(self.dir / "big.csv.gz", "wb", 1) as file:
            file.write((self.dir / "big.csv").read_bytes())
        self.attack("big.csv.gz", lambda path: os.truncate(path, 5000), "predict", "model", "big.csv.gz")

    def test_a_table_that_grows_or_is_rewritten_is_an_error(self):
        self.train()
        (self.dir / "big.csv").write_text(rows(200_000))

        def grow(path):
            with path.open("a") as file:
                file.write("30,F,cook,yes\n")
        codes = self.attack("big.csv", grow, "predict", "model", "big.csv", "--threads", "1")
        self.assertIn(11, codes, f"no run met the change: {codes}")


class Pipes(Hostile):
    def setUp(self):
        super().setUp()
        self.train()
        self.expected = self.fmd("predict", "model", "rows.csv").stdout

    def test_data_may_come_from_stdin_a_fifo_or_a_substitution(self):
        content = (self.dir / "rows.csv").read_bytes()
        for name in ("-", "/dev/stdin"):
            self.assertEqual(self.fmd("predict", "model", name, input=content).stdout, self.expected)
            self.fmd("audit", "model", name, "--replicates", "50", input=content)
        os.mkfifo(self.dir / "pipe")
        writer = threading.Thread(target=lambda: (self.dir / "pipe").write_bytes(content))
        writer.start()
        self.assertEqual(self.fmd("predict", "model", "pipe").stdout, self.expected)
        writer.join()
        with (self.dir / "rows.csv").open("rb") as file:
            self.assertEqual(self.fmd("predict", "model", "-", stdin=file).stdout, self.expected)

    def test_a_model_and_a_packed_table_may_come_from_stdin_too(self):
        model = (self.dir / "model").read_bytes()
        self.assertEqual(self.fmd("predict", "-", "rows.csv", input=model).stdout, self.expected)
        packed = gzip.compress((self.dir / "rows.csv").read_bytes())
        self.assertEqual(self.fmd("predict", "model", "-", input=packed).stdout, self.expected)

    def test_the_copy_of_a_pipe_has_no_name(self):
        folder = self.dir / "tmp"
        folder.mkdir()
        process = subprocess.Popen([FMD, "predict", "model", "-"], cwd=self.dir, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": str(folder)})
        process.stdin.write((self.dir / "rows.csv").read_bytes())
        process.stdin.flush()
        time.sleep(0.2)
        self.assertEqual(list(folder.iterdir()), [])
        self.assertEqual(process.communicate()[0], self.expected)

    def test_an_empty_pipe_and_a_device_are_errors(self):
        self.assertIn(b"error[bad-csv]: -: ", self.fmd("predict", "model", "-", input=b"", code=14).stderr)
        done = self.fmd("predict", "model", "/dev/zero", code=11)
        self.assertIn(b"it is a device", done.stderr)

    def test_out_may_be_stdout(self):
        done = self.fmd("predict", "model", "rows.csv", "-o", "-")
        self.assertEqual(done.stdout, self.expected)
        self.assertFalse((self.dir / "-").exists())


class Names(Hostile):
    """Control characters in categories, columns, classes, model metadata and receipts, through every output."""

    def setUp(self):
        super().setUp()
        (self.dir / "evil.csv").write_text(rows(400, sex=[EVIL, "M"]).replace("age,", cell("age\x1b]0;x\x07") + ",", 1))
        self.train("evil.csv")

    def assert_safe(self, text, command):
        text = text.decode("utf-8")  # what is not UTF-8 fails
        self.assertNotIn("\nlimits PASS all", text, command)
        for c in "\x1b\x07\x9b\u202e\u2028\x00":
            self.assertNotIn(c, text, command)

    def test_nothing_that_people_read_is_steered_by_a_file(self):
        audit = ("audit", "model", "evil.csv", "--replicates", "50", "--min-group", "10")
        (self.dir / "bad.csv").write_text((self.dir / "evil.csv").read_text().replace("cook", "c\x1b[2Jk", 1))
        self.fmd("debias", "model", "evil.csv", "--method", "average-column", "--best-effort", "--replicates", "50",
                 "-o", "repaired")
        for command in (audit, (*audit, "--format", "markdown"), (*audit, "--format", "csv"),
                        (*audit, "--format", "junit"), (*audit, "--scan"), (*audit, "--limit", "co=.0001"),
                        ("explain", "model", "evil.csv", "--train", "evil.csv"),
                        ("debias", "model", "evil.csv", "--best-effort", "--points", "2", "--replicates", "50",
                         "--force", "-o", "out"),
                        ("verify", "repaired.receipt.json"),
                        ("compare", "evil.csv", "--label", "approved", "--positive", "yes", "--attribute", "sex",
                         "--methods", "vanilla,tempered"),
                        ("predict", "model", "bad.csv"),
                        ("train", "evil.csv", "--label", "approved", "--positive", "yes", "-o", "x\x1b[2J\ny"),
                        ("split", "evil.csv", "--parts", "a\x1b[2J=.5,b=.5"),
                        ("predict", "model", "evil.csv", "-o", "p\x1b[2J\nlimits PASS all.csv"),
                        ("predict", "no\nlimits PASS all\x1b[2J", "evil.csv")):
            with self.subTest(command=command):
                done = run(*command, cwd=self.dir)
                self.assertIn(done.returncode, (0, 1, 2, 3, 11, 17), done.stderr)
                self.assert_safe(done.stdout, command)
                self.assert_safe(done.stderr, command)

    def test_json_holds_the_names_themselves(self):
        found = json.loads(self.fmd("audit", "model", "evil.csv", "--replicates", "50", "--min-group", "10",
                                    "--json").stdout)
        self.assertIn(EVIL, [g["value"] for g in found["attributes"][0]["groups"]])

    def test_a_receipt_cannot_print_what_it_likes(self):
        self.fmd("debias", "model", "evil.csv", "--method", "average-column", "--best-effort", "--replicates", "50",
                 "-o", "repaired")
        path = self.dir / "repaired.receipt.json"
        receipt = json.loads(path.read_text())
        receipt["versions"]["fmd"] = receipt["run"]["date"] = EVIL
        receipt["data"][0]["name"] = EVIL
        path.write_text(json.dumps(receipt))
        done = run("verify", path, cwd=self.dir)
        self.assertIn(done.returncode, (1, 3))
        self.assert_safe(done.stdout + done.stderr, "verify")

    def test_a_terminal_is_never_steered(self):
        """Even data are escaped on a terminal, where nobody can read them back anyway."""
        header, data = tensors(self.dir / "model")
        task = json.loads(header["__metadata__"]["fmd.task"])
        task["classes"] = ["no", "\x1b[2Jyes\x9b"]
        task["favorable"] = task["classes"][1]
        header["__metadata__"]["fmd.task"] = json.dumps(task)
        save_tensors(self.dir / "model", header, data)
        primary, secondary = pty.openpty()
        process = subprocess.Popen([FMD, "predict", "model", "evil.csv"], cwd=self.dir, stdout=secondary,
                                   stderr=secondary)
        os.close(secondary)
        seen = b""
        try:
            while chunk := os.read(primary, 65536):
                seen += chunk
        except OSError:
            pass
        os.close(primary)
        self.assertEqual(process.wait(), 0, seen[-300:])
        # Only the progress line, which fmd writes itself, moves the cursor.
        self.assertNotIn(b"\x1b[2J", seen)
        self.assertNotIn(b"\xc2\x9b", seen)

    def test_names_of_files_that_are_not_utf8_are_written_as_escaped_text(self):
        name = b"r\xff.csv"
        with open(os.path.join(os.fsencode(self.dir), name), "w") as file:
            file.write((self.dir / "evil.csv").read_text())
        for command in (("predict", "model", os.fsdecode(name), "-o", os.fsdecode(b"o\xff.csv"), "--json"),
                        ("audit", "model", os.fsdecode(name), "--replicates", "50", "--json"),
                        ("split", os.fsdecode(name), "--parts", "a=.5,b=.5", "--json"),
                        ("train", os.fsdecode(name), "--label", "approved", "--positive", "yes", "-o",
                         os.fsdecode(b"m\xff"), "--json"),
                        ("explain", "model", os.fsdecode(name), "--train", "evil.csv", "--json"),
                        ("debias", "model", os.fsdecode(name), "--method", "average-column", "--best-effort",
                         "--replicates", "50", "-o", os.fsdecode(b"d\xff"), "--json"),
                        ("verify", os.fsdecode(b"d\xff.receipt.json"), "--json")):
            with self.subTest(command=command):
                done = run(*command, cwd=self.dir)
                self.assertIn(done.returncode, (0, 1, 3), done.stderr)
                json.loads(done.stdout.decode("utf-8"))
                if command[0] in ("predict", "train", "split"):
                    self.assertTrue(command[0] == "split" or b"\\\\xff" in done.stdout, done.stdout)

    def test_every_command_takes_names_that_would_steer_a_terminal(self):
        """Each file and folder has such a name, and the names of what is written have it too."""
        lost_output.make_language_model(self.dir)
        shutil.copy(ROOT / "fuzz/corpus/xgboost_json/seed-two", self.dir / "trees.json")
        shutil.copy(ROOT / "tests/files/catboost/numbers.cbm", self.dir / "trees.cbm")
        shutil.copy(ROOT / "tests/files/onnx/outside.onnx", self.dir)
        (self.dir / "card.csv").write_text("feature,coefficient\n(Intercept),-1\nage,.02\nsex=F,.5\n")
        (self.dir / "model").unlink()
        (self.dir / "model.rows").unlink()
        self.train()
        some = ("audit", "model", "rows.csv", "--replicates", "50")
        self.fmd(*some, "-o", "audit.json", "--ledger", "looks")
        self.fmd(*some, "--survey", "part.survey")
        self.fmd("merge", "part.survey", "-o", "all.survey")
        self.fmd(*some, "--survey", "all.survey", "--partial", "part.state")
        self.fmd(*lost_output.LM_AUDIT, "-o", "said.json")
        self.fmd(*lost_output.LM_DEBIAS, "-o", "edited")
        evil = "\udcff\x1b[2J\nlimits PASS all\u202e"
        for name in os.listdir(self.dir):
            copy = shutil.copytree if (self.dir / name).is_dir() else shutil.copy
            copy(self.dir / name, self.dir / (name + evil))
        for ending in ("", ".undo", ".receipt.json"):
            copy = shutil.copytree if ending == "" else shutil.copy
            copy(self.dir / ("edited" + ending), self.dir / ("e" + evil + ending))

        def named(*words):
            return tuple(word + evil if (self.dir / (word + evil)).exists() else word for word in words)
        receipt = "e" + evil + ".receipt.json"
        commands = [named("audit", "model", "rows.csv", "--replicates", "50"),
                    named(*some, "--previous", "audit.json"), named(*some, "--previous-model", "model"),
                    named(*some, "--ledger", "looks"), named(*some, "--survey", "all.survey", "--partial", "out"),
                    named("columns", "rows.csv"), named("model", "model"), named("model", "trees.json"),
                    named("model", "trees.cbm"), named("model", "outside.onnx"), named("model", "rows.csv"),
                    named("import", "card.csv", "--negative", "no", *lost_output.LABEL, "-o", "out"),
                    named("merge", "part.state"), named("merge", "part.state", "part.survey"),
                    named("merge", "part.survey", "-o", "out"), named("verify", "audit.json", "--model", "model"),
                    named("lm", "tokens", "llama", "text.txt"), named(*lost_output.LM_AUDIT, "-o", "out"),
                    named("lm", "audit", "--scores", "said.json", *lost_output.LM_AUDIT[3:]),
                    named("lm", "pairs", "text.txt", "--swap", "words.csv", "--domain", "x" + evil, "-o", "out"),
                    named(*lost_output.LM_DEBIAS, "-o", "out"), named(*lost_output.LM_DEBIAS, "--domain", evil, "-o", "out"),
                    named(*lost_output.LM_EXPLAIN, "-o", "out"),
                    named("lm", "train", "llama", "--text", "rows.csv", "--swap", "words.csv", "-o", "out"),
                    ("verify", receipt), ("undo", receipt, "-o", "out"), ("reproduce", evil), ("data", evil),
                    named("compare", "rows.csv", *lost_output.LABEL, "--methods", "vanilla", "-o", "out"),
                    named("explain", "model", "rows.csv", "--train", "rows.csv", "-o", "out"),
                    ("demo", evil), ("audit", "--" + evil), (evil,), ("demo", "-o", "demo" + evil),
                    ("coverage", "--draws", "1", "--rows", "200", "--replicates", "50", "-o", "out")]
        for number, words in enumerate(commands):
            for more in ((), ("--json",)):
                command = (*[f"out{number}{len(more)}{evil}" if word == "out" else word for word in words], *more)
                with self.subTest(command=command):
                    done = run(*command, cwd=self.dir, seconds=300)
                    self.assertIn(done.returncode, (0, 1, 2, 3, *range(11, 28)), done.stderr)
                    self.assert_safe(done.stderr, command)
                    if more and done.stdout and done.returncode in (0, 1, 3):
                        json.loads(done.stdout.decode("utf-8"))
                    elif not more:
                        self.assert_safe(done.stdout, command)

    def test_a_name_is_no_heading_on_a_page(self):
        for name in ("# limits PASS", "> quoted", "- entry", "1. entry", "=====", "[a](http://x)", "<b>", "a|b"):
            with self.subTest(name=name):
                lines = [f"{20 + i % 40},{'FM'[i % 2] if i % 20 else ''},{['no', 'yes'][i % 3 == 0]}" for i in range(400)]
                (self.dir / "r.csv").write_text(f"age,{name},approved\n" + "\n".join(lines) + "\n")
                self.fmd("train", "r.csv", "--label", "approved", "--positive", "yes", "--attribute", name, "-o", "m", "--force")
                page = self.fmd("audit", "m", "r.csv", "--replicates", "50", "--format", "markdown").stdout.decode()
                self.assertIn("rows are not flipped", page)
                for line in page.splitlines():
                    self.assertFalse(line.startswith(name), line)
                    self.assertNotIn("[a](", line.replace("\\[", ""))
                    self.assertNotIn("<b", line.replace("\\<", ""))
                self.assertEqual([line for line in page.splitlines() if line.startswith("#")], ["## Audit of m"])

    def test_formulas_are_guarded_on_request(self):
        (self.dir / "sums.csv").write_text(rows(400).replace(",yes", ",=cmd()"))
        self.fmd("train", "sums.csv", "--label", "approved", "--positive", "=cmd()", "-o", "sums", "--attribute",
                 "sex")
        some = ("predict", "sums", "sums.csv", "--threshold", ".4")
        self.assertTrue(b",=cmd()," in self.fmd(*some).stdout)
        guarded = self.fmd(*some, "--guard-formulas").stdout
        self.assertFalse(b",=cmd()," in guarded)
        self.assertTrue(b",'=cmd()," in guarded)


class Paths(Hostile):
    """A path inside a file leads nowhere that the user did not name."""

    def poisoned(self, pairs):
        self.train()
        header, data = tensors(self.dir / "model")
        task = json.loads(header["__metadata__"]["fmd.task"])
        task["attributes"][0]["pairs"] = pairs
        task["id"] = "age"
        header["__metadata__"]["fmd.task"] = json.dumps(task)
        save_tensors(self.dir / "model", header, data)
        for path in self.dir.glob("model"):
            return path

    def test_the_task_of_a_model_opens_nothing_elsewhere(self):
        os.mkfifo(self.dir / "pipe")
        os.symlink("/etc/passwd", self.dir / "link")
        (self.dir / "sub").mkdir()
        (self.dir / "sub/pairs.csv").write_text("secret\n")
        for name in ("/etc/passwd", "/dev/zero", "../x", "sub/pairs.csv", "pipe", "link", "."):
            for command in (("audit", "model", "rows.csv", "--replicates", "50"),
                            ("debias", "model", "rows.csv", "-o", "out", "--best-effort"),
                            ("explain", "model", "rows.csv", "--train", "rows.csv")):
                with self.subTest(name=name, command=command[0]):
                    for file in ("model", "model.rows"):
                        (self.dir / file).unlink(missing_ok=True)
                    self.poisoned("given:" + name)
                    done = self.fmd(*command, code=19, seconds=20, memory=1500)
                    self.assertIn(b"--pairs given:FILE", done.stderr)
                    self.assertNotIn(b"secret", done.stderr)
                    self.assert_clean()

    def test_a_receipt_opens_nothing_elsewhere(self):
        self.train()
        self.fmd("debias", "model", "rows.csv", "--method", "average-column", "--best-effort", "--replicates", "50",
                 "-o", "repaired")
        path = self.dir / "repaired.receipt.json"
        original = json.loads(path.read_text())
        os.mkfifo(self.dir / "pipe")
        os.symlink("/etc/passwd", self.dir / "link")
        for name in ("/etc/passwd", "/dev/zero", "../../etc/passwd", "pipe", "link", "/proc/self/mem"):
            for where in ("name", "task"):
                with self.subTest(name=name, where=where):
                    receipt = json.loads(json.dumps(original))
                    if where == "name":
                        receipt["data"][0]["name"] = name
                    else:
                        receipt["task"]["attributes"][0]["pairs"] = "given:" + name
                        receipt["task"]["id"] = "age"
                    path.write_text(json.dumps(receipt))
                    done = run("verify", path, cwd=self.dir, seconds=30, memory=1500)
                    self.assertIn(done.returncode, (1, 3, 19), done.stderr)
                    if where == "name":
                        self.assertIn(b"give it with --data FILE", b" ".join(done.stdout.split()))

    def test_a_planted_journal_moves_nothing(self):
        self.train()
        victim = self.dir / "elsewhere"
        victim.mkdir()
        (victim / "precious").write_text("keep me")
        (victim / ".precious.fmd-tmp").write_text("planted")

        def text(value):
            return struct.pack("<Q", len(value)) + value.encode()
        target = str(victim / "precious")
        for out in ("p.csv", target):
            journal = text("fmd-journal 1") + text(out) + struct.pack("<Q", 2) + text(target) + text("p.csv")
            (self.dir / "p.csv.fmd-journal").write_bytes(journal)
            done = self.fmd("predict", "model", "rows.csv", "-o", "p.csv", code=12)
            self.assertIn(b"not a journal of fmd", done.stderr)
            self.assertEqual((victim / "precious").read_text(), "keep me")
        (self.dir / "p.csv.fmd-journal").unlink()
        os.mkfifo(self.dir / "p.csv.fmd-journal")
        self.assertIn(b"not a regular file", self.fmd("predict", "model", "rows.csv", "-o", "p.csv", code=12).stderr)


    def test_a_pipe_in_place_of_a_file_that_nobody_named_is_an_error(self):
        """OUT.undo, config.json: looked for beside what the user named. A pipe would be waited for."""
        self.train()
        self.fmd("debias", "model", "rows.csv", "--method", "average-column", "--best-effort", "--replicates", "50",
                 "-o", "repaired")
        lost_output.make_language_model(self.dir)
        receipt = "repaired.receipt.json"
        cases = [(name, command) for name in ("repaired", "repaired.undo", "repaired.path.json")
                 for command in (("verify", receipt), ("undo", receipt, "-o", "back"))]
        cases += [("llama/" + name, (*lost_output.LM_AUDIT,))
                  for name in ("config.json", "tokenizer.json", "model.safetensors.index.json", "backbone.onnx")]
        cases += [("llama/tokenizer.json", ("lm", "tokens", "llama", "text.txt"))]
        for name, command in cases:
            with self.subTest(name=name, command=command[0]):
                path = self.dir / name
                path.rename(self.dir / "kept")
                os.mkfifo(path)
                done = self.fmd(*command, code=20, seconds=20)
                self.assertIn(b"is not a regular file", done.stderr)
                path.unlink()
                (self.dir / "kept").rename(path)

    def test_a_ledger_that_is_held_or_cannot_grow_keeps_its_lines(self):
        self.train()
        look = ("audit", "model", "rows.csv", "--replicates", "50", "--ledger", "looks")
        self.fmd(*look)
        whole = (self.dir / "looks").read_bytes()
        with (self.dir / "looks").open("a") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            self.assertIn(b"has been locked for 10 seconds", self.fmd(*look, code=12, seconds=40).stderr)

        def little_room():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) + 100, len(whole) + 100))
        done = subprocess.run([FMD, *look], cwd=self.dir, capture_output=True, preexec_fn=little_room)
        self.assertEqual(done.returncode, 12, done.stderr)
        self.assertEqual((self.dir / "looks").read_bytes(), whole)
        self.fmd(*look)

    def test_a_talkative_ssh_keygen_is_not_waited_for(self):
        if shutil.which("ssh-keygen") is None:
            self.skipTest("no ssh-keygen")
        self.train()
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.dir / "key"], check=True)
        self.fmd("audit", "model", "rows.csv", "--replicates", "50", "-o", "audit.json")
        subprocess.run(["ssh-keygen", "-Y", "sign", "-q", "-n", "fmd-receipt", "-f", self.dir / "key",
                        self.dir / "audit.json"], check=True, stderr=subprocess.DEVNULL)
        # It says something about each of these lines: far more than a pipe holds.
        (self.dir / "signers").write_text("me \x1b[2Jlimits ssh-ed25519 AAAA\n" * 50_000)
        check = ("verify", "audit.json", "--model", "model", "--data", "rows.csv", "--allowed-signers", "signers", "--signer",
                 "me")
        done = self.fmd(*check, code=1, seconds=60)
        self.assertIn(b"audit.json.sig is no signature", b" ".join(done.stdout.split()))
        self.assertNotIn(b"\x1b", done.stdout + done.stderr)
        # A report from a pipe is read once, and what was read is checked.
        key = (self.dir / "key.pub").read_text()
        (self.dir / "signers").write_text("me " + key)
        (self.dir / "-.sig").write_bytes((self.dir / "audit.json.sig").read_bytes())
        done = self.fmd("verify", "-", *check[2:], code=0, input=(self.dir / "audit.json").read_bytes(), seconds=60)
        self.assertIn(b"Good", done.stdout)


class Deep(Hostile):
    def test_deep_nesting_is_refused_by_every_reader(self):
        self.train()
        self.fmd("features", "model", "rows.csv", "-o", "x.features")
        self.fmd("debias", "model", "rows.csv", "--method", "average-column", "--best-effort", "--replicates", "50",
                 "-o", "repaired")
        deep = "[" * 100_000 + "]" * 100_000
        receipt = self.dir / "repaired.receipt.json"
        text = receipt.read_text()
        for planted in (deep, text.replace("{", '{"deep": ' + deep + ",", 1), "[" * 5_000_000):
            receipt.write_text(planted)
            for command in ("verify", "undo"):
                more = ("-o", "back") if command == "undo" else ()
                self.assertIn(b"deep", self.fmd(command, receipt, *more, code=20).stderr)
        for name, key in (("x.features", "fmd.features"), ("model", "fmd.task"), ("model", "fmd.encoder"),
                          ("model", "fmd.training")):
            content = (self.dir / name).read_bytes()
            header, data = tensors(self.dir / name)
            header["__metadata__"][key] = deep
            save_tensors(self.dir / name, header, data)
            data_file = "x.features" if name == "x.features" else "rows.csv"
            self.fmd("predict", "model", data_file, code=20)
            (self.dir / name).write_bytes(content)
        (self.dir / "audit.json").write_text(deep)
        self.fmd("audit", "model", "rows.csv", "--previous", "audit.json", "--replicates", "50", code=20)
        (self.dir / "t.toml").write_text("a = " + deep)
        self.fmd("audit", "model", "rows.csv", "--task", "t.toml", "--replicates", "50", code=19)


class Large(Hostile):
    """Budgets of memory (by the limit of the process) and of time."""

    def test_a_bomb_of_blank_lines_takes_little_memory(self):
        with gzip.open(self.dir / "bomb.csv.gz", "wb", 9) as file:
            file.write(b"age,sex,job,approved\n")
            for _ in range(300):
                file.write(b"\n" * 1_000_000)
            file.write(b"30,F,cook,yes\n")
        self.train()
        self.fmd("predict", "model", "bomb.csv.gz", "--threads", "2", memory=400)

    def test_a_cell_and_a_line_without_end_are_refused(self):
        self.train()
        for start in (b"age,sex,job,approved\n1,F,", b"age,sex,job,approved\n1,F,\"", b""):
            with gzip.open(self.dir / "long.csv.gz", "wb", 1) as file:
                file.write(start)
                for _ in range(300):
                    file.write(b"x" * 1_000_000)
            self.fmd("predict", "model", "long.csv.gz", "--threads", "2", memory=800, code=14)

    def test_many_values_in_a_task_are_read_in_time(self):
        self.train()
        values = ",".join(f'"c{i}"' for i in range(100_000))
        (self.dir / "t.toml").write_text(f'[[attributes]]\nname = "sex"\nvalues = [{values}]\n')
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        done = run("audit", "model", "rows.csv", "--task", "t.toml", "--replicates", "50", cwd=self.dir, seconds=60)
        self.assertIn(done.returncode, (15, 17, 18, 19), done.stderr[-300:])
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, 5)

    def test_many_categories_and_classes_name_the_column_and_the_size(self):
        lines = ["id,x,c,sex,y"] + [f"{i},{i % 7},c{i},{'FM'[i % 2]},k{i % 1000}" for i in range(40_000)]
        (self.dir / "many.csv").write_text("\n".join(lines) + "\n")
        done = self.fmd("train", "many.csv", "--label", "y", "--ignore", "id", "--attribute", "sex", "-o", "m",
                        code=18, memory=1500, seconds=60)
        self.assertRegex(done.stderr.decode(), r'column "(c|y)"|"y"')
        self.assertRegex(done.stderr.decode(), r"[0-9]{3}")


class Parquet(Hostile):
    """Bombs and damage, through the real plug-in."""

    def setUp(self):
        super().setUp()
        python = ROOT / "build/venv-parquet/bin/python"
        if not (pathlib.Path(FMD).parent / "fmd_parquet.so").exists() or not python.exists():
            self.skipTest("no plug-in for Parquet, or no pyarrow")
        make = """
import pyarrow as pa, pyarrow.parquet as pq
n = 60_000_000
few = pa.table({"age": pa.array([30.0, 40.0] * 150), "sex": ["F", "M"] * 150, "job": ["cook", "clerk", "baker"] * 100,
                "approved": ["yes", "no", "no"] * 100})
pq.write_table(few, "small.parquet")
schema = few.schema
with pq.ParquetWriter("rows.parquet", schema, compression="zstd") as writer:
    part = pa.table({"age": pa.array([30.0] * 1_000_000), "sex": ["F"] * 1_000_000, "job": ["cook"] * 1_000_000,
                     "approved": ["yes"] * 1_000_000}, schema=schema)
    for _ in range(n // 1_000_000):
        writer.write_table(part)
long = pa.table({"age": [30.0, 31.0], "sex": ["F", "a" * 400_000_000], "job": ["cook", "cook"], "approved": ["yes", "no"]})
pq.write_table(long, "cell.parquet", compression="zstd")
"""
        subprocess.run([python, "-c", make], cwd=self.dir, check=True, timeout=300)

    def test_bombs_and_damage_are_errors(self):
        self.assertLess((self.dir / "rows.parquet").stat().st_size, 1_000_000)
        done = self.fmd("train", "rows.parquet", "--label", "approved", "-o", "m", memory=3000, seconds=120, code=18)
        self.assertRegex(done.stderr.decode(), r"60000000 rows of 4 columns in a file of \d+ bytes")
        self.train("small.parquet")
        done = run("predict", "model", "cell.parquet", cwd=self.dir, memory=3000, seconds=120)
        self.assertIn(done.returncode, (14, 15, 17, 18), done.stderr[-300:])
        self.assertLess(len(done.stderr), 10_000)
        content = (self.dir / "small.parquet").read_bytes()
        rng = random.Random(3)
        for _ in range(60):
            damaged = bytearray(content)
            for _ in range(rng.choice([1, 3, 20])):
                damaged[rng.randrange(4, len(damaged))] = rng.randrange(256)
            if rng.random() < .3:
                del damaged[rng.randrange(len(damaged)):]
            (self.dir / "damaged.parquet").write_bytes(damaged)
            done = run("predict", "model", "damaged.parquet", cwd=self.dir, memory=3000)
            self.assertIn(done.returncode, (0, 14, 15, 16, 17, 18, 26), done.stderr[-300:])
            self.assert_clean()


class Scores(Hostile):
    def test_a_score_that_is_no_number_is_an_error_that_names_file_and_row(self):
        # Two numbers that are far from their means in line 9 only: infinity minus infinity.
        lines = [f"{9 if i == 7 else i % 2},{9 if i == 7 else i % 3},{'FM'[i % 2]},{['no', 'yes'][i % 5 == 0]}"
                 for i in range(300)]
        (self.dir / "rows.csv").write_text("a,b,sex,approved\n" + "\n".join(lines) + "\n")
        self.train()
        header, data = tensors(self.dir / "model")
        name = next(n for n in header if n.endswith("weight"))
        begin, end = header[name]["data_offsets"]
        count = (end - begin) // 8
        codes = []
        for signs in (lambda i: 1, lambda i: -1, lambda i: (-1) ** i):
            huge = struct.pack(f"<{count}d", *[1.7e308 * signs(i) for i in range(count)])
            save_tensors(self.dir / "model", header, data[:begin] + huge + data[end:])
            for command in (("predict", "model", "rows.csv"), ("audit", "model", "rows.csv", "--replicates", "50"),
                            ("predict", "model", "rows.csv", "-o", "p.csv", "--force")):
                done = run(*command, cwd=self.dir)
                codes.append(done.returncode)
                self.assertIn(done.returncode, (0, 15), done.stderr)
                self.assertFalse(b"nan" in done.stdout or b"inf" in done.stdout)
                if done.returncode == 15:
                    self.assertRegex(done.stderr.decode(), r"rows\.csv, line 9: the model's score")
                self.assert_clean()
        self.assertIn(15, codes)

    def test_nan_in_a_file_of_features_is_an_error_that_names_file_and_row(self):
        (self.dir / "n.csv").write_text(rows(300))
        self.train()
        self.fmd("features", "model", "n.csv", "-o", "x.features")
        header, data = tensors(self.dir / "x.features")
        name = "x" if "x" in header else "value"
        begin = header[name]["data_offsets"][0]
        row_bytes = 4 * header[name]["shape"][1]
        at = begin + 7 * row_bytes
        save_tensors(self.dir / "x.features", header, data[:at] + struct.pack("<f", float("nan")) + data[at + 4:])
        for command in ("predict", "audit"):
            done = self.fmd(command, "model", "x.features", code=15)
            self.assertIn(b"x.features, row 8", done.stderr)

    def test_what_is_written_can_be_read(self):
        done = run("train", "rows.csv", "--label", "approved", "--positive", "yes", "--kind", "mlp", "--hidden",
                   ",".join(["1"] * 1001), "--epochs", "1", "-o", "wide", cwd=self.dir)
        if done.returncode == 0:
            self.fmd("predict", "wide", "rows.csv")
        else:
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertFalse((self.dir / "wide").exists())


class Options(Hostile):
    """Whatever value an option accepts: what is written with it is read again."""

    NUMBERS = ("0", "1", "-1", "1e-300", "1e300", "1e308", "5e-324", "18446744073709551615", "9223372036854775807", ".5")

    def test_a_model_that_was_written_is_read(self):
        values = [(flag, value) for flag in ("--threshold", "--l2", "--min-group", "--seed") for value in self.NUMBERS]
        values += [("--unseen", "bucket"), ("--favorable", "no"), ("--caliper", "1sd", "--pairs", "match"),
                   ("--reuse", "0", "--pairs", "match"), ("--match-columns", "job", "--pairs", "match"),
                   ("--id", "age"), ("--ignore", "job"), ("--weight", "age"), ("--pairs", "given:" + "x" * 5000)]
        accepted = 0
        for more in values:
            with self.subTest(more=more):
                done = run("train", "rows.csv", "--label", "approved", "--positive", "yes", "--attribute", "sex", "-o",
                           "m", "--force", *more, cwd=self.dir)
                self.assertIn(done.returncode, (0, 2, 15, 18, 27), done.stderr)
                if done.returncode == 0:
                    accepted += 1
                    self.fmd("predict", "m", "rows.csv")
        self.assertGreater(accepted, 20)

    def test_a_receipt_that_was_written_is_read(self):
        self.train()
        solve = [(flag, value) for flag in ("--mu", "--anchor", "--fit", "--max-accuracy-loss", "--seed")
                 for value in self.NUMBERS]
        solve += [("--target", "co=" + value) for value in self.NUMBERS] + [("--keep-rate",), ("--points", "2")]
        accepted = 0
        for more in solve:
            with self.subTest(more=more):
                done = run("debias", "model", "rows.csv", "--best-effort", "--points", "2", "--replicates", "50", "-o",
                           "out", "--force", *more, cwd=self.dir)
                self.assertIn(done.returncode, (0, 1, 2, 3, 15, 18, 27), done.stderr)
                if (self.dir / "out").exists() and done.returncode in (0, 3):
                    accepted += 1
                    read = run("verify", "out.receipt.json", cwd=self.dir)
                    self.assertIn(read.returncode, (0, 3), (read.stdout, read.stderr))
                    self.fmd("undo", "out.receipt.json", "-o", "back", "--force")
        self.assertGreater(accepted, 20)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    parser = argparse.ArgumentParser()
    parser.add_argument("--fmd", required=True)
    known, rest = parser.parse_known_args()
    FMD = lost_output.FMD = str(pathlib.Path(known.fmd).resolve())
    unittest.main(argv=[sys.argv[0], *rest])
