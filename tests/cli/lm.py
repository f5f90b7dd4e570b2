#!/usr/bin/env python3
"""fmd lm: scores of tiny models as transformers gives them, states from a cache, errors that name what is wrong."""

import csv
import difflib
import json
import math
import pathlib
import shutil
import subprocess
import sys
import tempfile

FMD = sys.argv[sys.argv.index("--fmd") + 1]
TREE = pathlib.Path(__file__).resolve().parent.parent.parent
# Other models are given by tests/cli/lm_full.py, which makes them with transformers.
MODELS = pathlib.Path(sys.argv[sys.argv.index("--models") + 1]) if "--models" in sys.argv else TREE / "tests/files/lm"
QUESTIONS = ["--stereoset", MODELS / "stereoset.json", "--crows", MODELS / "crows.csv"]
MASKED = ("bert", "distilbert", "roberta")


def run(*arguments, status=0):
    done = subprocess.run([FMD, "lm", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == status, (arguments, done.returncode, done.stdout, done.stderr)
    return done


def onnx_runtime():
    """Whether the plug-in and ONNX Runtime can be opened: without them GPT-2 and BERT cannot be run."""
    done = subprocess.run([FMD, "lm", "audit", MODELS / "llama", *QUESTIONS, "--backbone", "onnx", "--no-swap"],
                          capture_output=True, text=True)
    assert done.returncode in (0, 26), done.stderr
    return done.returncode == 0


def score(log_p, kind):
    if kind in MASKED:
        return sum(map(math.exp, log_p)) / len(log_p)
    return math.exp(sum(log_p) / len(log_p))


def check_scores(kind, folder, backbone):
    golden = json.loads((MODELS / kind / "golden.json").read_text())
    out = folder / f"{kind}-{backbone}.json"
    told = json.loads(run("audit", MODELS / kind, *QUESTIONS, "--backbone", backbone, "--intersentence", "-o", out,
                          "--json").stdout)
    assert told["command"] == "lm audit" and told["model"]["type"] == kind, told["model"]
    assert told["model"]["kind"] == ("masked" if kind in MASKED else "causal")
    scores = json.loads(out.read_text())
    for part, name in (("intrasentence", "stereoset"), ("intersentence", "intersentence")):
        assert len(scores[part]) == len(golden[name]), (kind, part)
        for have, log_p in zip(scores[part], golden[name]):
            want = score(log_p, kind)
            assert abs(have["score"] - want) <= 1e-5 * max(want, 1e-3), (kind, have, want)
    domains = {d["domain"]: d for d in told["stereoset"]["domains"]}
    assert list(domains) == ["gender", "race", "overall"], list(domains)
    for figures in (domains["race"]["by_term"], domains["race"]["by_example"]):
        assert set(figures) == {"ss", "lms", "icat"} and 0 <= figures["ss"]["value"] <= 100
    check_crows(kind, folder, golden["crows"], told["crows"])
    # The same figures from the file of scores.
    again = json.loads(run("audit", "--scores", out, "--stereoset", MODELS / "stereoset.json", "--json").stdout)
    assert again["stereoset"]["domains"] == told["stereoset"]["domains"]
    assert again["model"] is None


def check_crows(kind, folder, golden, told):
    """Both definitions, with Python's own matcher for the tokens that both sentences have."""
    with open(MODELS / "crows.csv", encoding="utf-8", newline="") as file:
        pairs = [(row["sent_more"], row["sent_less"]) for row in csv.DictReader(file)]
    (folder / "crows.txt").write_text("".join(f"{more}\n{less}\n" for more, less in pairs), encoding="utf-8")
    ids = [line["ids"] for line in json.loads(run("tokens", MODELS / kind, folder / "crows.txt", "--json").stdout)["lines"]]
    unchanged, changed = [], []
    for k in range(len(pairs)):
        a, b = ids[2 * k], ids[2 * k + 1]
        blocks = difflib.SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
        same = [{block[side] + i for block in blocks for i in range(block.size)} for side in (0, 1)]
        sums = [sum(golden[2 * k + side][i] for i in same[side]) for side in (0, 1)]
        unchanged.append(sums[0] > sums[1])
        means = []
        for side, tokens in ((0, a), (1, b)):
            own = [p for i, p in enumerate(golden[2 * k + side]) if kind not in MASKED or i not in same[side]]
            means.append(sum(own) / len(own) if own else None)
        if None not in means:
            changed.append(means[0] > means[1])
    overall = told["domains"][-1]
    assert overall["domain"] == "overall" and overall["pairs"] == len(pairs)
    assert abs(overall["unchanged"]["value"] - 100 * sum(unchanged) / len(unchanged)) < 1e-9, (kind, unchanged, told)
    assert abs(overall["changed"]["value"] - 100 * sum(changed) / len(changed)) < 1e-9, (kind, changed, told)


def check_cache(folder):
    cache, model = folder / "cache", folder / "model"
    shutil.copytree(MODELS / "llama", model)
    first = json.loads(run("audit", model, *QUESTIONS, "--cache", cache, "--json").stdout)
    files = {p: p.read_bytes() for p in cache.iterdir()}
    assert len(files) == 3, list(files)  # StereoSet, its swapped items, CrowS-Pairs
    again = json.loads(run("audit", model, *QUESTIONS, "--cache", cache, "--json", "--threads", 2).stdout)
    assert first == again and files == {p: p.read_bytes() for p in cache.iterdir()}


def check_tokens(folder):
    golden = json.loads((MODELS / "gpt2/golden.json").read_text())
    lines = [line for line in golden["lines"] if "\n" not in line["text"] and "\0" not in line["text"]]
    (folder / "lines.txt").write_text("".join(line["text"] + "\n" for line in lines), encoding="utf-8")
    told = json.loads(run("tokens", MODELS / "gpt2", folder / "lines.txt", "--json").stdout)
    assert [line["ids"] for line in told["lines"]] == [line["ids"] for line in lines]
    plain = run("tokens", MODELS / "gpt2/tokenizer.json", folder / "lines.txt").stdout.splitlines()
    assert plain[0] == " ".join(map(str, lines[0]["ids"])), plain[0]


def check_screen(folder):
    seat = folder / "seat.json"
    seat.write_text(json.dumps({"targ1": {"category": "Mothers", "examples": ["The mother.", "A mother"]},
                                "targ2": {"category": "Fathers", "examples": ["The father.", "A father"]},
                                "attr1": {"category": "Home", "examples": ["warm bread"]},
                                "attr2": {"category": "Work", "examples": ["boats"]}}))
    screen = run("audit", MODELS / "llama", *QUESTIONS, "--pairs", MODELS / "crows.csv", "--text",
                 MODELS / "crows.csv", "--seat", seat).stdout
    for words in ("SEAT", "Mothers / Fathers", "SEEN WORDS", "STEREOTYPES", "TARGETS SWAPPED", "CROWS-PAIRS", "PERPLEXITY",
                  "WHAT THIS DOES NOT SAY", "2 target terms are few"):
        assert words in screen, screen
    assert all(len(line) <= 80 for line in screen.splitlines()), screen


def check_errors(folder):
    def error(words, *arguments, status):
        done = run(*arguments, status=status)
        assert words in done.stderr and done.stdout == "", (words, done.stderr)

    llama, stereoset = MODELS / "llama", MODELS / "stereoset.json"
    error("nothing to ask", "audit", llama, status=2)
    error("either MODEL or --scores", "audit", "--stereoset", stereoset, status=2)
    error("belongs to --crows", "audit", llama, "--stereoset", MODELS / "crows.csv", status=2)
    error("config.json", "audit", folder, "--stereoset", stereoset, status=11)
    (folder / "bytes.txt").write_bytes(b"good\nbad \xff\n")
    error("not UTF-8", "tokens", llama, folder / "bytes.txt", status=15)
    error("bytes.txt, line 2: this is not UTF-8", "audit", llama, "--text", folder / "bytes.txt", status=15)
    (folder / "half.csv").write_text("stereotype,anti_stereotype\na,\n")
    error("a side of the pair is empty", "audit", llama, "--stereoset", folder / "half.csv", status=18)
    out = folder / "there.json"
    out.write_text("kept")
    error("exists", "audit", llama, "--stereoset", stereoset, "-o", out, status=13)
    assert out.read_text() == "kept"
    lonely = folder / "lonely"
    shutil.copytree(MODELS / "gpt2", lonely)
    (lonely / "backbone.onnx").unlink()
    error("no backbone.onnx", "audit", lonely, "--stereoset", stereoset, status=20)
    shutil.copy(MODELS / "llama/backbone.onnx", lonely / "backbone.onnx")
    if onnx_runtime():
        error("cannot be run", "audit", lonely, "--stereoset", stereoset, status=20)


with tempfile.TemporaryDirectory() as name:
    work = pathlib.Path(name)
    check_scores("llama", work, "native")
    check_tokens(work)
    if "--models" not in sys.argv:
        check_cache(work)
        check_screen(work)
        check_errors(work)
    if onnx_runtime():
        for one in ("llama", "gpt2", *MASKED):
            check_scores(one, work, "onnx")
    else:
        print("ONNX Runtime is not here: only the native backbone was tested", file=sys.stderr)
