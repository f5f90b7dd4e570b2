"""Bad input through the command: the right exit code and words, no crash, nothing written or left."""

import argparse
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

FMD = ""
BAD = pathlib.Path(__file__).resolve().parent.parent / "bad"
EXIT = {"bad-csv": 14, "bad-value": 15, "missing-column": 16, "unknown-category": 17, "bad-data": 18,
        "bad-task": 19, "bad-model": 20, "wrong-model": 21, "bad-shape": 22, "unsupported": 26,
        "output-exists": 13, "cannot-read": 11, "cannot-write": 12, "bad-option": 2}

GOOD = "age,sex,job,approved\n" + "".join(
    f"{20 + i % 40},{'FM'[i % 2]},{['cook', 'clerk', 'baker'][i % 3]},{['no', 'yes'][(i * 7 + i // 5) % 3 == 0]}\n"
    for i in range(300))


class BadInput(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.dir = pathlib.Path(self.folder.name)
        (self.dir / "good.csv").write_text(GOOD)
        self.run_fmd("train", "good.csv", "--label", "approved", "--positive", "yes", "--attribute", "sex",
                     "-o", "good.safetensors", code=0)

    def tearDown(self):
        self.folder.cleanup()

    def files(self):
        return {str(p.relative_to(self.dir)): p.read_bytes() for p in self.dir.rglob("*") if p.is_file()}

    def run_fmd(self, *args, code):
        run = subprocess.run([FMD, *map(str, args)], cwd=self.dir, capture_output=True, text=True, timeout=120)
        self.assertEqual(run.returncode, code, f"fmd {' '.join(map(str, args))}\n{run.stdout}\n{run.stderr}")
        return run

    def refused(self, *args, kind, message=""):
        """Runs the command, which must refuse: id, exit code, words; the folder stays as it was."""
        before = self.files()
        run = self.run_fmd(*args, code=EXIT[kind])
        self.assertRegex(run.stderr, rf"fmd: error\[{kind}\]: ")
        self.assertIn(message, run.stderr)
        self.assertEqual(run.stdout, "")
        self.assertEqual(self.files(), before, "something was written or left")

    def test_every_damaged_table_and_task(self):
        cases = json.loads((BAD / "cases.json").read_text())
        self.assertGreaterEqual(len(cases), 40)
        for case in cases:
            with self.subTest(case["file"]):
                if case["reader"] == "parquet" and not (pathlib.Path(FMD).parent / "fmd_parquet.so").exists():
                    continue  # built only where there is pyarrow
                if case["reader"] == "idx":
                    continue  # no command reads a file of images by name
                if (BAD / case["file"]).exists():
                    shutil.copy(BAD / case["file"], self.dir / case["file"])
                if case["reader"] == "task":
                    args = ("audit", "good.safetensors", "good.csv", "--task", case["file"])
                elif case["reader"] == "baseline":
                    args = ("audit", "good.safetensors", "good.csv", "--baseline", case["file"])
                elif case["kind"] == "bad-value":  # a cell of a column that is known to be a number
                    column = re.search(r'column \\?"([^"\\]+)', case["message"]).group(1)
                    (self.dir / "types.toml").write_text(f'[types]\n"{column}" = "number"\n')
                    args = ("train", case["file"], "--label", "x", "--task", "types.toml", "-o", "out")
                else:
                    args = ("train", case["file"], "--label", "x", "-o", "out")
                self.refused(*args, kind=case["kind"], message=case["message"])

    def test_tables_that_cannot_answer(self):
        lines = GOOD.splitlines()
        def table(name, text):
            (self.dir / name).write_text(text)
            return name
        train = ("--label", "approved", "--positive", "yes", "-o", "out")
        one_class = table("one_class.csv", "\n".join([lines[0]] + [l for l in lines[1:] if l.endswith("no")]))
        self.refused("train", one_class, "--label", "approved", "-o", "out", kind="bad-data", message="approved")
        one_group = table("one_group.csv", GOOD.replace(",M,", ",F,"))
        self.refused("train", one_group, *train, "--attribute", "sex", kind="bad-data", message="sex")
        self.refused("train", "good.csv", "--label", "aproved", "-o", "out", kind="missing-column", message="aproved")
        self.refused("train", "good.csv", *train, "--attribute", "gender", kind="missing-column", message="gender")
        self.refused("train", "good.csv", "--label", "approved", "--positive", "maybe", "-o", "out",
                     kind="bad-option", message="maybe")
        no_age = table("no_age.csv", "\n".join(l.split(",", 1)[1] for l in lines))
        self.refused("predict", "good.safetensors", no_age, kind="missing-column", message="age")
        pilot = table("pilot.csv", GOOD.replace("cook", "pilot", 1))
        # A category that training has not seen is counted, and refused on request.
        run = self.run_fmd("predict", "good.safetensors", pilot, code=0)
        self.assertIn("1 cell of job has a category that training has not seen", run.stderr)
        self.refused("predict", "good.safetensors", pilot, "--unseen", "error", kind="unknown-category",
                     message='column "job"')
        word = table("word.csv", GOOD.replace("21,M", "young,M", 1))
        self.refused("predict", "good.safetensors", word, kind="bad-value", message='line 3, column "age"')
        label = table("label.csv", GOOD.replace("yes", "perhaps", 1))
        self.refused("audit", "good.safetensors", label, kind="bad-value", message="perhaps")
        few = table("few.csv", "\n".join(lines[:12]))
        self.refused("debias", "good.safetensors", few, "-o", "out", kind="bad-data", message="few.csv")
        (self.dir / "big.csv").write_bytes(b"a,b\n1," + b"x" * 20_000_000 + b"\n")
        self.refused("train", "big.csv", "--label", "a", "-o", "out", kind="bad-csv", message="line 2")
        scores = table("scores.csv", "sex,p\nF,0.5\nM,1.5\n")
        self.refused("audit", "--scores", scores, "--attribute", "sex", kind="bad-value", message="line 3")
        nan = table("nan.csv", "sex,p\nF,0.5\nM,nan\nM,0.5\n")
        self.refused("audit", "--scores", nan, "--attribute", "sex", kind="bad-value", message="line 3")
        self.refused("audit", "--scores", nan, "--scan", kind="bad-value", message="line 3")
        gap = table("gap.csv", "sex,p\nF,0.5\nM,\n")
        self.refused("audit", "--scores", gap, "--attribute", "sex", kind="bad-value", message="line 3")
        self.refused("audit", "--scores", scores, "--attribute", "sex", "--baseline-model", "good.safetensors",
                     kind="bad-option", message="cannot be paired")
        twins = table("twins.csv", "id,age\n1,2\n1,3\n")
        ids = table("ids.csv", lines[0] + ",id\n" + "".join(f"{l},{i}\n" for i, l in enumerate(lines[1:])))
        self.refused("audit", "good.safetensors", ids, "--groups", twins, "--key", "id", "--attribute", "sex",
                     kind="bad-data", message="twins.csv")

    def test_comparisons_that_cannot_be_made(self):
        task = ("--label", "approved", "--positive", "yes", "--attribute", "sex", "-o", "out.json", "--split-out", "parts.csv")
        self.refused("compare", "good.csv", *task, "--methods", "eqodd,magic", kind="bad-option", message="no method magic")
        self.refused("compare", "good.csv", *task, "--methods", "eqodd,,reject", kind="bad-option", message="no method")
        self.refused("compare", "good.csv", *task, "--measure", "fairness", kind="bad-option", message="equalized_odds")
        self.refused("compare", "good.csv", *task, "--parts", "train=.5,test=.5", kind="bad-option", message="parts")
        self.refused("compare", "good.csv", *task, "--max-accuracy-loss", "-1", kind="bad-option", message="-1")
        self.refused("compare", "good.csv", "--label", "approved", "-o", "out.json", kind="bad-option", message="--attribute")
        self.refused("compare", "good.csv", "--attribute", "sex", "-o", "out.json", kind="bad-option", message="--label")
        self.refused("compare", "good.csv", *task, "--train", "good.csv", kind="bad-option", message="--model")
        self.refused("compare", "absent.csv", *task, kind="cannot-read", message="absent.csv")
        # Many values, many classes: methods that are made for two.
        for name in ("eqodd", "ceqodd", "reject", "influence-reweigh"):
            self.refused("compare", "good.csv", "--label", "approved", "--attribute", "job", "--methods", name,
                         "-o", "out.json", kind="unsupported", message="two values, there are 3")
            self.refused("compare", "good.csv", "--label", "job", "--favorable", "cook", "--attribute", "sex", "--methods",
                         name, "-o", "out.json", kind="unsupported", message="two classes, there are 3")
        self.refused("compare", "good.csv", "--label", "job", "--attribute", "sex", "--methods", "dfr", "-o", "out.json",
                     kind="unsupported", message="two classes, there are 3")
        self.refused("compare", "good.csv", *task, "--ignore", "sex", "--methods", "solve", kind="unsupported",
                     message="does not read sex")
        self.refused("compare", "good.csv", *task, "--model", "good.safetensors", "--methods", "reweigh", kind="unsupported",
                     message="trained on")
        few = self.dir / "few.csv"
        few.write_text("\n".join(GOOD.splitlines()[:60]) + "\n")
        self.refused("compare", "few.csv", *task, kind="bad-data", message="too few for the part")
        hole = self.dir / "hole.csv"
        hole.write_text(GOOD.replace(",yes", ",", 1))
        self.refused("compare", "hole.csv", *task, kind="bad-value", message="the label is missing")
        scores = self.dir / "scores.csv"
        scores.write_text("row,p\n" + "".join(f"{i},0.5\n" for i in range(1, 300)) + "7,0.5\n")
        self.refused("compare", "good.csv", *task, "--with-scores", "x=scores.csv", kind="bad-data", message="twice")
        scores.write_text("row,p\n0,0.5\n")
        self.refused("compare", "good.csv", *task, "--with-scores", "x=scores.csv", kind="bad-value", message="not a row of")
        scores.write_text("row,p\n" + "".join(f"{i},1.5\n" for i in range(1, 301)))
        self.refused("compare", "good.csv", *task, "--with-scores", "x=scores.csv", kind="bad-value", message="scores.csv")

    def test_files_that_are_no_models(self):
        good = (self.dir / "good.safetensors").read_bytes()
        size = struct.unpack("<Q", good[:8])[0]
        header = json.loads(good[8:8 + size])

        def model(name, change=None, head=None, data=None):
            h = json.loads(json.dumps(header)) if head is None else head
            if change:
                change(h)
            text = json.dumps(h).encode() if isinstance(h, dict) else h
            text += b" " * (-len(text) % 8)
            (self.dir / name).write_bytes(struct.pack("<Q", len(text)) + text +
                                          (good[8 + size:] if data is None else data))
            return name

        cut = [(f"cut_{n}", good[:n]) for n in (0, 4, 8, 20, 8 + size, len(good) - 1)]
        raw = cut + [("header_lies", struct.pack("<Q", 2**62) + good[8:]), ("not_json", b"\x10" + b"\0" * 7 + b"x" * 16),
                     ("longer", good + b"\0" * 8), ("list", struct.pack("<Q", 8) + b"[1,2,3] ")]
        for name, content in raw:
            with self.subTest(name):
                (self.dir / name).write_bytes(content)
                self.refused("predict", name, "good.csv", kind="bad-model", message=name)

        def meta(key, value):
            return lambda h: h["__metadata__"].__setitem__(key, value)
        changes = {
            "weights_shape": lambda h: h["head.weight"].__setitem__("shape", [1, 2]),
            "weights_negative": lambda h: h["head.weight"].__setitem__("shape", [-1, -5]),
            "weights_overflow": lambda h: h["head.weight"].__setitem__("shape", [2**62, 2**62]),
            "weights_dtype": lambda h: h["head.weight"].__setitem__("dtype", "Q7"),
            "offsets_outside": lambda h: h["head.weight"].__setitem__("data_offsets", [0, 10**15]),
            "offsets_backwards": lambda h: h["head.weight"].__setitem__("data_offsets", [48, 0]),
            "no_weights": lambda h: h.pop("head.weight"),
            "encoder_not_json": meta("fmd.encoder", "{"),
            "encoder_empty": meta("fmd.encoder", "[]"),
            "task_not_json": meta("fmd.task", "nonsense"),
            "task_wrong_type": meta("fmd.task", '{"label": 5}'),
            "training_damaged": meta("fmd.training", "[[[["),
        }
        for name, change in changes.items():
            with self.subTest(name):
                model(name, change)
                self.refused("predict", name, "good.csv", kind="bad-model", message=name)
        nan = bytearray(good)
        at = 8 + size + header["head.weight"]["data_offsets"][0]
        nan[at:at + 8] = struct.pack("<d", float("nan"))
        (self.dir / "nan").write_bytes(nan)
        self.refused("predict", "nan", "good.csv", kind="bad-model", message="nan")
        deep = b'{"a":' * 5000 + b"1" + b"}" * 5000
        model("deep", head=deep)
        self.refused("predict", "deep", "good.csv", kind="bad-model", message="deep")
        # Foreign files are named, and never executed.
        model("foreign", lambda h: h.pop("__metadata__"))
        self.refused("predict", "foreign", "good.csv", kind="unsupported", message="another program")
        (self.dir / "evil.pkl").write_bytes(b"\x80\x04cos\nsystem\n(S'touch pwned'\ntR.")
        self.refused("predict", "evil.pkl", "good.csv", kind="unsupported", message="evil.pkl")
        self.assertFalse((self.dir / "pwned").exists())
        self.refused("predict", "good.csv", "good.csv", kind="bad-model", message="good.csv")
        self.refused("predict", "absent", "good.csv", kind="cannot-read", message="absent")
        self.refused("predict", ".", "good.csv", kind="cannot-read", message="folder")

    def test_model_of_another_task(self):
        (self.dir / "other.csv").write_text("height,hair,tall\n" + "".join(
            f"{150 + i % 50},{['red', 'black'][i % 2]},{['no', 'yes'][i % 50 > 25]}\n" for i in range(200)))
        self.run_fmd("train", "other.csv", "--label", "tall", "-o", "other.safetensors", code=0)
        self.refused("audit", "other.safetensors", "good.csv", "--attribute", "sex", kind="missing-column",
                     message="good.csv")

    def test_outputs_that_cannot_be_written(self):
        debias = ("debias", "good.safetensors", "good.csv", "--attribute", "sex", "--best-effort")
        self.refused(*debias, "-o", "no/such/folder/out", kind="cannot-write", message="no/such/folder")
        self.refused(*debias, "-o", "good.csv/out", kind="cannot-write", message="good.csv")
        (self.dir / "taken").write_text("mine")
        self.refused(*debias, "-o", "taken", kind="output-exists", message="taken")
        self.refused(*debias, "-o", "good.safetensors", "--force", kind="output-exists", message="itself")
        self.refused("train", "good.csv", "--label", "approved", "-o", "taken", kind="output-exists", message="taken")
        self.refused("split", "good.csv", "--parts", "good=.5,rest=.5", kind="output-exists", message="good.csv")
        self.refused("split", "good.csv", "--parts", "a=.9,b=.9", kind="bad-option")
        if os.path.isdir("/proc/self"):  # not even root can write there
            self.refused("predict", "good.safetensors", "good.csv", "-o", "/proc/out.csv", kind="cannot-write")

    def test_receipts_that_do_not_fit(self):
        self.run_fmd("debias", "good.safetensors", "good.csv", "--attribute", "sex", "--best-effort",
                     "-o", "out", code=0)
        self.refused("undo", "good.csv", "-o", "back", kind="bad-option", message="receipt")
        out = (self.dir / "out").read_bytes()
        (self.dir / "out").write_bytes(out[:-1] + bytes([out[-1] ^ 1]))
        self.refused("undo", "out.receipt.json", "-o", "back", kind="wrong-model")
        (self.dir / "out").write_bytes(out)
        undo = (self.dir / "out.undo").read_bytes()
        (self.dir / "out.undo").write_bytes(undo[:-3])
        self.refused("undo", "out.receipt.json", "-o", "back", kind="bad-model")
        (self.dir / "out.undo").write_bytes(undo)
        (self.dir / "out.receipt.json").write_text("{}")
        self.refused("undo", "out.receipt.json", "-o", "back", kind="bad-model", message="receipt")

    def test_options_that_make_no_sense(self):
        for args in (("--target", "co"), ("--method", "magic"),
                     ("--at", "kappa=3"), ("--gap", "nonsense:sex=1")):
            with self.subTest(args):
                self.refused("debias", "good.safetensors", "good.csv", "-o", "out", *args, kind="bad-option")
        self.refused("audit", "good.safetensors", "good.csv", "--fail-over", "magic:sex=.1", kind="bad-option")
        self.refused("audit", "good.safetensors", "good.csv", "--fail-over", "co:height=.1", kind="bad-option")
        self.refused("audit", "good.safetensors", "good.csv", "--fail-over", "flip_rat:sex=.1", kind="bad-option",
                     message="did you mean flip_rate?")
        self.refused("audit", "good.safetensors", "good.csv", "--fail-over", "selection_ratio=.8", kind="bad-option",
                     message="--limit selection_ratio=.8")
        self.refused("audit", "good.safetensors", "good.csv", "--fail-under", "co=.8", kind="bad-option",
                     message="--limit co=.8")
        self.refused("audit", "good.safetensors", "good.csv", "--attribute", "age", kind="bad-task",
                     message="--attribute age:4")
        self.refused("audit", "good.safetensors", "good.csv", "--attribute", "age:1", kind="bad-option",
                     message="quantiles are from 2 to 100")
        self.refused("audit", "good.safetensors", "good.csv", "--attribute", "age:4", "--attribute", "age:5",
                     kind="bad-option", message="in two ways")
        self.refused("audit", "good.safetensors", "good.csv", "--attribute", "sex:4", kind="bad-task",
                     message="quantiles are for numbers")
        self.refused("audit", "good.safetensors", "good.csv", "--fail-on-worse", kind="bad-option", message="--previous")
        self.refused("audit", "good.safetensors", "good.csv", "--baseline", "absent.json", kind="cannot-read")
        self.refused("audit", "good.safetensors", "good.csv", "--scan", "--fail-over", "co=.1", kind="bad-option",
                     message="--scan")
        self.refused("audit", "good.safetensors", "good.csv", "--scan", "--scan-columns", "job,hair",
                     kind="missing-column", message="hair")
        self.refused("audit", "good.safetensors", "good.csv", "--scan", "--scan-columns", "approved",
                     kind="bad-option", message="is the label")
        self.refused("pairs", "good.csv", "--flip", "age", "-o", "out", kind="bad-task", message="values")
        self.refused("debias", "good.safetensors", "good.csv", "--attribute", "age:4", "-o", "out", kind="bad-task",
                     message="no single value to flip to")
        self.run_fmd("audit", "good.safetensors", "good.csv", "--format", "xml", code=2)
        self.refused("audit", "good.safetensors", kind="bad-option", message="audit")
        self.refused("audit", "good.safetensors", "good.csv", "--positive", "no", kind="bad-option",
                     message="fixed by its training")
        self.refused("train", "data:nothing", "-o", "out", kind="bad-option", message="nothing")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fmd", required=True)
    args, rest = parser.parse_known_args()
    FMD = str(pathlib.Path(args.fmd).resolve())
    unittest.main(argv=[sys.argv[0], *rest])
