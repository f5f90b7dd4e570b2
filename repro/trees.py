"""Repairs of XGBoost's and LightGBM's files beside retraining and rival methods, on unseen rows.

    python trees.py FMD -o FOLDER [--seeds 10] [--seed 1] [--quick] [--fresh] [--page] [--fairgbm PYTHON]

`fmd reproduce trees` runs it. Adult, ACSIncome and HMDA are shuffled once for each seed. Some rows
train a model of 300 trees with the library's own defaults, others are DATA of
`fmd debias --max-accuracy-loss .02`, the rest are unseen. The library itself loads the repaired file
and answers the unseen rows and their flips: no figure comes from fmd. One thread; times are CPU
seconds, those of fmd of the whole command, those of training without reading the table.

Every split is kept in FOLDER/trees.cache and trees.json, by fmd's version, so the study can be stopped and goes on
where it was. The environment variable FMD_DATA names the folder of the data sets. Exit status 77: a
package is missing.
"""
import argparse
import json
import math
import os
import pathlib
import random
import platform
import subprocess
import sys
import time
import warnings

try:
    import lightgbm as lgb
    import numpy as np
    import pandas as pd
    import xgboost as xgb
except ImportError as missing:
    print(f"{sys.executable} has no package {missing.name}", file=sys.stderr)
    sys.exit(77)

TABLES = {  # label, positive, attribute, rows: training, DATA, unseen
    "adult": ("income", ">50K", "sex", 25000, 5000, 15000),
    "acs": ("income", ">50000", "sex", 30000, 5000, 40000),
    "hmda": ("deny", "yes", "afam", 1200, 590, 590),
}
TITLES = {"adult": "Adult, sex", "acs": "ACSIncome, sex", "hmda": "HMDA, afam"}
BAR_GAP, BAR_LOSS = 1e-4, 0.2
METHODS = {
    "original": "the model as it is",
    "fmd": "`fmd debias`",
    "fmd_train": "`fmd debias --train`",
    "retrained": "control: retrained without the column",
    "averaged": "control: logit averaged over both values",
    "held": "control: column held at its most frequent value",
    "fairlearn": "Fairlearn ThresholdOptimizer, demographic parity",
    "oxonfair": "OxonFair, demographic parity at most .02",
    "fairgbm": "FairGBM, equal error rates",
}


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


class Library:
    """XGBoost or LightGBM; columns of text are categories."""

    def __init__(self, name):
        self.name = name
        self.ending = "json" if name == "xgboost" else "txt"

    def train(self, X, y, trees):
        begun = time.process_time()
        if self.name == "xgboost":
            model = xgb.train({"objective": "binary:logistic", "nthread": 1},
                              xgb.DMatrix(X, y, enable_categorical=True), trees)
        else:
            model = lgb.train({"objective": "binary", "num_threads": 1, "verbose": -1}, lgb.Dataset(X, y), trees)
        return model, time.process_time() - begun

    def load(self, file):
        return xgb.Booster({"nthread": 1}, model_file=file) if self.name == "xgboost" else lgb.Booster(model_file=file)

    def margin(self, model, X):
        if self.name == "xgboost":
            return model.predict(xgb.DMatrix(X, enable_categorical=True), output_margin=True).astype(float)
        return model.predict(X, raw_score=True, num_threads=1)


class Study:
    def __init__(self, args):
        self.args = args
        self.trees = 20 if args.quick else 300
        self.stem = "trees.quick" if args.quick else "trees"
        self.work = pathlib.Path(args.out) / "trees.cache"
        self.work.mkdir(parents=True, exist_ok=True)
        self.version = subprocess.run([args.fmd, "--version"], capture_output=True, text=True).stdout.strip()
        self.log = self.work / ("quick.jsonl" if args.quick else "splits.jsonl")
        self.tables = {}
        self.done = {}
        if self.log.exists() and not args.fresh:
            for line in self.log.read_text().splitlines():
                run = json.loads(line)
                self.keep(run)
        elif self.log.exists():
            self.log.unlink()
        finished = pathlib.Path(args.out) / f"{self.stem}.json"
        if finished.exists() and not args.fresh:
            for run in json.loads(finished.read_text()):
                self.keep(run)

    def keep(self, run):
        if run["fmd"] == self.version:
            self.done[tuple(run["key"])] = run

    def fmd(self, *words, codes=(0,)):
        before = os.times()
        run = subprocess.run([self.args.fmd, *map(str, words), "--threads", "1"], capture_output=True, text=True)
        after = os.times()
        if run.returncode not in codes:
            raise SystemExit(f"fmd {' '.join(map(str, words))}: exit {run.returncode}\n{run.stderr}{run.stdout}")
        return after.children_user + after.children_system - before.children_user - before.children_system

    def table(self, name):
        if name not in self.tables:
            self.tables[name] = self.read(name)
        return self.tables[name]

    def read(self, name):
        folder = self.work / name
        if not (folder / "all.csv").exists():
            folder.mkdir(exist_ok=True)
            self.fmd("split", f"data:{name}", "--parts", "all=1", "-o", folder, "--force")
        rows = pd.read_csv(folder / "all.csv", keep_default_na=False, na_values=["", "?"])
        label, positive, attribute, *_ = TABLES[name]
        y = (rows[label] == positive).astype(int).to_numpy()
        X = rows.drop(columns=label)
        for column in X:
            if X[column].dtype == object:
                X[column] = X[column].astype("category")
        return rows, X, y, attribute

    def split(self, name, library, number):
        key = (name, library.name, number)
        if key in self.done:
            return
        rows, X, y, attribute = self.table(name)
        label, positive, _, *sizes = TABLES[name]
        order = list(range(len(rows)))
        random.Random(f"{name} {number}").shuffle(order)
        train, data, test = (np.array(order[sum(sizes[:k]):sum(sizes[:k + 1])]) for k in range(3))
        values = list(X[attribute].cat.categories)
        assert len(values) == 2, values

        def flipped(table):
            codes = 1 - table[attribute].cat.codes
            return table.assign(**{attribute: pd.Categorical.from_codes(codes, values)})

        unseen, other, labels = X.iloc[test], flipped(X.iloc[test]), y[test]
        figures = {}

        group = unseen[attribute].cat.codes.to_numpy()

        def add(method, yes, p, bar, cpu):
            """yes: the chance of the decision; p, bar: the score of the rows and of their flips."""
            right = np.where(labels == 1, yes, 1 - yes)
            rates = [float(yes[group == k].mean()) for k in range(2)]
            figures[method] = {"accuracy": float(right.mean()), "gap": float(np.abs(p - bar).mean()),
                               "parity": abs(rates[0] - rates[1]), "cpu": cpu}

        def figure(method, p, bar, cpu):
            add(method, (p >= 0.5).astype(float), p, bar, cpu)

        model, cpu = library.train(X.iloc[train], y[train], self.trees)
        z, zbar = library.margin(model, unseen), library.margin(model, other)
        figure("original", sigmoid(z), sigmoid(zbar), cpu)
        figure("averaged", sigmoid((z + zbar) / 2), sigmoid((z + zbar) / 2), 0)
        most = X.iloc[train][attribute].mode()[0]
        held = np.where(unseen[attribute] == most, z, zbar)
        figure("held", sigmoid(held), sigmoid(held), 0)
        without = X.drop(columns=attribute)
        again, cpu = library.train(without.iloc[train], y[train], self.trees)
        zero = library.margin(again, without.iloc[test])
        figure("retrained", sigmoid(zero), sigmoid(zero), cpu)

        file = self.work / f"model.{library.ending}"
        model.save_model(file)
        for what, part in (("train", train), ("data", data)):
            rows.iloc[part].to_csv(self.work / f"{what}.csv", index=False)
        for method, flags in (("fmd", []), ("fmd_train", ["--train", self.work / "train.csv"])):
            out = self.work / f"repaired.{library.ending}"
            cpu = self.fmd("debias", file, self.work / "data.csv", "--label", label, "--positive", positive,
                           "--attribute", attribute,
                           "--max-accuracy-loss", ".02", "-o", out, "--force", "--seed", number, *flags, codes=(0, 3))
            after = library.load(out)
            figure(method, sigmoid(library.margin(after, unseen)), sigmoid(library.margin(after, other)), cpu)
            receipt = json.loads(out.with_name(out.name + ".receipt.json").read_text())
            figures[method]["leaves"] = [receipt["leaves"]["changed"], receipt["leaves"]["of"]]
            figures[method]["polish"] = receipt["chosen"].get("polish", 0)

        sex = {part: X[attribute].iloc[rows_of].cat.codes.to_numpy() for part, rows_of in
               (("data", data), ("test", test))}
        scores = sigmoid(library.margin(model, X.iloc[data]))
        for method, rival in (("fairlearn", fairlearn_rival), ("oxonfair", oxonfair_rival)):
            begun = time.process_time()
            answer = rival(scores, y[data], sex["data"])
            if answer is None:
                continue
            cpu = time.process_time() - begun
            p = answer(sigmoid(z), sex["test"])
            bar = answer(sigmoid(zbar), 1 - sex["test"])
            add(method, p, p, bar, cpu)
        answers = fairgbm_rival(self.args.fairgbm, self.work, X, y, train, unseen, other, attribute, self.trees)
        if answers is not None:
            figure("fairgbm", *answers)
        for one in figures.values():
            one["against"] = 100 * (one["accuracy"] - figures["retrained"]["accuracy"])
        self.done[key] = {"key": key, "fmd": self.version, "figures": figures}
        with open(self.log, "a") as log:
            log.write(json.dumps(self.done[key]) + "\n")
        print(f"{TITLES[name]}, {library.name}, split {number}: " + "; ".join(
            f"{method} {100 * one['accuracy']:.2f} % {one['gap']:.1e}" for method, one in figures.items()
            if method in ("original", "fmd", "fmd_train", "retrained")), file=sys.stderr, flush=True)


def fairlearn_rival(scores, y, groups):
    """Thresholds for each group, drawn by lot between two; it needs the attribute when it answers."""
    try:
        from fairlearn.postprocessing import ThresholdOptimizer
    except ImportError:
        return None

    class Given:
        def fit(self, X, y):
            return self

        def predict_proba(self, X):
            return np.stack([1 - X[:, 0], X[:, 0]], axis=1)

    tuned = ThresholdOptimizer(estimator=Given(), constraints="demographic_parity", objective="accuracy_score",
                               prefit=True, predict_method="predict_proba")
    tuned.fit(scores[:, None], y, sensitive_features=groups)
    return lambda p, who: tuned._pmf_predict(p[:, None], sensitive_features=who)[:, 1]


def oxonfair_rival(scores, y, groups):
    """One threshold for each group; it needs the attribute when it answers."""
    try:
        import oxonfair
        from oxonfair.utils import group_metrics as gm
    except ImportError:
        return None

    def logit(p):
        return np.log(p / (1 - p))[:, None]

    tuned = oxonfair.DeepFairPredictor(y, logit(scores), groups, use_actual_groups=True)
    tuned.fit(gm.accuracy, gm.demographic_parity, 0.02)
    return lambda p, who: np.asarray(tuned.predict(
        oxonfair.DeepDataDict(np.zeros(len(p), dtype=int), logit(p), who))).astype(float)


FAIRGBM = """
import sys, time, numpy as np
from fairgbm import FairGBMClassifier
rows = dict(np.load(sys.argv[1]))
begun = time.process_time()
model = FairGBMClassifier(constraint_type="FNR,FPR", n_estimators=int(sys.argv[3]), n_jobs=1, random_state=1)
model.fit(rows["train"], rows["y"], constraint_group=rows["group"])
cpu = time.process_time() - begun
np.savez(sys.argv[2], p=model.predict_proba(rows["test"])[:, 1], bar=model.predict_proba(rows["bar"])[:, 1], cpu=cpu)
"""


def fairgbm_rival(python, work, X, y, train, unseen, other, attribute, trees):
    """It needs an old NumPy, so it has a Python of its own. Columns of text are given as numbers."""
    if not python:
        return None

    def numbers(table):
        return np.stack([table[c].cat.codes if table[c].dtype == "category" else table[c] for c in table], axis=1)

    np.savez(work / "fairgbm.npz", train=numbers(X.iloc[train]), y=y[train], test=numbers(unseen), bar=numbers(other),
             group=X.iloc[train][attribute].cat.codes)
    out = work / "fairgbm_out.npz"
    subprocess.run([python, "-W", "ignore", "-c", FAIRGBM, work / "fairgbm.npz", out, str(trees)], check=True,
                   stdout=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"})
    answers = np.load(out)
    return answers["p"], answers["bar"], float(answers["cpu"])


def interval(values):
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, math.nan
    quantile = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26}.get(len(values), 2.0)
    return mean, quantile * float(np.std(values, ddof=1)) / math.sqrt(len(values))


def machine():
    model = platform.processor() or platform.machine()
    try:
        names = [line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
        model = names[0] if names else model
    except OSError:
        pass
    return model


def page(study, folder):
    lines = ["# Boosted trees, repaired in their own files", "",
             "Made by `fmd reproduce trees`. " + " ".join(__doc__.split("\n\n")[2].split()[5:]), "",
             f"The bar: a flip gap of at most 1e-4 on unseen rows, at a mean loss of at most {BAR_LOSS} points of accuracy",
             "against the same library retrained without the column. Intervals are 95 %, of the mean over the splits, paired",
             "by split. `parity` is the difference of the two groups' rates of the answer yes.", "",
             "The rivals move that difference, not the flip gap: they aim at equal rates of the groups, which is another goal.",
             "Fairlearn and OxonFair need the attribute when they answer, and a decision that changes with it counts 1 in their",
             "flip gap: none of them can reach the gap of a repair. So they stand here at the gap that they have.",
             "FairGBM keeps its own defaults and its own threshold. On Adult it stays near or below the answer no to everyone: read",
             "that row as a run that failed, not as what the method can do.", "",
             f"{study.version}; XGBoost {xgb.__version__}; LightGBM {lgb.__version__}; {machine()}; one thread.", ""]
    fewest = min((sum(key[:2] == (name, library) for key in study.done)
                  for name in TABLES for library in ("xgboost", "lightgbm")), default=0)
    if fewest < 10 and not study.args.quick:
        lines += ["**Some tables have fewer than ten splits yet: nothing is shown by so few.** The same command goes on with "
                  "those that are missing.", ""]
    for name in TABLES:
        for library in ("xgboost", "lightgbm"):
            runs = [run["figures"] for key, run in sorted(study.done.items()) if key[:2] == (name, library)]
            if not runs:
                continue
            title = {"xgboost": "XGBoost", "lightgbm": "LightGBM"}[library]
            lines += [f"## {TITLES[name]}, {title}, {len(runs)} split{'s' if len(runs) > 1 else ''}", "",
                      "| | accuracy % | points against retraining | flip gap, mean | flip gap, worst split | parity | CPU s |",
                      "|---|---|---|---|---|---|---|"]
            for method, words in METHODS.items():
                own = [run[method] for run in runs if method in run]
                if not own:
                    continue
                against, half = interval([one["against"] for one in own])
                gaps = [one["gap"] for one in own]
                lines.append(f"| {words} | {100 * np.mean([one['accuracy'] for one in own]):.2f} | "
                             f"{against:+.2f}{'' if math.isnan(half) else f' ± {half:.2f}'} | {np.mean(gaps):.1e} | {max(gaps):.1e} | "
                             f"{np.mean([one['parity'] for one in own]):.3f} | {np.median([one['cpu'] for one in own]):.2f} |")
            lines.append("")
            for method in ("fmd", "fmd_train"):
                own = [run[method] for run in runs]
                loss = -np.mean([one["against"] for one in own])
                gap = np.mean([one["gap"] for one in own])
                kept = "reached" if loss <= BAR_LOSS and gap <= BAR_GAP else "missed"
                polished = sum(one["polish"] > 0 for one in own)
                share = np.mean([one["leaves"][0] / one["leaves"][1] for one in own])
                lines.append(f"- {METHODS[method]}: bar {kept}; {100 * share:.0f} % of the leaf values change on average; "
                             f"{polished} of {len(own)} choices were polished.")
            lines.append("")
    text = "\n".join(lines).replace("0e+00", "0")
    (folder / f"{study.stem}.md").write_text(text)
    (folder / f"{study.stem}.json").write_text(json.dumps([study.done[key] for key in sorted(study.done)], indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fmd")
    parser.add_argument("-o", "--out", required=True)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1, help="the first one")
    parser.add_argument("--quick", action="store_true", help="HMDA alone, 20 trees, one seed")
    parser.add_argument("--fresh", action="store_true", help="also the splits that are done")
    parser.add_argument("--fairgbm", help="a Python that has fairgbm, numpy 1.26 and scikit-learn 1.3")
    parser.add_argument("--page", action="store_true", help="only write the page of what is done")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    study = Study(args)
    for number in range(args.seed, args.seed + (0 if args.page else 1 if args.quick else args.seeds)):
        for name in ["hmda"] if args.quick else TABLES:
            for library in ("xgboost", "lightgbm"):
                study.split(name, Library(library), number)
    page(study, pathlib.Path(args.out))


if __name__ == "__main__":
    main()
