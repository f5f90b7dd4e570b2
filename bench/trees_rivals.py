"""Part "trees" of compare.py: leaves, margins, repair and explain of boosted trees, beside their own libraries."""
import csv
import json
import pathlib
import tempfile

from measure import last_line, row, run_process, say, shortest

RIVAL = pathlib.Path(__file__).parent / "rivals" / "trees_python.py"
FILES = {"xgboost": "json", "lightgbm": "txt", "catboost": "cbm"}
TITLES = {"xgboost": "XGBoost", "lightgbm": "LightGBM", "catboost": "CatBoost"}
# Least times of pred_leaf for fmd's leaves, and most times of a margin.
LEAVES, MARGINS = {"xgboost": 3, "lightgbm": 3, "catboost": 1}, {"xgboost": 1.2, "lightgbm": 1.2}
# BoostIn of tree-influence, Adult, 300 trees: fit and 1,000 test rows, CPU seconds. Measured once on another machine: its
# package on PyPI does not build.
BOOSTIN = 24 + 120
TASK = ("--label", "income", "--positive", ">50K", "--attribute", "sex")


def trees(build, out, python, quick):
    if python is None:
        return [row("boosted trees", "rival missing", "", None, None, "no Python with their libraries")]
    folder = out / "trees"
    folder.mkdir(exist_ok=True)
    return leaves(build, folder, python, quick) + whole_commands(build, folder, python, quick)


def leaves(build, folder, python, quick):
    rows, ours, theirs = 100_000 if quick else 1_000_000, {}, {}
    for turn in range(1 if quick else 2):
        say(f"leaves of boosted trees, turn {turn + 1}")
        done = run_process([python, RIVAL, "leaves", folder, str(rows)])
        if done.code != 0:
            return [row("leaves of boosted trees", "rival missing", "", None, None, last_line(done.errors))]
        for library, times in json.loads(done.output).items():
            theirs.setdefault(library, []).append(times)
            own = run_process([build / "bench/trees_bench", folder / f"{library}.{FILES[library]}",
                               str(rows), "1"])
            if own.code != 0:
                return [row("leaves of boosted trees", "failed", "", None, None, last_line(own.errors))]
            ours.setdefault(library, []).append(json.loads(own.output))
    lines = []
    for library, runs in ours.items():
        for what, title in (("leaves", "leaf numbers"), ("margins", "margins")):
            best = shortest([(run[what]["cpu_s"], run[what]["wall_s"]) for run in runs])
            rival = min(times[what] for times in theirs[library])
            matrix = min(times["matrix"] for times in theirs[library])
            faster = rival / best[0]
            note = f"{TITLES[library]} {rival:.2f} CPU s" + (f", its form of the rows {matrix:.2f} more" if matrix else "")
            name = f"{title} of {rows:,} rows x {runs[0]['trees']} trees, {TITLES[library]}'s file"
            if what == "leaves":
                bar = LEAVES[library]
                lines.append(row(name, f"{faster:.1f} x", f">= {bar} x", faster >= bar, best, note))
            else:
                most = MARGINS.get(library)
                lines.append(row(name, f"{1 / faster:.2f} x the time", f"<= {most} x" if most else "",
                                 None if most is None else 1 / faster <= most, best, note))
    return lines


def whole_commands(build, folder, python, quick):
    """From files to files on Adult: three parts, of which the first trains."""
    fmd = build / "fmd"

    def run(*words):
        return run_process([fmd, *words, "--threads", "1", "--force"], folder)

    done = run("split", "data:adult", "--parts", "train=.5,repair=.2,test=.3", "--by", "income", "-o", ".")
    if done.code != 0:
        return [row("repair of Adult", "no data", "", None, None, last_line(done.errors))]
    for part in ("repair", "test"):
        leave_out_unseen(folder / "train.csv", folder / f"{part}.csv")
    theirs, repairs, explains = {}, {}, {}
    for turn in range(1 if quick else 3):
        say(f"repair and retraining, turn {turn + 1}")
        done = run_process([python, RIVAL, "retrain", folder])
        if done.code != 0:
            return [row("repair of Adult", "rival missing", "", None, None, last_line(done.errors))]
        for library, times in json.loads(done.output).items():
            theirs.setdefault(library, []).append(times)
            model = f"adult.{FILES[library]}"
            repairs.setdefault(library, []).append(
                run("debias", model, "repair.csv", *TASK, "-o", f"repaired.{FILES[library]}"))
            explains.setdefault(library, []).append(
                run("explain", model, "test.csv", "--train", "train.csv", *TASK, "-o", "influence.csv"))
    lines = []
    for library, bar in (("xgboost", 3), ("lightgbm", 1)):
        rival = min(sum(times.values()) for times in theirs[library])
        fit = min(times["train"] for times in theirs[library])
        lines.append(compared(f"debias of Adult, {TITLES[library]}, against retraining without the column",
                              repairs[library], rival, bar,
                              f"{TITLES[library]}: reading, training and saving {rival:.2f} CPU s, {fit:.2f} of them training"))
    lines.append(compared("explain of all training rows of Adult, XGBoost, against BoostIn", explains["xgboost"], BOOSTIN, 100,
                          f"BoostIn with 1,000 test rows: {BOOSTIN} CPU s, measured once elsewhere"))
    return lines + streamed(fmd, folder, quick)


def leave_out_unseen(train, part):
    """XGBoost knows no category that was not in its training: a row or two have one."""
    with open(train, newline="") as file:
        known = [set(column) for column in zip(*csv.reader(file))]
    with open(part, newline="") as file:
        header, *rows = csv.reader(file)
    texts = [j for j, name in enumerate(header) if not all(is_number(value) for value in known[j] - {name, ""})]
    with open(part, "w", newline="") as file:
        csv.writer(file).writerows([header, *(row for row in rows if all(row[j] in known[j] for j in texts))])


def is_number(text):
    try:
        float(text)
        return True
    except ValueError:
        return False


def compared(what, runs, rival, bar, note):
    if any(done.code not in (0, 3) for done in runs):
        return row(what, "failed", f">= {bar} x", None, None, last_line(runs[-1].errors))
    best = shortest([(done.cpu_s, done.wall_s) for done in runs])
    return row(what, f"{rival / best[0]:.1f} x", f">= {bar} x", rival / best[0] >= bar, best, note)


def streamed(fmd, folder, quick):
    """An audit of ever more rows: its time and its memory."""
    header, *rows = (folder / "test.csv").read_text().splitlines(keepends=True)
    lines, first = [], None
    for count in (200_000, 1_000_000) if quick else (1_000_000, 10_000_000):
        say(f"audit of {count:,} rows of boosted trees")
        with tempfile.NamedTemporaryFile("w", suffix=".csv", dir=folder) as table:
            table.write(header)
            for begin in range(0, count, len(rows)):
                table.writelines(rows[:count - begin])
            table.flush()
            done = run_process([fmd, "audit", "adult.json", table.name, *TASK, "--json", "--threads", "1"], folder)
        what = f"audit of {count:,} rows of Adult, XGBoost, as a stream"
        if done.code not in (0, 1, 3):
            return lines + [row(what, "failed", "", None, None, last_line(done.errors))]
        cost = done.cpu_s / count
        first = first or (cost, done.memory_MB)
        lines.append(row(what, f"{1e6 * cost:.1f} CPU us a row", "<= 1.2 x the first, its memory too",
                         cost <= 1.2 * first[0] and done.memory_MB <= 1.2 * first[1] + 10, (done.cpu_s, done.wall_s),
                         f"at most {done.memory_MB:.0f} MB"))
    return lines
