"""An audit in parts is the audit of all rows."""

import argparse
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

FMD = ""


def fmd(*args, cwd, code=0):
    run = subprocess.run([FMD, *map(str, args)], cwd=cwd, capture_output=True, text=True, timeout=300)
    if run.returncode != code:
        raise AssertionError(f"fmd {args}: exit {run.returncode}, not {code}\n{run.stdout}\n{run.stderr}")
    return run


class Merge(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.dir = pathlib.Path(cls.folder.name)
        fmd("demo", "-o", ".", cwd=cls.dir)
        lines = (cls.dir / "measure.csv").read_text().splitlines(keepends=True)
        for name, first, last in (("a", 1, 2500), ("b", 2500, 2600), ("c", 2600, len(lines))):
            (cls.dir / f"{name}.csv").write_text(lines[0] + "".join(lines[first:last]))
        for name in "abc":
            cls.audit(name, "--survey", f"{name}.survey")
        fmd("merge", "c.survey", "a.survey", "b.survey", "-o", "all.survey", cwd=cls.dir)
        for name in "abc":
            cls.audit(name, "--survey", "all.survey", "--partial", f"{name}.state")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def audit(cls, name, *args, code=0):
        return fmd("audit", "income.safetensors", f"{name}.csv", "--attribute", "sex", "--attribute", "race",
                   "--attribute", "age:3", *args, cwd=cls.dir, code=code)

    def merge(self, *names, code=0, args=("--json",)):
        return fmd("merge", *(f"{n}.state" for n in names), *args, cwd=self.dir, code=code)

    def test_three_parts_in_any_order_are_one_run(self):
        whole = json.loads(self.audit("measure", "--json").stdout)
        texts = {self.merge(*order).stdout for order in itertools.permutations("abc")}
        self.assertEqual(len(texts), 1)
        parts = json.loads(texts.pop())
        self.assertEqual(parts["data"]["name"], "a.csv, b.csv, c.csv")
        for report in (whole, parts):
            del report["data"]["name"], report["data"]["sha256"]
        self.assertEqual(json.dumps(parts), json.dumps(whole))

    def test_the_order_of_surveys_does_not_matter(self):
        fmd("merge", "a.survey", "b.survey", "c.survey", "-o", "again.survey", cwd=self.dir)
        self.assertEqual((self.dir / "again.survey").read_bytes(), (self.dir / "all.survey").read_bytes())

    def test_one_part_is_one_run_byte_for_byte(self):
        self.audit("a", "--survey", "one.survey")
        self.audit("a", "--survey", "one.survey", "--partial", "one.state")
        self.assertEqual(self.merge("one").stdout, self.audit("a", "--json").stdout)
        self.merge("one", args=("-o", "one.json"))
        self.assertEqual((self.dir / "one.json").read_text(), self.audit("a", "--json").stdout)

    def test_what_is_missing_or_double_is_said(self):
        self.assertIn("of the 10000 rows", self.merge("a", "b", code=18).stderr)
        self.assertIn("in two states", self.merge("a", "b", "b", "c", code=2).stderr)
        self.assertIn("needs the survey", self.audit("a", "--partial", "x.state", code=2).stderr)
        (self.dir / "bad.state").write_bytes((self.dir / "a.state").read_bytes()[:-1])
        self.assertIn("damaged", self.merge("bad", code=20).stderr)
        run = fmd("merge", "a.survey", "a.state", cwd=self.dir, code=2)
        self.assertIn("not of one kind", run.stderr)
        self.assertIn("-o SURVEY", fmd("merge", "a.survey", cwd=self.dir, code=2).stderr)
        self.audit("a", "--survey", "all.survey", "--partial", "a.state", code=13)

    def test_a_limit_is_judged_on_all_rows(self):
        for name in "abc":
            self.audit(name, "--survey", "all.survey", "--partial", f"{name}2.state", "--fail-over", "co:sex=.02")
        self.assertIn("FAIL", self.merge("a2", "b2", "c2", args=(), code=1).stdout)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fmd", required=True)
    args, rest = parser.parse_known_args()
    FMD = str(pathlib.Path(args.fmd).resolve())
    unittest.main(argv=[sys.argv[0], *rest])
