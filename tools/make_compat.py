#!/usr/bin/env python3
"""Writes the files of one release that later releases must read: tests/compat/vMAJOR.MINOR.

    tools/make_compat.py --fmd build/release/fmd --out tests/compat

Run it once for a release, with the command of that release, and commit the new folder. A folder that is
there is never written again: the files of a release do not change. tests/compat/README.md says what the
folder holds; tests/cli/compat.py and tests/compat/*_test.cpp read every folder.

The same command on the same kind of CPU writes the same bytes, but for dates and times in receipts. States
are written by tests/compat/write_states.cpp, which is compiled here and linked with the release's library
(--library; the headers are those of --source). What a killed run leaves comes from the release's fmd_faulty
(--faulty), the command of tests/faulty.
"""

import argparse
import csv
import gzip
import hashlib
import json
import math
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOWNS = [f"town {k:02d}" for k in range(40)]
COLUMNS = ["id", "income", "age", "job", "sex", "region", "town", "weight", "note", "approved", "grade"]

TWO_CLASSES = ["--label", "approved", "--positive", "yes", "--id", "id", "--ignore", "note", "--ignore", "grade",
               "--ignore", "town", "--attribute", "sex", "--min-group", "20"]
NETWORK = [*TWO_CLASSES, "--ignore", "weight", "--kind", "mlp", "--epochs", "60", "--batch", "32", "--learning-rate",
           ".01"]
# Features of numbers are dense, those of categories sparse, with values (logistic) or all ones (softmax).
MODELS = {
    "logistic": [*TWO_CLASSES, "--weight", "weight", "--unseen", "bucket"],
    "softmax": ["--label", "grade", "--favorable", "high", "--id", "id", "--ignore", "weight", "--ignore", "note",
                "--ignore", "approved", "--ignore", "job", "--ignore", "age", "--ignore", "income", "--attribute",
                "sex", "--min-group", "20", "--unseen", "bucket"],
    "numbers": [*TWO_CLASSES, "--ignore", "job", "--ignore", "region", "--l2", ".01"],
    "rate": ["--task", "rate.toml"],
    "network": [*NETWORK, "--hidden", "6,4"],
    "network_tanh": [*NETWORK, "--hidden", "5", "--activation", "tanh"],
    "network_gelu": [*NETWORK, "--hidden", "5", "--activation", "gelu"],
}

# Of every method; the rule is loose, since 60 rows prove little.
TABLES = ["--train", "train.csv", "--test", "test.csv"]
LOOSE = ["--replicates", "200", "--max-accuracy-loss", ".3"]
REPAIRS = {
    "solve": ("logistic", [*TABLES, *LOOSE, "--points", "5"]),
    "solve_target": ("logistic", ["--test", "test.csv", "--replicates", "200", "--points", "5", "--target",
                                  "co:sex=.05", "--keep-rate", "--gap", "demographic_parity_soft:sex=1", "--seed",
                                  "9223372036854775813"]),
    "path": ("logistic", [*TABLES, *LOOSE, "--method", "path", "--points", "5", "--hessian", "data"]),
    "step": ("logistic", [*TABLES, *LOOSE, "--method", "step"]),
    "remove": ("logistic", [*TABLES, *LOOSE, "--method", "remove", "--rows", "20", "--solver", "cholesky"]),
    "replace": ("logistic", [*TABLES, *LOOSE, "--method", "replace", "--rows", "30", "--refresh", "2", "--scale",
                             "removal", "--best-effort"]),
    "average_column": ("logistic", [*TABLES, *LOOSE, "--method", "average-column"]),
    "matched": ("logistic", ["--test", "test.csv", *LOOSE, "--pairs", "match", "--keep-rate", "--best-effort"]),
    "given": ("logistic", ["--test", "test.csv", *LOOSE, "--points", "5", "--pairs", "given:twins.csv.gz", "--groups",
                           "groups.csv", "--key", "id"]),
    "holdout": ("logistic", ["--holdout", "test.csv", *LOOSE, "--points", "3"]),
    "softmax_solve": ("softmax", [*TABLES, *LOOSE, "--points", "4"]),
    "network_1": ("network", [*TABLES, *LOOSE, "--points", "4"]),
    "network_2": ("network", [*TABLES, *LOOSE, "--points", "4", "--layers", "2", "--optimizer", "lm"]),
    "network_all": ("network", [*TABLES, *LOOSE, "--points", "4", "--layers", "all"]),
}

FEATURES = {
    "numbers_train": ("numbers", "train.csv", ["--attribute", "sex"]),
    "numbers_test": ("numbers", "test.csv", ["--attribute", "sex"]),
    "logistic_train": ("logistic", "train.csv", ["--attribute", "sex", "--weight", "weight"]),
    "logistic_test": ("logistic", "test.csv", ["--attribute", "sex", "--attribute", "age:4", "--attribute", "job"]),
    "softmax_test": ("softmax", "test.csv", ["--attribute", "sex"]),
}

# What an audit says: of tables, of files of features, of scores, with a task and an earlier audit.
AUDITS = {
    "table": ["logistic.safetensors", "test.csv", "--attribute", "sex"],
    "dense": ["numbers.safetensors", "numbers_test.features", "--attribute", "sex"],
    "ranges": ["logistic.safetensors", "logistic_test.features", "--attribute", "age:4"],
    "missing": ["logistic.safetensors", "logistic_test.features", "--attribute", "job"],
    "ones": ["softmax.safetensors", "softmax_test.features", "--attribute", "sex"],
    "network": ["network.safetensors", "test.csv", "--attribute", "sex"],
    "scores": ["--scores", "scored.csv.gz", "--pair-scores", "flipped_scored.csv.gz", "--label", "approved",
               "--positive", "yes", "--attribute", "sex", "--min-group", "20"],
    "task": ["logistic.safetensors", "test.csv", "--task", "gate.toml"],
}
EXPLANATIONS = {
    "dense": ["numbers.safetensors", "numbers_test.features", "--train", "numbers_train.features", "--measure",
              "co:sex", "--solver", "cholesky", "--cache", "cache"],
    "sparse": ["logistic.safetensors", "logistic_test.features", "--train", "logistic_train.features", "--measure",
               "co:sex", "--attribute", "sex"],
    "ones": ["softmax.safetensors", "softmax_test.features", "--train", "train.csv", "--measure", "co:sex"],
}

# Every key stands in at least one of them.
TASKS = {
    "full": '''# Every key of the first release.
label = "approved"
positive = "yes"
classes = ["no", "yes"]
favorable = "yes"
threshold = 0.25
weight = "weight"
id = "id"
ignore = ["note", "grade"]
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
name = "place"
columns = ["region", "town"]
pairs = "given:twins.csv"

[[attributes]]
name = "age"
quantiles = 4

[[attributes]]
name = "income"
cuts = [20, 39.5, 60]

[[attributes]]
name = "job"
pairs = "match:overlap"
match_columns = ["sex", "region"]
caliper = "1sd"
reuse = 3

[limits]
co = 0.02
"co:sex" = 0.005
"disparate_impact:sex" = 0.8
''',
    "rate": '''label = "approved"
positive = "yes"
id = "id"
threshold = "rate=0.3"
unseen = "error"
ignore = ["note", "grade", "town", "weight"]
attributes = ["sex", "region"]
min_group = 20
''',
    "gate": '''favorable = "yes"
threshold = 0.4
min_group = 20
min_label = 5

[[attributes]]
name = "sex"
reference = "M"

[limits]
"co:sex" = 0.9
"accuracy_difference:sex" = 0.9
''',
}


def table_rows(rows, seed, first):
    """A made-up lending table: text with commas and quotes, missing cells, numbers and categories."""
    draw = random.Random(seed)
    for i in range(rows):
        sex, job = draw.choice(["F", "M"]), draw.choice(["cook", "clerk", ""])
        region = draw.choice(["north", "south", 'the "far", west'])
        income, age = draw.gauss(50, 10), draw.randint(18, 70)
        z = (income - 50) / 6 + (1.2 if sex == "M" else 0) - (0.7 if region == "south" else 0) + (age - 44) / 30 - 0.5
        yes = draw.random() < 1 / (1 + math.exp(-z))
        grade = z + draw.gauss(0, 1)
        yield [first + i, "?" if draw.random() < 0.02 else f"{income:.2f}", age, job, sex, region, draw.choice(TOWNS),
               draw.choice(["1", "2", "0.5"]), draw.choice("xyz"), "yes" if yes else "no",
               "low" if grade < -0.8 else "middle" if grade < 0.8 else "high"]


def write_csv(path, header, rows):
    opened = gzip.GzipFile(path, "wb", mtime=0) if path.suffix == ".gz" else open(path, "wb")
    with opened as f:
        lines = [header, *rows]
        buffer = "\n".join(",".join(quoted(cell) for cell in line) for line in lines) + "\n"
        f.write(buffer.encode())


def quoted(cell):
    text = repr(cell) if isinstance(cell, float) else str(cell)
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\n') else text


def write_tables(folder):
    parts = {"train": list(table_rows(300, 1, 0)), "repair": list(table_rows(300, 2, 1000)),
             "test": list(table_rows(200, 3, 2000))}
    for name, rows in parts.items():
        write_csv(folder / f"{name}.csv", COLUMNS, rows)
    everybody = sum(parts.values(), [])
    write_csv(folder / "groups.csv", ["id", "caste"], [[row[0], "xy"[row[0] % 2]] for row in everybody])
    sex = COLUMNS.index("sex")
    twins = [[*row[:sex], {"F": "M", "M": "F"}[row[sex]], *row[sex + 1:]] for row in parts["repair"] + parts["test"]]
    write_csv(folder / "twins.csv.gz", COLUMNS, twins)


def write_state_inputs(folder):
    """Scored rows and pairs: what states are made of."""
    draw = random.Random(4)

    def shares(count):
        parts = [draw.random() + 0.01 for _ in range(count)]
        head = [part / sum(parts) for part in parts[:-1]]
        return [*head, 1 - sum(head)]

    rows = [[*shares(2), *shares(3), draw.randint(-1, 1), draw.randint(-1, 2), draw.randint(-1, 1),
             draw.randint(-1, 2), draw.choice(["1", "0.5", "2.25"])] for _ in range(100)]
    write_csv(folder / "rows.csv.gz", ["p0", "p1", "q0", "q1", "q2", "y", "z", "a", "b", "weight"], rows)
    pairs = []
    for unit in range(60):
        at, y, z = draw.randint(0, 2), draw.randint(-1, 1), draw.randint(-1, 2)
        for to in (k for k in range(3) if k != at):
            pairs.append([*shares(2), *shares(2), *shares(3), *shares(3), y, z, unit, "0.5", at, to])
    write_csv(folder / "pairs.csv.gz", ["p0", "p1", "pbar0", "pbar1", "q0", "q1", "q2", "qbar0", "qbar1", "qbar2", "y",
                                        "z", "unit", "weight", "from", "to"], pairs)


class Maker:
    def __init__(self, fmd, work):
        self.fmd, self.work = fmd, work

    def run(self, *args, codes=(0,)):
        done = subprocess.run([self.fmd, *map(str, args)], cwd=self.work, capture_output=True, text=True, check=False)
        if done.returncode not in codes:
            sys.exit(f"fmd {' '.join(map(str, args))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def models(self):
        for name, args in MODELS.items():
            self.run("train", "train.csv", *args, "-o", f"{name}.safetensors")
            self.run("predict", f"{name}.safetensors", "test.csv", "-o", f"{name}.scores.csv")
        return sorted(MODELS)

    def repairs(self):
        made = []
        for name, (model, args) in REPAIRS.items():
            self.run("debias", f"{model}.safetensors", "repair.csv", "--attribute", "sex", *args, "-o",
                     f"{name}.safetensors")
            report = json.loads(self.run("verify", f"{name}.safetensors.receipt.json", "--json").stdout)
            made.append({"name": name, "model": model, "args": args,
                         "checks": {check["what"]: check["result"] for check in report["checks"]}})
        return made

    def features(self):
        for name, (model, table, args) in FEATURES.items():
            self.run("features", f"{model}.safetensors", table, *args, "-o", f"{name}.features")
        return [{"name": name, "model": model, "table": table} for name, (model, table, _) in FEATURES.items()]

    def scores(self):
        """A table and its flips with the probabilities of some program: here fmd itself."""
        self.run("pairs", "test.csv", "--flip", "sex", "-o", "flipped.csv")
        for source, out in (("test.csv", "scored.csv.gz"), ("flipped.csv", "flipped_scored.csv.gz")):
            self.run("predict", "logistic.safetensors", source, "-o", "p.csv", "--force")
            with open(self.work / source, newline="") as f, open(self.work / "p.csv", newline="") as g:
                (header, *rows), (_, *scored) = list(csv.reader(f)), list(csv.reader(g))
            write_csv(self.work / out, [*header, "p"], [[*row, score[3]] for row, score in zip(rows, scored)])

    def killed(self, faulty, folder):
        """A repair that was killed when all its files were written and none had its name yet."""
        for call in range(1, 200):
            with tempfile.TemporaryDirectory() as name:
                place = pathlib.Path(name)
                for needed in ("logistic.safetensors", "repair.csv"):
                    shutil.copy(self.work / needed, place)
                subprocess.run([faulty, "kill", str(call), "debias", "logistic.safetensors", "repair.csv",
                                "--attribute", "sex", "--method", "average-column", *LOOSE, "-o",
                                "killed.safetensors"], cwd=place, capture_output=True, check=False)
                left = [path for path in place.iterdir() if "killed" in path.name]
                if place / "killed.safetensors.fmd-journal" not in left:
                    continue
                assert place / "killed.safetensors" not in left, "the journal stands before the renames"
                for path in left:
                    shutil.copy(path, folder)
                    if "receipt" in path.name and path.name.endswith("tmp"):
                        pack(folder / path.name)
                return
        sys.exit("no journal was left by a killed run")

    def audits(self):
        made = []
        for name, args in AUDITS.items():
            done = self.run("audit", *args, "--replicates", 200, "--permutations", 50, "-o", f"{name}.audit.json",
                            codes=(0, 1, 3))
            made.append({"name": name, "args": args, "exit": done.returncode, "figures": name})
        # Features say what their table says: these figures are stored once.
        sparse = ["logistic.safetensors", "logistic_test.features", "--attribute", "sex"]
        return [*made, {"name": "sparse", "args": sparse, "exit": 0, "figures": "table"}]

    def explanations(self):
        for name, args in EXPLANATIONS.items():
            self.run("explain", *args, "-o", f"{name}.influence.csv")
        return [{"name": name, "args": args} for name, args in EXPLANATIONS.items()]


def write_states(folder, source, library):
    with tempfile.TemporaryDirectory() as name:
        program = pathlib.Path(name) / "write_states"
        subprocess.run(["g++", "-std=c++20", "-O1", "-DEIGEN_NO_DEBUG", f"-I{source / 'include'}",
                        f"-I{ROOT / 'tests'}", "-isystem", "/usr/include/eigen3",
                        ROOT / "tests/compat/write_states.cpp", "-o", program, library, "-lopenblas", "-lz",
                        "-ldl", "-lfmt", "-lpthread"], check=True)
        subprocess.run([program, folder], check=True)


def pack(path):
    """Large texts and states are mostly repetition."""
    with open(path, "rb") as f, gzip.GzipFile(f"{path}.gz", "wb", mtime=0) as g:
        g.write(f.read())
    path.unlink()


def place(work, folder):
    """From the one folder in which the command ran to a folder for each kind."""
    for name in ("tables", "models", "repairs", "features", "scores", "audits", "influence", "cache"):
        (folder / name).mkdir()
    for path in sorted(work.iterdir()):
        name = path.name
        if name in ("flipped.csv", "p.csv") or path.suffix == ".toml":
            continue
        if name == "cache":
            kind = None
            for factor in path.iterdir():
                shutil.copy(factor, folder / "cache")
        elif name.split(".")[0] in REPAIRS and ".safetensors" in name:
            kind = "repairs"
        elif name.endswith(".safetensors"):
            kind = "models"
        elif name.endswith(".features"):
            kind = "features"
        elif name.endswith(".audit.json"):
            kind = "audits"
        elif name.endswith(".influence.csv"):
            kind = "influence"
        elif name.endswith((".scores.csv", "scored.csv.gz")):
            kind = "scores"
        else:
            kind = "tables"
        if kind:
            shutil.copy(path, folder / kind)
    for pattern in ("repairs/*.json", "scores/*.scores.csv", "audits/*.json", "influence/*", "states/*.state",
                    "states/figures.csv"):
        for path in folder.glob(pattern):
            pack(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fmd", required=True, type=pathlib.Path, help="the command of the release")
    parser.add_argument("--out", required=True, type=pathlib.Path, help="where the folder vMAJOR.MINOR is made")
    parser.add_argument("--library", type=pathlib.Path, help="libfmd.a of the release; beside the command if left out")
    parser.add_argument("--faulty", type=pathlib.Path, help="fmd_faulty of the release; in tests/ beside the command "
                        "if left out")
    parser.add_argument("--source", type=pathlib.Path, default=ROOT, help="the source of the release, for its headers")
    args = parser.parse_args()
    fmd = args.fmd.resolve()
    version = subprocess.run([fmd, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
    folder = args.out.resolve() / ("v" + ".".join(version.split(".")[:2]))
    if folder.exists():
        sys.exit(f"{folder} is there already: the files of a release never change")
    with tempfile.TemporaryDirectory() as name:
        work, made = pathlib.Path(name) / "work", pathlib.Path(name) / "made"
        for path in (work, made, made / "states", made / "tasks", made / "killed"):
            path.mkdir()
        write_tables(work)
        write_state_inputs(made / "states")
        for task, text in TASKS.items():
            (made / "tasks" / f"{task}.toml").write_text(text)
            (work / f"{task}.toml").write_text(text)
        write_states(made, args.source.resolve(), (args.library or fmd.parent / "src/libfmd.a").resolve())
        maker = Maker(fmd, work)
        contents = {"version": version, "models": maker.models(), "repairs": maker.repairs(),
                    "features": maker.features()}
        maker.scores()
        maker.killed((args.faulty or fmd.parent / "tests/fmd_faulty").resolve(), made / "killed")
        contents |= {"audits": maker.audits(), "explanations": maker.explanations()}
        place(work, made)
        (made / "contents.json").write_text(json.dumps(contents, indent=1) + "\n")
        sums = {str(path.relative_to(made)): hashlib.sha256(path.read_bytes()).hexdigest()
                for path in sorted(made.rglob("*")) if path.is_file()}
        (made / "SHA256SUMS").write_text("".join(f"{value}  {path}\n" for path, value in sums.items()))
        shutil.copytree(made, folder)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"wrote {folder}: {len(sums) + 1} files, {size // 1000} kB")


if __name__ == "__main__":
    main()
