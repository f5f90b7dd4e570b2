"""Leaves and margins by XGBoost and LightGBM themselves: trees_python.py FOLDER ROWS

Trains 300 trees of each on 20,000 made-up rows of 105 columns, unless FOLDER has them, and times
ROWS rows with one thread. Prints JSON of CPU seconds; "matrix" is what XGBoost takes to make a DMatrix.
"""
import json
import pathlib
import sys
import time

import lightgbm as lgb
import numpy as np
import xgboost as xgb

COLUMNS, TREES = 105, 300


def timed(work):
    begun = time.process_time()
    result = work()
    return time.process_time() - begun, result


def main():
    folder, rows = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    rng = np.random.default_rng(1)
    X = rng.random((20000, COLUMNS), dtype=np.float32)
    y = (X[:, :10].sum(axis=1) + rng.logistic(size=len(X)) > 5).astype(int)
    files = {"xgboost": folder / "xgboost.json", "lightgbm": folder / "lightgbm.txt"}
    if not files["xgboost"].exists():
        xgb.train({"objective": "binary:logistic", "nthread": 1, "max_depth": 6}, xgb.DMatrix(X, y),
                  TREES).save_model(files["xgboost"])
    if not files["lightgbm"].exists():
        lgb.train({"objective": "binary", "num_threads": 1, "verbose": -1, "num_leaves": 63}, lgb.Dataset(X, y),
                  TREES).save_model(files["lightgbm"])
    rows = rng.random((rows, COLUMNS), dtype=np.float32)
    booster = xgb.Booster({"nthread": 1}, model_file=files["xgboost"])
    matrix, data = timed(lambda: xgb.DMatrix(rows, nthread=1))
    model = lgb.Booster(model_file=files["lightgbm"])
    out = {"xgboost": {"matrix": matrix, "leaves": timed(lambda: booster.predict(data, pred_leaf=True))[0],
                       "margins": timed(lambda: booster.predict(data, output_margin=True))[0]},
           "lightgbm": {"leaves": timed(lambda: model.predict(rows, pred_leaf=True, num_threads=1))[0],
                        "margins": timed(lambda: model.predict(rows, raw_score=True, num_threads=1))[0]}}
    print(json.dumps(out))


if __name__ == "__main__":
    main()
