"""What the parts of compare.py share: processes that are timed, and lines of the table."""
import collections
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

ONE_THREAD = {name: "1" for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")}

Finished = collections.namedtuple("Finished", "code output errors cpu_s wall_s memory_MB anonymous_MB")


def say(text):
    print(text, file=sys.stderr, flush=True)


def shortest(times):
    """Least CPU and least wall seconds of (cpu, wall) pairs."""
    return min(t[0] for t in times), min(t[1] for t in times)


def row(what, measured, bar, met, times, note=""):
    """One line of the table; met is None where nothing could be measured."""
    cpu, wall = times or (None, None)
    return {"what": what, "measured": measured, "bar": bar, "met": met, "cpu_s": cpu,
            "wall_s": wall, "note": note}


class Watcher(threading.Thread):
    """The most anonymous memory of a process, looked at ten times a second: mapped files are not in it."""

    def __init__(self, process):
        super().__init__(daemon=True)
        self.status, self.most, self.done = f"/proc/{process.pid}/status", 0.0, threading.Event()
        self.start()

    def run(self):
        while not self.done.wait(0.1):
            try:
                with open(self.status) as file:
                    found = [line.split()[1] for line in file if line.startswith("RssAnon")]
            except OSError:
                return
            self.most = max([self.most, *(int(kB) / 1024 for kB in found)])


def run_process(command, folder=None, one_thread=True):
    """A whole process: its output, seconds, and the most memory that it held."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        wall = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=errors,
                                   env={**os.environ, **(ONE_THREAD if one_thread else {})})
        watcher = Watcher(process)
        _, status, usage = os.wait4(process.pid, 0)
        watcher.done.set()
        wall = time.perf_counter() - wall
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        return Finished(process.returncode, output.read(), errors.read(),
                        usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024, watcher.most)


def last_line(text):
    return (text.strip().splitlines() or ["it failed"])[-1].strip()


def read_benchmarks(text):
    """{benchmark: counters} of what a program of bench/ printed."""
    return {b["run_name"].split("/iterations")[0].removesuffix("/manual_time"): b
            for b in json.loads(text)["benchmarks"] if b.get("run_type") == "iteration"}


def run_program(build, name, pattern, *arguments):
    """{benchmark: counters} of one program of bench/."""
    done = run_process([build / "bench" / name, f"--benchmark_filter={pattern}",
                        "--benchmark_format=json", *arguments])
    if done.code != 0:
        raise SystemExit(f"{name}: {last_line(done.errors)}")
    return read_benchmarks(done.output)
