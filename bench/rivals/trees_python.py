"""XGBoost, LightGBM and CatBoost themselves.

    trees_python.py leaves FOLDER ROWS    leaves and margins of made-up rows
    trees_python.py retrain FOLDER        from FOLDER/train.csv (Adult) to a model without the column sex

Both train what FOLDER does not have yet: `leaves` 300 trees on 20,000 made-up rows of 105 columns, `retrain` the models
that a repair begins with. One thread; prints JSON of CPU seconds. "matrix" is what a library takes to make its form of
the rows, "read" to read the table and "save" to write the model.
"""
import json
import pathlib
import sys
import time

import catboost as cb
import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb

COLUMNS, TREES = 105, 300


def timed(work):
    begun = time.process_time()
    result = work()
    return time.process_time() - begun, result


def leaves(folder, count):
    rng = np.random.default_rng(1)
    X = rng.random((20000, COLUMNS), dtype=np.float32)
    y = (X[:, :10].sum(axis=1) + rng.logistic(size=len(X)) > 5).astype(int)
    files = {"xgboost": folder / "xgboost.json", "lightgbm": folder / "lightgbm.txt", "catboost": folder / "catboost.cbm"}
    if not files["xgboost"].exists():
        xgb.train({"objective": "binary:logistic", "nthread": 1, "max_depth": 6}, xgb.DMatrix(X, y),
                  TREES).save_model(files["xgboost"])
    if not files["lightgbm"].exists():
        lgb.train({"objective": "binary", "num_threads": 1, "verbose": -1, "num_leaves": 63}, lgb.Dataset(X, y),
                  TREES).save_model(files["lightgbm"])
    if not files["catboost"].exists():
        cb.CatBoostClassifier(iterations=TREES, depth=6, thread_count=1, verbose=0, allow_writing_files=False,
                              random_seed=1).fit(X, y).save_model(str(files["catboost"]))
    rows = rng.random((count, COLUMNS), dtype=np.float32)
    booster = xgb.Booster({"nthread": 1}, model_file=files["xgboost"])
    matrix, data = timed(lambda: xgb.DMatrix(rows, nthread=1))
    found = {"xgboost": {"matrix": matrix, "leaves": timed(lambda: booster.predict(data, pred_leaf=True))[0],
                         "margins": timed(lambda: booster.predict(data, output_margin=True))[0]}}
    del data
    model = lgb.Booster(model_file=files["lightgbm"])
    found["lightgbm"] = {"matrix": 0, "leaves": timed(lambda: model.predict(rows, pred_leaf=True, num_threads=1))[0],
                         "margins": timed(lambda: model.predict(rows, raw_score=True, num_threads=1))[0]}
    model = cb.CatBoostClassifier().load_model(str(files["catboost"]))
    matrix, data = timed(lambda: cb.Pool(rows, thread_count=1))
    found["catboost"] = {"matrix": matrix, "leaves": timed(lambda: model.calc_leaf_indexes(data, thread_count=1))[0],
                         "margins": timed(lambda: model.predict(data, prediction_type="RawFormulaVal",
                                                                thread_count=1))[0]}
    return found


def adult(folder, without):
    rows = pd.read_csv(folder / "train.csv", keep_default_na=False, na_values=["", "?"])
    X = rows.drop(columns=["income", *without])
    return X.astype({name: "category" for name in X if X[name].dtype == object}), (rows.income == ">50K").astype(int)


def train(library, X, y):
    if library == "xgboost":
        return xgb.train({"objective": "binary:logistic", "nthread": 1}, xgb.DMatrix(X, y, enable_categorical=True), TREES)
    return lgb.train({"objective": "binary", "num_threads": 1, "verbose": -1}, lgb.Dataset(X, y), TREES)


def retrain(folder):
    found = {}
    for library, ending in (("xgboost", "json"), ("lightgbm", "txt")):
        if not (folder / f"adult.{ending}").exists():
            train(library, *adult(folder, [])).save_model(folder / f"adult.{ending}")
        read, (X, y) = timed(lambda: adult(folder, ["sex"]))
        fit, model = timed(lambda: train(library, X, y))
        save, _ = timed(lambda: model.save_model(folder / f"without.{ending}"))
        found[library] = {"read": read, "train": fit, "save": save}
    return found


if __name__ == "__main__":
    place = pathlib.Path(sys.argv[2])
    print(json.dumps(leaves(place, int(sys.argv[3])) if sys.argv[1] == "leaves" else retrain(place)))
