"""The influence job of compare.py: fmd and other programs score the same 60,000 rows.

All of them read one job file, made once by rivals/make_influence_job.py, and write their
scores; what they wrote is compared here with exact scores in float64.
"""
import array
import json
import os
import pathlib
import statistics

from measure import last_line, read_benchmarks, row, run_process, say, shortest

RIVALS = pathlib.Path(__file__).parent / "rivals"
EXACT = 0.9999  # correlation from which scores count as exact
WHAT = "influence of 60,000 rows on a flip gap, 1,010 parameters"
OWN_COUNTERS = ("steps", "passes", "residual")  # of influence_bench, worth a note


class Program:
    """Something that scores the job, and what came of it."""

    def __init__(self, name, how="", script=None, method=None, slow=False):
        self.name, self.how, self.script, self.method = name, how, script, method
        self.slow = slow  # runs once, not in every turn
        self.times, self.memory, self.problem = [], 0, None
        self.version, self.r, self.slope, self.notes = "", 0, 0, []

    def label(self):
        return ", ".join(filter(None, (f"{self.name} {self.version}".rstrip(), self.how)))

    def environment(self):
        return {"NumPy": "bench", "pyDVL": "pydvl"}.get(self.name, "torch")

    def keep(self, counters, memory, exact, scores):
        try:
            r, slope = agreement(exact, change(scores))
        except (OSError, KeyError, ValueError) as error:
            self.problem = f"its scores cannot be compared: {error}"
            return
        if not self.times or r < self.r:  # the worst turn counts
            self.r, self.slope = r, slope
        self.times.append((counters["cpu_s"], counters["wall_s"]))
        self.memory = max(self.memory, memory)

    def is_exact(self):
        return bool(self.times) and self.r >= EXACT

    def line(self):
        if not self.times:
            return row(f"  {self.label()}", "not measured", "", None, None, self.problem)
        note = [f"r {self.r:.6f}", f"slope {self.slope:.3f}", f"{self.memory:.0f} MB", *self.notes]
        return row(f"  {self.label()}", "", "", None, shortest(self.times), ", ".join(note))


def all_rivals():
    return [
        Program("NumPy", "float32 SYRK and float64 Cholesky", "influence_numpy.py", "cholesky"),
        Program("NumPy", "CG with Jacobi", "influence_numpy.py", "cg"),
        Program("NumPy", "CG with a Hessian of 4,000 rows", "influence_numpy.py", "sampled"),
        Program("PyTorch", "float32 blocks and float64 Cholesky", "influence_torch.py", "cholesky"),
        Program("dattri", "CG 200", "influence_dattri.py", "cg200"),
        Program("dattri", "CG 10 (its default)", "influence_dattri.py", "cg10"),
        Program("pyDVL", "CG 200", "influence_pydvl.py", "cg200", slow=True),
        Program("pyDVL", "Nystroem 200", "influence_pydvl.py", "nystroem", slow=True),
        Program("pyDVL", "direct", "influence_pydvl.py", "direct", slow=True),
        Program("captum", "Arnoldi (its default)", "influence_captum.py", "arnoldi", slow=True),
        Program("captum", "naive, all eigenpairs", "influence_captum.py", "naive_all", slow=True),
    ]


def change(path):
    """The tensor `change` of a file of scores."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    entry = header["change"]
    if entry["dtype"] != "F64":
        raise ValueError(f"{path}: change is {entry['dtype']}, must be F64")
    return array.array("d", data[slice(*entry["data_offsets"])])


def agreement(exact, scores):
    """Correlation with the exact scores, and the slope of the line through both."""
    r = statistics.correlation(exact, scores)
    return r, r * statistics.pstdev(scores) / statistics.pstdev(exact)


def run_rival(program, pythons, job, scores):
    """The counters and the memory of one run; None where it failed, which is noted."""
    python = pythons.get(program.environment())
    if python is None:
        program.problem = f"{program.environment()}: its packages could not be installed"
        return None
    repeats = "2" if program.name in ("NumPy", "PyTorch") else "1"
    done = run_process([python, RIVALS / program.script, program.method, job, scores, repeats])
    if done.code != 0:
        program.problem = last_line(done.errors)
        say(f"{program.label()} could not be measured: {program.problem}")
        return None
    counters = json.loads(done.output.splitlines()[-1])
    program.version = counters["version"]
    return counters, done.memory_MB


def run_own(program, build, job, scores):
    tool = build / "bench" / "influence_bench"
    if not tool.exists():
        program.problem = "influence_bench is not built"
        return None
    done = run_process([tool, f"--job={job}", f"--scores={scores}", "--benchmark_format=json",
                        "--benchmark_filter=^influence"])
    if done.code != 0:
        program.problem = last_line(done.errors)
        return None
    counters = next(iter(read_benchmarks(done.output).values()))
    program.notes = [f"{name} {counters[name]:.3g}" for name in OWN_COUNTERS if name in counters]
    return counters, done.memory_MB


def make_job(out, pythons):
    """The job and its exact scores, and a reason where one of them cannot be had."""
    job, exact = out / "influence_job.safetensors", out / "influence_exact.safetensors"
    if not job.exists():
        mnist = pathlib.Path(os.environ.get("FMD_DATA") or "FMD_DATA") / "mnist"
        if not mnist.is_dir():
            return job, exact, "FMD_DATA has no mnist"
        if "torch" not in pythons:
            return job, exact, "making the job needs PyTorch; a run without --quick makes it once"
        say("influence, making the job: some minutes, once")
        done = run_process([pythons["torch"], RIVALS / "make_influence_job.py", mnist, job])
        if done.code != 0:
            return job, exact, last_line(done.errors)
    if "bench" not in pythons:
        return job, exact, "no Python with NumPy"
    if not exact.exists() or exact.stat().st_mtime < job.stat().st_mtime:
        done = run_process([pythons["bench"], RIVALS / "influence_numpy.py", "exact", job, exact, "1"])
        if done.code != 0:
            return job, exact, last_line(done.errors)
    return job, exact, None


def ratio(ours, rival, bar):
    """fmd against one rival; rival is None where none was as exact."""
    what, bar_text = f"{WHAT}; against {rival.label() if rival else 'a library'}", f">= {bar} x"
    if not ours.times or not rival or not rival.times:
        missing = next((p for p in (ours, rival) if p and not p.times), None)
        reason = missing.problem if missing else "no library that is as exact was measured"
        return row(what, "not measured", bar_text, None, None, reason)
    best = shortest(ours.times)
    times = shortest(rival.times)[0] / best[0]
    return row(what, f"{times:.1f} x", bar_text, times >= bar and ours.is_exact(), best,
               "" if ours.is_exact() else f"fmd is not exact: r {ours.r:.6f}")


def influence(build, out, pythons, quick):
    job, exact_file, problem = make_job(out, pythons)
    if problem:
        return [row(WHAT, "not measured", ">= 5 x NumPy", None, None, problem)]
    exact, scores = change(exact_file), out / "influence_scores.safetensors"
    ours, rivals = Program("fmd"), all_rivals()
    taken = [p for p in rivals if not quick or p.name == "NumPy"]
    for turn in range(1 if quick else 3):
        say(f"influence, turn {turn + 1}")
        for program in [ours, *taken]:
            if program.problem or (program.slow and turn > 0):
                continue
            scores.unlink(missing_ok=True)
            found = (run_own(program, build, job, scores) if program is ours else
                     run_rival(program, pythons, job, scores))
            if found:
                program.keep(*found, exact, scores)
    scores.unlink(missing_ok=True)
    libraries = [p for p in taken if p.name not in ("NumPy", "PyTorch") and p.is_exact()]
    fastest = min(libraries, key=lambda p: shortest(p.times)[0], default=None)
    lines = [ratio(ours, rivals[0], 5), ratio(ours, fastest, 25), ours.line(),
             *(p.line() for p in taken)]
    if len(taken) < len(rivals):
        left_out = "; ".join(p.label() for p in rivals if p not in taken)
        lines.append(row("  left out by --quick", "not measured", "", None, None, left_out))
    return lines
