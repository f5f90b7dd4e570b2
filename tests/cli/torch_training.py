#!/usr/bin/env python3
"""The methods that train: step by step against plain PyTorch, in fmd compare, and stopped and taken up again."""

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

from skip import skip

FMD = sys.argv[sys.argv.index("--fmd") + 1]
TREE = pathlib.Path(__file__).resolve().parent.parent.parent
PYTHON = TREE / "build/venv-torch/bin/python"
PLUGIN = pathlib.Path(FMD).parent / "fmd_torch.so"
ALL = ("plain-network", "groupdro", "lff", "ldr", "rebias", "sensr", "sensei")
TASK = ("--label", "approved", "--positive", "yes", "--attribute", "sex", "--threads", "1")


def run(folder, *arguments, status=0, program=(FMD,)):
    done = subprocess.run([*program, *map(str, arguments)], cwd=folder, capture_output=True, text=True)
    assert done.returncode == status, (arguments, done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return done


def figures(folder, *arguments):
    """All that the same seed must give to the bit."""
    report = json.loads(run(folder, "compare", "rows.csv", *TASK, "--json", *arguments).stdout)
    del report["run"]
    return report


def write_rows(folder, count=900):
    draw = random.Random(5)
    lines = ["age,job,sex,approved"]
    for _ in range(count):
        age, sex, job = draw.gauss(40, 10), draw.choice("FM"), draw.choice(["cook", "clerk", "baker"])
        yes = (age - 40) / 10 + (sex == "M") + draw.gauss(0, 1) > .5
        lines.append(f"{age:.1f},{job},{sex},{'yes' if yes else 'no'}")
    (folder / "rows.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def compared(folder):
    """Every method competes, with its cost."""
    report = json.loads(run(folder, "compare", "rows.csv", *TASK, "--json", "--methods", ",".join(ALL)).stdout)
    rows = {method["name"]: method for method in report["methods"]}
    assert set(rows) == {"vanilla", *ALL}, set(rows)
    for name in ALL:
        assert rows[name]["applies"], rows[name]
        # LfF and LDR take noise in the labels for rows that a bias makes hard.
        assert name in ("lff", "ldr") or rows[name]["test"]["accuracy"]["value"] > .6, rows[name]
        assert report["run"]["methods"][name]["cpu_seconds"] > 0, report["run"]
    gaps = {name: rows[name]["test"]["co"]["value"] for name in ALL}
    assert gaps["sensei"] < gaps["plain-network"], gaps  # what it is for
    usual = figures(folder)
    assert not {method["name"] for method in usual["methods"]} & set(ALL)  # only by name


def taken_up(folder):
    """The same run gives the same bits; one that Ctrl-C, a kill or a full disk stops goes on to them."""
    method = ("--methods", "lff,sensr")
    whole = figures(folder, *method)
    assert figures(folder, *method, "--checkpoints", "kept") == whole
    kept = sorted(path.name for path in (folder / "kept").iterdir())
    assert len(kept) == 2 and kept[0].startswith("lff-") and kept[1].startswith("sensr-"), kept

    command = [FMD, "compare", "rows.csv", *TASK, *method, "--checkpoints", "stopped"]
    stopped = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not list(folder.glob("stopped/*.checkpoint")) and stopped.poll() is None:
        time.sleep(.01)
    stopped.send_signal(signal.SIGINT)
    assert stopped.wait() != 0 and list(folder.glob("stopped/*.checkpoint"))
    assert figures(folder, *method, "--checkpoints", "stopped") == whole

    faulty = os.environ["FMD_FAULTY"]
    for fault, status in (("full", 12), ("kill", -signal.SIGKILL)):
        for call in (1, 30):
            state = f"{fault}{call}"
            done = run(folder, "compare", "rows.csv", *TASK, *method, "--checkpoints", state, status=status,
                       program=(faulty, fault, str(call)))
            assert fault == "kill" or "No space left" in done.stderr, done.stderr
            assert figures(folder, *method, "--checkpoints", state) == whole, state

    # A damaged checkpoint is refused by name, and stays.
    damaged = folder / "kept" / kept[0]
    damaged.write_bytes(damaged.read_bytes()[:200])
    done = run(folder, "compare", "rows.csv", *TASK, *method, "--checkpoints", "kept", status=18)
    assert kept[0] in done.stderr and "remove the file" in done.stderr, done.stderr


def reproduced(folder):
    """The quick form of every rival in the paper's tables; rows of a table beside stand on the page of the table."""
    data = pathlib.Path(os.environ.get("FMD_DATA", "nowhere"))
    tables = {"table1_trained": ("mnist", {"plain", "ldr", "lff", "rebias"}),
              "table2_trained": ("adult", {"vanilla", "plain", "groupdro", "ldr", "lff", "rebias", "sensr", "sensei",
                                           "reweigh", "ppif"}),
              "table3_trained": ("celeba", {"plain", "groupdro", "lff", "ldr"})}
    for name, (needs, rows) in tables.items():
        if not (data / needs).is_dir():
            continue
        made = json.loads(run(folder, "reproduce", name, "--quick", "--json", "-o", "out").stdout)
        for case in made["cases"]:
            assert {row["id"] for row in case["rows"]} == rows, (name, case["rows"])
            for row in case["rows"]:
                first = row["ours"][made["columns"][0]]["mean"]
                assert 0 < first <= 100, (name, row)
                assert row["id"] == "vanilla" or row["ours"]["cpu"]["mean"] > 0, (name, row)
            assert len(case["pictures"]["curves"]["lff"]) >= 2, (name, case["pictures"])
        assert (folder / f"out/{name}-steps.quick.svg").exists()
        assert not (folder / f"out/{name}.quick.checkpoints").exists()  # all is done
    if (data / "adult").is_dir():
        run(folder, "reproduce", "table2", "--quick", "-o", "out")
        page = (folder / "out/table2.quick.md").read_text(encoding="utf-8")
        assert "| SenSR | 84.09 / 0.0049 / 571.00 |" in page and "| Reweigh | 82.60 / 0.0051 / 36.00 |" in page, page


def without_plugin(folder):
    """Where PyTorch is absent, the message says what to install."""
    environment = {**os.environ, "FMD_TORCH_LIB": str(folder / "absent.so")}
    done = subprocess.run([FMD, "compare", "rows.csv", *TASK, "--methods", "lff"], cwd=folder, env=environment,
                          capture_output=True, text=True)
    assert done.returncode == 26 and "./dev setup torch" in done.stderr, (done.returncode, done.stderr)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_rows(folder)
        without_plugin(folder)
        if not PYTHON.exists() or not PLUGIN.exists():
            skip("no PyTorch in build/venv-torch", download_refused=True)
        subprocess.run([PYTHON, TREE / "tests/support/torch_steps.py", PLUGIN,
                        TREE / "tests/golden/infairness.json"], check=True)
        compared(folder)
        taken_up(folder)
        reproduced(folder)


if __name__ == "__main__":
    main()
