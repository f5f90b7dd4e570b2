"""XGBoost's and LightGBM's own answers beside fmd's: leaves, margins, edited files."""

import argparse
import json
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest
import warnings

import lightgbm as lgb
import numpy as np
import pandas as pd
import treelite
import xgboost as xgb

FMD = ""
ROWS = 900
MARGIN = 1e-5  # that margins may differ by: the libraries add float32 numbers
COLORS = ["red", "green", "blue", "dark red", "white", "black"]


def fmd(*arguments, ok=True):
    run = subprocess.run([FMD, *map(str, arguments)], capture_output=True, text=True)
    if ok and run.returncode != 0:
        raise AssertionError(f"fmd {' '.join(map(str, arguments))}\n{run.stdout}{run.stderr}")
    return run


def make_rows(seed, *, missing=True, categories=False, zeros=False):
    """Whole numbers and coarse fractions: many rows lie exactly on a threshold."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "age": rng.integers(17, 90, ROWS).astype(float),
        "hours": np.round(rng.normal(40, 12, ROWS) * 4) / 4,
        "gain": np.where(rng.random(ROWS) < 0.6, 0.0, np.round(rng.exponential(5000, ROWS))),
        "tenth": np.round(rng.random(ROWS), 1),
        "sex_male": (rng.random(ROWS) < 0.6).astype(float)})
    if categories:
        frame["color"] = pd.Categorical(rng.choice(COLORS, ROWS), categories=COLORS)
        frame["sex"] = pd.Categorical(np.where(frame.sex_male == 1, "Male", "Female"))
        frame = frame.drop(columns="sex_male")
    score = (frame.age - 45) / 15 + (frame.hours - 40) / 12 + 1.5 * frame.tenth
    score += 1.2 * (frame.sex == "Male" if categories else frame.sex_male)
    if categories:
        score += frame.color.isin(["red", "white"]) * 1.0
    if missing:
        for name in ("age", "hours", "gain"):
            frame.loc[rng.random(ROWS) < 0.15, name] = np.nan
        if categories:
            frame.loc[rng.random(ROWS) < 0.1, "color"] = None
    if zeros:
        frame.loc[rng.random(ROWS) < 0.2, "tenth"] = 1e-36
    y = (score + rng.logistic(size=ROWS) > 0.8).astype(int)
    return frame, y, np.clip(np.floor(score), 0, 2).astype(int)


def write_rows(frame, y, path):
    frame.assign(label=y).to_csv(path, index=False)


def read_features(path):
    """The leaf of each tree, numbered among all leaves: rows x trees."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    note = json.loads(data[8:8 + size])["column"]
    begin, end = note["data_offsets"]
    return np.frombuffer(data[8 + size + begin:8 + size + end], dtype="<i4").reshape(note["shape"])


def probabilities(model, rows, folder, *flags):
    out = folder / "scores.csv"
    fmd("predict", model, rows, "-o", out, "--force", *flags)
    return pd.read_csv(out).iloc[:, 2:].to_numpy()


def margins_of(p):
    """Margins of probabilities, where these are not so near to 0 or 1 that digits are lost."""
    z = np.log(p)
    z -= z.mean(axis=1, keepdims=True)
    return np.where(p.min(axis=1, keepdims=True) > 1e-3, z, np.nan)


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def two(z):
    return np.stack([-z / 2, z / 2], axis=1)


def xgboost_leaves(path):
    """Nodes that are leaves, left to right, of each tree."""
    model = json.loads(path.read_text())["learner"]["gradient_booster"]
    trees = model.get("gbtree", model)["model"]["trees"]
    found = []
    for tree in trees:
        leaves, open_nodes = [], [0]
        while open_nodes:
            node = open_nodes.pop()
            if tree["left_children"][node] == -1:
                leaves.append(node)
            else:
                open_nodes += [tree["right_children"][node], tree["left_children"][node]]
        found.append(leaves)
    return found


def without_leaves(path):
    """An XGBoost file with its leaf values taken out."""
    whole = json.loads(path.read_text())
    model = whole["learner"]["gradient_booster"]
    for tree in model.get("gbtree", model)["model"]["trees"]:
        for node, left in enumerate(tree["left_children"]):
            if left == -1:
                tree["split_conditions"][node] = 0
    return whole


class WithFolder(unittest.TestCase):
    def setUp(self):
        self.made = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.made.name)
        self.addCleanup(self.made.cleanup)
        self.rows = self.folder / "rows.csv"

    def assert_same_answers(self, model, want_z, what):
        """want_z: margins of the library, rows x classes."""
        p = probabilities(model, self.rows, self.folder)
        got, want = margins_of(p), want_z - want_z.mean(axis=1, keepdims=True)
        worst = np.nanmax(np.abs(got - want))
        self.assertGreater(np.isfinite(got).mean(), 0.5, what)
        self.assertLess(worst, MARGIN, what)
        self.assertLess(np.abs(p - softmax(want_z)).max(), 1e-6, what)
        return worst

    def assert_same_leaves(self, model, want, leaves, what):
        """want: the library's own leaf of each tree; leaves: its names in fmd's order."""
        out = self.folder / "leaves.features"
        fmd("features", model, self.rows, "-o", out, "--force", "--label", "label")
        got = read_features(out)
        first = np.cumsum([0] + [len(names) for names in leaves])
        self.assertEqual(got.shape[1], len(leaves), what)
        for t, names in enumerate(leaves):
            own = np.array(names)[got[:, t] - first[t]]
            self.assertTrue((own == want[:, t]).all(), f"{what}: tree {t}")


def masked_lightgbm(path):
    """A LightGBM file without leaf values and sizes of trees."""
    return [line for line in path.read_text().split("\n") if not line.startswith(("leaf_value=", "tree_sizes="))]


class Repair(WithFolder):
    """From a trained model to a repaired one, with every command, by a task.toml."""

    def setUp(self):
        super().setUp()
        self.frame, self.y, _ = make_rows(80, categories=True)
        write_rows(self.frame, self.y, self.rows)
        self.task = self.folder / "task.toml"
        self.task.write_text('label = "label"\npositive = "1"\nattributes = ["sex"]\n')

    def repair(self, model, *flags):
        out = self.folder / f"repaired{model.suffix}"
        fmd("debias", model, self.rows, "--task", self.task, "--max-accuracy-loss", .2, "-o", out, "--force", *flags)
        fmd("verify", f"{out}.receipt.json")
        fmd("undo", f"{out}.receipt.json", "-o", self.folder / "back", "--force")
        self.assertEqual((self.folder / "back").read_bytes(), model.read_bytes())
        note = json.loads((self.folder / f"{out}.receipt.json").read_text())
        self.assertGreater(note["leaves"]["changed"], 0)
        self.assertLessEqual(note["leaves"]["changed"], note["leaves"]["of"])
        return out

    def flip_gap(self, answer):
        other = self.frame.assign(sex=self.frame.sex.cat.rename_categories({"Male": "Female", "Female": "Male"})
                                  .cat.reorder_categories(["Female", "Male"]))
        return np.abs(answer(self.frame) - answer(other)).mean()

    def test_xgboost(self):
        data = xgb.DMatrix(self.frame, self.y, enable_categorical=True)
        booster = xgb.train({"objective": "binary:logistic", "max_depth": 4, "nthread": 1}, data, 30)
        for ending in ("json", "ubj"):
            model = self.folder / f"m.{ending}"
            booster.save_model(model)
            for method in ("path", "solve"):
                out = self.repair(model, "--method", method)
                if ending == "json":
                    self.assertEqual(without_leaves(out), without_leaves(model))
                else:
                    self.assertEqual(out.stat().st_size, model.stat().st_size)
                after = xgb.Booster(model_file=out)
                z = after.predict(data, output_margin=True)
                self.assert_same_answers(out, two(z), f"{method} {ending}")
                shap = after.predict(data, pred_contribs=True)
                self.assertLess(np.abs(shap.sum(axis=1) - z).max(), 1e-4)
                def answer(frame, model=after):
                    return model.predict(xgb.DMatrix(frame, enable_categorical=True))
                self.assertLess(self.flip_gap(answer), 1e-4)
                self.assertGreater(self.flip_gap(lambda frame: answer(frame, booster)), 1e-2)

    def test_lightgbm(self):
        booster = lgb.train({"objective": "binary", "num_leaves": 15, "min_data_in_leaf": 5, "verbose": -1,
                             "num_threads": 1}, lgb.Dataset(self.frame, self.y), 30)
        model = self.folder / "m.txt"
        booster.save_model(model)
        out = self.repair(model)
        self.assertEqual(masked_lightgbm(out), masked_lightgbm(model))
        after = lgb.Booster(model_file=out)
        self.assert_same_answers(out, two(after.predict(self.frame, raw_score=True)), "repaired")
        # The sizes of trees are right: the library itself writes the same text.
        trees = out.read_text().split("\nfeature_importances")[0]
        self.assertEqual(after.model_to_string().split("\nfeature_importances")[0], trees)
        self.assertLess(self.flip_gap(after.predict), 1e-3)
        self.assertGreater(self.flip_gap(booster.predict), 1e-2)

    def test_several_classes(self):
        _, _, y = make_rows(80, categories=True)
        write_rows(self.frame, y, self.rows)
        self.task.write_text('label = "label"\nattributes = ["sex"]\n')
        data = xgb.DMatrix(self.frame, y, enable_categorical=True)
        booster = xgb.train({"objective": "multi:softprob", "num_class": 3, "max_depth": 3, "nthread": 1}, data, 10)
        model = self.folder / "m.json"
        booster.save_model(model)
        out = self.repair(model, "--method", "path")
        after = xgb.Booster(model_file=out)
        self.assert_same_answers(out, after.predict(data, output_margin=True), "three classes")

    def test_every_command(self):
        data = xgb.DMatrix(self.frame, self.y, enable_categorical=True)
        booster = xgb.train({"objective": "binary:logistic", "max_depth": 4, "nthread": 1}, data, 30)
        model = self.folder / "m.json"
        booster.save_model(model)
        task = ("--task", self.task)
        report = json.loads(fmd("audit", model, self.rows, *task, "--json").stdout)
        gap = report["attributes"][0]["measures"]["co"]["value"]
        def answer(frame):
            return booster.predict(xgb.DMatrix(frame, enable_categorical=True))
        self.assertAlmostEqual(gap, self.flip_gap(answer), delta=1e-6)
        fmd("audit", model, self.rows, *task, "--scan")
        features = self.folder / "rows.features"
        fmd("features", model, self.rows, *task, "-o", features)
        want, got = (probabilities(model, rows, self.folder, *task) for rows in (self.rows, features))
        self.assertEqual(np.abs(want - got).max(), 0)
        note = json.loads(fmd("model", model, "--json").stdout)
        self.assertEqual(note["trees"]["count"], 30)
        self.assertEqual([c["name"] for c in note["inputs"]], list(self.frame.columns))
        self.assertIn("trees", fmd("audit", model, self.rows, *task).stdout)
        fmd("debias", model, self.rows, *task, "--method", "step", "-o", self.folder / "s.json")
        fmd("debias", model, self.rows, *task, "--gap", "demographic_parity_soft:sex=1", "--max-accuracy-loss", ".2",
            "-o", self.folder / "g.json")
        run = fmd("debias", model, self.rows, *task, "--method", "remove", "--train", self.rows, "-o",
                  self.folder / "r.json", ok=False)
        self.assertEqual(run.returncode, 26, run.stderr)
        self.assertFalse((self.folder / "r.json").exists())


    def test_linear_booster(self):
        frame, y, _ = make_rows(81)
        frame /= 50
        write_rows(frame, y, self.rows)
        data = xgb.DMatrix(frame, y)
        booster = xgb.train({"booster": "gblinear", "objective": "binary:logistic", "nthread": 1,
                             "updater": "coord_descent"}, data, 20)
        model, out = self.folder / "m.json", self.folder / "r.json"
        booster.save_model(model)
        self.task.write_text('label = "label"\npositive = "1"\n[[attributes]]\nname = "sex_male"\n'
                             'values = ["0", "0.02"]\n')
        fmd("debias", model, self.rows, "--task", self.task, "--max-accuracy-loss", .2, "-o", out)
        z = xgb.Booster(model_file=out).predict(data, output_margin=True)
        self.assert_same_answers(out, two(z), "gblinear")
        before, after = (json.loads(m.read_text())["learner"]["gradient_booster"]["model"]["weights"]
                         for m in (model, out))
        self.assertGreater(abs(before[4]), 10 * abs(after[4]))

    def test_example(self):
        example = pathlib.Path(__file__).resolve().parents[2] / "examples/xgboost_repair.py"
        run = subprocess.run([sys.executable, example, FMD], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)


class Study(unittest.TestCase):
    """fmd reproduce trees, on the smallest table."""

    def test_quick(self):
        data = os.environ.get("FMD_DATA", "")
        if not (pathlib.Path(data) / "hmda").is_dir():
            self.skipTest("FMD_DATA has no hmda")
        with tempfile.TemporaryDirectory() as folder:
            def study():
                return fmd("reproduce", "trees", "--quick", "--python", sys.executable, "-o", folder)
            page = study().stdout
            for title in ("## HMDA, afam, XGBoost, 1 split\n", "## HMDA, afam, LightGBM, 1 split\n"):
                self.assertIn(title, page)
            runs = json.loads((pathlib.Path(folder) / "trees.quick.json").read_text())
            self.assertEqual(len(runs), 2)
            for run in runs:
                self.assertLess(run["figures"]["fmd"]["gap"], run["figures"]["original"]["gap"] / 100)
            self.assertEqual(study().stdout, page)  # from what is kept


class Explain(WithFolder):
    """The adjoint of boosting against the libraries' own leaf values."""

    def explained(self, model, *flags):
        out = self.folder / "influence.csv"
        run = fmd("explain", model, self.rows, "--train", self.rows, "--label", "label", "--positive", "1",
                  "--attribute", "sex", "--check", 5, "-o", out, "--force", "--json", *flags)
        return json.loads(run.stdout), pd.read_csv(out).sort_values("row").change.to_numpy()

    def test_xgboost(self):
        frame, y, _ = make_rows(90, categories=True)
        write_rows(frame, y, self.rows)
        data = xgb.DMatrix(frame, y, enable_categorical=True)
        parameters = {"objective": "binary:logistic", "max_depth": 3, "eta": 0.2, "lambda": 2.0, "nthread": 1}
        model = self.folder / "m.json"
        xgb.train(parameters, data, 25).save_model(model)
        report, change = self.explained(model)
        self.assertAlmostEqual(report["boosting"]["eta"], 0.2, delta=1e-4)
        self.assertAlmostEqual(report["boosting"]["lambda"], 2.0, delta=1e-2)
        self.assertLess(report["boosting"]["residual"], 2e-6)
        check = report["measures"][0]["check"]
        self.assertLess(check["refitted"], 0)
        self.assertAlmostEqual(check["predicted"] / check["refitted"], 1, delta=0.5)
        self.assertEqual(len(change), ROWS)
        # Half of the rows are not those of the training.
        write_rows(frame[:450], y[:450], self.rows)
        run = fmd("explain", model, self.rows, "--train", self.rows, "--label", "label", "--positive", "1",
                  "--attribute", "sex", ok=False)
        self.assertEqual(run.returncode, 26, run.stderr)
        self.assertIn("not those of plain boosting", run.stderr)

    def test_lightgbm(self):
        frame, y, _ = make_rows(91, categories=True)
        write_rows(frame, y, self.rows)
        parameters = {"objective": "binary", "num_leaves": 8, "min_data_in_leaf": 10, "learning_rate": 0.15,
                      "lambda_l2": 1.5, "verbose": -1, "num_threads": 1}
        model = self.folder / "m.txt"
        lgb.train(parameters, lgb.Dataset(frame, y), 25).save_model(model)
        report, _ = self.explained(model)
        self.assertAlmostEqual(report["boosting"]["eta"], 0.15, delta=1e-3)
        self.assertAlmostEqual(report["boosting"]["lambda"], 1.5, delta=0.05)


class Xgboost(WithFolder):
    def train(self, frame, y, **parameters):
        rounds = parameters.pop("rounds", 20)
        data = xgb.DMatrix(frame, y, enable_categorical=True)
        return xgb.train({"max_depth": 5, "eta": 0.3, "nthread": 1, **parameters}, data, rounds), data

    def check(self, what, seed, *, categories=False, classes=2, **parameters):
        frame, y, y3 = make_rows(seed, categories=categories)
        y = y3 if classes > 2 else y
        write_rows(frame, y, self.rows)
        booster, data = self.train(frame, y, **parameters)
        for ending in ("json", "ubj"):
            model = self.folder / f"m.{ending}"
            booster.save_model(model)
            z = booster.predict(data, output_margin=True, training=False)
            self.assert_same_answers(model, two(z) if classes == 2 else z, f"{what} {ending}")
            want = booster.predict(data, pred_leaf=True).reshape(ROWS, -1).astype(int)
            self.assert_same_leaves(model, want, xgboost_leaves(self.folder / "m.json"), f"{what} {ending}")

    def test_binary(self):
        for seed in range(3):
            self.check("logistic", seed, objective="binary:logistic")
        self.check("base score", 3, objective="binary:logistic", base_score=0.2)
        self.check("logitraw", 4, objective="binary:logitraw")
        self.check("reg:logistic", 5, objective="reg:logistic")
        self.check("leaf-wise", 6, objective="binary:logistic", grow_policy="lossguide", max_leaves=20, max_depth=0,
                   tree_method="hist")
        self.check("pruned", 7, objective="binary:logistic", gamma=3.0, max_depth=7)

    def test_several_classes(self):
        self.check("softprob", 10, classes=3, objective="multi:softprob", num_class=3)
        self.check("softmax", 11, classes=3, objective="multi:softmax", num_class=3, base_score=0.3)

    def test_dart_and_parallel_trees(self):
        self.check("dart", 20, objective="binary:logistic", booster="dart", rate_drop=0.3)
        self.check("forest", 21, objective="binary:logistic", num_parallel_tree=3, subsample=0.7, rounds=5)

    def test_categories(self):
        self.check("one-hot", 30, categories=True, objective="binary:logistic", max_cat_to_onehot=10)
        self.check("partitions", 31, categories=True, objective="binary:logistic", max_cat_to_onehot=1)

    def test_linear(self):
        for classes, objective in ((2, "binary:logistic"), (3, "multi:softprob")):
            frame, y, y3 = make_rows(35)
            frame /= 50  # the updater diverges on large numbers
            y = y if classes == 2 else y3
            write_rows(frame, y, self.rows)
            data = xgb.DMatrix(frame, y)
            more = {"num_class": classes} if classes > 2 else {}
            booster = xgb.train({"booster": "gblinear", "objective": objective, "nthread": 1, "updater": "coord_descent",
                                 **more}, data, 10)
            for ending in ("json", "ubj"):
                booster.save_model(self.folder / f"m.{ending}")
                z = booster.predict(data, output_margin=True)
                self.assert_same_answers(self.folder / f"m.{ending}", two(z) if classes == 2 else z, objective)

    def test_second_oracle(self):
        frame, y, _ = make_rows(40)
        write_rows(frame, y, self.rows)
        booster, _ = self.train(frame, y, objective="binary:logistic")
        booster.save_model(self.folder / "m.json")
        other = treelite.frontend.load_xgboost_model(str(self.folder / "m.json"))
        z = treelite.gtil.predict(other, frame.to_numpy(dtype=np.float32), pred_margin=True)
        self.assert_same_answers(self.folder / "m.json", two(z.reshape(-1)), "treelite")

    def test_best_iteration(self):
        frame, y, _ = make_rows(50)
        write_rows(frame, y, self.rows)
        model = xgb.XGBClassifier(n_estimators=60, early_stopping_rounds=3, learning_rate=0.5, n_jobs=1)
        model.fit(frame[:450], y[:450], eval_set=[(frame[450:], y[450:])], verbose=False)
        model.save_model(self.folder / "m.json")
        z = model.predict(frame, output_margin=True)
        self.assertLess(model.best_iteration + 1, model.get_booster().num_boosted_rounds())
        self.assert_same_answers(self.folder / "m.json", two(z), "best iteration")
        screen = fmd("model", self.folder / "m.json").stdout
        self.assertIn("as XGBClassifier predicts", " ".join(screen.split()))

    def test_rounds(self):
        frame, y, _ = make_rows(51)
        write_rows(frame, y, self.rows)
        train, test = xgb.DMatrix(frame[:450], y[:450]), xgb.DMatrix(frame[450:], y[450:])
        booster = xgb.train({"objective": "binary:logistic", "eta": 0.5, "nthread": 1}, train, 60,
                            evals=[(test, "test")], early_stopping_rounds=3, verbose_eval=False)
        model = self.folder / "m.ubj"
        booster.save_model(model)
        data = xgb.DMatrix(frame)
        every = booster.predict(data, output_margin=True, iteration_range=(0, booster.num_boosted_rounds()))
        best = booster.predict(data, output_margin=True, iteration_range=(0, booster.best_iteration + 1))
        self.assertGreater(np.abs(every - best).max(), 0.1)
        for flags, z in (((), every), (("--trees", "all"), every), (("--trees", "best"), best)):
            got = margins_of(probabilities(model, self.rows, self.folder, *flags))
            want = two(z) - two(z).mean(axis=1, keepdims=True)
            self.assertLess(np.nanmax(np.abs(got - want)), MARGIN, flags)
        self.assertIn("--trees best stops there", fmd("model", model).stdout)
        plain = self.folder / "plain.json"
        xgb.train({"objective": "binary:logistic", "nthread": 1}, train, 3).save_model(plain)
        run = fmd("predict", plain, self.rows, "--trees", "best", ok=False)
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertIn("no best_iteration", run.stderr)

    def test_columns_without_names(self):
        frame, y, _ = make_rows(61)
        booster = xgb.train({"objective": "binary:logistic", "nthread": 1}, xgb.DMatrix(frame.to_numpy(), y), 10)
        for ending in ("json", "ubj"):
            model = self.folder / f"m.{ending}"
            booster.save_model(model)
            z = booster.predict(xgb.DMatrix(frame.to_numpy()), output_margin=True)
            frame.assign(label=y).to_csv(self.rows, index=False)
            task = ("--label", "label", "--positive", "1")
            run = fmd("predict", model, self.rows, *task, "-o", self.folder / "p.csv", "--force")
            self.assertIn("names no columns: it gets the 5 columns of", run.stderr)
            got = margins_of(pd.read_csv(self.folder / "p.csv").iloc[:, 2:].to_numpy())
            self.assertLess(np.nanmax(np.abs(got - two(z))), MARGIN)
            out = self.folder / f"r.{ending}"
            fmd("debias", model, self.rows, *task, "--attribute", "sex_male", "--max-accuracy-loss", .2, "-o", out)
            fmd("verify", f"{out}.receipt.json")
            # Names by place still count, whatever their order in the table.
            frame.rename(columns={name: f"f{j}" for j, name in enumerate(frame)}).iloc[:, ::-1].assign(label=y).to_csv(
                self.rows, index=False)
            run = fmd("predict", model, self.rows, *task, "-o", self.folder / "p.csv", "--force")
            self.assertNotIn("names no columns", run.stderr)
            got = margins_of(pd.read_csv(self.folder / "p.csv").iloc[:, 2:].to_numpy())
            self.assertLess(np.nanmax(np.abs(got - two(z))), MARGIN)
            frame.assign(label=y, more=1).to_csv(self.rows, index=False)
            run = fmd("predict", model, self.rows, *task, "-o", self.folder / "q.csv", "--force", ok=False)
            self.assertEqual(run.returncode, 16, run.stderr)
            self.assertIn("names no columns and reads 5;", run.stderr)
            fmd("predict", model, self.rows, *task, "--ignore", "more", "-o", self.folder / "q.csv", "--force")

    def test_unknown_category_is_refused(self):
        frame, y, _ = make_rows(60, categories=True)
        booster, _ = self.train(frame, y, objective="binary:logistic")
        booster.save_model(self.folder / "m.json")
        frame["color"] = frame.color.cat.add_categories("pink")
        frame.loc[7, "color"] = "pink"
        write_rows(frame, y, self.rows)
        run = fmd("predict", self.folder / "m.json", self.rows, ok=False)
        self.assertEqual(run.returncode, 17, run.stderr)
        self.assertIn('"pink" is not one of the values', run.stderr)

    def test_models_that_cannot_be_read_exactly(self):
        frame, y, y3 = make_rows(70)
        write_rows(frame, y, self.rows)
        for parameters, word in (({"objective": "reg:squarederror"}, "reg:squarederror"),
                                 ({"objective": "multi:softprob", "num_class": 3, "tree_method": "hist",
                                   "multi_strategy": "multi_output_tree"}, "multi_output_tree")):
            booster, _ = self.train(frame, y3 if "num_class" in parameters else y, **parameters)
            booster.save_model(self.folder / "m.ubj")
            run = fmd("predict", self.folder / "m.ubj", self.rows, ok=False)
            self.assertEqual(run.returncode, 26, run.stderr)
            self.assertIn(word, run.stderr)


class Lightgbm(WithFolder):
    def check(self, what, seed, *, categories=False, zeros=False, classes=2, **parameters):
        frame, y, y3 = make_rows(seed, categories=categories, zeros=zeros)
        y = y3 if classes > 2 else y
        write_rows(frame, y, self.rows)
        rounds = parameters.pop("rounds", 20)
        booster = lgb.train({"num_leaves": 15, "min_data_in_leaf": 5, "verbose": -1, "num_threads": 1, **parameters},
                            lgb.Dataset(frame, y), rounds)
        model = self.folder / "m.txt"
        booster.save_model(model)
        z = booster.predict(frame, raw_score=True)
        z = z * float(parameters.get("sigmoid", 1))
        if parameters.get("boosting") == "rf":
            z = z / rounds
        if parameters["objective"] == "multiclassova":
            p = probabilities(model, self.rows, self.folder)
            sigma = 1 / (1 + np.exp(-z))
            self.assertLess(np.abs(p - sigma / sigma.sum(axis=1, keepdims=True)).max(), 1e-9, what)
        else:
            self.assert_same_answers(model, two(z) if classes == 2 else z, what)
        want = booster.predict(frame, pred_leaf=True)
        trees = booster.dump_model()["tree_info"]
        self.assert_same_leaves(model, want, [list(range(max(1, t["num_leaves"]))) for t in trees], what)

    def test_binary(self):
        for seed in range(3):
            self.check("binary", seed, objective="binary")
        self.check("cross entropy", 3, objective="cross_entropy")
        self.check("sigmoid", 4, objective="binary", sigmoid=0.7)
        self.check("without a base", 5, objective="binary", boost_from_average=False)
        self.check("dart", 6, objective="binary", boosting="dart")
        self.check("forest", 7, objective="binary", boosting="rf", bagging_freq=1, bagging_fraction=0.6)

    def test_missing_values(self):
        self.check("zero", 10, zeros=True, objective="binary", zero_as_missing=True)
        self.check("none", 11, zeros=True, objective="binary", use_missing=False)

    def test_several_classes(self):
        self.check("multiclass", 20, classes=3, objective="multiclass", num_class=3)
        self.check("one against the rest", 21, classes=3, objective="multiclassova", num_class=3)

    def test_categories(self):
        self.check("categories", 30, categories=True, objective="binary", min_data_per_group=5, cat_smooth=1)

    def test_linear_trees_are_refused(self):
        frame, y, _ = make_rows(40)
        write_rows(frame, y, self.rows)
        booster = lgb.train({"objective": "binary", "linear_tree": True, "verbose": -1}, lgb.Dataset(frame, y), 3)
        booster.save_model(self.folder / "m.txt")
        run = fmd("predict", self.folder / "m.txt", self.rows, ok=False)
        self.assertEqual(run.returncode, 26, run.stderr)
        self.assertIn("linear_tree", run.stderr)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--fmd", required=True)
    arguments, rest = parser.parse_known_args()
    FMD = arguments.fmd
    unittest.main(argv=[sys.argv[0], *rest])
