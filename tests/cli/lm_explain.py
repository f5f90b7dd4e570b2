"""fmd lm explain ranks sentences and agrees with refits; fmd lm train writes a folder that is another model."""

import argparse
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import lm_debias

FILES = lm_debias.FILES


class LmExplain(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.TemporaryDirectory()
        self.dir = pathlib.Path(self.work.name)
        (self.dir / "pairs.csv").write_text(lm_debias.PAIRS)
        (self.dir / "text.txt").write_text(lm_debias.TEXT)
        (self.dir / "words.csv").write_text("female,male\nmother,father\nsister,brother\n")
        self.base = ["lm", "explain", FILES / "llama", "--pairs", self.dir / "pairs.csv", "--text", self.dir / "text.txt"]

    def tearDown(self):
        self.work.cleanup()

    def test_sentences_are_ranked(self):
        told = json.loads(lm_debias.run(*self.base, "--json", "-o", self.dir / "all.csv").stdout)
        self.assertEqual((told["pairs"], told["sentences"]), (6, 36))
        influence = [s["influence"] for s in told["ranked"]]
        self.assertEqual(influence, sorted(influence, reverse=True))
        self.assertFalse(told["fitted_to_the_text"])
        lines = (self.dir / "text.txt").read_text().splitlines()
        for sentence in told["ranked"]:
            self.assertEqual(lines[sentence["piece"] - 1], sentence["text"])
        with open(self.dir / "all.csv", newline="") as file:
            self.assertEqual([row["text"] for row in csv.DictReader(file)], [s["text"] for s in told["ranked"]])
        gender = json.loads(lm_debias.run(*self.base, "--domain", "gender", "--json").stdout)
        self.assertEqual(gender["pairs"], 5)
        self.assertNotEqual(gender["preference"], told["preference"])
        screen = lm_debias.run(*self.base).stdout
        self.assertIn("AGAINST IT", screen)
        self.assertTrue(all(len(line) <= 80 for line in screen.splitlines()), screen)

    def test_refits_agree(self):
        told = json.loads(lm_debias.run(*self.base, "--refits", "9", "--json").stdout)
        self.assertTrue(told["fitted_to_the_text"])
        self.assertEqual(sum(s["refit"] is not None for s in told["ranked"]), 9)
        self.assertGreater(told["refits"]["correlation"], .7, told["refits"])

    def test_refits_agree_on_trained_weights(self):
        data = pathlib.Path(os.environ.get("FMD_DATA", ""))
        model, corpus = data / "lm_stories260K/stories260K.bin", data / "text_corpora/sent_debias_meld.txt"
        if not model.is_file() or not corpus.is_file():
            self.skipTest("FMD_DATA has no stories260K or no text_corpora")
        (self.dir / "pairs.csv").write_text("stereotype,anti_stereotype,domain,target\n"
                                            "The girl was sad.,The girl was big.,gender,girl\n"
                                            "The boy liked to run.,The boy liked to cook.,gender,boy\n"
                                            "The mother was happy.,The mother was red.,gender,mother\n")
        told = json.loads(lm_debias.run("lm", "explain", model, "--pairs", self.dir / "pairs.csv", "--text", corpus, "--refits",
                                        "6", "--text-tokens", "2500", "--json").stdout)
        self.assertGreater(told["refits"]["correlation"], .9, told["refits"])
        self.assertGreater(told["refits"]["rank_correlation"], .75, told["refits"])
        both = [(s["influence"], s["refit"]) for s in told["ranked"] if s["refit"] is not None]
        slope = sum(a * b for a, b in both) / sum(b * b for _, b in both)
        self.assertTrue(.7 < slope < 1.4, slope)  # the size too, not only the order

    def test_bad_input(self):
        (self.dir / "one.txt").write_text("one line\n")
        for more, code, words in (["--domain", "age"], 18, "no pair"), (["--refits", "-1"], 2, "refits"):
            self.assertIn(words, lm_debias.run(*self.base, *more, "-o", self.dir / "x.csv", code=code).stderr)
        done = lm_debias.run("lm", "explain", FILES / "llama", "--pairs", self.dir / "pairs.csv", "--text", self.dir / "one.txt",
                             code=18)
        self.assertIn("fewer than two sentences", done.stderr)
        self.assertFalse((self.dir / "x.csv").exists())


class LmTrain(unittest.TestCase):
    setUp = LmExplain.setUp
    tearDown = LmExplain.tearDown

    def train(self, *more, code=0):
        return lm_debias.run("lm", "train", FILES / "llama", "--text", self.dir / "text.txt", "--length", "16", "--batch", "2",
                             "-o", self.dir / "out", *more, code=code)

    def test_a_model_learns_its_text(self):
        done = subprocess.run([lm_debias.FMD, "lm", "train", FILES / "llama", "--text", self.dir / "text.txt", "--tokens", "256",
                               "--length", "16", "--batch", "2", "--rate", ".005", "--threads", "1", "--json", "-o",
                               self.dir / "out"], capture_output=True, text=True)
        if done.returncode == 26:
            self.skipTest("the plug-in of PyTorch is not there")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        self.assertEqual((told["steps"], told["tokens"]), (8, 256))
        names = {p.name for p in (FILES / "llama").iterdir()} - {"backbone.onnx"}
        self.assertEqual({p.name for p in (self.dir / "out").iterdir()}, names)

        def perplexity(model):
            done = lm_debias.run("lm", "audit", model, "--text", self.dir / "text.txt", "--backbone", "native", "--json")
            return json.loads(done.stdout)["perplexity"]["value"]["value"]

        self.assertLess(perplexity(self.dir / "out"), .9 * perplexity(FILES / "llama"))

    def test_what_cannot_be_trained(self):
        self.assertIn("one step", self.train("--tokens", "8", code=2).stderr)
        self.assertIn("dropout", self.train("--dropout", "1", code=2).stderr)
        (self.dir / "none.csv").write_text("female,male\nqueen,king\n")
        self.assertIn("no line has a word", self.train("--swap", self.dir / "none.csv", code=18).stderr)
        done = lm_debias.run("lm", "train", FILES / "gpt2", "--text", self.dir / "text.txt", "-o", self.dir / "out", code=26)
        self.assertIn("Llama kind", done.stderr)
        self.assertFalse((self.dir / "out").exists())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fmd", required=True)
    args, rest = parser.parse_known_args()
    lm_debias.FMD = str(pathlib.Path(args.fmd).resolve())
    unittest.main(argv=[sys.argv[0], *rest])
