#!/usr/bin/env python3
"""Builds the benchmarks and runs them: the whole comparison, or one program. See ./dev bench --help."""

import os
import subprocess
import sys

import build
import environment

ROOT = environment.ROOT
# Environments of the rivals; the quick ones need no PyTorch.
QUICK = ("bench", "aif360", "fairlearn", "boosters")
ALL = ("bench", "torch", "pydvl", "aif360", "fairlearn", "boosters")


def rival_pythons(names: tuple[str, ...]) -> list[str]:
    """Makes the environments; options of compare.py that name those that could be made."""
    options = []
    for name in names:
        requirements = ROOT / f"bench/requirements-{name}.txt"
        if not requirements.is_file():
            requirements = ROOT / "bench/requirements.txt"
        if environment.make(name, environment.read_requirements(requirements)) == 0:
            options += ["--python", f"{name}={environment.python_of(name)}"]
        else:
            build.say(f"no environment {name}; the table says what is missing")
    return options


def main(arguments: list[str]) -> int:
    program = ""
    if arguments and not arguments[0].startswith("-"):
        program, arguments = arguments[0].removesuffix("_bench"), arguments[1:]
        if not (ROOT / f"bench/{program}_bench.cpp").is_file():
            build.say(f"no bench/{program}_bench.cpp")
            return 1
    status = build.build("release", ["fmd_command", "fmd_bench"])
    if status:
        return status
    release = ROOT / "build/release"
    if program:
        path = str(release / f"bench/{program}_bench")
        os.execv(path, [path, *arguments])
    pythons = rival_pythons(QUICK if "--quick" in arguments else ALL)
    return subprocess.run([sys.executable, ROOT / "bench/compare.py", "--build", release, "--out",
                           ROOT / "build/bench", *pythons, *arguments]).returncode


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
