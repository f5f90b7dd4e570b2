#!/usr/bin/env python3
"""Checks that each part includes only parts of a lower level, that files stay small, and that one file
alone changes the disk.

Looks at include/fmd and src (levels, form of includes), at cli too (disk) and at all C++ files (length).
Prints one line per finding; the exit status is 1 if one of them is an error.
"""

import re
import sys
from pathlib import Path

LEVEL = {"core": 0, "data": 1, "model": 2, "formats": 3, "metrics": 3, "curvature": 3, "fit": 4,
         "influence": 5, "unlearn": 5, "baselines": 5, "report": 6, "pipeline": 7, "repro": 8}
HIDDEN = ("fmt/", "nlohmann/", "toml++/", "CLI/", "zlib.h", "cblas.h")  # no part of our interface
WARN_LINES, MAX_LINES = 300, 400
# Changes of the disk: all in one file, so that tests can stop a run before each of them.
DISK = re.compile(r"\b(ofstream|std::fstream|fopen|freopen|mkstemp|O_CREAT|O_RDWR|O_WRONLY)\b|"
                  r"(?:::|\bfs::)(unlink|rename|remove|remove_all|truncate|ftruncate|link|symlink|copy_file|copy|"
                  r"resize_file|create_symlink|create_hard_link)\(")
DISK_FILE = "src/core/disk.cpp"
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
ROOT = Path(__file__).resolve().parent.parent


def check_include(folder: str, public: bool, bracket: str, name: str) -> str | None:
    """What is wrong with one include of a file in a folder, or None."""
    if bracket == "<":
        if name.startswith("fmd/"):
            return f'write "{name}" with quotes'
        return f"<{name}> in a public header" if public and name.startswith(HIDDEN) else None
    if name == "fmd/version.h":
        return None
    if public and not name.startswith("fmd/"):
        return f'a public header may include only public ones, not "{name}"'
    if not name.startswith("fmd/") and not (ROOT / "src" / name).is_file():
        return f'"{name}" is not in src; public headers are "fmd/part/name.h"'
    part = name.removeprefix("fmd/").split("/")[0]
    if part not in LEVEL:
        return f'"{name}" belongs to no part'
    if part != folder and LEVEL[part] >= LEVEL[folder]:
        return f'{folder} (level {LEVEL[folder]}) may not see {part} (level {LEVEL[part]}): "{name}"'
    return None


def check_parts(top: Path, public: bool) -> list[str]:
    found = []
    for path in sorted(p for p in top.rglob("*") if p.suffix in (".h", ".cpp")):
        where, folder = path.relative_to(ROOT), path.relative_to(top).parts[0]
        if path.parent == top:  # fmd.h and version.h stand above the parts
            continue
        if folder not in LEVEL:
            found.append(f"{where}: folder {folder} has no level; add it to tools/check_layers.py")
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = INCLUDE.match(line)
            wrong = match and check_include(folder, public, match[1], match[2])
            if wrong:
                found.append(f"{where}:{number}: {wrong}")
    return found


def check_disk() -> list[str]:
    found = []
    for path in sorted(p for top in ("src", "cli", "include") for p in (ROOT / top).rglob("*.[ch]*")):
        where = path.relative_to(ROOT)
        if path.suffix not in (".h", ".cpp") or str(where) == DISK_FILE:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = DISK.search(line.split("//")[0].replace("disk::", "disk."))
            if match:
                found.append(f"{where}:{number}: {match[0]} changes the disk outside {DISK_FILE}")
    return found


def check_lengths() -> tuple[list[str], list[str]]:
    errors, warnings = [], []
    for top in ("include", "src", "cli", "tests", "bench", "backends", "fuzz", "examples", "python/src"):
        for path in sorted(p for p in (ROOT / top).rglob("*") if p.suffix in (".h", ".cpp")):
            lines = len(path.read_text(encoding="utf-8").splitlines())
            text = f"{path.relative_to(ROOT)}: {lines} lines, at most {MAX_LINES}, better under {WARN_LINES}"
            if lines > WARN_LINES:
                (errors if lines > MAX_LINES else warnings).append(text)
    return errors, warnings


def main() -> int:
    errors, warnings = check_lengths()
    errors += check_parts(ROOT / "include/fmd", True) + check_parts(ROOT / "src", False) + check_disk()
    for text in warnings:
        print(f"warning: {text}")
    for text in errors:
        print(f"error: {text}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
