#!/usr/bin/env python3
"""A network from training to audit, scores and files of features; wrong options."""

import json
import pathlib
import subprocess
import sys
import tempfile

FMD = sys.argv[sys.argv.index("--fmd") + 1]


def run(folder, *arguments, status=0):
    done = subprocess.run([FMD, *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == status, (arguments, done.returncode, done.stdout, done.stderr)
    return done


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run(folder, "data", "demo", "-o", "income.csv")
        run(folder, "split", "income.csv", "--by", "income", "--by", "sex")
        task = ["--label", "income", "--positive", ">50000", "--attribute", "sex", "--attribute", "race"]
        network = ["--kind", "mlp", "--hidden", "24,12", "--epochs", "6", "--learning-rate", ".005"]

        made = json.loads(run(folder, "train", "train.csv", *task, *network, "-o", "one.safetensors", "--json",
                              "--threads", "1").stdout)
        assert made["layers"][1:] == [24, 12, 1], made
        assert made["adam"]["epochs"] <= 6 and made["adam"]["validation_rows"] > 0, made
        run(folder, "train", "train.csv", *task, *network, "-o", "two.safetensors", "--threads", "2")
        assert (folder / "one.safetensors").read_bytes() == (folder / "two.safetensors").read_bytes()
        run(folder, "train", "train.csv", *task, *network, "--seed", "2", "-o", "other.safetensors")
        assert (folder / "one.safetensors").read_bytes() != (folder / "other.safetensors").read_bytes()

        audit = json.loads(run(folder, "audit", "one.safetensors", "test.csv", "--json").stdout)
        sex = next(a for a in audit["attributes"] if a["name"] == "sex")
        assert audit["accuracy"]["value"] > .75 and sex["measures"]["co"]["value"] > 0, audit
        run(folder, "audit", "one.safetensors", "test.csv", "--scan", "--json")
        run(folder, "audit", "one.safetensors", "test.csv", "--attribute", "age:4", "--json")
        run(folder, "features", "one.safetensors", "test.csv", "-o", "test.features")
        again = json.loads(run(folder, "audit", "one.safetensors", "test.features", "--json").stdout)
        assert again["accuracy"] == audit["accuracy"]
        scores = run(folder, "predict", "one.safetensors", "test.csv").stdout.splitlines()
        assert len(scores) == audit["rows"] + 1

        for options, word in [(["--kind", "mlp", "--hidden", "24,,12"], "hidden is '24,,12'"),
                              (["--kind", "mlp", "--hidden", "0"], "widths from 1"),
                              (["--kind", "mlp", "--activation", "selu"], "write relu, tanh or gelu"),
                              (["--kind", "mlp", "--batch", "0"], "batch is 0"),
                              (["--hidden", "10"], "--hidden is for --kind mlp")]:
            done = run(folder, "train", "train.csv", *task, *options, "-o", "bad.safetensors", status=2)
            assert word in done.stderr, (options, done.stderr)
            assert not (folder / "bad.safetensors").exists()


if __name__ == "__main__":
    main()
