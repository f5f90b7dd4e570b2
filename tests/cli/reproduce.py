"""fmd reproduce: what it writes, how it goes on after an interruption, and what it refuses."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

FMD = ""
TABLES = ["toy", "table1", "table1_trained", "table2", "table2_trained", "table3", "table3_trained", "table4", "table5",
          "table6", "table7", "table8", "samples", "hessian", "pairs", "overview"]


def has_data():
    folder = os.environ.get("FMD_DATA", "")
    return bool(folder) and (pathlib.Path(folder) / "mnist").is_dir()


class Reproduce(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.dir = pathlib.Path(self.folder.name)

    def run_fmd(self, *args, code=0, data=None):
        env = dict(os.environ)
        if data is not None:
            env["FMD_DATA"] = str(data)
        run = subprocess.run([FMD, "reproduce", *map(str, args)], cwd=self.dir, env=env, capture_output=True, text=True,
                             timeout=500)
        self.assertEqual(run.returncode, code, f"fmd reproduce {args}\n{run.stdout}\n{run.stderr}")
        return run

    def files(self):
        return sorted(p.relative_to(self.dir).as_posix() for p in self.dir.rglob("*") if p.is_file())

    def test_an_unknown_table_is_refused_with_the_names_of_all(self):
        run = self.run_fmd("table9", code=2)
        self.assertIn("error[bad-option]: reproduce: no table \"table9\"; there are " + ", ".join(TABLES[:12]), run.stderr)
        self.assertEqual(self.files(), [])
        self.run_fmd("toy", "--seeds", "0", code=2)

    def fake_python(self, *lines):
        python = self.dir / "python"
        python.write_text("\n".join(["#!/bin/sh", *lines, ""]))
        python.chmod(0o755)
        return python

    def test_trees_are_measured_by_a_python_that_has_the_libraries(self):
        run = self.run_fmd("trees", "--python", self.dir / "none", code=26)
        self.assertIn("cannot be run", run.stderr)
        self.assertIn("hint: make one: python3 -m venv", run.stderr)
        python = self.fake_python("echo no package >&2", "exit 77")
        run = self.run_fmd("trees", "--python", python, code=26)
        self.assertIn("a package is missing", run.stderr)
        python = self.fake_python("exit 1")
        run = self.run_fmd("trees", "--python", python, code=18)
        self.assertIn("finished splits are kept", run.stderr)
        # What the script is told, and that its page is shown.
        python = self.fake_python('shift 2', 'mkdir -p "$3"', 'echo "$@" > "$3/trees.quick.md"')
        run = self.run_fmd("trees", "--python", python, "--quick", "--seeds", "3", "--seed", "5", "--fairgbm", "other",
                           "-o", "out")
        self.assertIn("--out out --seeds 3 --seed 5 --fairgbm other --quick", run.stdout)
        self.assertIn("wrote out/trees.quick.md", run.stderr)

    def test_missing_data_name_folder_source_and_checksum(self):
        run = self.run_fmd("toy", "--quick", code=24, data=self.dir / "nothing")
        self.assertIn("error[missing-dataset]", run.stderr)
        self.assertIn(str(self.dir / "nothing/mnist/train-images-idx3-ubyte"), run.stderr)
        self.assertIn("unpacked sha256 ba891046", run.stderr)
        self.assertIn("source: the MNIST database", run.stderr)
        self.assertIn("adult/adult.data", self.run_fmd("table2", "--quick", code=24, data=self.dir / "nothing").stderr)
        self.assertEqual(list(self.dir.iterdir()), [])  # no folder for results either

    def test_other_bytes_are_a_wrong_checksum(self):
        (self.dir / "data/mnist").mkdir(parents=True)
        (self.dir / "data/mnist/train-images-idx3-ubyte").write_bytes(b"\0\0\x08\x01\0\0\0\x01x")
        run = self.run_fmd("toy", "--quick", code=25, data=self.dir / "data")
        self.assertIn("error[wrong-checksum]", run.stderr)

    def test_a_quick_run_leaves_tables_and_is_not_run_twice(self):
        if not has_data():
            self.skipTest("needs mnist in FMD_DATA")
        first = self.run_fmd("toy", "--quick", "-o", "out", "--json")
        self.assertEqual(self.files(), ["out/toy-decisions.quick.svg", "out/toy-digits.quick.svg", "out/toy-unlearning.quick.svg",
                                        "out/toy.quick.cache.json", "out/toy.quick.json", "out/toy.quick.md"])
        table = json.loads(first.stdout)
        self.assertEqual(table, json.loads((self.dir / "out/toy.quick.json").read_text()))
        rows = {row["id"]: row for row in table["cases"][0]["rows"]}
        self.assertEqual(rows["vanilla"]["paper"]["accuracy"], 65.17)
        self.assertTrue(0 < rows["solve"]["ours"]["accuracy"]["mean"] <= 100)
        self.assertIn("harmful", table["cases"][0]["pictures"])
        self.assertIn("quick run", (self.dir / "out/toy.quick.md").read_text())
        self.assertIn("seed 1 (1 of 1)", first.stderr)
        again = self.run_fmd("toy", "--quick", "-o", "out", "--json")
        self.assertEqual(again.stdout, first.stdout)
        self.assertNotIn("seed 1", again.stderr)
        # Seconds differ, figures do not.
        fresh = json.loads(self.run_fmd("toy", "--quick", "-o", "out", "--json", "--fresh", "--threads", "1").stdout)
        for row in fresh["cases"][0]["rows"]:
            for figure in ("accuracy", "bias"):
                self.assertEqual(row["ours"][figure], rows[row["id"]]["ours"][figure], row["id"])

    def test_every_table_has_a_quick_run(self):
        if not has_data():
            self.skipTest("needs mnist in FMD_DATA")
        tables = json.loads(self.run_fmd("all", "--quick", "-o", "out", "--json").stdout)
        # Tables of faces and of language models run by their own names alone, trained ones where the plug-in is.
        left_out = {"table3", "table3_trained", "table4"}
        if not (pathlib.Path(FMD).parent / "fmd_torch.so").exists():
            left_out |= {"table1_trained", "table2_trained"}
        self.assertEqual([table["table"] for table in tables], [name for name in TABLES if name not in left_out])
        for table in tables:
            markdown = (self.dir / f"out/{table['table']}.quick.md").read_text()
            self.assertNotIn("reached", markdown)  # a quick run judges no bar
            for case in table["cases"]:
                for row in case["rows"]:
                    where = f"{table['table']}, {case['name']}, {row['id']}"
                    self.assertIn(row["title"], markdown, where)
                    # No figure only where the method says why (a label without rows).
                    self.assertTrue("accuracy" in row["ours"] or row["chosen_with_first_seed"], where)

    def test_figures_are_drawn_from_a_finished_table_alone(self):
        self.run_fmd("overview", "-o", "out", data=self.dir / "nothing")
        figure = (self.dir / "out/overview.svg").read_bytes()
        root = xml.etree.ElementTree.fromstring(figure)
        self.assertTrue(root.tag.endswith("svg"))
        self.assertIn("![How fmd takes bias", (self.dir / "out/overview.md").read_text())
        (self.dir / "out/overview.svg").unlink()
        self.run_fmd("overview", "--draw", "-o", "out", data=self.dir / "nothing")
        self.assertEqual((self.dir / "out/overview.svg").read_bytes(), figure)
        run = self.run_fmd("toy", "--draw", "-o", "out", code=11)
        self.assertIn("there is no out/toy.json to draw", run.stderr)
        # A stranger's file in its place is named, and nothing is written.
        (self.dir / "out/toy.json").write_text('{"schema": 1, "command": "audit"}')
        self.assertIn("out/toy.json: is not a table", self.run_fmd("toy", "--draw", "-o", "out", code=18).stderr)
        self.assertFalse((self.dir / "out/toy.md").exists())

    def test_the_figures_of_the_committed_tables_can_be_drawn(self):
        results = pathlib.Path(__file__).resolve().parents[2] / "docs/results"
        for table, figures in {"toy": ["toy-decisions", "toy-unlearning", "toy-digits"], "table1": ["table1-methods"],
                               "table2": ["table2-tradeoff"], "table7": ["table7-tradeoff"],
                               "samples": ["samples"]}.items():
            (self.dir / "out").mkdir(exist_ok=True)
            (self.dir / f"out/{table}.json").write_bytes((results / f"{table}.json").read_bytes())
            self.run_fmd(table, "--draw", "-o", "out")
            for figure in figures:
                text = (self.dir / f"out/{figure}.svg").read_text()
                self.assertTrue(xml.etree.ElementTree.fromstring(text).tag.endswith("svg"))
                self.assertNotIn("nan", text)
                self.assertNotIn("http", text.replace("http://www.w3.org/2000/svg", ""))  # nothing from elsewhere

    def test_an_interrupted_run_keeps_what_is_done(self):
        if not has_data():
            self.skipTest("needs mnist in FMD_DATA")
        self.run_fmd("table5", "--quick", "-o", "out")
        cache = (self.dir / "out/table5.quick.cache.json").read_bytes()
        for name in ("table5.quick.json", "table5.quick.md"):
            (self.dir / "out" / name).unlink()
        # As after a kill before the tables were written: only the finished seeds are there.
        run = self.run_fmd("table5", "--quick", "-o", "out")
        self.assertNotIn("seed 1", run.stderr)
        self.assertEqual((self.dir / "out/table5.quick.cache.json").read_bytes(), cache)
        # A cache that was cut off is made anew.
        (self.dir / "out/table5.quick.cache.json").write_bytes(cache[: len(cache) // 2])
        self.assertIn("seed 1", self.run_fmd("table5", "--quick", "-o", "out").stderr)

    def test_a_folder_that_cannot_be_made_is_named(self):
        (self.dir / "file").write_text("")
        run = self.run_fmd("toy", "--quick", "-o", "file/results", code=12)
        self.assertIn("error[cannot-write]: reproduce: the folder file/results cannot be made", run.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fmd", required=True)
    arguments, rest = parser.parse_known_args()
    FMD = str(pathlib.Path(arguments.fmd).resolve())
    unittest.main(argv=[sys.argv[0], *rest])
