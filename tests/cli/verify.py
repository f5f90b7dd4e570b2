"""Receipts are recomputed: what agrees, what was tampered with, what cannot be checked."""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import story  # noqa: E402  (make_table)

FMD = ""


class Verify(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.base = pathlib.Path(cls.folder.name) / "base"
        cls.base.mkdir()
        story.make_table(cls.base / "loans.csv")
        cls.call("split", "loans.csv", "--by", "approved", "--by", "sex", cwd=cls.base)
        cls.call("train", "train.csv", "--label", "approved", "--positive", "yes", "--id", "id", "--attribute",
                 "sex", "--attribute", "region", "-o", "loans.safetensors", cwd=cls.base)
        cls.call("debias", "loans.safetensors", "repair.csv", "--attribute", "sex", "--train", "train.csv", "--test",
                 "test.csv", "--replicates", 200, "-o", "out.safetensors", cwd=cls.base)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @staticmethod
    def call(*args, cwd, code=0):
        run = subprocess.run([FMD, *map(str, args)], cwd=cwd, capture_output=True, text=True, timeout=300)
        if run.returncode != code:
            raise AssertionError(f"fmd {args}: exit {run.returncode}, not {code}\n{run.stdout}\n{run.stderr}")
        return run

    def setUp(self):
        self.dir = pathlib.Path(self.folder.name) / "copy"
        shutil.copytree(self.base, self.dir)
        self.addCleanup(shutil.rmtree, self.dir)

    def verify(self, *args, code=0, cwd=None, receipt="out.safetensors.receipt.json"):
        """The checks by name; the screen must say the same as the JSON."""
        report = json.loads(self.call("verify", receipt, *args, "--json", cwd=cwd or self.dir, code=code).stdout)
        screen = self.call("verify", receipt, *args, cwd=cwd or self.dir, code=code).stdout
        self.assertIn(f"(exit {code})", screen)
        self.assertLessEqual(max(map(len, screen.splitlines()[1:])), 80, screen)
        checks = {c["what"]: c for c in report["checks"]}
        self.assertEqual(len(checks), len(report["checks"]))
        for what in checks:
            self.assertIn(what, screen)
        return {**checks, "report": report}

    def results(self, checks):
        return {what: c["result"] for what, c in checks.items() if what != "report"}

    def edit_receipt(self, change):
        path = self.dir / "out.safetensors.receipt.json"
        receipt = json.loads(path.read_text())
        change(receipt)
        path.write_text(json.dumps(receipt, indent=2))

    def test_everything_agrees(self):
        checks = self.verify()
        self.assertEqual(set(self.results(checks).values()), {"ok"}, checks)
        for what in ("model", "undo", "data", "data, train", "data, test", "repair", "choice", "figures, hold-out",
                     "figures, test", "what moved", "controls"):
            self.assertIn(what, checks)
        self.assertLess(checks["report"]["largest_difference"], 1e-9)
        self.verify("--threads", 1)

    def test_every_method_can_be_repeated(self):
        loose = ("--max-accuracy-loss", ".2")
        cases = {"step": ("--method", "step", *loose),
                 "remove": ("--method", "remove", "--train", "train.csv", "--rows", 60, *loose),
                 "replace": ("--method", "replace", "--train", "train.csv", "--scale", "removal", "--rows", 100,
                             "--refresh", 2, "--best-effort"),
                 "path": ("--method", "path", "--target", "co:sex=.02", "--hessian", "data"),
                 "column": ("--method", "average-column", *loose),
                 "own": ("--holdout", "test.csv", "--keep-rate", "--seed", 2**63 + 5, *loose)}
        for name, more in cases.items():
            with self.subTest(name):
                self.call("debias", "loans.safetensors", "repair.csv", "--attribute", "sex", "--replicates", 100,
                          *more, "-o", f"{name}.safetensors", cwd=self.dir)
                checks = self.verify(receipt=f"{name}.safetensors.receipt.json")
                self.assertEqual(set(self.results(checks).values()), {"ok"}, checks)

    def test_an_edited_figure_is_named(self):
        def change(receipt):
            receipt["measures"]["test"]["after"]["accuracy"]["value"] += 0.001
        self.edit_receipt(change)
        checks = self.verify(code=1)
        self.assertEqual(checks["figures, test"]["result"], "differs")
        self.assertIn("measures.test.after.accuracy.value", checks["figures, test"]["detail"])
        self.assertEqual(checks["figures, hold-out"]["result"], "ok")

    def test_an_edited_option_gives_another_repair(self):
        def change(receipt):
            receipt["options"]["points"] = 7
        self.edit_receipt(change)
        self.assertEqual(self.verify(code=1)["choice"]["result"], "differs")
        for option, value in (("points", 10**12), ("replicates", 10**12), ("refresh", 2**52), ("scale", "much")):
            self.edit_receipt(lambda receipt: receipt["options"].update({"points": 30, option: value}))
            checks = self.verify(code=1)
            self.assertIn("cannot be made again", checks["repair"]["detail"], option)
            self.assertIn(option, checks["repair"]["detail"])
            self.edit_receipt(lambda receipt: receipt["options"].update(
                {"points": 30, "replicates": 200, "refresh": 1, "scale": "auto"}))

    def test_an_edited_model(self):
        path = self.dir / "out.safetensors"
        data = bytearray(path.read_bytes())
        data[-9] ^= 1
        path.write_bytes(bytes(data))
        checks = self.verify(code=1)
        self.assertEqual(checks["model"]["result"], "differs")
        self.assertEqual(checks["undo"]["result"], "differs")
        self.assertEqual(checks["repair"]["result"], "unchecked")

    def test_missing_tables(self):
        (self.dir / "train.csv").unlink()
        checks = self.verify()
        self.assertEqual(checks["repair"]["result"], "unchecked")
        self.assertIn("--train FILE", checks["data, train"]["detail"])
        self.assertEqual(checks["figures, hold-out, before"]["result"], "ok")
        self.assertEqual(checks["figures, hold-out, after"]["result"], "unchecked")
        self.assertEqual(checks["figures, test"]["result"], "ok")
        (self.dir / "repair.csv").unlink()
        self.assertEqual(self.verify()["figures, test"]["result"], "ok")
        (self.dir / "test.csv").unlink()
        checks = self.verify(code=3)
        self.assertEqual(checks["model"]["result"], "ok")
        self.assertEqual(checks["report"]["verdict"], "unchecked")
        (self.dir / "out.safetensors").unlink()
        self.verify(code=3)

    def test_missing_test_rows(self):
        (self.dir / "test.csv").unlink()
        checks = self.verify()
        self.assertEqual(checks["repair"]["result"], "ok")
        self.assertEqual(checks["figures, test"]["result"], "unchecked")

    def test_other_data(self):
        story.make_table(self.dir / "other.csv", rows=900, seed=9)
        checks = self.verify("--data", "other.csv", code=1)
        self.assertEqual(checks["data"]["result"], "differs")
        self.assertEqual(checks["repair"]["result"], "differs")
        # A table that changed under its name is not used.
        (self.dir / "repair.csv").write_bytes((self.dir / "other.csv").read_bytes())
        checks = self.verify(code=1)
        self.assertEqual(checks["data"]["result"], "differs")
        self.assertEqual(checks["repair"]["result"], "unchecked")
        self.assertEqual(checks["figures, test"]["result"], "ok")

    def test_a_moved_folder_and_given_files(self):
        elsewhere = self.dir / "else"
        elsewhere.mkdir()
        for path in list(self.dir.glob("out.safetensors*")):
            path.rename(elsewhere / path.name)
        # Tables in the current folder, the receipt in another one: it does not lead there, the user must.
        checks = self.verify(receipt="else/out.safetensors.receipt.json", code=3)
        self.assertEqual(checks["data"]["result"], "unchecked")
        checks = self.verify("--data", "repair.csv", "--train", "train.csv", "--test", "test.csv",
                             receipt="else/out.safetensors.receipt.json")
        self.assertEqual(set(self.results(checks).values()), {"ok"})
        # All beside the receipt, called from anywhere.
        for name in ("repair", "train", "test"):
            (self.dir / f"{name}.csv").rename(elsewhere / f"{name}.csv")
        checks = self.verify(receipt=elsewhere / "out.safetensors.receipt.json", cwd=self.folder.name)
        self.assertEqual(set(self.results(checks).values()), {"ok"})
        # Under other names: by their contents.
        for name in ("repair", "train", "test"):
            (elsewhere / f"{name}.csv").rename(elsewhere / f"{name}_2.csv")
        checks = self.verify("--data", "train_2.csv", "--data", "repair_2.csv", "--test", "test_2.csv", cwd=elsewhere)
        self.assertEqual(set(self.results(checks).values()), {"ok"})

    def test_groups_and_given_pairs(self):
        with open(self.dir / "loans.csv") as f, open(self.dir / "groups.csv", "w") as g:
            g.write("id,caste\n")
            for line in f.readlines()[1:]:
                g.write(f"{line.split(',')[0]},{'xy'[int(line.split(',')[0]) % 2]}\n")
        lines = (self.dir / "loans.csv").read_text().splitlines()
        flip = {",F,": ",M,", ",M,": ",F,"}
        swapped = [next((line.replace(a, b, 1) for a, b in flip.items() if a in line), line) for line in lines[1:]]
        (self.dir / "twins.csv").write_text("\n".join([lines[0], *swapped]) + "\n")
        self.call("debias", "loans.safetensors", "repair.csv", "--attribute", "sex", "--pairs", "given:twins.csv",
                  "--groups", "groups.csv", "--key", "id", "--test", "test.csv", "--replicates", 100,
                  "--max-accuracy-loss", ".2", "-o", "given.safetensors", cwd=self.dir)
        checks = self.verify(receipt="given.safetensors.receipt.json")
        self.assertEqual(set(self.results(checks).values()), {"ok"}, checks)
        self.assertIn("data, groups", checks)
        self.assertIn("data, pairs", checks)
        (self.dir / "twins.csv").unlink()
        checks = self.verify(receipt="given.safetensors.receipt.json", code=3)
        self.assertEqual(checks["repair"]["result"], "unchecked")

    def test_the_demo_can_be_verified(self):
        self.call("demo", cwd=self.dir)
        checks = self.verify(receipt="fmd-demo/repaired.safetensors.receipt.json")
        self.assertEqual(set(self.results(checks).values()), {"ok"}, checks)

    def test_overlaps_of_the_tables_are_said(self):
        # The test rows are a part of the training rows, and the hold-out is DATA.
        lines = (self.dir / "train.csv").read_text().splitlines(keepends=True)
        (self.dir / "part.csv").write_text("".join(lines[:200]))
        run = self.call("debias", "loans.safetensors", "repair.csv", "--attribute", "sex", "--train", "train.csv",
                        "--test", "part.csv", "--holdout", "repair.csv", "--replicates", 100, "--max-accuracy-loss", ".2",
                        "-o", "shared.safetensors", cwd=self.dir, code=3)
        self.assertIn("budget not proven", run.stdout)
        self.assertIn("rule: unclear on test", run.stdout)
        self.assertIn("199 of the 199 rows of test are also in train", run.stdout)
        self.assertIn("hold-out and data are the same rows", run.stdout)
        self.assertIn("warning", run.stderr)
        receipt = json.loads((self.dir / "shared.safetensors.receipt.json").read_text())
        self.assertIs(receipt["optimistic"], True)
        checks = self.verify(receipt="shared.safetensors.receipt.json")
        self.assertEqual(checks["rows, overlaps"]["result"], "ok")
        # The tables of the others share nothing.
        clean = json.loads((self.dir / "out.safetensors.receipt.json").read_text())
        self.assertIs(clean["optimistic"], False)
        self.assertEqual([o["beyond_chance"] for o in clean["overlaps"]], [False] * 3)
        # Nobody can leave them out.
        receipt["overlaps"] = []
        (self.dir / "shared.safetensors.receipt.json").write_text(json.dumps(receipt))
        checks = self.verify(receipt="shared.safetensors.receipt.json", code=1)
        self.assertEqual(checks["rows, overlaps"]["result"], "differs")

    @unittest.skipUnless(shutil.which("ssh-keygen"), "ssh-keygen is not installed")
    def test_signatures(self):
        for name in ("auditor", "stranger"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", self.dir / name], check=True)
        (self.dir / "signers").write_text("auditor " + (self.dir / "auditor.pub").read_text())
        repair = ("debias", "loans.safetensors", "repair.csv", "--attribute", "sex", "--replicates", 100,
                  "--max-accuracy-loss", ".2", "--sign")
        self.call(*repair, "auditor", "-o", "signed.safetensors", cwd=self.dir)
        name = "signed.safetensors.receipt.json"
        known = ("--allowed-signers", "signers", "--signer", "auditor")
        checks = self.verify(*known, receipt=name)
        self.assertEqual(checks["signature"]["result"], "ok", checks)
        # Without a list of signers it is only said whose key it is.
        checks = self.verify(receipt=name)
        self.assertEqual(checks["signature"]["result"], "unchecked")
        self.assertIn("SHA256:", checks["signature"]["detail"])
        self.assertEqual(self.verify(*known, receipt="out.safetensors.receipt.json", code=1)["signature"]["result"],
                         "differs")
        # Any change breaks it, also of what verify does not compare.
        whole = (self.dir / name).read_text()
        receipt = json.loads(whole)
        receipt["run"]["date"] = "2020-01-01T00:00:00Z"
        (self.dir / name).write_text(json.dumps(receipt, indent=2))
        for more in ((), known):
            self.assertEqual(self.verify(*more, receipt=name, code=1)["signature"]["result"], "differs")
        (self.dir / name).write_text(whole)
        # Another key, and another name for the right key.
        subprocess.run(["ssh-keygen", "-Y", "sign", "-q", "-n", "fmd-receipt", "-f", self.dir / "stranger",
                        self.dir / name], check=True, input="y\n", text=True, stdout=subprocess.DEVNULL)
        self.assertEqual(self.verify(*known, receipt=name, code=1)["signature"]["result"], "differs")
        # What cannot work is said before the work.
        run = self.call(*repair, "nobody", "-o", "other.safetensors", cwd=self.dir, code=11)
        self.assertIn("there is no such key", run.stderr)
        self.assertFalse((self.dir / "other.safetensors").exists())
        self.call("verify", name, "--signer", "auditor", cwd=self.dir, code=2)
        without = subprocess.run([FMD, *map(str, repair), "auditor", "-o", "other.safetensors"], cwd=self.dir,
                                 env={"PATH": str(self.dir)}, capture_output=True, text=True)
        self.assertEqual(without.returncode, 26, without.stderr)
        self.assertIn("ssh-keygen, which is not installed", without.stderr)
        self.assertFalse((self.dir / "other.safetensors").exists())

    def test_what_is_no_receipt(self):
        self.call("verify", "out.safetensors", cwd=self.dir, code=2)
        self.call("verify", "none.receipt.json", cwd=self.dir, code=11)
        for text in ("", "{", "[]", "{}", '{"model": 3}', '{"model": {"sha256_before": 1}}'):
            (self.dir / "bad.receipt.json").write_text(text)
            self.call("verify", "bad.receipt.json", cwd=self.dir, code=20)
        self.call("verify", "out.safetensors.receipt.json", "--data", "none.csv", cwd=self.dir, code=11)
        for key in ("options", "task", "data"):
            receipt = json.loads((self.dir / "out.safetensors.receipt.json").read_text())
            del receipt[key]
            (self.dir / "out.safetensors.receipt.json").write_text(json.dumps(receipt))
            self.call("verify", "out.safetensors.receipt.json", cwd=self.dir, code=20)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fmd", required=True)
    args, rest = parser.parse_known_args()
    FMD = str(pathlib.Path(args.fmd).resolve())
    unittest.main(argv=[sys.argv[0], *rest])
