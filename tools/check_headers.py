#!/usr/bin/env python3
"""Checks that every public header compiles alone and that fmd.h includes all of them.

check_headers.py PRESET

Uses the compiler of the preset, which must be configured. A header is compiled again when its text,
that of a public header that it includes, or the compiler has changed (build/PRESET/headers.json).

Eigen takes most of the time, so it is read once, as a precompiled header, and given to those headers
that include it anyway. That hides nothing: in such a header Eigen comes before all code of its own, with
or without us, because all includes are at the top (which is checked) and because a header that is included
before Eigen is checked alone too. All other headers are compiled without it.
"""

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EIGEN = "Eigen/Core"
OPTIONS = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True)
class Header:
    name: str             # "fmd/core/types.h"
    text: str
    includes: list[str]   # as written
    late_include: int     # the line of an include after the first line of code; 0 if there is none


def read_header(path: Path) -> Header:
    text = path.read_text(encoding="utf-8")
    includes, late, code = [], 0, False
    plain = COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text)
    for number, line in enumerate(plain.splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            includes.append(match[1])
            late = late or (number if code else 0)
        elif line.strip() and not line.lstrip().startswith("#"):
            code = True
    return Header(path.relative_to(ROOT / "include").as_posix(), text, includes, late)


def closure(headers: dict[str, Header], name: str) -> set[str]:
    """A header and all public ones that it includes, directly or not."""
    seen, left = set(), [name]
    while left:
        one = left.pop()
        if one in headers and one not in seen:
            seen.add(one)
            left += headers[one].includes
    return seen


def check_form(headers: dict[str, Header]) -> list[str]:
    missing = sorted(headers.keys() - {"fmd/fmd.h", *headers["fmd/fmd.h"].includes})
    found = [f"include/fmd/fmd.h: does not include \"{name}\"" for name in missing]
    found += [f"include/{h.name}:{h.late_include}: an include after code; includes are at the top"
              for h in headers.values() if h.late_include]
    return found


def compiler_of(preset: str) -> list[str]:
    """The compiler and where it finds Eigen, from the preset's compile_commands.json."""
    path = ROOT / "build" / preset / "compile_commands.json"
    if not path.is_file():
        sys.exit(f"check_headers: preset {preset} is not configured; ./dev build {preset} does it")
    for entry in json.loads(path.read_text(encoding="utf-8")):
        words = shlex.split(entry["command"])
        folders = [words[i + 1] for i, word in enumerate(words[:-1]) if word == "-isystem"]
        eigen = [folder for folder in folders if (Path(folder) / EIGEN).is_file()]
        if eigen:
            cache = (path.parent / "CMakeCache.txt").read_text(encoding="utf-8")
            compiler = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.+)$", cache, re.MULTILINE)
            assert compiler, "CMake always writes this line"
            return [compiler[1], *OPTIONS, f"-I{ROOT / 'include'}", "-isystem", eigen[0]]
    sys.exit(f"check_headers: no command in {path} has Eigen")


def precompile_eigen(compiler: list[str], folder: Path) -> list[str]:
    """Options that give a source Eigen from a precompiled header."""
    folder.mkdir(parents=True, exist_ok=True)
    header = folder / "eigen.h"
    header.write_text(f"#include <{EIGEN}>\n", encoding="utf-8")
    subprocess.run([*compiler, "-x", "c++-header", header, "-o", folder / "eigen.h.gch"], check=True)
    return ["-include", str(header)]


def compile_alone(command: list[str], name: str) -> str:
    """What the compiler says about a source that includes one header alone; empty if it compiles."""
    source = f'#include "{name}"\n'
    done = subprocess.run([*command, "-fsyntax-only", "-x", "c++", "-"], input=source, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return f"include/{name} does not compile alone:\n{done.stdout}" if done.returncode else ""


def main(preset: str) -> int:
    headers = {h.name: h for h in map(read_header, sorted((ROOT / "include/fmd").rglob("*.h")))}
    found = check_form(headers)
    compiler = compiler_of(preset)
    version = subprocess.run([compiler[0], "--version"], check=True, text=True, stdout=subprocess.PIPE).stdout
    parts = {name: sorted(closure(headers, name)) for name in headers}
    hashes = {name: hashlib.sha256("\0".join([version, *compiler, *(headers[n].text for n in parts[name])])
                                   .encode()).hexdigest() for name in headers}
    kept = ROOT / "build" / preset / "headers.json"
    old = json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else {}
    changed = [name for name in headers if old.get(name) != hashes[name]]
    with_eigen = {name for name in changed if any(EIGEN in headers[n].includes for n in parts[name])}
    eigen = precompile_eigen(compiler, kept.parent / "headers") if with_eigen else []

    def one(name: str) -> str:
        return compile_alone([*compiler, *(eigen if name in with_eigen else [])], name)

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        messages = dict(zip(changed, pool.map(one, changed)))
    kept.write_text(json.dumps({name: hashes[name] for name in headers if not messages.get(name)}, indent=1),
                    encoding="utf-8")
    for text in found + [text for text in messages.values() if text]:
        print(text, file=sys.stderr)
    failed = bool(found) or any(messages.values())
    print(f"headers: {len(headers)}, {len(changed)} of them new or changed: "
          f"{'see above' if failed else 'each compiles alone'}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {Path(sys.argv[0]).name} PRESET")
    sys.exit(main(sys.argv[1]))
