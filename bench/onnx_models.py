"""Part "onnx" of compare.py: features, repairs and patches of ONNX models."""
import array
import csv
import json
import os
import pathlib
import random
import shutil
import sys
import time

from measure import last_line, row, run_process, say, shortest

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "tests/support"))
import onnx_writer as writer  # noqa: E402

WIDTH = 512


def onnx(build, out, quick):
    folder = out / "onnx"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        return faces(build, folder, quick) + large_model(build, folder, quick)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def faces(build, folder, quick):
    data = pathlib.Path(os.environ.get("FMD_DATA", ""))
    tar, network = data / "celeba/celeba_test17476_64x64_jpeg.tar", data / "models/celeba_blond.onnx"
    if not tar.is_file() or not network.is_file():
        return [row("features of CelebA's faces", "no data", ">= 90 % of ONNX Runtime", None, None)]
    say("features of faces")
    part = {r["image"]: r["part"] for r in csv.DictReader((data / "models/celeba_split.csv").open())}
    with (data / "celeba/celeba_test17476_attr.csv").open() as file:
        head, *rows = csv.reader(file)
    for name in ("dex", "report"):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([head, *(r for r in rows if part[r[0]] == name)])
    count = 2476
    common = ["--images", tar, "--label", "Blond_Hair", "--attribute", "Male", "--pairs", "match:overlap"]
    features = [build / "fmd", "features", network, folder / "dex.csv", *common, "--threads", "1", "--feature-cache",
                "none", "--force", "-o", folder / "dex.features"]
    python = build.parent / "venv-onnx/bin/python"
    rival = [python, pathlib.Path(__file__).parent / "rivals/onnx_features.py", network, "images", "3x64x64", "logits",
             str(count // (4 if quick else 1))]
    ours, theirs = [], []
    for _ in range(1 if quick else 3):  # in turns
        for command, into in ((features, ours), (rival, theirs)):
            done = run_process(command)
            if done.code != 0:
                return [row("features of CelebA's faces", "failed", "", None, None, last_line(done.errors))]
            into.append(done)
    best = shortest([(d.cpu_s, d.wall_s) for d in ours])
    plain = max((json.loads(d.output) for d in theirs), key=lambda t: t["per_second"])
    share = count / best[0] / plain["per_second"]
    lines = [row(f"features of {count:,} faces, ResNet-18, 64 x 64: whole command, with decoding", f"{100 * share:.0f} %",
                 ">= 90 % of ONNX Runtime", share >= 0.9, best,
                 f"{count / best[0]:.0f} images a CPU s; plain ONNX Runtime {plain['version']}, images in memory, batch "
                 f"{plain['batch']}: {plain['per_second']:.0f}")]
    say("repair of faces")
    repair = [build / "fmd", "debias", network, folder / "dex.csv", *common, "--best-effort", "--force",
              "--feature-cache", folder / "cache", "-o", folder / "repaired.onnx"]
    first, *others = [run_process(repair, one_thread=False) for _ in range(2 if quick else 4)]
    if any(d.code != 0 for d in [first, *others]):
        return [*lines, row("repair of CelebA", "failed", "", None, None, last_line(first.errors))]
    again = shortest([(d.cpu_s, d.wall_s) for d in others])
    lines.append(row("debias of CelebA (blond), 2,476 faces, with features", f"{first.wall_s:.1f} s", "<= 20 s",
                     first.wall_s <= 20, (first.cpu_s, first.wall_s), "30 settings, 5 folds, receipt; the paper: 191 s "
                     "on a GPU"))
    lines.append(row("  again, from cached features", f"{again[0]:.1f} CPU s", "", None, again,
                     "the same command: it chooses again; one solve is in table 3"))
    return lines


def write_large(folder, gigabytes):
    """Words -> 512 numbers each, from a file of this size, and a head that stands in the middle of it."""
    words = int(gigabytes * 1e9) // (4 * WIDTH)
    draw = random.Random(1)
    block = array.array("f", (draw.gauss(0, 1) for _ in range(WIDTH * 256))).tobytes()
    size, head = words * 4 * WIDTH, array.array("f", (draw.gauss(0, 0.05) for _ in range(2 * WIDTH))).tobytes()
    place = "words.onnx.data"
    with (folder / place).open("wb") as file:
        file.write(head)
        for start in range(0, size, len(block)):
            file.write(block[:min(len(block), size - start)])
        file.flush()
        os.fsync(file.fileno())
    tensors = [writer.outside("table", [words, WIDTH], location=place, offset=len(head), length=size),
               writer.outside("w", [2, WIDTH], location=place, offset=0, length=len(head)),
               writer.tensor("b", [2], [0.1, -0.1])]
    nodes = [writer.node("Gather", ["table", "word"], ["h"]), writer.node("Gemm", ["h", "w", "b"], ["y"], transB=1)]
    (folder / "words.onnx").write_bytes(writer.model(writer.graph(
        nodes, tensors, [writer.value("word", ["n"], 7)], [writer.value("y", ["n", 2])])))
    with (folder / "words.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["word", "sex", "label"], *((draw.randrange(256), draw.randrange(2), draw.randrange(2))
                                                                  for _ in range(2000))])
    return size + len(head)


def copied(folder, turns):
    times = []
    for _ in range(turns):
        copy = folder / "copy"
        start = time.perf_counter()
        done = run_process(["cp", "--reflink=never", folder / "words.onnx.data", copy])
        with copy.open("rb") as file:
            os.fsync(file.fileno())
        times.append((done.cpu_s, time.perf_counter() - start))
        copy.unlink()
    return shortest(times)


def large_model(build, folder, quick):
    gigabytes = 0.3 if quick else 2.2
    say(f"a model with {gigabytes} GB of external data")
    size = write_large(folder, gigabytes)
    task = ["--label", "label", "--attribute", "sex", "--category", "sex", "--pairs", "match:cosine"]
    done = run_process([build / "fmd", "features", "words.onnx", "words.csv", *task, "-o", "words.features"], folder)
    if done.code != 0:
        return [row("patch of a large model", "failed", "", None, None, last_line(done.errors))]
    turns = 1 if quick else 3
    copy = copied(folder, turns)
    runs = []
    for turn in range(turns):
        runs.append(run_process([build / "fmd", "debias", "words.onnx", "words.features", "--best-effort", "--at",
                                 "gamma=0,mu=10", "--folds", "0", "-o", f"out{turn}"], folder))
        if runs[-1].code != 0:
            return [row("patch of a large model", "failed", "", None, None, last_line(runs[-1].errors))]
        shutil.rmtree(folder / f"out{turn}")
    best, memory = shortest([(d.cpu_s, d.wall_s) for d in runs]), max(d.anonymous_MB for d in runs)
    ratio = best[1] / copy[1]
    return [row(f"repair of a model of {size / 1e9:.1f} GB into a folder: whole command", f"{ratio:.2f} x", "<= 2 x cp",
                ratio <= 2, best, "from features; the head is in the file of external data; wall time, on disk"),
            row("  cp and sync of that file", "", "", None, copy),
            row("  most anonymous memory", f"{memory:.0f} MB", "< 200 MB", memory < 200, None)]
