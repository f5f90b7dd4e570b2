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

        repair(folder)
        repair_layers(folder)


def repair(folder):
    """The last layer explained and repaired, the layers below held."""
    explained = json.loads(run(folder, "explain", "one.safetensors", "test.csv", "--train", "train.csv", "--measure",
                               "co:sex", "--check", "30", "--json").stdout)
    assert explained["solve"]["converged"] and not explained["at_optimum"], explained
    repaired = ["debias", "one.safetensors", "repair.csv", "--attribute", "sex", "--train", "train.csv",
                "--max-accuracy-loss", ".03", "--points", "8"]
    run(folder, *repaired, "-o", "fair.safetensors")
    receipt = json.loads((folder / "fair.safetensors.receipt.json").read_text())
    assert receipt["options"]["layers"] == 1
    gaps = [json.loads(run(folder, "audit", f"{m}.safetensors", "test.csv", "--attribute", "sex", "--json").stdout)
            ["attributes"][0]["measures"]["co"]["value"] for m in ("one", "fair")]
    assert gaps[1] < .7 * gaps[0], gaps
    run(folder, "verify", "fair.safetensors.receipt.json")
    run(folder, "undo", "fair.safetensors.receipt.json", "-o", "back.safetensors")
    assert (folder / "back.safetensors").read_bytes() == (folder / "one.safetensors").read_bytes()
    # Only the last layer's numbers differ.
    before, after = ((folder / f"{m}.safetensors").read_bytes() for m in ("one", "fair"))
    head = json.loads(before[8:8 + int.from_bytes(before[:8], "little")])
    for name, tensor in head.items():
        if name == "__metadata__":
            continue
        first, last = (8 + int.from_bytes(before[:8], "little") + o for o in tensor["data_offsets"])
        assert (before[first:last] != after[first:last]) == (name in ("head.2.weight", "head.2.bias")), name

    for command in (repaired, ["explain", "one.safetensors", "test.csv", "--train", "train.csv"]):
        done = run(folder, *command, "--layers", "4", "-o", "none", status=2)
        assert "layers is 4, the model has 3" in done.stderr, done.stderr
        done = run(folder, *command, "--layers", "some", "-o", "none", status=2)
        assert "layers is 'some', the model has 3" in done.stderr, done.stderr
    assert not list(folder.glob("none*"))


def repair_layers(folder):
    """Two layers and all of them: explained, repaired, verified and undone."""
    for name, rows in (("train", 2000), ("repair", 1000), ("test", 2000)):
        lines = (folder / f"{name}.csv").read_text().splitlines(keepends=True)
        (folder / f"few-{name}.csv").write_text("".join(lines[:rows + 1]))
    explained = ["explain", "one.safetensors", "few-test.csv", "--train", "few-train.csv", "--measure", "co:sex",
                 "--check", "30", "--layers"]
    done = run(folder, *explained, "2")
    assert "fine-tuned" in done.stdout and "one refit of many" in " ".join(done.stdout.split()), done.stdout
    assert "the effect of the rows on the layers below is left out" in done.stderr, done.stderr
    check = json.loads(run(folder, *explained, "all", "--json").stdout)["measures"][0]["check"]
    assert check["fine_tuned"] and not check["converged"] and check["rows"] == 30, check
    for layers, changed, extra in [("2", ("head.1", "head.2"), ["--optimizer", "lm"]),
                                   ("all", ("head.0", "head.1", "head.2"), [])]:
        out = f"layers-{layers}.safetensors"
        run(folder, "debias", "one.safetensors", "few-repair.csv", "--attribute", "sex", "--layers", layers,
            "--points", "4", "--max-accuracy-loss", ".1", "--replicates", "50", *extra, "-o", out)
        receipt = json.loads((folder / f"{out}.receipt.json").read_text())
        assert receipt["options"]["layers"] == (2 if layers == "2" else 3), receipt["options"]
        gaps = [json.loads(run(folder, "audit", m, "few-test.csv", "--attribute", "sex", "--json").stdout)
                ["attributes"][0]["measures"]["co"]["value"] for m in ("one.safetensors", out)]
        assert gaps[1] < .5 * gaps[0], gaps
        before, after = ((folder / m).read_bytes() for m in ("one.safetensors", out))
        head = json.loads(before[8:8 + int.from_bytes(before[:8], "little")])
        for name, tensor in head.items():
            if name == "__metadata__":
                continue
            first, last = (8 + int.from_bytes(before[:8], "little") + o for o in tensor["data_offsets"])
            moved = before[first:last] != after[first:last]
            assert moved == name.startswith(changed), (layers, name)
        run(folder, "verify", f"{out}.receipt.json")
        run(folder, "undo", f"{out}.receipt.json", "-o", f"back-{layers}.safetensors")
        assert (folder / f"back-{layers}.safetensors").read_bytes() == before


if __name__ == "__main__":
    main()
