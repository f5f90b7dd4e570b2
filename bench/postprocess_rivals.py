"""Post-processing by group beside AIF360, on the same scores of Adult."""
import json
import pathlib
import shutil

from measure import last_line, row, run_process, run_program, say, shortest

AIF360 = pathlib.Path(__file__).parent / "rivals" / "aif360_postprocess.py"
WHAT = {"reject": ("reject option, 100 thresholds x 50 margins", 1000, ("threshold", "margin")),
        "eqodd": ("equalised odds", 10, ("objective",)),
        "ceqodd": ("calibrated equalised odds", 10, ("mix",))}


def postprocessing(build, out, rivals, quick):
    folder = out / "postprocess_rows"
    ours, theirs, problem = [], None, "no Python with its packages"
    for turn in range(1 if quick else 3):
        say(f"post-processing, turn {turn + 1}")
        write = [f"--write={folder}"] if turn == 0 else []
        ours.append(run_program(build, "postprocess_bench", "^(eqodd|ceqodd|reject)", *write))
    if rivals is not None:
        say("post-processing by AIF360")
        done = run_process([rivals, AIF360, folder, "2" if quick else "5"])
        if done.code == 0:
            theirs = json.loads(done.output)
        else:
            problem = last_line(done.errors)
            say(f"AIF360 could not be measured: {problem}")
    shutil.rmtree(folder, ignore_errors=True)
    return [line for name in WHAT for line in rows_of(name, ours, theirs, problem)]


def rows_of(name, turns, theirs, problem):
    title, factor, keys = WHAT[name]
    first = turns[0][name]
    table = "Adult" if first["real_adult"] else "made-up scores (FMD_DATA has no adult)"
    what = f"{title}, {first['rows']:,.0f} rows of {table}"
    best = shortest([(t[name]["cpu_s"], t[name]["wall_s"]) for t in turns])
    bar = f">= {factor:,} x AIF360"
    if theirs is None:
        return [row(what, "rival missing", bar, None, best, problem)]
    rival = theirs[name]
    ratio = rival["cpu_s"] / best[0]
    same = all(abs(first[key] - rival[key]) <= 1e-7 * max(1, abs(rival[key])) for key in keys)
    found = ", ".join(f"{key} {first[key]:.6g}" for key in keys)
    note = f"the same {found}" if same else \
        f"{found}; theirs " + ", ".join(f"{key} {rival[key]:.6g}" for key in keys)
    return [row(what, f"{ratio:,.0f} x", bar, ratio >= factor and same, best, note),
            row(f"  AIF360 {rival['version']}, fit and predict", "", "", None, (rival["cpu_s"], rival["wall_s"]))]
