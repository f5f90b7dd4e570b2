#!/usr/bin/env python3
"""Makes a Python environment for one purpose, build/venv-NAME.

environment.py [--once] NAME [--requirements FILE] [PACKAGE ...]

Packages come from FILE, one a line, and from the command line. A line of FILE that begins with
--no-deps names packages that are installed without those that they ask for.
  --once   after a refused download, do not ask again until FILE changes or ./dev setup is run

Exit status: 0 the environment is there, 77 a download was refused, 1 something else failed.
"""

import argparse
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REFUSED = 77
REFUSAL = re.compile(r"no matching distribution|connection|timed out|retries|proxy|resolve|HTTP error|40[37]",
                     re.IGNORECASE)


@dataclass
class Packages:
    whole: list[str] = field(default_factory=list)  # with all that they ask for
    alone: list[str] = field(default_factory=list)  # without

    def __str__(self) -> str:
        return " ".join(self.whole + (["--no-deps", *self.alone] if self.alone else []))


def read_requirements(path: Path) -> Packages:
    packages = Packages()
    for line in path.read_text(encoding="utf-8").splitlines():
        words = line.split("#")[0].split()
        if words[:1] == ["--no-deps"]:
            packages.alone += words[1:]
        else:
            packages.whole += words
    return packages


def python_of(name: str) -> Path:
    return ROOT / f"build/venv-{name}/bin/python"


def make(name: str, packages: Packages) -> int:
    """Makes build/venv-NAME unless it has these packages already; returns the exit status."""
    python, log = python_of(name), ROOT / f"build/venv-{name}.log"
    done = ROOT / f"build/venv-{name}/.packages"
    if done.is_file() and done.read_text(encoding="utf-8") == str(packages):
        return 0
    (ROOT / "build").mkdir(exist_ok=True)
    if not python.exists() and subprocess.run([sys.executable, "-m", "venv", python.parent.parent]).returncode:
        return 1
    with log.open("w", encoding="utf-8") as output:
        for options, names in (("", packages.whole), ("--no-deps", packages.alone)):
            pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1",
                   "--timeout", "15", *options.split(), *names]
            if names and subprocess.run(pip, stdout=output, stderr=subprocess.STDOUT).returncode:
                break
        else:
            done.write_text(str(packages), encoding="utf-8")
            return 0
    told = log.read_text(encoding="utf-8", errors="replace")
    if REFUSAL.search(told):
        wanted = " ".join(packages.whole + packages.alone)
        print(f"skipped: {name} needs {wanted} from PyPI, download refused", file=sys.stderr)
        return REFUSED
    sys.stderr.write(told)
    return 1


def make_once(name: str, requirements: Path) -> int:
    """The same, but not tried again after a failure until the requirements change."""
    tried = ROOT / f"build/.setup-{name}"
    if tried.exists() and tried.stat().st_mtime > requirements.stat().st_mtime:
        return 0
    status = make(name, read_requirements(requirements))
    tried.touch()
    return status


def main() -> int:
    parser = argparse.ArgumentParser(description="Makes a Python environment, build/venv-NAME.")
    parser.add_argument("--once", action="store_true", help="do not ask again after a refused download")
    parser.add_argument("--requirements", type=Path, metavar="FILE", help="a file of packages")
    parser.add_argument("name")
    parser.add_argument("packages", nargs="*", metavar="PACKAGE")
    arguments = parser.parse_args()
    if arguments.once:
        if arguments.requirements is None or arguments.packages:
            parser.error("--once needs --requirements and no other packages")
        return make_once(arguments.name, arguments.requirements)
    packages = read_requirements(arguments.requirements) if arguments.requirements else Packages()
    packages.whole += arguments.packages
    return make(arguments.name, packages)


if __name__ == "__main__":
    sys.exit(main())
