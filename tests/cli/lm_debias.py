"""fmd lm debias and fmd lm pairs: OUT is a whole folder, verify makes it again, undo turns it back."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

FILES = pathlib.Path(__file__).resolve().parents[1] / "files" / "lm"
FMD = ""

PAIRS = "stereotype,anti_stereotype,unrelated,domain,target\n" + "".join(
    f"the {who} was {a},the {who} was {b},the {who} was {c},{domain},{who}\n"
    for domain, who, a, b, c in [
        ("gender", "mother", "gentle", "strong", "wide"), ("gender", "mother", "weak", "loud", "blue"),
        ("gender", "father", "strong", "gentle", "wide"), ("gender", "sister", "kind", "hard", "flat"),
        ("gender", "brother", "hard", "kind", "flat"), ("race", "people", "poor", "rich", "round")])
TEXT = "".join(f"{a} {b} in the {c}\n" for a in ("They talk", "We walk", "You sit") for b in ("often", "today", "again")
               for c in ("house", "north", "morning", "garden"))


def run(*arguments, code=0, cwd=None):
    done = subprocess.run([FMD, *map(str, arguments)], capture_output=True, text=True, cwd=cwd, timeout=300)
    if done.returncode != code:
        raise AssertionError(f"{arguments}: exit {done.returncode}, not {code}\n{done.stdout}\n{done.stderr}")
    return done


class LmDebias(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.TemporaryDirectory()
        self.dir = pathlib.Path(self.work.name)
        (self.dir / "pairs.csv").write_text(PAIRS)
        (self.dir / "text.txt").write_text(TEXT)
        self.base = ["lm", "debias", FILES / "llama", "--pairs", self.dir / "pairs.csv", "--text", self.dir / "text.txt",
                     "--replicates", "200", "--folds", "2"]

    def tearDown(self):
        self.work.cleanup()

    def debias(self, *more, code=0):
        return run(*self.base, "-o", self.dir / "out", *more, code=code)

    def test_it_is_written_verified_and_turned_back(self):
        shown = self.debias("--max-kl", "1").stdout
        self.assertIn("perplexity", shown)
        receipt = json.loads((self.dir / "out.receipt.json").read_text())
        self.assertEqual(receipt["command"], "lm debias")
        self.assertTrue(receipt["cross_fitted"])
        self.assertEqual({d["domain"] for d in receipt["domains"]}, {"gender", "race", "overall"})
        names = {p.name for p in (self.dir / "out").iterdir()}
        self.assertEqual(names, {p.name for p in (FILES / "llama").iterdir()})
        run("verify", self.dir / "out.receipt.json", code=3)  # checksums alone
        checked = run("verify", self.dir / "out.receipt.json", "--model", FILES / "llama").stdout
        self.assertIn("bit by bit", checked)
        run("undo", self.dir / "out.receipt.json", "-o", self.dir / "back")
        for path in (FILES / "llama").iterdir():
            self.assertEqual((self.dir / "back" / path.name).read_bytes(), path.read_bytes(), path.name)

    def test_a_changed_figure_or_file_is_found(self):
        self.debias()
        receipt = self.dir / "out.receipt.json"
        whole = receipt.read_text()
        claims = json.loads(whole)
        claims["perplexity"]["after"] *= 1.01
        receipt.write_text(json.dumps(claims))
        self.assertIn("DIFFERS", run("verify", receipt, "--model", FILES / "llama", code=1).stdout)
        receipt.write_text(whole)
        (self.dir / "text.txt").write_text(TEXT + "more\n")
        self.assertIn("text.txt has changed", run("verify", receipt, code=1).stdout)
        with open(self.dir / "out" / "tokenizer.json", "a") as file:
            file.write("\n")
        self.assertIn("tokenizer.json has changed", run("verify", receipt, code=1).stdout)
        run("undo", receipt, "-o", self.dir / "back", code=21)
        self.assertFalse((self.dir / "back").exists())

    def test_the_same_bits_for_any_number_of_threads(self):
        self.debias("--threads", "1")
        first = {p.name: p.read_bytes() for p in (self.dir / "out").iterdir()}
        run(*self.base, "-o", self.dir / "two", "--threads", "3")
        self.assertEqual(first, {p.name: p.read_bytes() for p in (self.dir / "two").iterdir()})

    def test_other_methods_and_files(self):
        for method in ("solve", "project"):
            # The projection needs words in common after the word that differs.
            pairs = FILES / "crows.csv" if method == "project" else self.dir / "pairs.csv"
            out = json.loads(run("lm", "debias", FILES / "llama", "--pairs", pairs, "--text", self.dir / "text.txt",
                                 "--stereoset", FILES / "stereoset.json", "--replicates", "200", "-o", self.dir / method,
                                 "--method", method, "--controls", "--json").stdout)
            self.assertFalse(out["cross_fitted"])
            self.assertEqual([c["name"] for c in out["controls"]], ["plain", "input-only", "random", "tempered"])

    def test_bad_input_writes_nothing(self):
        (self.dir / "one.csv").write_text("stereotype,anti_stereotype,target\na b,a c,t\n")
        (self.dir / "bytes.txt").write_bytes(b"fine\n\xff\xfe\n")
        (self.dir / "empty.txt").write_text("")
        cases = [(["--pairs", self.dir / "one.csv"], 18, "1 targets"), (["--text", self.dir / "bytes.txt"], 15, "line 2"),
                 (["--text", self.dir / "empty.txt"], 18, "at least two lines"), (["--method", "magic"], 2, "method"),
                 (["--domain", "age"], 18, "domain age"), (["--pairs", self.dir / "absent.csv"], 11, "absent.csv")]
        for more, code, words in cases:
            with self.subTest(words=words):
                options = [*self.base, "-o", self.dir / "out"]
                for k in range(0, len(more), 2):
                    if more[k] in options:
                        options[options.index(more[k]) + 1] = more[k + 1]
                    else:
                        options += more[k:k + 2]
                done = run(*options, code=code)
                self.assertIn(words, done.stderr)
                self.assertEqual([p.name for p in self.dir.iterdir() if p.name.startswith(("out", ".out"))], [])
        (self.dir / "out").mkdir()
        self.debias(code=13)
        self.assertEqual(list((self.dir / "out").iterdir()), [])

    def test_pairs_from_a_text(self):
        (self.dir / "words.csv").write_text("female,male\nmother,father\nsister,brother\n")
        (self.dir / "lines.txt").write_text("The mother was kind.\nNothing.\nHis Brother, her sister.\nA sister, a father.\n")
        told = json.loads(run("lm", "pairs", self.dir / "lines.txt", "--swap", self.dir / "words.csv", "--domain", "gender",
                              "-o", self.dir / "made.csv", "--json").stdout)
        self.assertEqual((told["pairs"], told["without_a_word"]), (3, 1))
        self.assertIn("His Sister, her brother.", (self.dir / "made.csv").read_text())
        run("lm", "debias", FILES / "llama", "--pairs", self.dir / "made.csv", "--text", self.dir / "text.txt", "--folds", "2",
            "--replicates", "200", "-o", self.dir / "out")
        self.assertEqual(run("lm", "pairs", self.dir / "text.txt", "--swap", self.dir / "words.csv", "-o", "x", code=18,
                             cwd=self.dir).stdout, "")
        self.assertFalse((self.dir / "x").exists())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fmd", required=True)
    args, rest = parser.parse_known_args()
    FMD = str(pathlib.Path(args.fmd).resolve())
    unittest.main(argv=[sys.argv[0], *rest])
