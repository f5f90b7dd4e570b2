#!/usr/bin/env python3
"""Writes the inputs from which fuzzing starts: fuzz/corpus/<target>/seed-*.

    tools/make_fuzz_corpus.py --fmd build/release/fmd

Takes small files from tests/bad and makes small good ones with the command. Inputs that fuzzing found
have other names and stay as they are.
"""

import argparse
import gzip
import hashlib
import json
import pathlib
import struct
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BAD = ROOT / "tests/bad"
FILES = ROOT / "tests/files"
MOST = 4096  # bytes of one input
MOST_STATE = 32768  # a count has a table for every attribute

TABLE = "age,sex,job,approved\n" + "".join(
    f"{20 + 3 * i},{'FM'[i % 2]},{['cook', '', '?'][i % 3]},{['no', 'yes'][i * 7 % 3 == 0]}\n" for i in range(40))

CSV = {
    "good": TABLE[:200],
    "quotes": 'a,"b ""x"", y"\r\n"1\n2", 3\r\n\r\n ,"?"\n',
    "mark": "\ufeffzahl,wert\n007,1e-3\n+3.5,.5\n-0,1e308\n",
    "mixed": "x\n1\n2\ntext\n?\n",
    "one_empty": 'x\n""\n',
}
IDX = b"\0\0\x08\x03\0\0\0\x02\0\0\0\x03\0\0\0\x02" + bytes(range(12))
TASK = '''label = "approved"
positive = "yes"
classes = ["no", "yes"]
favorable = "yes"
threshold = "rate=0.2"
weight = "w"
id = "id"
ignore = ["zip", "name"]
unseen = "bucket"
min_group = 50
min_label = 10
[types]
age = "number"
zip = "category"
[[attributes]]
name = "sex"
columns = ["sex"]
pairs = "flip"
values = ["F", "M"]
reference = "M"
[[attributes]]
name = "age"
quantiles = 4
[[attributes]]
name = "hours"
cuts = [20, 39.5]
[limits]
"co:sex" = 0.02
"demographic_parity" = 1e-1
'''
AUDIT = {
    "schema": 1, "command": "audit", "model": {"name": "m", "sha256": "ab"}, "rows": 9, "confidence": 0.95,
    "data": {"name": "d.csv", "sha256": None}, "accuracy": {"value": 0.8, "low": 0.7, "high": 0.9},
    "attributes": [{"name": "sex", "measures": {
        "co": {"value": 0.1, "low": 0.05, "high": 0.2},
        "co_worst": {"value": 0.1, "low": 0.05, "high": 0.2, "from": "F", "to": "M"},
        "co_large": {"value": None, "reason": "undefined"},
        "selection_ratio": {"value": 1.1, "low": -0.1, "high": 1.5},
        "equalized_odds": {"value": 0.3, "low": 0.1, "high": 0.4, "comparisons": [
            {"first": "M", "second": "F", "rate": "tpr", "value": -0.3, "low": -0.4, "high": -0.1},
            {"first": "M", "second": "F", "rate": "fpr", "value": 0, "low": 0, "high": 0}]}}}],
}


def safetensors(header, data=b""):
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def models(fmd, folder):
    """A model of two classes, one of three, a network, and a repaired one with its files."""
    def run(*args):
        subprocess.run([fmd, *args], cwd=folder, check=True, capture_output=True)
    (folder / "t.csv").write_text(TABLE)
    (folder / "s.csv").write_text(TABLE.replace(",no", ",maybe", 7))
    run("train", "t.csv", "--label", "approved", "--positive", "yes", "--attribute", "sex", "-o", "two")
    run("train", "s.csv", "--label", "approved", "--attribute", "sex", "--unseen", "bucket", "-o", "three")
    run("train", "t.csv", "--label", "approved", "--positive", "yes", "--attribute", "sex", "--kind", "mlp", "--hidden",
        "3,2", "--epochs", "2", "-o", "network")
    run("debias", "two", "t.csv", "--attribute", "sex", "--best-effort", "--points", "2", "--holdout", "t.csv",
        "-o", "out")
    run("features", "two", "t.csv", "-o", "two.features")
    run("features", "three", "s.csv", "-o", "three.features")
    run("audit", "three", "s.csv", "--survey", "survey")
    run("audit", "three", "s.csv", "--survey", "survey", "--partial", "state")
    return {name: (folder / name).read_bytes() for name in ("survey", "state", "two", "three", "network", "out", "out.undo", "out.receipt.json",
                                                            "out.path.safetensors", "two.features",
                                                            "three.features")}


def undo_inputs():
    """Length of the changed file, the changed file, the undo file; see fuzz/undo.cpp."""
    changed, original = b"abcdefghij" * 5, b"abcdefghij" * 2 + b"XY" + b"cdefghij" + b"abcdefghij" * 2
    head = (b"fmd undo 1\n" + hashlib.sha256(changed).digest() + hashlib.sha256(original).digest() +
            struct.pack("<Q", len(original)))
    good = head + struct.pack("<QQQQ", 1, 20, 2, 2) + b"XY"
    two = head + struct.pack("<QQQQ", 2, 0, 1, 1) + b"a" + struct.pack("<QQQ", 20, 2, 2) + b"XY"
    return {name: bytes([len(changed)]) + changed + undo
            for name, undo in {"good": good, "two": two, "cut": good[:-1], "lies": good[:-34] + b"\xff" * 34}.items()}


def language_inputs():
    """Tokenizers, configurations and pairs; the first byte names the reader, see fuzz/language.cpp."""
    bpe = {"added_tokens": [{"id": 6, "content": "<x>", "special": True, "normalized": False, "lstrip": True}],
           "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
               {"type": "Digits", "individual_digits": True}, {"type": "ByteLevel", "add_prefix_space": True}]},
           "decoder": {"type": "ByteLevel"},
           "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "\u0120": 3, "l": 4, "ll": 5},
                     "merges": ["a b", ["l", "l"]]}}
    pieces = {"normalizer": {"type": "BertNormalizer", "lowercase": True}, "pre_tokenizer": {"type": "BertPreTokenizer"},
              "decoder": {"type": "WordPiece", "cleanup": True},
              "model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "a": 1, "##b": 2, "'": 3}}}
    marks = {"normalizer": {"type": "Sequence", "normalizers": [
                 {"type": "Prepend", "prepend": "\u2581"},
                 {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]},
             "model": {"type": "BPE", "unk_token": "u", "fuse_unk": True,
                       "vocab": {"u": 0, "\u2581": 1, "a": 2, "\u2581a": 3}, "merges": [["\u2581", "a"]]}}
    llama = {"model_type": "llama", "vocab_size": 9, "hidden_size": 8, "intermediate_size": 9, "num_hidden_layers": 1,
             "num_attention_heads": 2, "rope_parameters": {"rope_type": "default", "rope_theta": 5e3}}
    bert = {"model_type": "bert", "vocab_size": 9, "hidden_size": 8, "bos_token_id": 1}
    one = {"id": "1", "bias_type": "race", "target": "Crimean", "context": "A Crimean BLANK.", "sentence": "A crimean x."}
    item = {**{k: one[k] for k in ("id", "bias_type", "target", "context")}, "sentences": [
        {"sentence": "A Crimean is rude.", "gold_label": "stereotype", "id": "s"},
        {"sentence": "A Crimean is kind.", "gold_label": "anti-stereotype"},
        {"sentence": "A Crimean is blue.", "gold_label": "unrelated"}]}
    pieces_of_c = b"".join(struct.pack("<fi", -k, 1) + bytes([33 + k % 90]) for k in range(262))
    made = {"bpe": ("t", bpe), "wordpiece": ("t", pieces), "marks": ("t", marks), "no_merges": ("t", {"model": {"vocab": {}}}),
            "llama": ("c", llama), "bert": ("c", bert), "huge": ("c", {**llama, "hidden_size": 1 << 60}),
            "by_label": ("j", {"stereotype": [one], "anti-stereotype": [{**one, "sentence": "A Crimean y."}]}),
            "list": ("j", [item, {**item, "id": "2", "target": "Eritrean"}]),
            "official": ("j", {"data": {"intrasentence": [item], "intersentence": []}}), "half": ("j", {"stereotype": [one]})}
    return {**{name: (first + json.dumps(value)).encode() for name, (first, value) in made.items()},
            "crows": b"j,sent_more,sent_less,stereo_antistereo,bias_type\n0,\"He cooks, too\",She cooks,stereo,gender\n",
            "csv": b"jstereotype,anti_stereotype,unrelated,target\nHe cooks,She cooks,It cooks,he\nx,x,,\n",
            "llama2c": b"l" + struct.pack("<i", 1) + pieces_of_c}


def corpus(files):
    receipt = json.loads(files["out.receipt.json"])
    tensors = {
        "empty": safetensors({}),
        "kinds": safetensors({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
                              "b": {"dtype": "I64", "shape": [], "data_offsets": [8, 16]},
                              "__metadata__": {"k": "v \u00e9"}}, bytes(16)),
        "no_elements": safetensors({"a": {"dtype": "BF16", "shape": [0, 5], "data_offsets": [0, 0]}}),
        "path": files["out.path.safetensors"],
        "two": files["two"],
    }
    return {
        "csv": {**{k: v.encode() for k, v in CSV.items()}, **{p.stem: p.read_bytes() for p in BAD.glob("*.csv")}},
        "gzip": {**{p.stem: p.read_bytes() for p in BAD.glob("*.csv.gz")},
                 "good": gzip.compress(TABLE[:200].encode(), mtime=0),
                 "members": gzip.compress(b"a,b\n1,", mtime=0) + gzip.compress(b"2\n", mtime=0) + bytes(5),
                 "plain": b"\x07text to be packed"},
        "csv_stream": {**{k: bytes([len(v) % 256]) + v.encode() for k, v in CSV.items()},
                       **{p.stem: bytes([7 * len(p.stem) % 256]) + p.read_bytes() for p in BAD.glob("*.csv")},
                       **{p.stem: b"\x15" + p.read_bytes() for p in BAD.glob("*.csv.gz")},
                       "packed": b"\x42" + gzip.compress(TABLE[:300].encode(), mtime=0)},
        "idx": {**{p.name.split(".")[0]: p.read_bytes() for p in BAD.glob("idx_*")}, "images": IDX,
                "labels": b"\0\0\x08\x01\0\0\0\x03\x05\x00\x09", "packed": gzip.compress(IDX, mtime=0)},
        "npy": {p.stem: p.read_bytes() for folder in (BAD, FILES) for p in folder.glob("*.npy")},
        "parquet": {p.stem: p.read_bytes() for folder in (BAD, FILES) for p in folder.glob("*.parquet")},
        "safetensors": tensors,
        "model": {"two": files["two"], "three": files["three"], "network": files["network"], "out": files["out"],
                  "pickle": b"\x80\x04cos\nsystem\n.", "zip": b"PK\x03\x04rest"},
        "features": {"two": files["two.features"], "three": files["three.features"],
                     "cut": files["two.features"][:-9], "model": files["two"]},
        "undo": undo_inputs(),
        "language": language_inputs(),
        # Without the checksum, see fuzz/state.cpp.
        "state": {"survey": files["survey"][:-32], "audit": files["state"][:-32], "cut": files["survey"][:-50],
                  "model": files["two"]},
        "receipt": {"good": json.dumps({"schema": 1, "model": receipt["model"]}).encode(), "empty": b"{}",
                    "number": b'{"model":{"sha256_before":1,"sha256_after":2}}', "list": b"[[[[1,{}]]]]"},
        "baseline": {"good": json.dumps(AUDIT).encode(), **{p.stem: p.read_bytes() for p in BAD.glob("baseline_*.json")}},
        "task": {"good": TASK.encode(), "names": b'attributes = ["sex", "race"]\nthreshold = 0.3\npositive = 1\n',
                 **{p.stem: p.read_bytes() for p in BAD.glob("*.toml")}},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fmd", required=True, type=pathlib.Path)
    fmd = parser.parse_args().fmd.resolve()
    with tempfile.TemporaryDirectory() as folder:
        made = corpus(models(fmd, pathlib.Path(folder)))
    for target, inputs in made.items():
        folder = ROOT / "fuzz/corpus" / target
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("seed-*"):
            old.unlink()
        for name, content in inputs.items():
            if len(content) <= (MOST_STATE if target == "state" else MOST):
                (folder / f"seed-{name}").write_bytes(content)
        print(f"{target}: {len(list(folder.iterdir()))} inputs")


if __name__ == "__main__":
    main()
