"""ONNX Runtime's answers beside fmd's on trees that exporters wrote."""

import argparse
import json
import sys
import unittest
import warnings

import catboost as cb
import lightgbm as lgb
import numpy as np
import onnx
import onnxmltools
import onnxruntime
import pandas as pd
import skl2onnx
import xgboost as xgb
from onnxmltools.convert.common.data_types import FloatTensorType
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import oracle

OPSETS = {"": 15, "ai.onnx.ml": 3}


def make_rows(seed, *, missing=False):
    frame, y, y3 = oracle.make_rows(seed, missing=missing)
    frame["code"] = np.random.default_rng(seed).integers(0, 9, len(frame)).astype(float)
    y = ((y + frame.code.isin([2, 3, 7])) > 0).astype(int)
    return frame, np.asarray(y), y3


class WithOnnx(oracle.WithFolder):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "m.onnx"
        self.task = self.folder / "task.toml"

    def write_task(self, frame, more=""):
        columns = json.dumps([name for name in frame.columns])
        self.task.write_text(f'label = "label"\nattributes = ["sex_male"]\n{more}\n[[inputs]]\ncolumns = {columns}\n')

    def from_sklearn(self, model, frame):
        whole = skl2onnx.to_onnx(model, frame.to_numpy(dtype=np.float32)[:1], target_opset=OPSETS,
                                 options={"zipmap": False})
        self.model.write_bytes(whole.SerializeToString())

    def answers(self, path, frame):
        session = onnxruntime.InferenceSession(path)
        name = session.get_inputs()[0].name
        p = session.run(None, {name: frame.to_numpy(dtype=np.float32)})[1]
        if isinstance(p, list):
            p = pd.DataFrame(p).to_numpy()
        return p

    def check(self, frame, y, what):
        oracle.write_rows(frame, y, self.rows)
        self.write_task(frame)
        want = self.answers(self.model, frame)
        got = oracle.probabilities(self.model, self.rows, self.folder, "--task", self.task)
        self.assertLess(np.abs(got - want).max(), 1e-5, what)
        self.assertGreater(want.std(), .05, what)


class Exported(WithOnnx):
    def test_scikit_learn(self):
        for classes in (2, 3):
            frame, y, y3 = make_rows(classes)
            y = y if classes == 2 else y3
            for model in (GradientBoostingClassifier(n_estimators=15), RandomForestClassifier(n_estimators=10),
                          ExtraTreesClassifier(n_estimators=7, max_depth=5), DecisionTreeClassifier(max_depth=6)):
                model.fit(frame.to_numpy(), y)
                self.from_sklearn(model, frame)
                self.check(frame, y, f"{model} {classes}")

    def test_xgboost_and_lightgbm(self):
        for classes in (2, 3):
            frame, y, y3 = make_rows(10 + classes, missing=True)
            y = y if classes == 2 else y3
            x = frame.to_numpy(dtype=np.float32)
            initial = [("input", FloatTensorType([None, x.shape[1]]))]
            model = xgb.XGBClassifier(n_estimators=15, max_depth=4, n_jobs=1).fit(x, y)
            self.model.write_bytes(onnxmltools.convert_xgboost(model, initial_types=initial,
                                                               target_opset=15).SerializeToString())
            self.check(frame, y, f"XGBoost {classes}")
            for categories in ([], [5]):
                model = lgb.LGBMClassifier(n_estimators=15, num_leaves=12, verbose=-1, n_jobs=1, min_child_samples=5,
                                           cat_smooth=1, min_data_per_group=5)
                model.fit(x, y, categorical_feature=categories)
                self.model.write_bytes(onnxmltools.convert_lightgbm(model, initial_types=initial, target_opset=15,
                                                                    zipmap=classes == 2).SerializeToString())
                self.check(frame, y, f"LightGBM {classes} {categories}")
                if categories:
                    kinds = {mode for node in onnx.load(self.model).graph.node for a in node.attribute
                             for mode in a.strings}
                    self.assertIn(b"BRANCH_EQ", kinds)

    def test_catboost(self):
        for classes in (2, 3):
            frame, y, y3 = make_rows(20 + classes, missing=True)
            y = y if classes == 2 else y3
            model = cb.CatBoostClassifier(iterations=15, depth=4, verbose=0, allow_writing_files=False, thread_count=1)
            model.fit(frame.to_numpy(dtype=np.float32), y)
            model.save_model(self.model, format="onnx")
            self.check(frame, y, f"CatBoost {classes}")

    def test_unread_models(self):
        frame, y, _ = make_rows(30)
        model = make_pipeline(StandardScaler(), GradientBoostingClassifier(n_estimators=3)).fit(frame.to_numpy(), y)
        self.from_sklearn(model, frame)
        run = oracle.fmd("model", self.model, ok=False)
        self.assertEqual(run.returncode, 26, run.stderr)
        self.assertIn("comes before the trees", run.stderr)

    def test_names_without_a_task_are_places(self):
        frame, y, _ = make_rows(40)
        self.from_sklearn(GradientBoostingClassifier(n_estimators=3).fit(frame.to_numpy(), y), frame)
        frame.columns = [f"f{j}" for j in range(frame.shape[1])]
        oracle.write_rows(frame, y, self.rows)
        got = oracle.probabilities(self.model, self.rows, self.folder)
        self.assertLess(np.abs(got - self.answers(self.model, frame)).max(), 1e-5)


class Repair(WithOnnx):
    def check_repair(self, frame, y, method):
        oracle.write_rows(frame, y, self.rows)
        self.write_task(frame, 'positive = "1"')
        out = self.folder / "repaired.onnx"
        oracle.fmd("debias", self.model, self.rows, "--task", self.task, "--max-accuracy-loss", .2, "--method", method,
                   "-o", out, "--force")
        oracle.fmd("verify", f"{out}.receipt.json")
        oracle.fmd("undo", f"{out}.receipt.json", "-o", self.folder / "back", "--force")
        self.assertEqual((self.folder / "back").read_bytes(), self.model.read_bytes())
        self.assertEqual(out.stat().st_size, self.model.stat().st_size)
        onnx.checker.check_model(onnx.load(out))
        p = self.answers(out, frame)
        got = oracle.probabilities(out, self.rows, self.folder, "--task", self.task)
        self.assertLess(np.abs(got - p).max(), 1e-5)
        other = frame.assign(sex_male=1 - frame.sex_male)
        before = np.abs(self.answers(self.model, frame) - self.answers(self.model, other))[:, 1].mean()
        after = np.abs(p - self.answers(out, other))[:, 1].mean()
        self.assertGreater(before, 1e-2)
        self.assertLess(after, 1e-3)

    def test_from_file_to_file(self):
        frame, y, _ = make_rows(80)
        self.from_sklearn(GradientBoostingClassifier(n_estimators=20).fit(frame.to_numpy(), y), frame)
        for method in ("path", "solve"):
            self.check_repair(frame, y, method)
        # Every leaf stores its value twice.
        model = cb.CatBoostClassifier(iterations=15, depth=4, verbose=0, allow_writing_files=False, thread_count=1)
        model.fit(frame.to_numpy(dtype=np.float32), y)
        model.save_model(self.model, format="onnx")
        self.check_repair(frame, y, "path")

    def test_forests_are_audited_and_not_repaired(self):
        frame, y, _ = make_rows(81)
        self.from_sklearn(RandomForestClassifier(n_estimators=10, max_depth=5).fit(frame.to_numpy(), y), frame)
        oracle.write_rows(frame, y, self.rows)
        self.write_task(frame, 'positive = "1"')
        report = json.loads(oracle.fmd("audit", self.model, self.rows, "--task", self.task, "--json").stdout)
        other = frame.assign(sex_male=1 - frame.sex_male)
        gap = np.abs(self.answers(self.model, frame) - self.answers(self.model, other))[:, 1].mean()
        self.assertAlmostEqual(report["attributes"][0]["measures"]["co"]["value"], gap, delta=1e-6)
        run = oracle.fmd("debias", self.model, self.rows, "--task", self.task, "-o", self.folder / "r.onnx", ok=False)
        self.assertNotEqual(run.returncode, 0)
        self.assertFalse((self.folder / "r.onnx").exists())


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--fmd", required=True)
    arguments, rest = parser.parse_known_args()
    oracle.FMD = arguments.fmd
    unittest.main(argv=[sys.argv[0], *rest])
