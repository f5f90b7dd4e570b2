"""Trains an XGBoost model, repairs it with fmd, and serves the repaired file with XGBoost.

python xgboost_repair.py FMD

FMD is the command. The rows are made up: pay depends on hours and skill, and was lower for women.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import pandas as pd
import xgboost as xgb


def make_rows(count: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    sex = rng.choice(["Female", "Male"], count)
    hours = np.round(rng.normal(38, 8, count))
    skill = rng.integers(1, 10, count)
    score = (hours - 38) / 8 + (skill - 5) / 2 + 0.8 * (sex == "Male")
    high = score + rng.logistic(size=count) > 0.5
    return pd.DataFrame({"sex": sex, "hours": hours, "skill": skill, "pay": np.where(high, "high", "low")})


def inputs(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.drop(columns="pay").assign(sex=rows.sex.astype("category"))


def mean_flip(model: xgb.Booster, rows: pd.DataFrame) -> float:
    """How much the answer changes when only the column sex does."""
    other = rows.assign(sex=rows.sex.map({"Female": "Male", "Male": "Female"}))
    def answer(table):
        return model.predict(xgb.DMatrix(inputs(table), enable_categorical=True))
    return float(np.abs(answer(rows) - answer(other)).mean())


def main() -> int:
    command = str(pathlib.Path(sys.argv[1]).resolve())
    train, repair, test = make_rows(6000, 1), make_rows(3000, 2), make_rows(3000, 3)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        data = xgb.DMatrix(inputs(train), train.pay == "high", enable_categorical=True)
        model = xgb.train({"objective": "binary:logistic", "max_depth": 4, "eta": 0.2}, data, 60)
        model.save_model(folder / "model.json")
        repair.to_csv(folder / "repair.csv", index=False)
        task = ["--label", "pay", "--positive", "high", "--attribute", "sex"]
        # 3,000 rows cannot prove a loss of at most one point, which is the default budget. Three points they can.
        subprocess.run([command, "debias", "model.json", "repair.csv", *task, "--max-accuracy-loss", ".03",
                        "-o", "repaired.json"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        repaired = xgb.Booster(model_file=folder / "repaired.json")
        right = (repaired.predict(xgb.DMatrix(inputs(test), enable_categorical=True)) >= 0.5) == (test.pay == "high")
        before, after = mean_flip(model, test), mean_flip(repaired, test)
        print(f"flip gap on unseen rows: {before:.4f} before, {after:.6f} after; accuracy {right.mean():.3f}")
        return 0 if after < 1e-3 < before else 1


if __name__ == "__main__":
    sys.exit(main())
