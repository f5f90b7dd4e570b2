"""A folder that fmd lm debias wrote, loaded by transformers: its logits are those of W (I + M)."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from support.skip import skip

try:
    import torch
    import transformers
except ImportError as error:
    skip(f"{error.name} is not installed")

import lm_debias

FILES = lm_debias.FILES
FMD = ""


class Loaded(unittest.TestCase):
    def check(self, kind, loader):
        with tempfile.TemporaryDirectory() as name:
            work = pathlib.Path(name)
            (work / "text.txt").write_text(lm_debias.TEXT)
            done = subprocess.run([FMD, "lm", "debias", FILES / kind, "--pairs", FILES / "crows.csv", "--stereoset",
                                   FILES / "stereoset.json", "--text", work / "text.txt", "--replicates", "200", "--method", "project", "--lambda", "3", "--json",
                                   "-o", work / "out"], capture_output=True, text=True)
            if done.returncode == 26:
                self.skipTest("the plug-in for ONNX is not there")
            self.assertEqual(done.returncode, 0, done.stderr)
            old, new = (loader.from_pretrained(path).eval() for path in (FILES / kind, work / "out"))
            self.assertFalse(new.config.tie_word_embeddings)
            tokens = torch.arange(5, 20).reshape(1, -1)
            with torch.no_grad():
                W, V = (m.get_output_embeddings().weight.double() for m in (old, new))
                M = torch.linalg.lstsq(W, V - W).solution
                self.assertGreater(float(M.norm()), 1e-3)
                self.assertLess(float((W @ M - (V - W)).abs().max()), 1e-5)  # W (I + M), nothing else
                a, b = old(tokens, output_hidden_states=True), new(tokens, output_hidden_states=True)
                # Below the head nothing has changed.
                for x, y in zip(a.hidden_states, b.hidden_states):
                    self.assertTrue(torch.equal(x, y))
                bias = old.get_output_embeddings().bias
                logits = a.logits.double() - (0 if bias is None else bias.double())
                states = torch.linalg.lstsq(W, logits[0].T).solution
                expected = (V @ states).T + (0 if bias is None else bias.double())
                self.assertLess(float((b.logits[0].double() - expected).abs().max()), 1e-5)

    def test_llama(self):
        self.check("llama", transformers.AutoModelForCausalLM)

    def test_gpt2(self):
        self.check("gpt2", transformers.AutoModelForCausalLM)

    def test_masked(self):
        for kind in ("bert", "distilbert", "roberta"):
            with self.subTest(kind=kind):
                self.check(kind, transformers.AutoModelForMaskedLM)


class Trained(unittest.TestCase):
    def test_llama_learns_as_in_transformers(self):
        """The losses of fmd lm train, and its weights, against AdamW on the same sequences."""
        with tempfile.TemporaryDirectory() as name:
            work = pathlib.Path(name)
            line = "They talk often in the tall house"
            (work / "text.txt").write_text(60 * f"{line}\n")  # one line: their order does not matter
            done = subprocess.run([FMD, "lm", "train", FILES / "llama", "--text", work / "text.txt", "--tokens", "128", "--length",
                                   "16", "--batch", "2", "--rate", ".005", "--threads", "1", "--json", "-o", work / "out"],
                                  capture_output=True, text=True)
            if done.returncode == 26:
                self.skipTest("the plug-in of PyTorch is not there")
            self.assertEqual(done.returncode, 0, done.stderr)
            model = transformers.AutoModelForCausalLM.from_pretrained(FILES / "llama", dtype=torch.float32).train()
            tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(FILES / "llama/tokenizer.json"))
            ids = [0, *tokenizer.encode(line, add_special_tokens=False)]
            rows = torch.tensor((60 * ids)[:128]).view(-1, 16)
            optimizer = torch.optim.AdamW(model.parameters(), lr=.005, weight_decay=0)
            losses = []
            for step in range(4):
                optimizer.param_groups[0]["lr"] = .005 * (4 - step) / 4
                optimizer.zero_grad()
                loss = sum(torch.nn.functional.cross_entropy(model(row[None]).logits[0, :-1], row[1:]) / 2
                           for row in rows[2 * step:2 * step + 2])
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            for have, want in zip(json.loads(done.stdout)["losses"], losses, strict=True):
                self.assertAlmostEqual(have, want, delta=1e-5)
            new = transformers.AutoModelForCausalLM.from_pretrained(work / "out", dtype=torch.float32)
            for a, b in zip(model.parameters(), new.parameters(), strict=True):
                self.assertLess(float((a - b).abs().max()), 1e-4)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fmd", required=True)
    args, rest = parser.parse_known_args()
    FMD = lm_debias.FMD = str(pathlib.Path(args.fmd).resolve())
    unittest.main(argv=[sys.argv[0], *rest])
