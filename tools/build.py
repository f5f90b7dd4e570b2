#!/usr/bin/env python3
"""Builds targets of a preset in build/PRESET: configures when needed, says how long it takes.

build.py [--quiet] PRESET [TARGET ...]

Everything is said on stderr. On a terminal ninja shows its status line, otherwise there is a line
about every 30 seconds. What a compiler says is shown in full.
  --quiet   nothing is said unless something takes long or fails
"""

import argparse
import contextlib
import fcntl
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import environment

ROOT = environment.ROOT
# All CPU seconds of a first build, divided by its compile steps; measured on the release preset.
CPU_SECONDS_PER_COMPILE_STEP = 5.0
SHORT_SECONDS = 20  # what takes less is not announced
PROGRESS_SECONDS = 30
WITH_BACKENDS = ("release", "dev")
COMPILED = (".o", ".gch", ".pch")
STATUS = re.compile(r"^\[(\d+)/(\d+) [\d.]+s\] ")
CHATTER = re.compile(r"^(-- |ninja: (no work to do|Entering directory))")


def say(text: str) -> None:
    print(f"dev: {text}", file=sys.stderr, flush=True)


def cores() -> int:
    return len(os.sched_getaffinity(0))


@contextlib.contextmanager
def locked(preset: str) -> Iterator[None]:
    """One build at a time for each preset."""
    (ROOT / "build").mkdir(exist_ok=True)
    with (ROOT / f"build/.lock-{preset}").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another build of {preset}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def needs_configuring(preset: str) -> bool:
    folder = ROOT / "build" / preset
    done = folder / ".configured"
    if not (folder / "build.ninja").is_file() or not done.is_file():
        return True
    causes = [ROOT / "CMakePresets.json", *(ROOT / f"build/venv-{name}/.packages" for name in ("parquet", "torch"))]
    return any(path.is_file() and path.stat().st_mtime > done.stat().st_mtime for path in causes)


def configure(preset: str, quiet: bool) -> int:
    command = ["cmake", "--preset", preset]
    if quiet:
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            sys.stderr.buffer.write(done.stdout)
    else:
        done = subprocess.run(command, cwd=ROOT, stdout=sys.stderr)
    if done.returncode == 0:
        (ROOT / "build" / preset / ".configured").touch()
    return done.returncode


def compile_steps(folder: Path, targets: list[str]) -> int:
    """How many objects of the targets do not exist yet; those that are stale are not counted."""
    done = subprocess.run(["ninja", "-t", "inputs", *(targets or ["all"])], cwd=folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return sum(1 for name in done.stdout.split("\n")
               if name.endswith(COMPILED) and not (folder / name).exists())


def announcement(what: str, steps: int) -> str | None:
    """What is said before a build of so many steps; nothing before a short one."""
    seconds = steps * CPU_SECONDS_PER_COMPILE_STEP / cores()
    if seconds < SHORT_SECONDS:
        return None
    minutes = round(seconds / 60)
    time_it_takes = f"{minutes} minute{'s' if minutes > 1 else ''}" if minutes else f"{seconds:.0f} seconds"
    return (f"building {what}, {steps} compile steps, about {time_it_takes} on {cores()} "
            f"core{'s' if cores() > 1 else ''}; later builds take seconds")


class Progress:
    """Says every 30 seconds how far ninja is."""

    def __init__(self) -> None:
        self.done, self.total = 0, 0
        self.start = time.monotonic()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.tell, daemon=True)

    def tell(self) -> None:
        while not self.ended.wait(PROGRESS_SECONDS):
            steps = f"{self.done} of {self.total} steps" if self.total else "first step"
            say(f"{steps}, {time.monotonic() - self.start:.0f} s")

    def __enter__(self) -> "Progress":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.thread.join()


def run_watched(command: list[str], folder: Path) -> int:
    """Runs ninja without a terminal: its status becomes progress, all else is passed on."""
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace") as ninja, Progress() as progress:
        assert ninja.stdout is not None
        for line in ninja.stdout:
            status = STATUS.match(line)
            if status:
                progress.done, progress.total = int(status[1]), int(status[2])
            elif not CHATTER.match(line):
                sys.stderr.write(line)
    return ninja.returncode


def build(preset: str, targets: list[str], *, quiet: bool = False) -> int:
    """Returns the exit status of the build."""
    folder = ROOT / "build" / preset
    if preset in WITH_BACKENDS:
        # Without Arrow, ONNX Runtime or PyTorch everything else is built, and 'fmd' says so when it needs one.
        # PyTorch is large: only who tests everything gets it without asking (./dev setup torch).
        for name in ("parquet", "onnx", *(["torch"] if os.environ.get("CI") == "true" else [])):
            environment.make_once(name, ROOT / f"backends/{name}/requirements.txt")
    with locked(preset):
        if needs_configuring(preset) and (status := configure(preset, quiet)):
            return status
        what = "fmd" if targets == ["fmd_command"] else preset
        text = announcement(what, compile_steps(folder, targets))
        if text:
            say(text)
        os.environ["NINJA_STATUS"] = "[%f/%t %es] "
        # clang-tidy goes on after a finding, to show all of them.
        command = ["ninja", "-j", str(cores()), *(["-k", "0"] if preset == "tidy" else []), *targets]
        if sys.stderr.isatty() and (text or not quiet):
            return subprocess.run(command, cwd=folder, stdout=sys.stderr).returncode
        return run_watched(command, folder)


def main() -> int:
    parser = argparse.ArgumentParser(description="Builds targets of a preset.")
    parser.add_argument("--quiet", action="store_true", help="say nothing unless it takes long or fails")
    parser.add_argument("preset")
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    arguments = parser.parse_args()
    try:
        return build(arguments.preset, arguments.targets, quiet=arguments.quiet)
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
