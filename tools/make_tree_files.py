#!/usr/bin/env python3
"""Makes the small models of tests/files/catboost and tests/files/onnx_trees, with what CatBoost and ONNX
Runtime answer on a few rows.

make_tree_files.py [FOLDER]

Needs the packages of tests/trees/full_requirements.txt. Run it again only to add a model: the files are
committed, so that no test needs these packages.
"""

import json
import sys
from pathlib import Path

import catboost as cb
import lightgbm as lgb
import numpy as np
import onnxmltools
import onnxruntime
import pandas as pd
import skl2onnx
import xgboost as xgb
from onnxmltools.convert.common.data_types import FloatTensorType
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

CATEGORIES = ["color", "sex"]
COLORS = ["red", "green", "blue", "dark red", "größe", "a color with a name of more than 32 bytes", "x" * 70, "?"]
# Of every length for which the hash has a rule of its own.
TEXTS = ["", "a", "ab", "four", "seven77", "eight888", "nine99999", "sixteen 16 bytes", "seventeen of them",
         "this text has 32 bytes in it, 32", "this one has 33 bytes in it, 33..", "y" * 64, "z" * 65, "q" * 128,
         "r" * 129, "größe", "漢字", "-1.5"]


def rows(count: int, seed: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.integers(17, 90, count).astype(float), "tenth": np.round(rng.random(count), 1),
                          "color": rng.choice(COLORS, count), "sex": rng.choice(["Male", "Female"], count)})
    frame.loc[rng.random(count) < .1, "age"] = np.nan
    score = (frame.age.fillna(40) > 45) * 1 + (frame.sex == "Male") * 1 + frame.color.isin(["red", "größe", "?"])
    score += (frame.tenth > .5) + rng.random(count)
    return frame, (score > 2.3).astype(int).to_numpy(), np.digitize(score, [1.8, 3])


def write_answers(folder: Path, shown: pd.DataFrame, answers: dict) -> None:
    shown.to_csv(folder / "rows.csv", index=False)
    (folder / "answers.json").write_text(json.dumps(answers, ensure_ascii=False) + "\n", encoding="utf-8")


def onnx_models(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(5)
    x = np.column_stack([rng.integers(17, 90, 600), np.round(rng.random(600), 1), rng.integers(0, 6, 600)])
    x = x.astype(np.float32)
    score = (x[:, 0] > 45) + (x[:, 2] % 2) + x[:, 1] + rng.random(600)
    y, y3 = (score > 2).astype(int), np.digitize(score, [1.5, 2.5])
    holes = np.where(rng.random(x.shape) < .1, np.nan, x).astype(np.float32)
    shown = x[:40].copy()
    shown[:4, 0] = [45.5, 46, 63.5, 30]
    shown[5:9, 2] = [1.5, -1, 700, 2]
    with_holes = np.where(rng.random(shown.shape) < .1, np.nan, shown).astype(np.float32)
    initial, opsets = [("input", FloatTensorType([None, 3]))], {"": 15, "ai.onnx.ml": 3}
    answers = {}

    def save(name: str, data: bytes, rows: np.ndarray) -> None:
        (folder / f"{name}.onnx").write_bytes(data)
        session = onnxruntime.InferenceSession(data)
        p = session.run(None, {session.get_inputs()[0].name: rows})[1]
        p = pd.DataFrame(p).to_numpy() if isinstance(p, list) else p
        answers[name] = {"holes": rows is with_holes, "p": np.asarray(p, dtype=float).tolist()}

    def scikit_learn(name: str, model, label: np.ndarray) -> None:
        whole = skl2onnx.to_onnx(model.fit(x, label), x[:1], target_opset=opsets, options={"zipmap": False})
        save(name, whole.SerializeToString(), shown)

    names = np.array(["high", "low", "mid"])
    scikit_learn("boosted", GradientBoostingClassifier(n_estimators=4, max_depth=3), y)
    scikit_learn("boosted_three", GradientBoostingClassifier(n_estimators=3, max_depth=2), names[y3])
    scikit_learn("forest", RandomForestClassifier(n_estimators=4, max_depth=3, random_state=1), y)
    scikit_learn("forest_three", RandomForestClassifier(n_estimators=3, max_depth=3, random_state=1), y3)
    for name, label in (("two", y), ("three", y3)):
        model = xgb.XGBClassifier(n_estimators=4, max_depth=3, n_jobs=1).fit(holes, label)
        save(f"xgboost_{name}", onnxmltools.convert_xgboost(model, initial_types=initial,
                                                            target_opset=15).SerializeToString(), with_holes)
        model = lgb.LGBMClassifier(n_estimators=4, num_leaves=7, verbose=-1, n_jobs=1, cat_smooth=1,
                                   min_data_per_group=5, min_child_samples=5)
        model.fit(holes, label, categorical_feature=[2])
        save(f"lightgbm_{name}", onnxmltools.convert_lightgbm(model, initial_types=initial, target_opset=15,
                                                              zipmap=name == "two").SerializeToString(), with_holes)
        model = cb.CatBoostClassifier(iterations=4, depth=3, verbose=0, thread_count=1, allow_writing_files=False)
        model.fit(x, label)
        model.save_model(folder / f"catboost_{name}.onnx", format="onnx")
        save(f"catboost_{name}", (folder / f"catboost_{name}.onnx").read_bytes(), shown)
    frame = pd.DataFrame(shown, columns=["f0", "f1", "f2"])
    holed = pd.DataFrame(with_holes, columns=["f0", "f1", "f2"])
    write_answers(folder, frame, answers)
    holed.to_csv(folder / "holes.csv", index=False)


def catboost_models(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    frame, y, y3 = rows(600, 1)
    shown, _, _ = rows(40, 2)
    # Some rows lie exactly on a threshold, and one has a category that training did not have.
    shown.loc[:5, "age"] = [40.5, 45.5, 46.5, 47.5, 17, 90]
    shown.loc[6, "color"] = "never seen"
    names = np.array(["high", "low", "mid"])
    models = {
        "numbers": ({"loss_function": "Logloss", "one_hot_max_size": 50}, y),
        "large": ({"loss_function": "CrossEntropy", "one_hot_max_size": 50, "nan_mode": "Max"}, y),
        "counts": ({"loss_function": "Logloss", "one_hot_max_size": 1, "depth": 4, "iterations": 8,
                    "simple_ctr": ["Borders", "Counter"], "combinations_ctr": ["Borders", "Counter"]}, y),
        "leafwise": ({"loss_function": "Logloss", "one_hot_max_size": 50, "grow_policy": "Lossguide",
                      "max_leaves": 6}, y),
        "three": ({"loss_function": "MultiClass", "one_hot_max_size": 2}, names[y3]),
        "three_leafwise": ({"loss_function": "MultiClass", "one_hot_max_size": 50, "grow_policy": "Depthwise"},
                           names[y3]),
    }
    answers = {}
    for name, (parameters, label) in models.items():
        pool = cb.Pool(frame, label, cat_features=CATEGORIES)
        model = cb.CatBoost({"iterations": 4, "depth": 3, "learning_rate": .4, "verbose": 0, "thread_count": 1,
                             "allow_writing_files": False, "random_seed": 3, **parameters})
        model.fit(pool)
        model.save_model(folder / f"{name}.cbm")
        model.save_model(folder / f"{name}.json", format="json", pool=pool)
        z = model.predict(cb.Pool(shown, cat_features=CATEGORIES), prediction_type="RawFormulaVal")
        answers[name] = np.asarray(z).reshape(len(shown), -1).tolist()
    texts = cb.Pool(pd.DataFrame({"text": TEXTS}), np.arange(len(TEXTS)) % 2, cat_features=["text"])
    model = cb.CatBoost({"loss_function": "Logloss", "iterations": 1, "verbose": 0, "thread_count": 1,
                         "allow_writing_files": False})
    model.fit(texts)
    model.save_model(folder / "hashes.json", format="json", pool=texts)
    pairs = json.loads((folder / "hashes.json").read_text())["features_info"]["cat_features_hash"]
    (folder / "hashes.json").unlink()
    answers["hashes"] = {pair["value"]: pair["hash"] for pair in pairs}
    write_answers(folder, shown, answers)


def main() -> None:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent / "tests/files")
    catboost_models(root / "catboost")
    onnx_models(root / "onnx_trees")


if __name__ == "__main__":
    main()
