"""The same jobs as fmd's commands with pandas, scikit-learn and Fairlearn: acs_python.py JOB FOLDER

JOB is audit, replicate or retrain; FOLDER holds train.csv and test.csv, parts of ACSIncome.
Prints JSON: CPU seconds of each step, imports not counted.
"""
import json
import pathlib
import sys
import time

import numpy as np
import pandas as pd
from fairlearn import metrics as fair
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

CATEGORIES = ["OCCP", "POBP", "RELP", "COW", "MAR", "SEX", "RAC1P"]
NUMBERS = ["SCHL", "WKHP", "AGEP"]
PROTECTED = ["SEX", "RAC1P"]
RATES = {"selection_rate": fair.selection_rate, "tpr": fair.true_positive_rate, "fpr": fair.false_positive_rate,
         "tnr": fair.true_negative_rate, "fnr": fair.false_negative_rate, "count": fair.count,
         "accuracy": lambda y, d: float(np.mean(y == d))}

steps = {}


def timed(name, work):
    start = time.process_time()
    result = work()
    steps[name] = time.process_time() - start
    return result


def classifier(rows, categories, numbers):
    coder = make_column_transformer((OneHotEncoder(handle_unknown="ignore", dtype=np.float32), categories),
                                    (StandardScaler(), numbers))
    model = make_pipeline(coder, LogisticRegression(solver="newton-cholesky", C=1.0))
    return model.fit(rows[categories + numbers], rows["PINCP"])


def flips(model, table):
    """Mean change of the probability over all other values of each column."""
    p = model.predict_proba(table)[:, 1]
    gaps = {}
    for column in PROTECTED:
        values = np.unique(table[column])
        total = np.zeros(len(table))
        for value in values:
            total += np.abs(model.predict_proba(table.assign(**{column: value}))[:, 1] - p)
        gaps[column] = float(total.mean() / (len(values) - 1))
    return gaps


def frames(y, decision, table):
    return {column: fair.MetricFrame(metrics=RATES, y_true=y, y_pred=decision, sensitive_features=table[column]).by_group
            for column in PROTECTED}


def main(job, folder):
    train = pd.read_csv(folder / "train.csv")
    if job == "retrain":
        kept = [c for c in CATEGORIES if c not in PROTECTED]
        coder = make_column_transformer((OneHotEncoder(handle_unknown="ignore", dtype=np.float32), kept),
                                        (StandardScaler(), NUMBERS))
        x = timed("encode", lambda: coder.fit_transform(train))
        timed("fit", lambda: LogisticRegression(solver="newton-cholesky", C=1.0).fit(x, train["PINCP"]))
        return
    model = classifier(train, CATEGORIES, NUMBERS)
    test = timed("read", lambda: pd.read_csv(folder / "test.csv"))
    p = timed("predict", lambda: model.predict_proba(test)[:, 1])
    y, decision = test["PINCP"], (p >= 0.5).astype(int)
    if job == "audit":
        timed("flips", lambda: flips(model, test))
        timed("groups", lambda: frames(y, decision, test))
        return
    # One bootstrap replicate of one attribute: Fairlearn measures the resampled rows again.
    rng = np.random.default_rng(1)
    for turn in range(3):
        drawn = rng.integers(0, len(test), len(test))
        timed(f"replicate {turn + 1}", lambda: fair.MetricFrame(
            metrics=RATES, y_true=y.iloc[drawn], y_pred=decision[drawn],
            sensitive_features=test["RAC1P"].iloc[drawn]).by_group)


main(sys.argv[1], pathlib.Path(sys.argv[2]))
print(json.dumps(steps))
