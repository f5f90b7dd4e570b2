#!/usr/bin/env python3
"""Runs the whole command on made-up inputs: damaged files, hostile texts and odd options. See ./dev fuzz --help.

Every execution is a process of its own, in a folder of its own, with bounded memory and time. It is a copy of a program
that has started already (tests/forked), so that a million takes an hour or two. It fails when the command ends by a
signal, hangs, takes much memory, ends with a code that docs/errors.md does not have, shows a control character, leaves a
temporary file, writes OUT although it reports an error, changes a file that it only reads, or prints JSON that is none.
A failing case is kept, with the command, in the folder that is printed. --journal FILE keeps what was done: a run that
was stopped goes on from there.
"""

import argparse
import gzip
import hashlib
import json
import multiprocessing
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
CODES = {0, 1, 2, 3, *range(11, 28)}
SECONDS = 20  # of CPU; more than that is a hang
PATIENCE = 600  # by the clock: the machine may be busy
MEMORY = 3 << 30  # of addresses
PEAK = 600_000  # kB: every input is small
PART = 250
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")
TEXTS = ["", " ", "F\nlimits PASS all limits met", "\x1b[2J", "\u202e", "=cmd()", "nan", "inf", "-1", "1e308", "1e-320", "0",
         "9223372036854775808", "../../x", "/etc/passwd", "/dev/zero", "-", ".", "a" * 3000, "\udcff", "given:/etc/passwd",
         "co=.1", "co:sex=0", "1,2,3", "all", "rate=.5", "sex", "age", "job", "approved", "yes", "F", "race=*", "sex=s*",
         "age:4", "column:job", "match", "1sd", "https://x/y", "rows.csv", "repaired", "%s%n", "'", "\\"]
TOKENS = [b"\0", b"\n", b"\r\n", b'"', b",", b"\xff", b"\x1b[2J", b"{", b"[" * 200, b"}", b"nan", b"1e999", b"-1", b"null",
          b"9" * 25, b"\xe2\x80\xae", b"\xf0\x9f\x92\xa9", b'""', b"\\u0000", b"true", b"\x1f\x8b", b"PAR1", b"[$d#l", b"=",
          b"PK\x03\x04", b"1e-320", b"2147483648", b"4294967296"]
NUMBERS = [b"0", b"-1", b"1", b"2147483647", b"4294967296", b"1e308", b"-1e308", b"1e-320", b"nan", b"inf", b"9" * 30, b".5",
           b"9223372036854775807", b"16777217", b"", b"100000"]

# Words in capitals are files of the case; an option is added to some.
AUDIT = ["audit", "MODEL", "DATA", "--replicates", "50"]
LABEL = ["--label", "approved", "--positive", "yes", "--attribute", "sex"]
TREE = ["--label", "y", "--positive", "1", "--attribute", "sex"]
REPAIR = ["--best-effort", "--replicates", "50", "-o", "OUT"]
COMMANDS = [
    ["predict", "MODEL", "DATA"], ["predict", "MODEL", "DATA", "-o", "OUT"], ["predict", "MODEL", "FEATURES"],
    ["predict", "MODEL", "NPY"], ["predict", "MODEL", "PACKED"], ["predict", "MODEL", "PARQUET"],
    AUDIT, [*AUDIT, "--json"], [*AUDIT, "--format", "junit"], [*AUDIT, "--format", "markdown"],
    [*AUDIT, "--format", "csv"], [*AUDIT, "--scan"], [*AUDIT, "--task", "TASK"], [*AUDIT, "--previous", "AUDIT"],
    [*AUDIT, "--metrics", "all"], [*AUDIT, "--round", "5", "--json"], [*AUDIT, "--pairs", "match"],
    [*AUDIT, "--ledger", "LEDGER"], [*AUDIT, "--previous-model", "OLD"], [*AUDIT, "--groups", "GROUPS", "--key", "age"],
    [*AUDIT, "--training-rows", "ROWS"], [*AUDIT, "--neighbours", "2"], [*AUDIT, "--train", "DATA", "--refits", "2"],
    [*AUDIT, "--survey", "OUT"], [*AUDIT, "--survey", "SURVEY", "--partial", "OUT"],
    ["merge", "STATE", "STATE2"], ["merge", "STATE", "STATE2", "--json"], ["merge", "SURVEY", "SURVEY2", "-o", "OUT"],
    ["audit", "MODEL", "FEATURES", "--replicates", "50"], ["audit", "MODEL", "PACKED", "--replicates", "50", "-o", "OUT"],
    ["audit", "--scores", "SCORES", *LABEL, "--replicates", "50"],
    ["audit", "--scores", "SCORES", "--pair-scores", "SCORES", *LABEL, "--replicates", "50"],
    ["train", "DATA", *LABEL, "-o", "OUT"], ["train", "DATA", "--task", "TASK", "-o", "OUT", "--json"],
    ["train", "PACKED", "--label", "approved", "-o", "OUT"],
    ["train", "DATA", *LABEL, "--kind", "mlp", "--hidden", "2", "--epochs", "1", "-o", "OUT"],
    ["columns", "DATA"], ["columns", "DATA", "--json", *LABEL], ["columns", "PARQUET"], ["columns", "NPY"],
    ["import", "CARD", "--negative", "no", *LABEL, "-o", "OUT"], ["import", "CARD", "--negative", "no", *LABEL, "-o", "OUT", "--json"],
    ["features", "MODEL", "DATA", "-o", "OUT"], ["pairs", "DATA", "--flip", "sex", "-o", "OUT"],
    ["pairs", "DATA", "--attribute", "sex", "--pairs", "match", "-o", "OUT"],
    ["split", "DATA", "--parts", "a=.5,b=.5"], ["split", "DATA", "--by", "approved", "--parts", "a=.5,b=.5", "--json"],
    ["explain", "MODEL", "DATA", "--train", "DATA"], ["explain", "MODEL", "DATA", "--train", "DATA", "-o", "OUT", "--json"],
    ["explain", "MODEL", "FEATURES", "--train", "FEATURES", "--spill"],
    ["debias", "MODEL", "DATA", "--method", "average-column", *REPAIR],
    ["debias", "MODEL", "DATA", "--points", "2", "--folds", "2", *REPAIR], ["debias", "MODEL", "FEATURES", "--points", "2", *REPAIR],
    ["compare", "WIDE", *LABEL, "--methods", "vanilla,tempered", "-o", "OUT"],
    ["verify", "RECEIPT"], ["verify", "RECEIPT", "--json"], ["undo", "RECEIPT", "-o", "OUT"],
    ["verify", "AUDIT", "--model", "MODEL", "--data", "DATA"],
    ["model", "MODEL"], ["model", "OLD", "--json"], ["model", "ROWS"],
    *[word for name in ("XGB", "UBJ", "DART", "LGB", "CBJ", "CBM", "CBC", "OTREE", "OTREE3")
      for word in (["model", name], ["model", name, "--json"])],
    *[word for name in ("XGB", "UBJ", "DART", "LGB")
      for word in (["predict", name, "TREES", *TREE], ["audit", name, "TREES", *TREE, "--replicates", "50"])],
    *[["predict", name, "CATS", "--label", "y", "--positive", "1"] for name in ("CBJ", "CBM", "CBC")],
    *[["predict", name, "HOLES", "--label", "y", "--positive", "1"] for name in ("OTREE", "OTREE3")],
    ["debias", "XGB", "TREES", *TREE, "--points", "2", *REPAIR], ["debias", "LGB", "TREES", *TREE, "--points", "2", *REPAIR],
    ["explain", "XGB", "TREES", *TREE, "--train", "TREES"],
    ["model", "ONNX"], ["model", "ONNX2", "--json"], ["model", "ONNX3"], ["model", "ONNX4"],
    ["model", "TORCH", "--allow-torchscript"], ["model", "TORCH"],
    ["lm", "tokens", "llama", "TEXT"], ["lm", "tokens", "llama/tokenizer.json", "TEXT", "--json"],
    ["lm", "audit", "llama", "--stereoset", "STEREO", "--replicates", "20"],
    ["lm", "audit", "llama", "--crows", "CROWS", "--text", "TEXT", "--replicates", "20", "--json", "-o", "OUT"],
    ["lm", "audit", "--scores", "SAID", "--stereoset", "STEREO", "--replicates", "20"],
    ["lm", "pairs", "TEXT", "--swap", "WORDS", "-o", "OUT"],
    ["lm", "debias", "llama", "--pairs", "PAIRS", "--text", "TEXT", "--replicates", "100", "--folds", "2", "-o", "OUT"],
    ["lm", "explain", "llama", "--pairs", "PAIRS", "--text", "TEXT"],
    ["lm", "explain", "llama", "--pairs", "STEREO", "--text", "TEXT", "-o", "OUT", "--json"],
    ["verify", "EDITED"], ["undo", "EDITED", "-o", "OUT"],
    ["data", "DATA"],
]
# What takes long, or what only opens a library of others: now and then.
RARE = [
    ["doctor", "--json"], ["coverage", "--draws", "1", "--rows", "200", "--replicates", "50", "--journal", "JOURNAL", "-o", "OUT"],
    ["predict", "ONNX", "SIX"], ["audit", "ONNX", "SIX", "--label", "y", "--attribute", "sex", "--replicates", "50"],
    ["reproduce", "toy", "--draw", "-o", "results"],
]
NAMES = {"MODEL": "repaired", "DATA": "rows.csv", "FEATURES": "x.features", "NPY": "n.npy", "PACKED": "rows.csv.gz",
         "PARQUET": "p.parquet", "TASK": "t.toml", "AUDIT": "audit.json", "SCORES": "scores.csv", "OLD": "model",
         "RECEIPT": "repaired.receipt.json", "OUT": "out", "LEDGER": "looks", "GROUPS": "groups.csv", "ROWS": "model.rows",
         "SURVEY": "all.survey", "SURVEY2": "b.survey", "STATE": "a.state", "STATE2": "b.state", "CARD": "card.csv",
         "WIDE": "wide.csv", "XGB": "xgb.json", "UBJ": "xgb.ubj", "DART": "dart.json", "LGB": "lgb.txt", "CBJ": "cb.json",
         "CBM": "cb.cbm", "CBC": "counts.cbm", "OTREE": "trees.onnx", "OTREE3": "trees3.onnx", "TREES": "trees.csv",
         "CATS": "cats.csv", "HOLES": "holes.csv", "ONNX": "torch.onnx", "ONNX2": "dynamo.onnx", "ONNX3": "outside.onnx",
         "ONNX4": "skl.onnx", "TORCH": "flat.pt", "SIX": "six.csv", "TEXT": "text.txt", "STEREO": "stereoset.json",
         "CROWS": "crows.csv", "SAID": "said.json", "WORDS": "words.csv", "PAIRS": "pairs.csv",
         "EDITED": "edited.receipt.json", "JOURNAL": "journal.json"}
# Files that a file needs beside it.
BESIDE = {"repaired.receipt.json": ["repaired", "repaired.undo", "rows.csv"], "outside.onnx": ["outside.onnx.data"],
          "model": ["model.rows"], "repaired": ["repaired.rows"], "audit.json": ["model"], "results": ["results/toy.json"]}
OPTIONS = ["--seed", "--threads", "--label", "--positive", "--favorable", "--threshold", "--attribute", "--pairs", "--id",
           "--weight", "--ignore", "--unseen", "--min-group", "--limit", "--replicates", "--confidence", "--l2", "--kind",
           "--measure", "--check", "--method", "--target", "--mu", "--points", "--parts", "--groups", "--key", "--task",
           "--caliper", "--reuse", "--match-columns", "--tolerance", "--data", "--layers", "--hidden", "--epochs",
           "--category", "--one-hot", "--metrics", "--round", "--previous", "--previous-model", "--ledger", "--training-rows",
           "--images", "--trees", "--feature-cache", "--survey", "--partial", "--scores", "--train", "--test", "--domain",
           "--swap", "--text", "--stereoset", "--crows", "--seat", "--backbone", "--cache", "--max-kl", "--lambda", "--folds",
           "--signer", "--allowed-signers", "--scan-columns", "--adjust", "--top", "--split-out", "--methods", "--journal",
           "--guard-formulas", "--json", "-o"]
# Commands whose stdout is data: it keeps its bytes.
DATA_COMMANDS = {b"predict", b"data", b"pairs"}


class Program:
    """The command, ready to be copied. Limits of the process hold for its copies."""

    def __init__(self, forked, folder):
        self.out, self.err = folder / "stdout", folder / "stderr"
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "TMPDIR": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}
        environment.pop("FMD_DATA", None)
        self.process = subprocess.Popen([forked, str(SECONDS), str(PATIENCE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=environment, bufsize=0)

    def run(self, folder, command):
        """The end of the command as subprocess has it, its stdout and stderr, its CPU seconds and peak memory in kB."""
        request = b"\0".join([os.fsencode(folder), os.fsencode(self.out), os.fsencode(self.err), b"fmd", *command, b""])
        self.process.stdin.write(struct.pack("<I", len(request)) + request)
        answer = b""
        while len(answer) < 12:
            if not (piece := self.process.stdout.read(12 - len(answer))):
                raise RuntimeError(f"the program ended: {self.process.wait()}, at {command}")
            answer += piece
        status, milliseconds, peak = struct.unpack("<iii", answer)
        return (os.waitstatus_to_exitcode(status), self.out.read_bytes(), self.err.read_bytes(), milliseconds / 1000, peak)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def make_seeds(forked, folder):
    """Small valid files of every kind that the command reads."""
    holder = folder / "holder"
    folder = folder / "seeds"
    holder.mkdir(), folder.mkdir()
    program = Program(forked, holder)

    def fmd(*command, codes=(0, 3)):
        code, _, err, _, _ = program.run(folder, [os.fsencode(word) for word in command])
        if code not in codes:
            sys.exit(f"fuzz: {command}: exit {code}: {err.decode(errors='replace')}")

    def table(count):
        lines = [f"{20 + i % 40},{'FM'[i % 2]},{['cook', 'clerk', 'baker'][i % 3]},{['no', 'yes'][(i * 7 + i // 5) % 3 == 0]}"
                 for i in range(count)]
        return "age,sex,job,approved\n" + "\n".join(lines) + "\n"

    files = ROOT / "tests/files"
    (folder / "rows.csv").write_text(table(120))
    (folder / "wide.csv").write_text(table(250))
    (folder / "rows.csv.gz").write_bytes(gzip.compress(table(120).encode(), mtime=0))
    (folder / "groups.csv").write_text("age,region\n" + "".join(f"{20 + i},{'NS'[i % 2]}\n" for i in range(40)))
    (folder / "card.csv").write_text("feature,coefficient\n(Intercept),-1\nage,.02\nsex=F,.5\njob=cook,-.2\n")
    (folder / "t.toml").write_text('label = "approved"\npositive = "yes"\nmin_group = 10\n[limits]\nco = .2\n'
                                   '[[attributes]]\nname = "sex"\nvalues = ["F", "M"]\n')
    for name, seed in (("n.npy", files / "matrix_C_le_f4.npy"), ("p.parquet", files / "small.parquet"),
                       ("xgb.json", ROOT / "fuzz/corpus/xgboost_json/seed-two"), ("xgb.ubj", ROOT / "fuzz/corpus/xgboost_ubjson/seed-two"),
                       ("dart.json", ROOT / "fuzz/corpus/xgboost_json/seed-dart"), ("lgb.txt", ROOT / "fuzz/corpus/lightgbm/seed-two"),
                       ("cb.json", ROOT / "fuzz/corpus/catboost_json/seed-counts2"), ("cb.cbm", files / "catboost/numbers.cbm"),
                       ("counts.cbm", files / "catboost/counts.cbm"), ("trees.onnx", files / "onnx_trees/xgboost_two.onnx"),
                       ("trees3.onnx", files / "onnx_trees/forest_three.onnx"), ("cats.csv", files / "catboost/rows.csv"),
                       ("torch.onnx", files / "onnx/torch.onnx"), ("dynamo.onnx", files / "onnx/dynamo.onnx"),
                       ("outside.onnx", files / "onnx/outside.onnx"), ("outside.onnx.data", files / "onnx/outside.onnx.data"),
                       ("skl.onnx", files / "onnx/skl.onnx"), ("flat.pt", files / "torch/flat.pt"),
                       ("stereoset.json", files / "lm/stereoset.json"), ("crows.csv", files / "lm/crows.csv")):
        (folder / name).write_bytes(seed.read_bytes())
    (folder / "trees.csv").write_text("x,color,sex,y\n" + "".join(
        f"{i % 9},{['green', 'red'][i % 2]},{i % 3 % 2},{int(i * 7 % 5 > 2)}\n" for i in range(60)))
    (folder / "holes.csv").write_text("f0,f1,f2,y\n" + "".join(f"{i},{i % 3},{'' if i % 7 == 0 else i % 5},{i % 2}\n" for i in range(60)))
    (folder / "six.csv").write_text("a,b,c,d,e,f,sex,y\n" + "".join(f"{i % 9},{i % 4},{i % 3},.5,{i % 5},1,{'FM'[i % 2]},{i % 2}\n"
                                                                   for i in range(60)))
    (folder / "llama").mkdir()
    for name in (files / "lm/llama").iterdir():
        if name.name not in ("golden.json", "backbone.onnx"):
            (folder / "llama" / name.name).write_bytes(name.read_bytes())
    (folder / "text.txt").write_text("".join(f"{a} {b} in the {c}\n" for a in ("They talk", "We walk", "You sit") for b in ("often", "today")
                                             for c in ("house", "north", "morning", "garden")) + "the mother was gentle\n")
    (folder / "words.csv").write_text("female,male\nshe,he\nmother,father\nher,his\n")
    (folder / "pairs.csv").write_text("stereotype,anti_stereotype,unrelated,domain,target\n" + "".join(
        f"the {who} was {a},the {who} was {b},the {who} was {c},gender,{who}\n" for who, a, b, c in (
            ("mother", "gentle", "strong", "wide"), ("father", "strong", "gentle", "wide"), ("sister", "kind", "hard", "flat"))))
    some = ("--replicates", "50", "--threads", "1")
    fmd("train", "rows.csv", *LABEL, "-o", "model")
    fmd("features", "model", "rows.csv", "-o", "x.features")
    fmd("audit", "model", "rows.csv", *some, "-o", "audit.json", "--ledger", "looks")
    fmd("audit", "model", "rows.csv", *some, "--survey", "a.survey")
    fmd("audit", "model", "wide.csv", *some, "--survey", "b.survey")
    fmd("merge", "a.survey", "b.survey", "-o", "all.survey")
    fmd("audit", "model", "rows.csv", *some, "--survey", "all.survey", "--partial", "a.state")
    fmd("audit", "model", "wide.csv", *some, "--survey", "all.survey", "--partial", "b.state")
    fmd("debias", "model", "rows.csv", "--method", "average-column", "--best-effort", *some, "-o", "repaired")
    fmd("predict", "model", "rows.csv", "-o", "p.csv")
    fmd("lm", "audit", "llama", "--stereoset", "stereoset.json", "--replicates", "20", "-o", "said.json")
    fmd("lm", "debias", "llama", "--pairs", "pairs.csv", "--text", "text.txt", "--replicates", "100", "--folds", "2", "--max-kl", "1",
        "-o", "edited")
    fmd("coverage", "--draws", "1", "--rows", "200", "--replicates", "50", "--journal", "journal.json", "-o", "page.md")
    program.close()
    scores = (folder / "p.csv").read_text().splitlines()
    place = scores[0].split(",").index("p_yes")
    (folder / "scores.csv").write_text("\n".join(f"{row},{'p' if i == 0 else score.split(',')[place]}" for i, (row, score) in enumerate(
        zip(table(120).splitlines(), scores))) + "\n")
    (folder / "results").mkdir()
    (folder / "results/toy.json").write_bytes((ROOT / "docs/results/toy.json").read_bytes())
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def mutated_json(rng, value):
    """The value with one part replaced, taken away or doubled."""
    if rng.random() < .3 or not isinstance(value, (dict, list)) or not value:
        return rng.choice([None, True, 0, -1, 1e308, 10 ** 30, "", [], {}, [value], 2 ** 31, 2 ** 53, 1e-320, *TEXTS])
    if isinstance(value, list):
        at = rng.randrange(len(value))
        return [*value[:at], mutated_json(rng, value[at]), *value[at + (rng.random() < .8):]]
    key = rng.choice(list(value))
    if rng.random() < .15:
        return {k: v for k, v in value.items() if k != key}
    return {**value, key: mutated_json(rng, value[key])}


def json_bytes(value):
    return json.dumps(value).encode("utf-8", "surrogatepass")


def mutated_header(rng, content):
    """A safetensors file whose header, or a text of JSON in it, is changed."""
    size = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:8 + size])
    notes = [k for k, v in header.get("__metadata__", {}).items() if v.startswith("{")]
    if notes and rng.random() < .7:
        key = rng.choice(notes)
        header["__metadata__"][key] = json.dumps(mutated_json(rng, json.loads(header["__metadata__"][key])))
    else:
        header = mutated_json(rng, header)
    text = json_bytes(header)
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + content[8 + size:]


def mutated_numbers(rng, content):
    """A text in which some numbers are others."""
    for _ in range(rng.choice([1, 1, 2, 5])):
        found = re.compile(rb"-?[0-9]+(\.[0-9]+)?([eE]-?[0-9]+)?").search(content, rng.randrange(len(content) + 1))
        if found:
            content = content[:found.start()] + rng.choice(NUMBERS) + content[found.end():]
    return content


def mutated_bytes(rng, content):
    content = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 5, 20])):
        at = rng.randrange(len(content) + 1)
        kind = rng.randrange(6)
        if kind == 0 and at < len(content):
            content[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            content[at:at] = rng.choice(TOKENS)
        elif kind == 2:
            del content[at:at + rng.choice([1, 2, 8, 100])]
        elif kind == 3 and rng.random() < .3:
            del content[at:]
        elif kind == 4 and at < len(content):
            size, code = rng.choice([(8, "<Q"), (4, "<I"), (2, "<H"), (8, "<d"), (4, "<f")])
            value = rng.choice([0, 1, 2 ** 15, 2 ** 16 - 1] if size == 2 else [0, 1, 2 ** 31, 2 ** (8 * size - 1) - 1, 2 ** (8 * size) - 1])
            if code in ("<d", "<f"):
                value = rng.choice([float("nan"), float("inf"), -1.0, 3e38, 0.0])
            content[at:at + size] = struct.pack(code, value)[:len(content) - at]
        else:
            start = rng.randrange(len(content) + 1)
            content[at:at] = content[start:start + rng.choice([1, 16, 300])]
    return bytes(content)


def mutated_cells(rng, content):
    lines = content.decode().split("\n")
    at = rng.randrange(len(lines))
    cells = lines[at].split(",")
    cells[rng.randrange(len(cells))] = rng.choice(TEXTS).replace("\udcff", "\x7f")
    lines[at] = ",".join('"' + c.replace('"', '""') + '"' if any(x in c for x in ',"\n') else c for c in cells)
    return "\n".join(lines).encode()


def mutated(rng, name, content):
    kind = rng.random()
    try:
        if name.endswith(".json") or name == "looks":
            if kind < .5:
                return json_bytes(mutated_json(rng, json.loads(content)))
            if kind < .75:
                return mutated_numbers(rng, content)
        if (name in ("model", "repaired", "x.features", "model.rows") or name.endswith(".safetensors")) and kind < .6:
            return mutated_header(rng, content)
        if name.endswith(".csv") and kind < .6:
            return mutated_cells(rng, content)
        if name.endswith((".toml", ".txt")) and kind < .6:
            return mutated_numbers(rng, content)
        if name.endswith((".state", ".survey")) and kind < .9:  # their last bytes are a checksum of the others
            body = mutated_bytes(rng, content[:-32])
            return body + hashlib.sha256(body).digest()
        if name.endswith(".gz") and kind < .5:
            return gzip.compress(mutated_bytes(rng, gzip.decompress(content)), 1, mtime=0)
    except (ValueError, struct.error):
        pass
    return mutated_bytes(rng, content)


def needed(words, seeds):
    """The seed files that a command may read."""
    wanted = []
    for word in words:
        if word in seeds:
            wanted.append(word)
        if word in ("llama", "llama/tokenizer.json", "edited.receipt.json"):
            wanted += [name for name in seeds if name.startswith("edited" if word.startswith("edited") else "llama/")]
        wanted += [name for name in BESIDE.get(word, []) if name in seeds]
    return sorted(set(wanted))


def make_case(rng, seeds, folder):
    """The arguments of one execution, after its files are written; and the contents of these files."""
    words = list(rng.choice(COMMANDS if rng.random() < .995 else RARE))
    if rng.random() < .7:
        words += ["--threads", "1"]
    if rng.random() < .35:
        words += [rng.choice(OPTIONS), rng.choice(TEXTS)]
    if rng.random() < .1:
        words[rng.randrange(1, len(words) + 1):] = [rng.choice(TEXTS)]
    words = [NAMES.get(word, word) for word in words]
    files = needed(words, seeds)
    changed = rng.choice(files) if files and rng.random() < .8 else None
    written = {}
    for name in files:
        written[name] = mutated(rng, name, seeds[name]) if name == changed else seeds[name]
        if "/" in name:
            (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(written[name])
    return [os.fsencode(word) for word in words if "\0" not in word], written


def listing(folder):
    return {os.path.relpath(os.path.join(top, name), folder) for top, _, names in os.walk(folder) for name in names}


def complaint(code, out, err, peak, command, folder, written):
    """What is wrong with an execution; empty when nothing is."""
    if code in (-signal.SIGXCPU, -signal.SIGALRM):
        return f"no end after {SECONDS} s of CPU or {PATIENCE} s"
    if code < 0:
        return f"ended by signal {-code}"
    if code not in CODES:
        return f"exit code {code}"
    if peak > PEAK:
        return f"took {peak} kB"
    for name, stream in (("stderr", err), ("stdout", out)):
        if name == "stdout" and (command[0] in DATA_COMMANDS and b"--json" not in command or b"-" in command):
            continue
        try:
            text = stream.decode("utf-8")
        except UnicodeDecodeError:
            return f"{name} is not UTF-8"
        if (name == "stderr" or b"--json" not in command) and (found := CONTROL.search(text)):
            return f"{name} has the character {found[0]!r}"
    if code >= 11 and not re.search(rb"^fmd: error\[", err, re.MULTILINE):
        return "an error without its line"
    if code >= 11 and b"out of memory" in err:
        return "out of memory"
    for name, content in written.items():
        if name not in ("looks", "journal.json") and not name.startswith("results/"):
            if not (folder / name).is_file() or (folder / name).read_bytes() != content:
                if b"--force" not in command:
                    return f"{name} was changed"
    left = listing(folder) - set(written)
    if any("fmd-tmp" in name or "fmd-journal" in name for name in left):
        return f"leaves {left}"
    # A ledger notes a look before it is known how it ends; caches are kept.
    noted = {b"--ledger", b"--cache", b"--feature-cache", b"--checkpoints", b"--journal"} & set(command)
    if code >= 11 and b"cannot write the result to stdout" not in err and left and not noted:
        return f"an error, and yet {left}"
    if b"--json" in command and code in (0, 1, 3) and out:
        try:
            json.loads(out)
        except ValueError:
            return "JSON that is none"
    return ""


def work(forked, seeds, seed, count, kept):
    """What came of `count` executions, as the journal has it."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    rng = random.Random(seed)
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    codes, complaints, slowest, largest = {}, [], (0, ""), (0, "")
    with tempfile.TemporaryDirectory(dir=base) as holder:
        program = Program(forked, pathlib.Path(holder))
        folder = pathlib.Path(holder, "case")
        for number in range(count):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            command, written = make_case(rng, seeds, folder)
            code, out, err, seconds, peak = program.run(folder, command)
            wrong = complaint(code, out, err, peak, command, folder, written)
            codes[code] = codes.get(code, 0) + 1
            shown = b" ".join(command)[:200].decode("utf-8", "backslashreplace")
            slowest, largest = max(slowest, (seconds, shown)), max(largest, (peak, shown))
            if wrong:
                place = kept / f"{seed}-{number}"
                shutil.copytree(folder, place, dirs_exist_ok=True)
                (place / "COMMAND").write_bytes(b"\n".join(command) + b"\n\n" + wrong.encode("utf-8", "replace") + b"\n\n" + err[-2000:])
                complaints.append(f"{wrong}: fmd {shown} in {place}")
        program.close()
    return {"seed": seed, "count": count, "codes": codes, "complaints": complaints, "slowest": slowest, "largest": largest}


def one_part(arguments):
    return work(*arguments)


def fuzz(forked, executions, seed, jobs, kept, journal):
    """Prints what was found; whether that was nothing."""
    kept.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    program = hashlib.sha256(pathlib.Path(forked).read_bytes()).hexdigest()[:12]
    done = [json.loads(line) for line in journal.read_text().splitlines()] if journal and journal.exists() else []
    known = {part["seed"] for part in done}
    with tempfile.TemporaryDirectory() as folder:
        seeds = make_seeds(forked, pathlib.Path(folder))
    parts = [(forked, seeds, seed * 1_000_000 + i, min(PART, executions - i * PART), kept)
             for i in range((executions + PART - 1) // PART) if seed * 1_000_000 + i not in known]
    with multiprocessing.Pool(jobs) as pool:
        for found in pool.imap_unordered(one_part, parts):
            done.append({**found, "program": program})
            if journal:
                with journal.open("a") as lines:
                    lines.write(json.dumps(done[-1]) + "\n")
            for line in found["complaints"][:20]:
                print(f"fuzz: {line}", file=sys.stderr, flush=True)
    codes = {}
    for part in done:
        for code, times in part["codes"].items():
            codes[int(code)] = codes.get(int(code), 0) + times
    complaints = [line for part in done for line in part["complaints"]]
    slowest, largest = (max((tuple(part[key]) for part in done), default=(0, "")) for key in ("slowest", "largest"))
    ends = ", ".join(f"{code}: {times}" for code, times in sorted(codes.items()))
    builds = len({part["program"] for part in done})
    print(f"fuzz: {sum(part['count'] for part in done)} commands, {sum(count for *_, count, _ in parts)} of them now in "
          f"{time.monotonic() - begun:.0f} s, by {builds} build{'s' if builds > 1 else ''}; {len(complaints)} complaints; exit codes {ends}\n"
          f"fuzz: slowest {slowest[0]:.1f} CPU s: {slowest[1][:120]!r}\nfuzz: largest {largest[0] // 1000} MB: {largest[1][:120]!r}",
          flush=True)
    return not complaints


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--forked", required=True, help="the program of tests/forked")
    parser.add_argument("--executions", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--kept", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir(), "fmd-fuzz-commands"))
    parser.add_argument("--journal", type=pathlib.Path)
    known = parser.parse_args(arguments)
    forked = str(pathlib.Path(known.forked).resolve())
    return 0 if fuzz(forked, known.executions, known.seed, known.jobs, known.kept, known.journal) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
