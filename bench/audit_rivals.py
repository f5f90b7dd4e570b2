"""The audit of 10 million rows and the bootstrap of counts, beside polars and NumPy."""
import json
import os
import pathlib
import shutil

from measure import last_line, row, run_process, run_program, say, shortest

COUNTS = pathlib.Path(__file__).parent / "rivals" / "audit_counts.py"


def audit(build, out, rivals, quick):
    """Turns of ours and theirs follow each other, so that both meet the same machine."""
    folder = out / "audit_rows"
    ours, theirs, problem = [], [], "no Python with its packages"
    os.environ["POLARS_MAX_THREADS"] = "1"
    for turn in range(2 if quick else 10):
        say(f"audit, turn {turn + 1}")
        write = [f"--write={folder}"] if turn == 0 else []
        ours.append(run_program(build, "audit_bench", "^(audit|bootstrap)", *write))
        if rivals is None:
            continue
        done = run_process([rivals, COUNTS, folder, "3"])
        if done.code == 0:
            theirs.append(json.loads(done.output))
        else:
            problem = last_line(done.errors)
            say(f"the audit's rivals could not be measured: {problem}")
            rivals = None
    shutil.rmtree(folder, ignore_errors=True)
    return rows_of(ours, theirs, problem)


def best_of(turns, name):
    return shortest([(turn[name]["cpu_s"], turn[name]["wall_s"]) for turn in turns])


def rows_of(ours, theirs, problem):
    what = "audit of 10,000,000 rows, sex x race, 1,000 replicates"
    counts = "bootstrap of 8 counts, 10,000 replicates"
    if not theirs:
        return [row(what, "rival missing", "<= 1.2 x polars", None, best_of(ours, "audit"), problem),
                row(counts, "rival missing", ">= 3 x NumPy", None, best_of(ours, "bootstrap"), problem)]
    mine, polars, lean, bins = (best_of(turns, name) for turns, name in (
        (ours, "audit"), (theirs, "polars"), (theirs, "polars_lean"), (theirs, "numpy")))
    drawn, multinomial = best_of(ours, "bootstrap"), best_of(theirs, "multinomial")
    version = theirs[0]["polars"]["version"]
    return [
        row(what, f"{mine[0] / lean[0]:.2f} x", "<= 1.2 x polars", mine[0] <= 1.2 * lean[0], mine,
            "every measure and interval, against counts alone"),
        row(f"  polars {version}: n and decisions by sex, race, both", "", "", None, lean),
        row(f"  polars {version}: also labels and true positives", "", "", None, polars),
        row("  NumPy bincount of one joint code", "", "", None, bins),
        row(counts, f"{multinomial[0] / drawn[0]:.1f} x", ">= 3 x NumPy",
            multinomial[0] >= 3 * drawn[0], drawn),
        row("  NumPy multinomial", "", "", None, multinomial),
    ]
