#!/usr/bin/env python3
"""Runs the whole command on made-up inputs: damaged files, hostile texts and odd options. See ./dev fuzz --help.

Every execution is a process of its own, in a folder of its own, with bounded memory and time. It fails when the command
ends by a signal, hangs, ends with a code that docs/errors.md does not have, shows a control character, leaves a temporary
file, writes OUT although it reports an error, or prints JSON that is none. A failing case is kept, with the command, in
the folder that is printed.
"""

import argparse
import gzip
import json
import multiprocessing
import os
import pathlib
import random
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time

CODES = {0, 1, 2, 3, *range(11, 28)}
SECONDS = 20  # of CPU; more than that is a hang
PATIENCE = 600  # by the clock: the machine may be busy
MEMORY = 3 << 30
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
TEXTS = ["", " ", "F\nlimits PASS all limits met", "\x1b[2J", "\u202e", "=cmd()", "nan", "inf", "-1", "1e308", "1e-320", "0",
         "9223372036854775808", "../../x", "/etc/passwd", "/dev/zero", "-", ".", "a" * 3000, "\udcff", "given:/etc/passwd",
         "co=.1", "co:sex=0", "1,2,3", "all", "rate=.5", "sex", "age", "job", "approved", "yes", "F"]
TOKENS = [b"\0", b"\n", b"\r\n", b'"', b",", b"\xff", b"\x1b[2J", b"{", b"[" * 200, b"}", b"nan", b"1e999", b"-1", b"null",
          b"9" * 25, b"\xe2\x80\xae", b"\xf0\x9f\x92\xa9", b'""', b"\\u0000", b"true", b"\x1f\x8b", b"PAR1"]

# Words in capitals are files of the case; an option is added to some.
AUDIT = ["audit", "MODEL", "DATA", "--replicates", "50"]
COMMANDS = [
    ["predict", "MODEL", "DATA"], ["predict", "MODEL", "DATA", "-o", "OUT"], ["predict", "MODEL", "FEATURES"],
    ["predict", "MODEL", "NPY"], ["predict", "MODEL", "PACKED"], ["predict", "MODEL", "PARQUET"],
    AUDIT, [*AUDIT, "--json"], [*AUDIT, "--format", "junit"], [*AUDIT, "--format", "markdown"],
    [*AUDIT, "--format", "csv"], [*AUDIT, "--scan"], [*AUDIT, "--task", "TASK"], [*AUDIT, "--previous", "AUDIT"],
    ["audit", "MODEL", "FEATURES", "--replicates", "50"], ["audit", "MODEL", "PACKED", "--replicates", "50", "-o", "OUT"],
    ["audit", "--scores", "SCORES", "--label", "approved", "--positive", "yes", "--attribute", "sex", "--replicates", "50"],
    ["train", "DATA", "--label", "approved", "--positive", "yes", "--attribute", "sex", "-o", "OUT"],
    ["train", "DATA", "--task", "TASK", "-o", "OUT", "--json"], ["train", "PACKED", "--label", "approved", "-o", "OUT"],
    ["features", "MODEL", "DATA", "-o", "OUT"], ["pairs", "DATA", "--flip", "sex", "-o", "OUT"],
    ["split", "DATA", "--parts", "a=.5,b=.5"], ["explain", "MODEL", "DATA", "--train", "DATA"],
    ["explain", "MODEL", "DATA", "--train", "DATA", "-o", "OUT", "--json"],
    ["debias", "MODEL", "DATA", "--method", "average-column", "--best-effort", "--replicates", "50", "-o", "OUT"],
    ["verify", "RECEIPT"], ["verify", "RECEIPT", "--json"], ["undo", "RECEIPT", "-o", "OUT"],
    ["data", "DATA"], ["doctor"],
]
NAMES = {"MODEL": "repaired", "DATA": "rows.csv", "FEATURES": "x.features", "NPY": "n.npy", "PACKED": "rows.csv.gz",
         "PARQUET": "p.parquet", "TASK": "t.toml", "AUDIT": "audit.json", "SCORES": "scores.csv",
         "RECEIPT": "repaired.receipt.json", "OUT": "out"}
OPTIONS = ["--seed", "--threads", "--label", "--positive", "--favorable", "--threshold", "--attribute", "--pairs", "--id",
           "--weight", "--ignore", "--unseen", "--min-group", "--limit", "--replicates", "--confidence", "--l2", "--kind",
           "--measure", "--check", "--method", "--target", "--mu", "--points", "--parts", "--groups", "--key", "--task",
           "--caliper", "--reuse", "--match-columns", "--tolerance", "--data", "--layers", "--hidden", "--epochs"]


def run(fmd, folder, command, seconds=PATIENCE):
    limited = ["prlimit", f"--cpu={SECONDS}", fmd]
    return subprocess.run([*limited, *command], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds,
                          close_fds=False)


def make_seeds(fmd, folder, root):
    """Small valid files of every kind that the command reads."""
    lines = [f"{20 + i % 40},{'FM'[i % 2]},{['cook', 'clerk', 'baker'][i % 3]},{['no', 'yes'][(i * 7 + i // 5) % 3 == 0]}"
             for i in range(120)]
    (folder / "rows.csv").write_text("age,sex,job,approved\n" + "\n".join(lines) + "\n")
    with gzip.open(folder / "rows.csv.gz", "wb") as packed:
        packed.write((folder / "rows.csv").read_bytes())
    (folder / "t.toml").write_text('label = "approved"\npositive = "yes"\nmin_group = 10\n[limits]\nco = .2\n'
                                   '[[attributes]]\nname = "sex"\nvalues = ["F", "M"]\n')
    (folder / "n.npy").write_bytes((root / "tests/files/matrix_C_le_f4.npy").read_bytes())
    (folder / "p.parquet").write_bytes((root / "tests/files/small.parquet").read_bytes())
    for command in (["train", "rows.csv", "--label", "approved", "--positive", "yes", "--attribute", "sex", "-o", "model"],
                    ["features", "model", "rows.csv", "-o", "x.features"],
                    ["audit", "model", "rows.csv", "--replicates", "50", "-o", "audit.json"],
                    ["debias", "model", "rows.csv", "--method", "average-column", "--best-effort", "--replicates", "50",
                     "-o", "repaired"],
                    ["predict", "model", "rows.csv", "-o", "p.csv"]):
        done = run(fmd, folder, command)
        if done.returncode not in (0, 3):
            sys.exit(f"fuzz: {command}: {done.stderr.decode(errors='replace')}")
    scores = (folder / "p.csv").read_text().splitlines()
    place = scores[0].split(",").index("p_yes")
    table = (folder / "rows.csv").read_text().splitlines()
    (folder / "scores.csv").write_text("\n".join(f"{row},{'p' if i == 0 else score.split(',')[place]}"
                                                 for i, (row, score) in enumerate(zip(table, scores))) + "\n")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def mutated_json(rng, value):
    """The value with one part replaced, taken away or doubled."""
    if rng.random() < .3 or not isinstance(value, (dict, list)) or not value:
        return rng.choice([None, True, 0, -1, 1e308, 10 ** 30, "", [], {}, [value], *TEXTS])
    if isinstance(value, list):
        at = rng.randrange(len(value))
        return [*value[:at], mutated_json(rng, value[at]), *value[at + (rng.random() < .8):]]
    key = rng.choice(list(value))
    if rng.random() < .15:
        return {k: v for k, v in value.items() if k != key}
    return {**value, key: mutated_json(rng, value[key])}


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
    text = json.dumps(header).encode("utf-8", "surrogatepass")
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + content[8 + size:]


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
        elif kind == 3:
            del content[at:]
        elif kind == 4 and at < len(content):
            content[at:at + 8] = struct.pack("<Q", rng.choice([0, 1, 2 ** 31, 2 ** 63 - 1, 2 ** 64 - 1]))[:len(content) - at]
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
    try:
        if name.endswith(".json") and rng.random() < .6:
            return json.dumps(mutated_json(rng, json.loads(content))).encode("utf-8", "surrogatepass")
        if name in ("model", "repaired", "x.features") and rng.random() < .6:
            return mutated_header(rng, content)
        if name.endswith(".csv") and rng.random() < .6:
            return mutated_cells(rng, content)
        if name.endswith(".gz") and rng.random() < .5:
            return gzip.compress(mutated_bytes(rng, gzip.decompress(content)), 1)
    except (ValueError, struct.error):
        pass
    return mutated_bytes(rng, content)


def make_case(rng, seeds, folder):
    """The arguments of one execution, after its files are written; and the name of the file that was changed."""
    words = list(rng.choice(COMMANDS))
    if rng.random() < .35:
        words += [rng.choice(OPTIONS), rng.choice(TEXTS)]
    if rng.random() < .1:
        words[rng.randrange(1, len(words) + 1):] = [rng.choice(TEXTS)]
    words = [NAMES.get(word, word) for word in words]
    files = [word for word in words if word in seeds]
    if "repaired.receipt.json" in words:
        files += ["repaired", "repaired.undo"]
    changed = rng.choice(files) if files and rng.random() < .8 else None
    wanted = set(files) | ({"repaired", "repaired.undo", "rows.csv"} if "repaired.receipt.json" in words else set())
    for name in wanted:
        (folder / name).write_bytes(mutated(rng, name, seeds[name]) if name == changed else seeds[name])
    return [os.fsencode(word) for word in words if "\0" not in word]


def complaint(done, command, folder, before):
    """What is wrong with an execution; empty when nothing is."""
    if done.returncode < 0:
        return f"ended by signal {-done.returncode}"
    if done.returncode not in CODES:
        return f"exit code {done.returncode}"
    for name, stream in (("stderr", done.stderr), ("stdout", done.stdout)):
        # Data keep their bytes: predict and data print cells of the table.
        if name == "stdout" and command[0] in (b"predict", b"data", b"pairs") and b"--json" not in command:
            continue
        try:
            text = stream.decode("utf-8")
        except UnicodeDecodeError:
            return f"{name} is not UTF-8"
        if b"--json" not in command and (found := CONTROL.search(text)):
            return f"{name} has the character {found[0]!r}"
    if done.returncode >= 11 and not done.stderr.lstrip(b"fmd: warning").startswith(b"error[") and b"fmd: error[" not in done.stderr:
        return "an error without its line"
    if done.returncode >= 11 and b"out of memory" in done.stderr:
        return "out of memory"
    left = set(os.listdir(folder)) - before
    if any("fmd-tmp" in name or "fmd-journal" in name for name in left):
        return f"leaves {left}"
    if done.returncode >= 11 and b"cannot write the result to stdout" not in done.stderr and left:
        return f"an error, and yet {left}"
    if b"--json" in command and done.returncode in (0, 1, 3) and done.stdout:
        try:
            json.loads(done.stdout)
        except ValueError:
            return "JSON that is none"
    return ""


def work(fmd, seeds, seed, count, kept):
    """Executions done, the exit codes with their numbers, the complaints, and the slowest."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    rng = random.Random(seed)
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    codes, complaints, slowest = {}, [], (0, b"")
    with tempfile.TemporaryDirectory(dir=base) as holder:
        folder = pathlib.Path(holder, "case")
        for number in range(count):
            if folder.exists():
                shutil.rmtree(folder)
            folder.mkdir()
            command = make_case(rng, seeds, folder)
            before = set(os.listdir(folder))
            begun = time.monotonic()
            try:
                done = run(fmd, folder, command)
                wrong = complaint(done, command, folder, before)
                codes[done.returncode] = codes.get(done.returncode, 0) + 1
                slowest = max(slowest, (time.monotonic() - begun, b" ".join(command)))
            except subprocess.TimeoutExpired:
                wrong = f"no end after {PATIENCE} s"
            if wrong:
                place = kept / f"{seed}-{number}"
                shutil.copytree(folder, place, dirs_exist_ok=True)
                (place / "COMMAND").write_bytes(b"\n".join(command) + b"\n\n" + wrong.encode("utf-8", "replace"))
                complaints.append(f"{wrong}: fmd {b' '.join(command)[:200]!r} in {place}")
    return count, codes, complaints, slowest


def fuzz(fmd, root, executions, seed, jobs, kept):
    """Prints what was found; whether that was nothing."""
    kept.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        seeds = make_seeds(fmd, pathlib.Path(folder), root)
    part = 250
    parts = [(fmd, seeds, seed * 1_000_000 + i, min(part, executions - i * part), kept)
             for i in range((executions + part - 1) // part)]
    done, codes, complaints, slowest = 0, {}, [], (0, b"")
    with multiprocessing.Pool(jobs) as pool:
        for count, some, wrong, slow in pool.starmap(work, parts, chunksize=1):
            done += count
            complaints += wrong
            slowest = max(slowest, slow)
            for code, times in some.items():
                codes[code] = codes.get(code, 0) + times
    for line in complaints[:20]:
        print(f"fuzz: {line}", file=sys.stderr)
    ends = ", ".join(f"{code}: {times}" for code, times in sorted(codes.items()))
    print(f"fuzz: {done} commands in {time.monotonic() - begun:.0f} s, {len(complaints)} complaints; exit codes {ends}; "
          f"slowest {slowest[0]:.1f} s: {slowest[1][:120].decode(errors='replace')!r}", flush=True)
    return not complaints


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fmd", required=True)
    parser.add_argument("--executions", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--kept", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir(), "fmd-fuzz-commands"))
    known = parser.parse_args(arguments)
    root = pathlib.Path(__file__).resolve().parents[1]
    fmd = str(pathlib.Path(known.fmd).resolve())
    return 0 if fuzz(fmd, root, known.executions, known.seed, known.jobs, known.kept) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
