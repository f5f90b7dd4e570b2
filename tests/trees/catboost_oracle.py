"""CatBoost's own answers beside fmd's: leaves, margins, edited files, JSON and binary."""

import argparse
import json
import sys
import unittest
import warnings

import catboost as cb
import numpy as np
import pandas as pd

import oracle

CATEGORIES = ["color", "sex", "place"]
PLACES = ["", "größe", "a text of more than thirty-two bytes", "x" * 70, "São Paulo", "7", "nan and more"]


def make_rows(seed, *, categories=True, borders=()):
    frame, y, y3 = oracle.make_rows(seed, categories=categories)
    if categories:
        rng = np.random.default_rng(seed + 1000)
        for name in ("color", "sex"):
            frame[name] = frame[name].astype(object).where(frame[name].notna(), "")
        frame["place"] = rng.choice(PLACES, len(frame))
        y = ((y + (rng.random(len(frame)) < .3) * frame.place.isin(PLACES[:3])) > 0).astype(int)
    for row, (name, border) in enumerate(borders):
        frame.loc[row, name] = border
    return frame, y, y3


def borders_of(path):
    """A row for each threshold, which lies exactly on it."""
    features = json.loads(path.read_text())["features_info"]["float_features"]
    return [(f["feature_name"], np.float32(b).item()) for f in features for b in f["borders"]]


class WithCatboost(oracle.WithFolder):
    def train(self, frame, y, **parameters):
        categories = [name for name in CATEGORIES if name in frame]
        pool = cb.Pool(frame, y, cat_features=categories)
        model = cb.CatBoost({"loss_function": "Logloss", "iterations": 15, "depth": 4, "verbose": 0, "thread_count": 1,
                             "allow_writing_files": False, "random_seed": 1, **parameters})
        model.fit(pool)
        return model, pool

    def save(self, model, pool):
        paths = [self.folder / "m.cbm", self.folder / "m.json"]
        model.save_model(paths[0])
        model.save_model(paths[1], format="json", pool=pool)
        return paths

    def leaf_values(self, path):
        """Values of each tree's leaves in fmd's order: by number, or from left to right."""
        whole = json.loads(path.read_text())
        if "oblivious_trees" in whole:
            trees = []
            for tree in whole["oblivious_trees"]:
                values = np.array(tree["leaf_values"]).reshape(2 ** len(tree["splits"] or []), -1)
                trees.append(values)
            return trees
        def walk(node):
            if "value" in node:
                return [np.atleast_1d(node["value"])]
            return walk(node["left"]) + walk(node["right"])
        return [np.array(walk(tree)) for tree in whole["trees"]]

    def compare(self, model, frame, y, paths, pool, what):
        z = np.atleast_2d(model.predict(pool, prediction_type="RawFormulaVal").T).T
        classes = z.shape[1]
        values = self.leaf_values(self.folder / "m.json")
        scale, _ = model.get_scale_and_bias()
        leaves = model.calc_leaf_indexes(pool)
        counts = model.get_tree_leaf_counts()
        all_values = model.get_leaf_values().reshape(-1, classes)
        first_of = np.cumsum([0, *counts])
        oracle.write_rows(frame, y, self.rows)
        for path in paths:
            if model.get_params()["loss_function"] == "MultiClassOneVsAll":
                p = oracle.probabilities(path, self.rows, self.folder)
                sigma = 1 / (1 + np.exp(-z))
                self.assertLess(np.abs(p - sigma / sigma.sum(axis=1, keepdims=True)).max(), 1e-9, what)
            else:
                self.assert_same_answers(path, oracle.two(z[:, 0]) if classes == 1 else z, what)
            out = self.folder / "leaves.features"
            oracle.fmd("features", path, self.rows, "-o", out, "--force", "--label", "label")
            got = oracle.read_features(out)
            self.assertEqual(got.shape[1], len(counts) * classes, what)
            first = np.cumsum([0] + [c for c in counts for _ in range(classes)])
            for t in range(len(counts)):
                want = all_values[first_of[t] + leaves[:, t]]
                for k in range(classes):
                    own = values[t][got[:, t * classes + k] - first[t * classes + k], k]
                    self.assertEqual(np.abs(own - want[:, k]).max(), 0, f"{what}: tree {t}")

    def check(self, what, seed, *, categories=True, classes=2, change=None, **parameters):
        frame, y, y3 = make_rows(seed, categories=categories)
        y = y3 if classes > 2 else y
        model, pool = self.train(frame, y, **parameters)
        if change is not None:
            change(model)
        paths = self.save(model, pool)
        # Once more, with rows that lie on the thresholds.
        frame, _, _ = make_rows(seed, categories=categories, borders=borders_of(paths[1])[:len(frame)])
        pool = cb.Pool(frame, y, cat_features=[name for name in CATEGORIES if name in frame])
        self.compare(model, frame, y, paths, pool, what)
        return model


class Catboost(WithCatboost):
    def test_numbers(self):
        for seed in range(2):
            self.check("numbers", seed, categories=False)
        self.check("missing values are large", 2, categories=False, nan_mode="Max")
        self.check("cross entropy", 3, categories=False, loss_function="CrossEntropy")
        self.check("base", 4, categories=False, boost_from_average=True)
        self.check("many borders", 5, categories=False, border_count=600, iterations=40)
        self.check("deep", 6, categories=False, depth=9, iterations=4)
        def change(model):
            model.set_scale_and_bias(.5, .25)
        self.check("scale and bias", 7, categories=False, change=change)

    def test_one_hot(self):
        for seed in range(2):
            self.check("one-hot", seed, one_hot_max_size=50)

    def test_statistics(self):
        for seed in range(3):
            self.check("ctr", 10 + seed, one_hot_max_size=2, iterations=25)
        self.check("all alone", 13, one_hot_max_size=1, max_ctr_complexity=1)
        for kind in ("Borders:TargetBorderCount=1", "Buckets", "BinarizedTargetMeanValue", "Counter"):
            self.check(kind, 14, one_hot_max_size=1, simple_ctr=[kind], combinations_ctr=[kind])

    def test_statistics_of_combinations(self):
        # Thresholds and questions are parts of the keys.
        model = self.check("combinations", 23, one_hot_max_size=2, max_ctr_complexity=4, iterations=40, depth=6)
        model.save_model(self.folder / "m.json", format="json")
        kinds = {element["combination_element"]
                 for ctr in json.loads((self.folder / "m.json").read_text())["features_info"]["ctrs"]
                 for element in ctr["elements"]}
        self.assertIn("float_feature", kinds)
        self.assertIn("cat_feature_exact_value", kinds)

    def test_other_trees(self):
        for policy in ("Lossguide", "Depthwise"):
            self.check(policy, 30, grow_policy=policy, one_hot_max_size=50)
            self.check(policy, 31, grow_policy=policy, one_hot_max_size=2)
            self.check(policy, 32, grow_policy=policy, loss_function="MultiClass", classes=3, one_hot_max_size=50)

    def test_several_classes(self):
        self.check("MultiClass", 40, classes=3, loss_function="MultiClass", one_hot_max_size=50)
        self.check("MultiClass with statistics", 41, classes=3, loss_function="MultiClass", one_hot_max_size=2)
        self.check("MultiClassOneVsAll", 42, classes=3, loss_function="MultiClassOneVsAll", one_hot_max_size=50)

    def test_class_names_come_from_the_file(self):
        frame, y, y3 = make_rows(50)
        model, pool = self.train(frame, np.array(["low", "mid", "high"])[y3], loss_function="MultiClass")
        for path in self.save(model, pool):
            note = json.loads(oracle.fmd("model", path, "--json").stdout)
            self.assertEqual(note["classes"], ["high", "low", "mid"])
            self.assertEqual([c["name"] for c in note["inputs"]], list(frame.columns))

    def test_empty_cells(self):
        frame, y, _ = make_rows(60)
        for text in ("?", "missing", "nan"):
            frame["place"] = frame.place.where(frame.place != "", text)
            model, pool = self.train(frame, y, one_hot_max_size=1, max_ctr_complexity=1)
            paths = self.save(model, pool)
            shown = frame.assign(place=frame.place.where(frame.place != text, ""))
            oracle.write_rows(shown, y, self.rows)
            z = model.predict(pool, prediction_type="RawFormulaVal")
            for path in paths:
                self.assert_same_answers(path, oracle.two(z), text)
            frame["place"] = frame.place.where(frame.place != text, "")

    def test_unread_models(self):
        frame, y, y3 = make_rows(70, categories=False)
        for parameters, word in (({"loss_function": "RMSE"}, "RMSE"), ({"loss_function": "MultiRMSE"}, "MultiRMSE")):
            label = np.stack([y, y3], axis=1) if "Multi" in word else y
            model, pool = self.train(frame, label, iterations=3, **parameters)
            for path in self.save(model, pool):
                oracle.write_rows(frame, y, self.rows)
                run = oracle.fmd("predict", path, self.rows, ok=False)
                self.assertEqual(run.returncode, 26, run.stderr)
                self.assertIn(word, run.stderr)
        rng = np.random.default_rng(1)
        words = np.array(["good", "bad", "red", "blue", "house"])
        frame["text"] = [" ".join(rng.choice(words, 5)) for _ in range(len(frame))]
        pool = cb.Pool(frame, y, text_features=["text"])
        model = cb.CatBoostClassifier(iterations=3, verbose=0, allow_writing_files=False, thread_count=1)
        model.fit(pool)
        model.save_model(self.folder / "t.cbm")
        run = oracle.fmd("model", self.folder / "t.cbm", ok=False)
        self.assertEqual(run.returncode, 26, run.stderr)
        self.assertIn("texts or embeddings", run.stderr)


def without_values(path):
    whole = json.loads(path.read_text())
    for tree in whole["oblivious_trees"]:
        tree["leaf_values"] = len(tree["leaf_values"])
    return whole


class Repair(WithCatboost):
    def test_from_file_to_file(self):
        frame, y, _ = make_rows(80)
        oracle.write_rows(frame, y, self.rows)
        task = self.folder / "task.toml"
        task.write_text('label = "label"\npositive = "1"\nattributes = ["sex"]\n')
        other = frame.assign(sex=frame.sex.map({"Male": "Female", "Female": "Male"}))
        for size in (50, 1):  # one-hot, statistics
            model, pool = self.train(frame, y, one_hot_max_size=size, iterations=30)
            twin = cb.Pool(other, y, cat_features=CATEGORIES)
            for path in self.save(model, pool):
                out = self.folder / f"repaired{path.suffix}"
                oracle.fmd("debias", path, self.rows, "--task", task, "--max-accuracy-loss", .2, "-o", out, "--force")
                oracle.fmd("verify", f"{out}.receipt.json")
                oracle.fmd("undo", f"{out}.receipt.json", "-o", self.folder / "back", "--force")
                self.assertEqual((self.folder / "back").read_bytes(), path.read_bytes())
                after = cb.CatBoost()
                after.load_model(out, format="json" if path.suffix == ".json" else "cbm")
                z = after.predict(pool, prediction_type="RawFormulaVal")
                self.assert_same_answers(out, oracle.two(z), f"{size} {path.suffix}")
                if path.suffix == ".json":
                    self.assertEqual(without_values(out), without_values(path))
                else:
                    self.assertEqual(out.stat().st_size, path.stat().st_size)
                    shap = after.get_feature_importance(pool, type="ShapValues")
                    self.assertLess(np.abs(shap.sum(axis=1) - z).max(), 1e-6)
                def gap(one):
                    return np.abs(one.predict(pool, prediction_type="Probability")[:, 1] -
                                  one.predict(twin, prediction_type="Probability")[:, 1]).mean()
                self.assertGreater(gap(model), 1e-2)
                self.assertLess(gap(after), 1e-3)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--fmd", required=True)
    arguments, rest = parser.parse_known_args()
    oracle.FMD = arguments.fmd
    unittest.main(argv=[sys.argv[0], *rest])
