#!/usr/bin/env python3
"""Scores StereoSet by fmd lm audit and by plain transformers, in one run, on the same cores.

bench/lm_rivals.py MODEL --stereoset FILE [--domain D] [--fmd build/release/fmd] [--threads N]

transformers scores one sentence after the other, as the public benchmarks do: the mean log2 p of the
sentence's tokens after the token that begins a text. fmd lm audit runs end to end: it reads the
model, makes the states, and scores (--no-swap: without the control, which the other does not have).
Then it is run again from the cached states. Printed are wall and CPU seconds, the largest memory,
and the largest difference of a score. MODEL is a folder of a causal model. Needs torch and
transformers.
"""

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def items_of(path: Path, domain: str) -> list:
    """Items of StereoSet's dev.json, or of its sentences grouped by label, within a sentence."""
    data = json.loads(path.read_text(encoding="utf-8"))
    if "stereotype" not in data:
        raise SystemExit("lm_rivals.py: give the file with sentences grouped by label")
    groups: dict = {}
    for label in ("stereotype", "anti-stereotype", "unrelated"):
        for entry in data[label]:
            if "BLANK" in entry["context"] and domain in ("", entry["bias_type"]):
                groups.setdefault(entry["id"], {})[label] = entry
    return [g for g in groups.values() if len(g) == 3]


def children() -> float:
    use = resource.getrusage(resource.RUSAGE_CHILDREN)
    return use.ru_utime + use.ru_stime


def plain(model_folder: Path, items: list, threads: int) -> tuple:
    import torch
    import transformers

    torch.set_num_threads(threads)
    wall, cpu = time.perf_counter(), time.process_time()
    model = transformers.AutoModelForCausalLM.from_pretrained(model_folder, dtype=torch.float32).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(model_folder)
    start = tokenizer.convert_tokens_to_ids("<|endoftext|>")
    loaded = time.perf_counter()
    scores = {}
    with torch.no_grad():
        for number, item in enumerate(items):
            for label, entry in item.items():
                ids = [start, *tokenizer.encode(entry["sentence"], add_special_tokens=False)]
                log_p = model(torch.tensor([ids])).logits[0].log_softmax(-1)
                terms = [log_p[k, token].item() / math.log(2) for k, token in enumerate(ids[1:])]
                scores[(entry["id"], label)] = 2 ** (sum(terms) / len(terms))
            if number % 50 == 49:
                print(f"transformers: {number + 1} of {len(items)} items", file=sys.stderr)
    return scores, time.perf_counter() - wall, time.process_time() - cpu, loaded - wall


def ours(fmd: Path, model: Path, file: Path, out: Path, cache: Path, threads: int) -> tuple:
    wall, cpu = time.perf_counter(), children()
    subprocess.run([fmd, "lm", "audit", model, "--stereoset", file, "--no-swap", "--threads", str(threads), "--cache", cache,
                    "--replicates", "0", "-o", out, "--force"], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - wall, children() - cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--stereoset", type=Path, required=True)
    parser.add_argument("--domain", default="")
    parser.add_argument("--fmd", type=Path, default=Path("build/release/fmd"))
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    args = parser.parse_args()
    items = items_of(args.stereoset, args.domain)
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        some: dict = {"stereotype": [], "anti-stereotype": [], "unrelated": []}
        for item in items:
            for label, entry in item.items():
                some[label].append(entry)
        (work / "items.json").write_text(json.dumps(some), encoding="utf-8")
        mine, mine_cpu = ours(args.fmd, args.model, work / "items.json", work / "scores.json", work / "cache", args.threads)
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        again, again_cpu = ours(args.fmd, args.model, work / "items.json", work / "scores.json", work / "cache", args.threads)
        told = json.loads((work / "scores.json").read_text())["intrasentence"]
    theirs, wall, cpu, loading = plain(args.model, items, args.threads)
    order = [theirs[(entry["id"], label)] for item in items for label, entry in item.items()]
    by_value = [abs(a - b["score"]) / max(a, 1e-12) for a, b in zip(sorted(order), sorted(told, key=lambda s: s["score"]))]
    model_bytes = sum(p.stat().st_size for p in args.model.glob("*.safetensors"))
    ss = sum(theirs[(i["stereotype"]["id"], "stereotype")] > theirs[(i["stereotype"]["id"], "anti-stereotype")] for i in items)
    print(f"{len(items)} items, {3 * len(items)} sentences, {args.threads} thread(s)")
    print(f"transformers        {wall:8.1f} s {cpu:8.1f} CPU s ({loading:.1f} s of it to load)")
    print(f"fmd lm audit        {mine:8.1f} s {mine_cpu:8.1f} CPU s: {wall / mine:.1f} times, {cpu / mine_cpu:.1f} in CPU time")
    print(f"from cached states  {again:8.1f} s {again_cpu:8.1f} CPU s")
    print(f"memory of fmd       {memory / 1e6:8.0f} MB, {memory / model_bytes:.2f} of the model's {model_bytes / 1e6:.0f} MB")
    print(f"largest difference of a sorted score {max(by_value):.1e}; SS per example by transformers {100 * ss / len(items):.2f}")


if __name__ == "__main__":
    main()
