#!/usr/bin/env python3
"""Language models against the libraries that own their formats, with other text and other weights than the short tests.

Tokens of 10,000 lines (text corpora, emoji, accents, CJK, control characters) for nine set-ups of tokenizers, and scores of random
tiny models. Needs a Python with tokenizers, transformers, torch, onnx, onnxscript and onnxruntime: this one, or FMD_LM_PYTHON.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

from skip import skip

FMD = sys.argv[sys.argv.index("--fmd") + 1]
TREE = pathlib.Path(__file__).resolve().parent.parent.parent
PYTHON = os.environ.get("FMD_LM_PYTHON", sys.executable)
DATA = pathlib.Path(os.environ.get("FMD_DATA", ""))

# Runs in PYTHON: writes tokenizers, lines, and for each tokenizer what the library says.
ORACLE = r"""
import glob, json, random, sys
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
folder, data = sys.argv[1:]
random.seed(20)
corpus = []
for name in sorted(glob.glob(data + "/text_corpora/sent_debias_*.txt")):
    corpus += open(name, encoding="utf-8", errors="replace").read().replace("\r", " ").split("\n")
corpus = [line for line in corpus if line.strip()]
vocab = json.load(open(data + "/tokenizers/encoder.json"))
merges = [tuple(l.split()) for l in open(data + "/tokenizers/vocab.bpe", encoding="utf-8").read().split("\n")[1:] if l.strip()]
words = {w: i for i, w in enumerate(open(data + "/tokenizers/bert-base-uncased-vocab.txt", encoding="utf-8").read().split("\n")[:-1])}
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
def byte_level(cut, special=("<|endoftext|>",), **more):
    t = Tokenizer(models.BPE(vocab, merges, **more))
    t.pre_tokenizer, t.decoder = cut, decoders.ByteLevel()
    t.add_special_tokens(list(special))
    return t
def split(pattern):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
def pieces(lower):
    t = Tokenizer(models.WordPiece(words, unk_token="[UNK]"))
    t.normalizer, t.pre_tokenizer = normalizers.BertNormalizer(lowercase=lower), pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    t.add_special_tokens(["[UNK]", "[CLS]", "[SEP]", "[MASK]", "[PAD]"])
    return t
def marks():
    t = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    names = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % i for i in range(256)]
    t.train_from_iterator(corpus[:20000], trainers.BpeTrainer(vocab_size=3000, special_tokens=names, show_progress=False))
    d = json.loads(t.to_str())
    d["pre_tokenizer"] = None
    d["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"},
        {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]}
    d["decoder"] = {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
        {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}
    d["added_tokens"] = [a for a in d["added_tokens"] if a["id"] < 3]
    first = Tokenizer.from_str(json.dumps(d))
    d["normalizer"], d["pre_tokenizer"] = None, {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": True}
    return first, Tokenizer.from_str(json.dumps(d))
digits = pre_tokenizers.Digits(individual_digits=True)
llama2, llama2_words = marks()
made = {"gpt2": byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False)),
        "roberta": byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True),
                              (AddedToken("<mask>", lstrip=True, normalized=True, special=True), "<s>", "</s>")),
        "smollm": byte_level(pre_tokenizers.Sequence([digits, pre_tokenizers.ByteLevel(add_prefix_space=False)])),
        "llama3": byte_level(split(LLAMA3), ignore_merges=True),
        "qwen2": byte_level(split(LLAMA3.replace("{1,3}", ""))),
        "bert": pieces(True), "bert_cased": pieces(False), "llama2": llama2, "llama2_words": llama2_words}
blocks = ((0x1F300, 0x1F6FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xC0, 0x24F), (0x370, 0x4FF), (0x5D0, 0x5EA), (0x900, 0x97F),
          (0x3040, 0x30FF), (0x300, 0x36F), (0x2000, 0x206F), (0, 0x7E), (0x80, 0xA0), (0xFF00, 0xFFEF), (0x1D400, 0x1D4FF),
          (0x20000, 0x20100), (0xE000, 0xE010), (0x660, 0x669), (0xFE00, 0xFE0F))
pool = [chr(c) for a, b in blocks for c in range(a, b + 1) if c not in (10, 13)]
lines = random.sample(corpus, 8000)
for i in range(2000):
    line = list(random.choice(corpus)[:80])
    for _ in range(random.randint(1, 8)):
        line.insert(random.randint(0, len(line)), random.choice(pool) * random.randint(1, 3))
    if i % 10 == 0:
        line.insert(random.randint(0, len(line)), random.choice(["<|endoftext|>", " [MASK] ", "<mask>", "</s>", "  'S 'll", "   "]))
    lines.append("".join(line))
every = "".join(chr(c) + "a" for c in range(0x20, 0x3000))
lines += [every[i:i + 200] for i in range(0, len(every), 200)]
open(folder + "/lines.txt", "w", encoding="utf-8", newline="\n").write("\n".join(lines) + "\n")
for name, t in made.items():
    t.save(f"{folder}/{name}.json")
    want = []
    for line in lines:
        ids = t.encode(line, add_special_tokens=False).ids
        want.append({"ids": ids, "decoded": t.decode(ids, skip_special_tokens=False)})
    json.dump(want, open(f"{folder}/{name}.want", "w"))
"""


def check_tokens(folder):
    import json

    subprocess.run([PYTHON, "-c", ORACLE, str(folder), str(DATA)], check=True)
    texts = (folder / "lines.txt").read_text(encoding="utf-8").split("\n")
    for want in sorted(folder.glob("*.want")):
        told = subprocess.run([FMD, "lm", "tokens", want.with_suffix(".json"), folder / "lines.txt", "--json"],
                              capture_output=True, text=True, check=True)
        have, golden = json.loads(told.stdout)["lines"], json.loads(want.read_text())
        assert len(have) == len(golden) >= 10000, (want.stem, len(have), len(golden))
        for text, a, b in zip(texts, have, golden):
            assert a["ids"] == b["ids"], (want.stem, text, a["ids"], b["ids"])
            assert a["decoded"] == b["decoded"], (want.stem, text, a["decoded"], b["decoded"])
        print(f"{want.stem}: {len(have)} lines are equal")


def check_models(folder):
    """Models of other seeds and vocabularies, through every check of the short test that needs no committed figure."""
    for seed, tokens in ((11, 300), (12, 420)):
        models = folder / f"models-{seed}"
        subprocess.run([PYTHON, TREE / "tools/make_lm.py", models, "--seed", str(seed), "--tokens", str(tokens)], check=True,
                       capture_output=True)
        subprocess.run([sys.executable, TREE / "tests/cli/lm.py", "--fmd", FMD, "--models", models], check=True)
        print(f"seed {seed}: five models agree with transformers")


needed = "import tokenizers, transformers, torch, onnx, onnxscript, onnxruntime"
if subprocess.run([PYTHON, "-c", needed], capture_output=True).returncode != 0:
    skip("transformers is not installed: name a Python that has it by FMD_LM_PYTHON", download_refused=True)
if not (DATA / "text_corpora").is_dir():
    skip("FMD_DATA has no text_corpora")
with tempfile.TemporaryDirectory() as name:
    check_tokens(pathlib.Path(name))
    check_models(pathlib.Path(name))
