"""Targets on gaps between groups: fmd debias beside Fairlearn, at equal gaps.

    python3 tools/environment.py fairlearn --requirements bench/requirements-fairlearn.txt
    build/venv-fairlearn/bin/python tools/study_targets.py FMD -o docs/results [--work build/targets]

Each table is cut into training rows, DATA and test rows. A logistic regression is trained on the
training rows. fmd repairs it on DATA. ExponentiatedGradient is trained on both parts together;
ThresholdOptimizer sets thresholds of a logistic regression of the training rows on DATA. Of fmd the
most accurate point of the path whose cross-fitted gap is at most the rival's gap on DATA is taken;
only then both are measured on the test rows. One thread; results are kept in WORK.
"""
import argparse
import csv
import json
import os
import pathlib
import random
import subprocess
import time
import warnings

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"
import fairlearn  # noqa: E402
import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from fairlearn.postprocessing import ThresholdOptimizer  # noqa: E402
from fairlearn.reductions import (DemographicParity, EqualizedOdds, ExponentiatedGradient,  # noqa: E402
                                  TruePositiveRateParity)
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

TABLES = {  # label, positive, favourable, attributes, rows of training, DATA, test
    "adult": ("income", ">50K", ">50K", ("sex", "race"), 10000, 6000, 20000),
    "acs": ("income", ">50000", ">50000", ("sex", "race"), 10000, 6000, 20000),
    "hmda": ("deny", "yes", "no", ("afam",), 900, 700, 780),
    "german": ("credit", "good", "good", ("sex",), 400, 300, 300),
}
MEASURES = {"demographic_parity": (DemographicParity, "demographic_parity"),
            "equal_opportunity": (TruePositiveRateParity, "true_positive_rate_parity"),
            "equalized_odds": (EqualizedOdds, "equalized_odds")}
TARGET = 0.05
FEWEST = {"german": 50}  # rows of a group that is compared (--min-group); 100 elsewhere, as in fmd


def cpu():
    t = os.times()
    return t.user + t.system + t.children_user + t.children_system


def gap(measure, yes, label, group, fewest):
    """The widest difference between groups of at least `fewest` rows; yes: probability of the favourable answer."""
    large = [g for g in sorted(set(group)) if (group == g).sum() >= fewest]

    def widest(rows):
        means = [yes[rows & (group == g)].mean() for g in large if (rows & (group == g)).any()]
        return max(means) - min(means)
    if measure == "demographic_parity":
        return widest(np.ones(len(yes), bool))
    favourable = widest(label == 1)
    return favourable if measure == "equal_opportunity" else max(favourable, widest(label == 0))


class Study:
    def __init__(self, args):
        self.args = args
        self.work = pathlib.Path(args.work)
        self.work.mkdir(parents=True, exist_ok=True)
        self.log = self.work / "runs.jsonl"
        self.runs = [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def has(self, *key):
        return any(r["key"] == list(key) for r in self.runs)

    def keep(self, run):
        self.runs.append(run)
        with open(self.log, "a") as f:
            f.write(json.dumps(run) + "\n")
        print(time.strftime("%H:%M"), run["key"], flush=True)

    def fmd(self, *words, codes=(0,)):
        begun = cpu()
        done = subprocess.run([self.args.fmd, *map(str, words), "--threads", "1"], capture_output=True, text=True)
        if done.returncode not in codes:
            raise SystemExit(f"fmd {' '.join(map(str, words))}: exit {done.returncode}\n{done.stderr}{done.stdout}")
        return done, cpu() - begun

    def split(self, name):
        label, positive, favourable, attributes, *sizes = TABLES[name]
        file = self.work / f"{name}-all" / "all.csv"
        if not file.exists():
            file.parent.mkdir(exist_ok=True)
            self.fmd("split", f"data:{name}", "--parts", "all=1", "-o", file.parent, "--force")
        with open(file, newline="") as f:
            head, *rows = csv.reader(f)
        random.Random(name).shuffle(rows)
        first, parts = 0, {}
        for part, size in zip(("train", "data", "test"), sizes):
            parts[part] = self.work / f"{name}-{part}.csv"
            with open(parts[part], "w", newline="") as f:
                csv.writer(f, lineterminator="\n").writerows([head, *rows[first:first + size]])
            first += size
        return parts

    def run(self):
        for name in self.args.tables.split(","):
            self.table(name)

    def table(self, name):
        label, positive, favourable, attributes, *_ = TABLES[name]
        parts = self.split(name)
        frames = {part: pd.read_csv(file, keep_default_na=False) for part, file in parts.items()}
        whole = pd.concat(frames.values(), keys=frames.keys())
        y = (whole[label] == favourable).astype(int)
        X = pd.get_dummies(whole.drop(columns=label), dtype=float)
        X = pd.DataFrame(StandardScaler().fit(X.loc["train"]).transform(X), index=X.index, columns=X.columns)
        model = self.work / f"{name}.safetensors"
        self.fmd("train", parts["train"], "--label", label, "--positive", positive, "--favorable", favourable,
                 *sum((["--attribute", a] for a in attributes), []), "--min-group", FEWEST.get(name, 100), "-o", model, "--force")
        for attribute in attributes:
            for measure in MEASURES:
                self.cell(name, attribute, measure, parts, frames, X, y, model, favourable)

    def cell(self, name, attribute, measure, parts, frames, X, y, model, favourable):
        ours, fewest = None, FEWEST.get(name, 100)
        group = {part: frames[part][attribute].to_numpy() for part in frames}
        label = {part: y.loc[part].to_numpy() for part in frames}
        for rival in ("ExponentiatedGradient", "ThresholdOptimizer"):
            if self.has(name, attribute, measure, rival):
                continue
            yes, seconds = self.rival(rival, measure, X, y, frames, attribute)
            if ours is None:
                ours = self.ours(name, attribute, measure, parts, model)
            reached = gap(measure, yes["data"], label["data"], group["data"], fewest)
            points = [p for p in ours["points"] if p["measures"][attribute][measure]["value"] is not None]
            fit = [p for p in points if p["measures"][attribute][measure]["value"] <= max(reached, ours["least"])]
            point = max(fit, key=lambda p: p["accuracy"]["value"])
            out = self.work / "at.safetensors"
            self.fmd("debias", model, parts["data"], "--attribute", attribute, "--target", f"{measure}={TARGET}",
                     "--at", f"lambda={point['lambda']!r},gamma={point['gamma']!r}", "-o", out, "--force", codes=(0, 1, 3))
            self.fmd("predict", out, parts["test"], "-o", self.work / "scores.csv", "--force")
            answer = pd.read_csv(self.work / "scores.csv", keep_default_na=False, dtype={"predicted": str})["predicted"]
            mine = (answer == favourable).to_numpy().astype(float)
            p, truth = yes["test"], label["test"]
            right = np.where(truth == 1, p, 1 - p)
            change = (mine == truth).astype(float) - right
            error = change.std(ddof=1) / np.sqrt(len(change))
            self.keep({"key": [name, attribute, measure, rival], "accuracy_fmd": float((mine == truth).mean()),
                       "accuracy_rival": float(right.mean()),
                       "difference": [float(change.mean()), float(change.mean() - 1.96 * error),
                                      float(change.mean() + 1.96 * error)],
                       "gap_fmd": float(gap(measure, mine, truth, group["test"], fewest)),
                       "gap_rival": float(gap(measure, p, truth, group["test"], fewest)), "gap_on_data": float(reached),
                       "cpu_fmd": ours["cpu"], "cpu_rival": seconds, "lambda": point["lambda"], "gamma": point["gamma"]})

    def ours(self, name, attribute, measure, parts, model):
        out = self.work / "out.safetensors"
        _, seconds = self.fmd("debias", model, parts["data"], "--attribute", attribute, "--target",
                              f"{measure}={TARGET}", "--best-effort", "-o", out, "--force")
        points = json.loads(pathlib.Path(f"{out}.path.json").read_text())["points"]
        least = min(p["measures"][attribute][measure]["value"] for p in points)
        return {"points": points, "least": least, "cpu": seconds}

    def rival(self, rival, measure, X, y, frames, attribute):
        constraint, name = MEASURES[measure]
        begun = cpu()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if rival == "ExponentiatedGradient":
                both = pd.concat([X.loc["train"], X.loc["data"]])
                method = ExponentiatedGradient(LogisticRegression(max_iter=1000), constraint(difference_bound=TARGET))
                method.fit(both, pd.concat([y.loc["train"], y.loc["data"]]),
                           sensitive_features=pd.concat([frames["train"][attribute], frames["data"][attribute]]))
                seconds = cpu() - begun
                return {part: method._pmf_predict(X.loc[part])[:, 1] for part in ("data", "test")}, seconds
            trained = LogisticRegression(max_iter=1000).fit(X.loc["train"], y.loc["train"])
            method = ThresholdOptimizer(estimator=trained, constraints=name, prefit=True, predict_method="predict_proba")
            begun = cpu()
            method.fit(X.loc["data"], y.loc["data"], sensitive_features=frames["data"][attribute])
            seconds = cpu() - begun
            return {part: method._pmf_predict(X.loc[part], sensitive_features=frames[part][attribute])[:, 1]
                    for part in ("data", "test")}, seconds


def page(runs):
    lines = ["# Targets on gaps between groups", "",
             "Made by `build/venv-fairlearn/bin/python tools/study_targets.py build/release/fmd -o docs/results`, "
             f"Fairlearn {fairlearn.__version__}. The file tells how rows are cut and how the points are paired: fmd takes the most accurate point of "
             "its path whose cross-fitted gap is at most the rival's gap on DATA. Figures are of test rows. One split, one seed.", "",
             "| table | attribute | gap | rival | accuracy, fmd | rival | difference (95 %, paired) | gap, fmd | rival | CPU s, fmd | rival | ratio |",
             "|---|---|---|---|---|---|---|---|---|---|---|---|"]
    for r in runs:
        table, attribute, measure, rival = r["key"]
        value, low, high = (100 * v for v in r["difference"])
        lines.append(f"| {table} | {attribute} | {measure} | {rival} | {100 * r['accuracy_fmd']:.2f} | {100 * r['accuracy_rival']:.2f} | "
                     f"{value:+.2f} ({low:+.2f} .. {high:+.2f}) | {r['gap_fmd']:.3f} | {r['gap_rival']:.3f} | {r['cpu_fmd']:.2f} | "
                     f"{r['cpu_rival']:.2f} | {r['cpu_rival'] / r['cpu_fmd']:.1f} |")
    below = [r for r in runs if r["difference"][2] < 0]
    wide = [r for r in runs if r["gap_fmd"] > r["gap_rival"] + 0.02]
    slow = [r for r in runs if r["key"][3] == "ExponentiatedGradient" and r["cpu_rival"] < 20 * r["cpu_fmd"]]
    slowest = sum(r["key"][3] == "ExponentiatedGradient" for r in runs)
    lines += ["", f"Below the rival beyond the paired interval: {len(below)} of {len(runs)} cells. Gap on the test rows wider than the "
              f"rival's by more than .02: {len(wide)} of {len(runs)}. Less than 20 times faster than ExponentiatedGradient: {len(slow)} of "
              f"{slowest}."]
    missing = sorted({f"{name} {attribute}" for name, (_, _, _, attributes, *_) in TABLES.items() for attribute in attributes
                      for measure in MEASURES for rival in ("ExponentiatedGradient", "ThresholdOptimizer")
                      if not any(r["key"] == [name, attribute, measure, rival] for r in runs)})
    if missing:
        lines += ["", "**Not run to its end** (the command goes on where it stopped): " + "; ".join(missing) + "."]
    lines += ["", "fmd's answer is one deterministic model that needs no attribute beyond what the model read before. Its CPU seconds are those "
              "of the whole `fmd debias`, cross-fitting, figures and controls included; the training of the model is not in them. "
              "ExponentiatedGradient gives a random mixture of models; its figures are expected ones. ThresholdOptimizer needs the "
              "attribute of every person it answers and draws lots; its seconds are without the training of its model too.", ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fmd")
    parser.add_argument("-o", "--out", default="docs/results")
    parser.add_argument("--work", default="build/targets")
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--only-page", action="store_true", help="write the page from the runs that are there")
    args = parser.parse_args()
    os.nice(19)
    study = Study(args)
    if not args.only_page:
        study.run()
    out = pathlib.Path(args.out)
    (out / "targets.json").write_text(json.dumps({"target": TARGET, "fairlearn": fairlearn.__version__, "runs": study.runs}, indent=1) + "\n")
    (out / "targets.md").write_text(page(study.runs))


if __name__ == "__main__":
    main()
