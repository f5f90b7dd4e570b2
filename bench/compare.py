"""The figures this project promises, measured against their bars on this machine, in one run.

compare.py --build DIR --out DIR [--python NAME=PYTHON ...] [--only PART] [--quick]

Runs the programs of bench/ in DIR/bench, the command DIR/fmd, and other programs under the
Pythons that have their packages: bench, torch, pydvl, aif360, fairlearn and boosters, after bench/requirements*.txt.
Ends with one table, also written as results.json and results.md. Speed is not a test: a bar that is
missed does not change the exit code.
Every time is the best of several; ratios compare CPU seconds of one thread.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform

from audit_rivals import audit
from commands import commands
from influence_rivals import influence
from large import large
from layers_rivals import layers
from measure import last_line, row, run_process, run_program, say, shortest
from onnx_models import onnx
from postprocess_rivals import postprocessing
from reading_rivals import reading
from trees_rivals import trees

PARTS = ("training", "influence", "curvature", "unlearning", "scoring", "audit", "matching", "commands",
         "layers", "postprocessing", "reading", "trees", "large", "onnx")


def training(build, out, rivals, quick):
    matrix = out / "adult.safetensors"
    ours, theirs, problem = [], [], "no Python with its packages"
    for turn in range(1 if quick else 3):
        say(f"training, turn {turn + 1}")
        write = [f"--write={matrix}"] if turn == 0 else []
        found = run_program(build, "train_bench", "^train", "--benchmark_min_time=0.5", *write)
        ours.append(next(iter(found.values())))
        if rivals is None:
            continue
        done = run_process([rivals, pathlib.Path(__file__).parent / "rivals" / "sklearn_newton.py",
                            matrix, "2" if quick else "4"])
        if done.code == 0:
            theirs.append(json.loads(done.output))
        else:
            problem = last_line(done.errors)
            say(f"scikit-learn could not be measured: {problem}")
            rivals = None
    matrix.unlink(missing_ok=True)
    return training_rows(ours, theirs, problem)


def training_rows(ours, theirs, problem):
    first = ours[0]
    table = "Adult" if first["real_adult"] else "a table like Adult (FMD_DATA has no adult)"
    what = (f"train on {table}, {first['rows']:,.0f} x {first['features']:.0f}, "
            "relative gradient 1e-8")
    best = shortest([(b["cpu_s"], b["wall_s"]) for b in ours])
    bar = ">= 10 x scikit-learn"
    steps = f"{first['gradients']:.0f} gradients, {first['hessians']:.0f} Hessians"
    if not theirs:
        return [row(what, "rival missing", bar, None, best, f"{steps}; scikit-learn: {problem}")]
    reached = theirs[0]["fmd_relative_gradient"]
    rows = []
    for kind in ("dense", "sparse"):  # both forms of their input; sparse is their faster one
        rival = shortest([(t[kind]["cpu_s"], t[kind]["wall_s"]) for t in theirs])
        fit = theirs[0][kind]
        same = reached <= 1e-8 and fit["relative_gradient"] <= 1e-8
        ratio = rival[0] / best[0]
        rows.append(row(f"{what}; theirs {kind}", f"{ratio:.1f} x", bar, ratio >= 10 and same, best,
                        f"{steps}; gradient reached {reached:.1e}"))
        rows.append(row(f"  scikit-learn {theirs[0]['version']} newton-cholesky, {kind}", "", "", None,
                        rival, f"{fit['iterations']} iterations, tol {fit['tol']:.0e}; gradient "
                               f"reached {fit['relative_gradient']:.1e}"))
    return rows


def unlearning(build, quick):
    say("trade-off path, solve and Newton step")
    turns = range(1 if quick else 2)

    def run(program, names):
        done = [run_program(build, program, f"^({'|'.join(names)})")
                for _ in turns]
        return done[0], {name: shortest([(t[name]["cpu_s"], t[name]["wall_s"]) for t in done])
                         for name in names}

    _, path = run("path_bench", ("dsygvd", "path"))
    last, solve = run("solve_bench", ("dsygvd", "solve"))
    _, newton = run("newton_bench", ("hessian", "dpotrf", "step"))
    path_ratio = path["path"][0] / path["dsygvd"][0]
    solve_ratio = solve["solve"][0] / solve["dsygvd"][0]
    step_ratio = newton["step"][0] / (newton["hessian"][0] + newton["dpotrf"][0])
    return [
        row("path of 50 points, 5,000 pairs, d = 100, C = 10", f"{path_ratio:.2f} x",
            "<= 4 x dsygvd", path_ratio <= 4, path["path"]),
        row("solve, warm-started from the path", f"{solve_ratio:.2f} x", "<= 10 x dsygvd",
            solve_ratio <= 10, solve["solve"],
            f"{last['solve']['steps']:.0f} steps, {last['solve']['matrices']:.0f} matrices"),
        row("  LAPACK dsygvd, n = 1,010", "", "", None,
            shortest([path["dsygvd"], solve["dsygvd"]])),
        row("Newton step, Eq. 9, the same pairs", f"{step_ratio:.2f} x",
            "<= 1.5 x Hessian and dpotrf", step_ratio <= 1.5, newton["step"]),
        row("  Hessian alone", "", "", None, newton["hessian"]),
        row("  LAPACK dpotrf, n = 1,010", "", "", None, newton["dpotrf"]),
    ]


def scoring(build, quick):
    say("scoring")
    turns = [run_program(build, "linear_bench", "^score_dense") for _ in range(1 if quick else 3)]
    rows = []
    for name, label in (("score_dense/1", "1 output"), ("score_dense/10", "10 outputs")):
        counters = [t[name] for t in turns]
        best = shortest([(c["cpu_s"], c["wall_s"]) for c in counters])
        memory, gemm, GBs, GFLOPs = (max(c[key] for c in counters) for key in
                                     ("memory_GBs", "gemm_GFLOPs", "GBs", "GFLOPs"))
        # The best time against the highest roofs of all turns: no turn is chosen for its ratio.
        share = max(GBs / memory, GFLOPs / gemm)
        rows.append(row(
            f"scoring 200,000 x 100, {label}", f"{100 * share:.1f} %",
            ">= 60 % of the lower roof", share >= 0.6, best,
            f"{GBs:.1f} of {memory:.1f} GB/s, {GFLOPs:.1f} of {gemm:.1f} GFLOP/s; each turn "
            + ", ".join(f"{100 * c['share']:.0f} %" for c in counters)))
    return rows


def matching(build, quick):
    say("nearest neighbours")
    turns = [run_program(build, "match_bench", "^(product|nearest)") for _ in range(1 if quick else 2)]
    best = {name: shortest([(t[name]["cpu_s"], t[name]["wall_s"]) for t in turns])
            for name in ("product", "nearest_one", "nearest_several")}
    one, several = (best[name][0] / best["product"][0] for name in ("nearest_one", "nearest_several"))
    return [
        row("nearest of 20,000 rows among 20,000, 64 features, exact", f"{one:.2f} x", "<= 3 x sgemm",
            one <= 3, best["nearest_one"]),
        row("  their 16 nearest", f"{several:.2f} x", "", None, best["nearest_several"]),
        row("  sgemm of that size", "", "", None, best["product"]),
    ]


def curvature(build, quick):
    """Assembly of Hessians against GEMM, and how its time and that of influence grow."""
    say("curvature")
    rows = []
    wanted = "(60000/100/10|200000/512/1)" if quick else ""
    for name, b in run_program(build, "linear_bench", f"^hessian_dense/{wanted}").items():
        n, d, outputs = (int(part) for part in name.split("/")[1:4])
        promised = (n, d, outputs) in ((60000, 100, 10), (200000, 512, 1))
        rows.append(row(
            f"{'' if promised else '  growth: '}Hessian, {n:,} x {d}, {max(outputs, 2)} classes",
            f"{100 * b['share']:.1f} %", ">= 60 % of GEMM" if promised else "",
            b["share"] >= 0.6, (b["cpu_s"], b["wall_s"]),
            f"{b['GFLOPs']:.1f} of {b['gemm_GFLOPs']:.1f} GFLOP/s"))
    if quick:
        return rows
    for name, b in run_program(build, "influence_bench", "^growth").items():
        n, d, outputs = (int(part) for part in name.split("/")[1].split("x"))
        rows.append(row(f"  growth: influence, {n:,} x {d}, {max(outputs, 2)} classes", "", "", None,
                        (b["cpu_s"], b["wall_s"]),
                        f"{'cg, ' + str(int(b['steps'])) + ' steps' if b['cg'] else 'cholesky'}"))
    return rows


def processor():
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def markdown(rows, machine):
    def number(value):
        return "" if value is None else f"{value:.3g}"

    def verdict(entry):
        if not entry["bar"]:
            return ""
        return {True: "yes", False: "**no**", None: "not measured"}[entry["met"]]

    lines = ["| what | measured | bar | met | CPU s | wall s | note |",
             "|---|---:|---:|---|---:|---:|---|"]
    for r in rows:
        lines.append(f"| {r['what']} | {r['measured']} | {r['bar']} | {verdict(r)} | "
                     f"{number(r['cpu_s'])} | {number(r['wall_s'])} | {r['note']} |")
    lines += ["", f"{machine['processor']}, {machine['cores']} cores, {machine['system']}; load "
              f"{machine['load_before']:.1f} before and {machine['load_after']:.1f} after; "
              f"{machine['date']}."]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--python", action="append", default=[], metavar="NAME=PYTHON",
                        help="the Python of an environment: bench, torch, pydvl, aif360, fairlearn or boosters")
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--quick", action="store_true", help="fewer turns")
    options = parser.parse_args()
    build, out = options.build.resolve(), options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    machine = {"processor": processor(), "cores": os.cpu_count(), "system": platform.system(),
               "load_before": os.getloadavg()[0],
               "date": datetime.date.today().isoformat(), "quick": options.quick}
    pythons, quick = dict(entry.split("=", 1) for entry in options.python), options.quick
    parts = {"training": lambda: training(build, out, pythons.get("bench"), quick),
             "influence": lambda: influence(build, out, pythons, quick),
             "curvature": lambda: curvature(build, quick),
             "unlearning": lambda: unlearning(build, quick),
             "scoring": lambda: scoring(build, quick),
             "audit": lambda: audit(build, out, pythons.get("bench"), quick),
             "matching": lambda: matching(build, quick),
             "commands": lambda: commands(build, pythons.get("fairlearn"), quick),
             "layers": lambda: layers(build, out, pythons, quick),
             "postprocessing": lambda: postprocessing(build, out, pythons.get("aif360"), quick),
             "reading": lambda: reading(build, out, pythons, quick),
             "trees": lambda: trees(build, out, pythons.get("boosters"), quick),
             "large": lambda: large(build, out, quick),
             "onnx": lambda: onnx(build, out, quick)}
    rows = [line for name in PARTS if options.only in (None, name) for line in parts[name]()]
    machine["load_after"] = os.getloadavg()[0]
    text = markdown(rows, machine)
    (out / "results.json").write_text(json.dumps({"machine": machine, "rows": rows}, indent=2) + "\n")
    (out / "results.md").write_text(text)
    print(text, end="")


main()
