#!/usr/bin/env python3
"""Builds the fuzz targets and runs each for some seconds. See ./dev fuzz --help."""

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import build
import environment
import fuzz_commands

ROOT = environment.ROOT
FUZZ = ROOT / "build/fuzz"


def run_commands(arguments: list[str]) -> int:
    """--commands [N] [--resume]: the whole command on N made-up inputs."""
    resume = arguments[-1:] == ["--resume"]
    arguments = arguments[:-1] if resume else arguments
    executions = arguments[0] if arguments else "20000"
    if len(arguments) > 1 or not re.fullmatch("[1-9][0-9]*", executions):
        sys.exit("dev: fuzz: --commands takes a number above 0, and --resume")
    # A run that goes on has the seed of the one that was stopped.
    how = (["--seed", "1", "--journal", str(FUZZ / "commands.journal")] if resume
           else ["--seed", str(random.randrange(1, 1_000_000))])
    FUZZ.mkdir(parents=True, exist_ok=True)
    status = build.build("release", ["fmd_forked"])
    if status:
        return status
    return fuzz_commands.main(["--forked", str(ROOT / "build/release/tests/fmd_forked"), "--executions", executions,
                               *how, "--kept", str(FUZZ / "commands")])


def read_arguments(arguments: list[str]) -> tuple[list[str], int]:
    """The targets and the seconds; a SystemExit that says what is wrong."""
    targets, seconds, left = [], "60", list(arguments)
    while left:
        word = left.pop(0)
        if word == "--seconds":
            if not left:
                sys.exit("dev: fuzz: --seconds needs a number")
            seconds = left.pop(0)
        elif word.startswith("--seconds="):
            seconds = word.removeprefix("--seconds=")
        elif word.startswith("-"):
            sys.exit(f"dev: fuzz: no option '{word}'")
        else:
            targets.append(word)
    if not re.fullmatch("[1-9][0-9]*", seconds):
        sys.exit(f"dev: fuzz: --seconds {seconds} is no number above 0")
    for target in targets:
        if not (ROOT / f"fuzz/{target}.cpp").is_file():
            sys.exit(f"dev: fuzz: no fuzz/{target}.cpp")
    return targets or sorted(path.stem for path in (ROOT / "fuzz").glob("*.cpp")), int(seconds)


def use_parquet_reader(targets: list[str]) -> None:
    """Arrow is not ours to instrument: the plug-in of the release build serves."""
    plugin = ROOT / "build/release/fmd_parquet.so"
    if plugin.is_file():
        os.environ.setdefault("FMD_PARQUET_LIB", str(plugin))
    elif "parquet" in targets:
        print("fuzz: parquet is fed to nothing: the plug-in is not built (./dev setup, ./dev build)",
              file=sys.stderr)


def last_match(pattern: str, text: str) -> tuple[str, ...]:
    found = list(re.finditer(pattern, text, re.MULTILINE))
    return found[-1].groups() if found else ("?", "?")


def run_target(target: str, seconds: int) -> bool:
    """Whether nothing was found. The line that is printed has inputs, coverage (edges) and peak memory."""
    found, crashes, log = FUZZ / "found" / target, FUZZ / "crashes", FUZZ / f"{target}.log"
    dictionary = ROOT / f"fuzz/{target}.dict"
    found.mkdir(parents=True, exist_ok=True)
    crashes.mkdir(parents=True, exist_ok=True)
    command: list[str | Path] = [
        FUZZ / f"fuzz/fuzz_{target}", *([f"-dict={dictionary}"] if dictionary.is_file() else []),
        f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=1024", "-malloc_limit_mb=512",
        "-max_len=65536", "-print_final_stats=1", "-verbosity=1", f"-artifact_prefix={crashes / target}-",
        found, ROOT / "fuzz/corpus" / target]
    with log.open("wb") as output:
        status = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT).returncode
    text = log.read_text(encoding="utf-8", errors="replace")
    if status:
        print("\n".join(text.splitlines()[-60:]), file=sys.stderr)
        return False
    inputs, took = last_match(r"^Done (\d+) runs in (\d+) second", text)
    edges, features = last_match(r"cov: (\d+) ft: (\d+)", text)
    memory = last_match(r"^stat::peak_rss_mb: *(\d+)", text)[0]
    print(f"fuzz: {target:<12} {inputs} inputs in {took} s; cov: {edges} ft: {features}, peak {memory} MB",
          flush=True)
    return True


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--commands"]:
        return run_commands(arguments[1:])
    targets, seconds = read_arguments(arguments)
    use_parquet_reader(targets)
    status = build.build("fuzz", [f"fuzz_{target}" for target in targets])
    if status:
        return status
    failed = [target for target in targets if not run_target(target, seconds)]
    if failed:
        print(f"dev: fuzz: found something in: {' '.join(failed)}; see build/fuzz/crashes", file=sys.stderr)
        return 1
    print("fuzz: nothing found", file=sys.stderr)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
