"""Part "commands" of compare.py: what a person waits for, whole commands on ACSIncome, beside the same jobs in Python."""
import gzip
import json
import os
import pathlib
import shutil
import tempfile

from measure import last_line, row, run_process, say, shortest

RIVAL = pathlib.Path(__file__).parent / "rivals" / "acs_python.py"
CATEGORIES = ("OCCP", "POBP", "RELP", "COW", "MAR", "SEX", "RAC1P")
TEST_ROWS = 199_740


def commands(build, rivals, quick):
    start = starting(build, quick)
    source = pathlib.Path(os.environ.get("FMD_DATA", "")) / "acs_income" / "ACSIncome.test.csv.gz"
    if not source.is_file():
        return start + [row("whole commands on ACSIncome", "no data", "", None, None, "FMD_DATA has no acs_income")]
    with tempfile.TemporaryDirectory() as name:
        case = Case(build / "fmd", pathlib.Path(name), quick)
        case.make(source)
        rows = start + case.linear()
        theirs = measure_rivals(rivals, case.folder)
        rows += compared(case.cpu, theirs)
        if not quick:
            rows += case.networks() + case.growth()
        return rows


def time_command(command, tries, folder):
    """Least CPU and wall seconds of a process, start to end."""
    runs = [run_process(command, folder, one_thread=False) for _ in range(tries)]
    if any(done.code != 0 for done in runs):
        return None
    return shortest([(done.cpu_s, done.wall_s) for done in runs])


def starting(build, quick):
    say("start of the command, demo")
    with tempfile.TemporaryDirectory() as folder:
        version = time_command([build / "fmd", "--version"], 20 if quick else 60, folder)
        demos = []
        for _ in range(2 if quick else 5):
            demos.append(time_command([build / "fmd", "demo"], 1, folder))
            shutil.rmtree(pathlib.Path(folder) / "fmd-demo", ignore_errors=True)
    demo = shortest(demos) if all(demos) else None
    return [row("start of the command: fmd --version", f"{1e3 * version[0]:.1f} CPU ms" if version else "failed",
                "<= 10 ms", bool(version) and version[0] <= 0.010, version,
                f"{1e3 * version[1]:.1f} ms by the wall clock" if version else ""),
            row("fmd demo", f"{demo[0]:.2f} CPU s" if demo else "failed", "<= 2 CPU s",
                bool(demo) and demo[0] <= 2, demo)]


class Case:
    """ACSIncome in three parts, and the seconds of each command on them."""

    def __init__(self, fmd, folder, quick):
        self.fmd, self.folder, self.quick, self.cpu, self.wall = fmd, folder, quick, {}, {}

    def run(self, *words, threads=1):
        return run_process([self.fmd, *words, "--threads", str(threads), "--force"], self.folder)

    def train(self, *words):
        categories = [word for name in CATEGORIES for word in ("--category", name)]
        return ("train", "train.csv", "--label", "PINCP", "--positive", "1", "--favorable", "1", "--attribute", "SEX",
                "--attribute", "RAC1P", *categories, "--ignore", "index", *words)

    def make(self, source):
        with gzip.open(source, "rb") as packed, open(self.folder / "acs.csv", "wb") as plain:
            shutil.copyfileobj(packed, plain)
        self.run("split", "acs.csv", "--parts", "train=.3,repair=.1,test=.6", "--by", "PINCP", "-o", ".")
        with open(self.folder / "test.csv") as rows, open(self.folder / "small.csv", "w") as small:
            small.writelines(line for _, line in zip(range(20_001), rows))
        self.repeat(5 * TEST_ROWS)

    def repeat(self, rows):
        """rows.csv: this many rows, by repeating those of test.csv."""
        header, *lines = (self.folder / "test.csv").read_text().splitlines(keepends=True)
        with open(self.folder / "rows.csv", "w") as file:
            file.write(header)
            for first in range(0, rows, len(lines)):
                file.writelines(lines[:rows - first])

    def measure(self, name, what, bar, goal, *words, threads=1, turns=2):
        """Runs a command; goal: CPU seconds, or a function of those measured so far."""
        say(what)
        runs = [self.run(*words, threads=threads) for _ in range(1 if self.quick else turns)]
        if any(done.code not in (0, 1, 3) for done in runs):
            return row(what, "failed", bar, None, None, last_line(runs[-1].errors))
        best = shortest([(done.cpu_s, done.wall_s) for done in runs])
        self.cpu[name], self.wall[name] = best
        most = max(done.memory_MB for done in runs)
        limit = goal(self) if callable(goal) else goal
        return row(what, f"{best[0]:.2f} CPU s", bar, None if limit is None else best[0] <= limit, best,
                   f"{most:.0f} MB")

    def linear(self):
        model, scores = "m.safetensors", ("-o", "scores.csv")
        audit, repair = ("audit", model, "test.csv", "--json"), ("debias", model, "repair.csv", "--train", "train.csv")
        lines = [
            self.measure("train", "train, 99,870 rows, 797 features", "<= .5", .5, *self.train("-o", model), turns=4),
            self.measure("predict", "predict, 199,740 rows", "", None, "predict", model, "test.csv", *scores, turns=4),
            self.measure("audit", "audit of these rows, two attributes", "<= 4 x predict",
                         lambda case: 4 * case.cpu["predict"], *audit, turns=4)]
        self.measure("audit on two", "the same with two threads", "", None, *audit, threads=2)
        if "audit" in self.wall and "audit on two" in self.wall:
            share = self.wall["audit on two"] / self.wall["audit"]
            lines.append(row("  with two threads", f"{share:.2f} x the wall time", "<= .6 x", share <= .6,
                             (self.cpu["audit on two"], self.wall["audit on two"])))
        return lines + [
            self.measure("small", "audit of 20,000 rows", "<= .1", .1, "audit", model, "small.csv", "--json", turns=4),
            self.measure("large", "audit of 998,700 rows", "<= 1.2 x a row of 199,740",
                         lambda case: 6 * case.cpu["audit"], "audit", model, "rows.csv", "--json"),
            self.measure("debias", "debias --train --test", "<= 3", 3, *repair, "--test", "test.csv", "-o",
                         "tested.safetensors"),
            self.measure("repair", "debias --train, no test", "<= 2", 2, *repair, "-o", "plain.safetensors"),
            self.measure("path", "  the path alone: debias --method path", "", None, *repair, "--method", "path", "-o",
                         "path.safetensors"),
            self.measure("verify", "verify of the tested receipt", "<= debias", lambda case: case.cpu["debias"],
                         "verify", "tested.safetensors.receipt.json"),
            self.measure("compare", "compare, 33,290 rows", "<= 10", 10, "compare", "repair.csv", "--model", model,
                         "--train", "train.csv", "-o", "compare.json", turns=1),
            self.measure("explain", "explain, 99,870 training rows", "", None, "explain", model, "test.csv", "--train",
                         "train.csv", "-o", "influence.csv")]

    def networks(self):
        model = "network.safetensors"
        repair = ("debias", model, "repair.csv", "--train", "train.csv")
        return [
            self.measure("network", "network: train", "", None, *self.train("--kind", "mlp", "-o", model), turns=1),
            self.measure("last layer", "network: debias of the last layer", "<= 8, choosing included", 8, *repair, "-o",
                         "last.safetensors", turns=1),
            self.measure("all layers", "network: debias --layers all", "<= 24, choosing included", 24, *repair,
                         "--layers", "all", "-o", "all.safetensors", turns=1)]

    def growth(self):
        """Cost of a row of audits with 100,000 rows and more, against that of the fewest."""
        lines, first = [], None
        for rows in (100_000, 1_000_000, 10_000_000):
            self.repeat(rows)
            line = self.measure("growth", f"  growth: audit of {rows:,} rows", "", None, "audit", "m.safetensors",
                                "rows.csv", "--json", turns=1 if rows > 1_000_000 else 2)
            if line["cpu_s"] is not None:
                cost = line["cpu_s"] / rows
                first = first or cost
                line.update(measured=f"{1e6 * cost:.2f} CPU us a row", bar="<= 1.2 x the first", met=cost <= 1.2 * first)
            lines.append(line)
        return lines


def measure_rivals(python, folder):
    """{job: {step: CPU seconds}}, or what went wrong."""
    theirs = {}
    for job in ("audit", "replicate", "retrain"):
        say(f"{job} in Python")
        done = run_process([python, RIVAL, job, folder]) if python else None
        if done is None or done.code != 0:
            return {"problem": last_line(done.errors) if done else "no Python with its packages"}
        theirs[job] = json.loads(done.output)
    return theirs


def compared(ours, theirs):
    if "problem" in theirs:
        return [row("the same jobs in Python", "rival missing", "", None, None, theirs["problem"])]
    plain = sum(theirs["audit"].values())
    replicates = [seconds for step, seconds in theirs["replicate"].items() if step.startswith("replicate")]
    bootstrap = 2 * 100 * sum(replicates) / len(replicates)  # two attributes
    fit, retraining = theirs["retrain"]["fit"], sum(theirs["retrain"].values())

    def ratio(what, rival, name, least):
        if name not in ours:
            return row(what, "failed", f">= {least:,} x", None, None)
        factor = rival / ours[name]
        return row(what, f"{factor:,.1f} x", f">= {least:,} x", factor >= least, None)

    return [
        row("pandas, scikit-learn 1.9, Fairlearn 0.15: audit without intervals", "", "", None, (plain, None),
            ", ".join(f"{step} {seconds:.2f}" for step, seconds in theirs["audit"].items())),
        ratio("  our audit, with intervals, against it", plain, "audit", 10),
        ratio("  and against it with 100 replicates, 3 measured and scaled", plain + bootstrap, "audit", 1000),
        row("scikit-learn, retraining without the columns", "", "", None, (retraining, None),
            f"fit {fit:.2f}, newton-cholesky"),
        ratio("  our repair with its report against retraining and two such audits", retraining + 2 * plain, "debias", 5)]
