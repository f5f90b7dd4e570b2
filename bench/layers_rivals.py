"""Part "layers" of compare.py: the top three layers of a network (21,210 parameters), against kronfluence and PyTorch.

Both jobs come from one file, made once by rivals/make_layers_job.py.
"""
import array
import json
import math
import os
import pathlib
import random

from measure import last_line, row, run_process, run_program, say, shortest

RIVALS = pathlib.Path(__file__).parent / "rivals"
LAMBDA = "10"


def tensors(path):
    """The arrays of a safetensors file, flat."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    kinds = {"F64": "d", "F32": "f", "I32": "i"}
    return {name: array.array(kinds[entry["dtype"]], data[slice(*entry["data_offsets"])])
            for name, entry in header.items() if name != "__metadata__"}


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    found = [0] * len(values)
    for rank, at in enumerate(order):
        found[at] = rank
    return found


def rank_correlation(a, b):
    """Spearman's; ties do not happen among real numbers that were measured."""
    n, x, y = len(a), ranks(a), ranks(b)
    return 1 - 6 * sum((p - q) ** 2 for p, q in zip(x, y)) / (n * (n * n - 1))


def interval(r, n):
    """95 %, by Fisher's transformation with the variance of ranks (Bonett and Wright)."""
    half = 1.96 * math.sqrt((1 + r * r / 2) / (n - 3))
    return math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)


def paired_difference(mine, other, measured):
    """95 % interval of the difference of two rank correlations, resampling groups for both alike."""
    rng, found = random.Random(1), []
    for _ in range(2000):
        at = [rng.randrange(len(measured)) for _ in measured]
        # A group that is drawn twice would tie with itself: ties are broken alike in all three.
        pick = [[values[i] + 1e-15 * k for k, i in enumerate(at)] for values in (mine, other, measured)]
        found.append(rank_correlation(pick[0], pick[2]) - rank_correlation(pick[1], pick[2]))
    found.sort()
    return found[50], found[1949]


def make_job(out, pythons):
    job = out / "layers_job.safetensors"
    if job.exists():
        return job, None
    mnist = pathlib.Path(os.environ.get("FMD_DATA") or "FMD_DATA") / "mnist"
    if not mnist.is_dir():
        return job, "FMD_DATA has no mnist"
    if "torch" not in pythons:
        return job, "making the job needs PyTorch; a run without --quick makes it once"
    say("layers, making the job with its 50 refits: a quarter of an hour, once")
    done = run_process([pythons["torch"], RIVALS / "make_layers_job.py", mnist, job])
    return job, None if done.code == 0 else last_line(done.errors)


def products(build, quick):
    pattern = "^gauss_newton_product" + ("/rows:10000/width:100/classes:10" if quick else "")
    lines = []
    for name, b in run_program(build, "layers_bench", pattern).items():
        rows, width, classes, layers = (int(part.split(":")[1]) for part in name.split("/")[1:5])
        promised = (rows, width, classes, layers) == (10000, 100, 10, 3)
        lines.append(row(f"{'' if promised else '  growth: '}Gauss-Newton product, {rows:,} rows, {layers} layers of {width}, "
                         f"{classes} classes", f"{100 * b['share']:.0f} %", ">= 50 % of GEMM" if promised else "",
                         b["share"] >= 0.5, (b["cpu_s"], b["wall_s"]),
                         f"{b['GFLOPs']:.1f} of {b['gemm_GFLOPs']:.1f} GFLOP/s"))
    return lines


def equation_9(build):
    what = "Eq. 9 on Colored MNIST from images in memory, H on 8,000 rows, 23 scales"
    if not (pathlib.Path(os.environ.get("FMD_DATA") or "FMD_DATA") / "mnist").is_dir():
        return [row(what, "not measured", "<= 1 CPU s", None, None, "FMD_DATA has no mnist")]
    say("Eq. 9 on Colored MNIST")
    b = run_program(build, "layers_bench", "^equation_9")["equation_9"]
    return [row(what, f"{b['cpu_s']:.2f} CPU s", "<= 1 CPU s", b["cpu_s"] <= 1, (b["cpu_s"], b["wall_s"]),
                f"a network after one epoch; hold-out accuracy {100 * b['accuracy_before']:.1f} -> {100 * b['accuracy']:.1f} %")]


def group_sums(change, groups, count):
    size = len(groups) // count
    return [sum(change[i] for i in groups[g * size:(g + 1) * size]) for g in range(count)]


def influence(build, out, job, python, turns):
    """Seconds of both in turns, and how well sums over groups are ranked as refits rank them."""
    what = "influence of 60,000 rows on a flip gap, 21,210 parameters; against kronfluence"
    files = [out / "layers_ours.safetensors", out / "layers_ekfac.safetensors"]
    times, version = ([], []), ""
    for turn in range(turns):
        say(f"influence of 21,210 parameters, turn {turn + 1}")
        ours = run_program(build, "layers_bench", "^influence", f"--job={job}", f"--scores={files[0]}")["influence"]
        times[0].append((ours["cpu_s"], ours["wall_s"]))
        done = run_process([python, RIVALS / "influence_kronfluence.py", "ekfac", job, files[1], "1"])
        if done.code != 0:
            return [row(what, "rival missing", ">= 1 x", None, times[0][0], last_line(done.errors))]
        theirs = json.loads(done.output.splitlines()[-1])
        version = theirs["version"]
        times[1].append((theirs["cpu_s"], theirs["wall_s"]))
    truth = tensors(job)
    measured = truth["refitted"]
    sums = [group_sums(tensors(file)["change"], truth["groups"], len(measured)) for file in files]
    for file in files:
        file.unlink()
    best, other = shortest(times[0]), shortest(times[1])
    r = [rank_correlation(s, measured) for s in sums]
    notes = [f"rank correlation {x:.3f} [{interval(x, len(measured))[0]:.3f}, {interval(x, len(measured))[1]:.3f}]" for x in r]
    low, high = paired_difference(*sums, measured)
    return [row(what, f"{other[0] / best[0]:.1f} x", ">= 1 x", other[0] >= best[0], best,
                f"{ours['steps']:.0f} steps, residual {ours['residual']:.1e}"),
            row("  with refits without 50 groups of 600 rows", f"{r[0] - r[1]:+.3f} [{low:+.3f}, {high:+.3f}]",
                ">= EK-FAC's rank correlation", r[0] >= r[1], None, notes[0]),
            row(f"  kronfluence {version}, EK-FAC", "", "", None, other, notes[1])]


def solving(build, out, job, python, turns):
    """As many steps as the rival, and as many as reach its J."""
    what = "solve at 3 layers, 5,000 pairs; against 15 steps of Gauss-Newton in PyTorch"
    steps, theirs, scratch = {"15 steps": [], "until J is theirs": []}, [], out / "layers_theta.safetensors"
    for turn in range(turns):
        say(f"solve at 3 layers, turn {turn + 1}")
        done = run_process([python, RIVALS / "solve_torch.py", job, scratch, LAMBDA, "1"])
        scratch.unlink(missing_ok=True)
        if done.code != 0:
            return [row(what, "rival missing", ">= 2 x", None, None, last_line(done.errors))]
        theirs.append(json.loads(done.output.splitlines()[-1]))
        for name, goal in zip(steps, ("0", str(theirs[-1]["objective"]))):
            found = run_program(build, "layers_bench", "^solve", f"--job={job}", f"--lambda={LAMBDA}", f"--goal={goal}")
            steps[name].append((found["solve/threads:1"], found["solve/threads:2"]))
    other = shortest([(t["cpu_s"], t["wall_s"]) for t in theirs])
    reached, lines = theirs[0]["objective"], []
    for name, ours in steps.items():
        one, two = (shortest([(pair[i]["cpu_s"], pair[i]["wall_s"]) for pair in ours]) for i in (0, 1))
        mine, ratio = ours[0][0]["objective"], other[0] / one[0]
        lines += [row(f"{what}; {name}", f"{ratio:.1f} x", ">= 2 x at J not above theirs", ratio >= 2 and mine <= reached, one,
                      f"{ours[0][0]['steps']:.0f} steps to J = {mine:.5f}, theirs {reached:.5f}"),
                  row("  with both cores, by the wall clock", f"{other[1] / two[1]:.1f} x", "", None, two)]
    return lines + [row(f"  PyTorch {theirs[0]['version']}", "", "", None, other)]


def layers(build, out, pythons, quick):
    lines = products(build, quick) + equation_9(build)
    job, problem = make_job(out, pythons)
    if not problem and "torch" not in pythons:
        problem = "no environment with PyTorch"
    if problem:
        return lines + [row("top three layers against others", "not measured", "", None, None, problem)]
    turns = 1 if quick else 3
    return (lines + influence(build, out, job, pythons["torch"], turns) +
            solving(build, out, job, pythons["torch"], turns))
