#!/usr/bin/env python3
"""Checks the order of the source tree.

  levels    a part includes only parts of a lower level, in the form "part/name.h"
  pairs     every source has a header of its own name
  private   what a private header declares is in namespace fmd::internal
  names     no two types outside anonymous namespaces have the same name
  disk      one file alone changes the disk
  folders   a folder holds about 25 files at most (a warning)

Prints one line for each finding. The exit status is 1 if one of them is an error.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LEVEL = {"core": 0, "data": 1, "model": 2, "formats": 3, "metrics": 3, "curvature": 3, "fit": 4,
         "influence": 5, "unlearn": 5, "baselines": 5, "language": 5, "repair": 6, "report": 6,
         "pipeline": 7, "repro": 8}
# Sources that need no header of their own name, such as "src/core/name.cpp".
WITHOUT_HEADER: frozenset[str] = frozenset()
MAX_FILES = 25
HIDDEN = ("fmt/", "nlohmann/", "toml++/", "CLI/", "zlib.h", "cblas.h")  # no part of our interface
# Changes of the disk: all in one file, so that tests can stop a run before each of them.
DISK = re.compile(r"\b(ofstream|std::fstream|fopen|freopen|mkstemp|O_CREAT|O_RDWR|O_WRONLY)\b|"
                  r"(?:(?<!\bHead)::|\bfs::)(unlink|rename|remove|remove_all|truncate|ftruncate|link|symlink|copy_file|copy|"
                  r"resize_file|create_symlink|create_hard_link)\(")
DISK_FILE = "src/core/disk.cpp"
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def cpp_files(top: Path) -> list[Path]:
    return sorted(p for p in top.rglob("*") if p.suffix in (".h", ".cpp"))


# ---------------------------------------------------------------- levels


def wrong_include(root: Path, part: str, public: bool, bracket: str, name: str) -> str | None:
    """What is wrong with one include of a file of a part, or None."""
    if bracket == "<":
        if name.startswith("fmd/"):
            return f'write "{name}" with quotes'
        return f"<{name}> in a public header" if public and name.startswith(HIDDEN) else None
    if name == "fmd/version.h":
        return None
    if public and not name.startswith("fmd/"):
        return f'a public header may include only public ones, not "{name}"'
    if not name.startswith("fmd/") and not (root / "src" / name).is_file():
        return f'"{name}" is not in src; public headers are "fmd/part/name.h"'
    other = name.removeprefix("fmd/").split("/")[0]
    if other not in LEVEL:
        return f'"{name}" belongs to no part'
    if other != part and LEVEL[other] >= LEVEL[part]:
        return f'{part} (level {LEVEL[part]}) may not see {other} (level {LEVEL[other]}): "{name}"'
    return None


def check_levels(root: Path) -> list[str]:
    found = []
    for top, public in ((root / "include/fmd", True), (root / "src", False)):
        for path in cpp_files(top):
            if path.parent == top:  # fmd.h and version.h stand above the parts
                continue
            where, part = path.relative_to(root), path.relative_to(top).parts[0]
            if part not in LEVEL:
                found.append(f"{where}: folder {part} has no level; add it to tools/check_layers.py")
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                match = INCLUDE.match(line)
                wrong = match and wrong_include(root, part, public, match[1], match[2])
                if wrong:
                    found.append(f"{where}:{number}: {wrong}")
    return found


# ---------------------------------------------------------------- pairs


def check_pairs(root: Path) -> list[str]:
    """src/part/sub/x.cpp has x.h beside it, or in include/fmd or its folders part and part/sub."""
    found = []
    for source in sorted((root / "src").rglob("*.cpp")):
        where, name = source.relative_to(root), source.with_suffix(".h").name
        folder = source.parent.relative_to(root / "src")
        places = [source.parent, *(root / "include/fmd" / part for part in (folder, *folder.parents))]
        if str(where) not in WITHOUT_HEADER and not any((place / name).is_file() for place in places):
            found.append(f"{where}: no {name} beside it or in include/fmd/{folder.as_posix()}; "
                         "a source has a header of its own name")
    return found


# ---------------------------------------------------------------- private, names


@dataclass(frozen=True)
class Declaration:
    """One declaration at namespace scope: a statement, or the head of a body in braces."""
    scope: str  # "fmd::internal"; "" outside; "(anonymous)" and "(C)" for namespace { and extern "C" {
    text: str   # up to its semicolon or its brace
    body: bool
    line: int


NOISE = re.compile(r"""//[^\n]*|/\*.*?\*/                                  # comments
                   |R"(?P<delimiter>[^()\\\s]*)\(.*?\)(?P=delimiter)"      # raw strings
                   |"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'  # strings, characters
                   |^[ \t]*\#(?:\\\n|[^\n])*                               # preprocessor
                   """, re.DOTALL | re.MULTILINE | re.VERBOSE)
ATTRIBUTE = re.compile(r"\[\[.*?\]\]|\balignas\s*\([^)]*\)|"
                       r"\b__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", re.DOTALL)
NAMESPACE = re.compile(r"^(?:inline\s+)?namespace\b\s*([\w:]*)$")
TYPE = re.compile(r"^(?:template\s*<.*>\s*)?(?:typedef\s+)?(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+"
                  r"(\w+(?:::\w+)*)\s*(?:final\s*)?(?::|$)", re.DOTALL)
FORWARD = re.compile(r"^(?:template\s*<.*>\s*)?(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+(\w+)"
                     r"(?:\s*:\s*[\w:]+)?$", re.DOTALL)


def without_noise(text: str) -> str:
    """The text without comments, literals and preprocessor lines; lines keep their numbers."""
    def blank(match: re.Match[str]) -> str:
        literal = '""' if match[0][0] in "\"'R" else " "
        return literal + "\n" * match[0].count("\n")
    return NOISE.sub(blank, text)


def declarations(text: str) -> Iterator[Declaration]:
    """All declarations at namespace scope, in the order of the text."""
    scopes: list[str | None] = []  # None: a body, in which nothing is looked at
    begin, line, clean = 0, 1, without_noise(text)
    for match in re.finditer(r"[{};]", clean):
        inside = None not in scopes
        piece = clean[begin:match.start()]
        head = " ".join(ATTRIBUTE.sub(" ", piece).split())
        at = line + piece[:len(piece) - len(piece.lstrip())].count("\n")
        line, begin = line + piece.count("\n"), match.end()
        if match[0] == "}":
            if scopes:
                scopes.pop()
            continue
        scope = "::".join(s for s in scopes if s)
        if match[0] == ";":
            if inside and head:
                yield Declaration(scope, head, False, at)
            continue
        namespace = NAMESPACE.match(head)
        if inside and namespace:
            scopes.append(namespace[1] or "(anonymous)")
        elif inside and head == 'extern ""':
            scopes.append("(C)")
        else:
            if inside and head:
                yield Declaration(scope, head, True, at)
            scopes.append(None)


def forward_declared(root: Path) -> set[str]:
    """Types that a public header names and leaves to a source to define."""
    return {match[1] for path in cpp_files(root / "include")
            for one in declarations(path.read_text(encoding="utf-8"))
            if not one.body and (match := FORWARD.match(one.text))}


def is_private(one: Declaration, public_names: set[str]) -> bool:
    """Whether a declaration of a private header is where private things are, or is allowed outside."""
    scope = one.scope.split("::")
    if scope[:2] in (["fmd", "internal"], ["fmd", "repro"]) or scope[0] not in ("", "fmd"):
        return True  # scopes that are not ours: extern "C", specialisations in fmt or std
    if one.text == "using namespace internal" or (FORWARD.match(one.text) and not one.body):
        return True
    match = TYPE.match(one.text)
    return match is not None and match[1].split("::")[0] in public_names


def check_private(root: Path) -> list[str]:
    found, public_names = [], forward_declared(root)
    for path in sorted((root / "src").rglob("*.h")):
        all_of_it = list(declarations(path.read_text(encoding="utf-8")))
        c_interface = any("(C)" in one.scope for one in all_of_it)
        for one in all_of_it:
            if not (is_private(one, public_names) or (c_interface and one.scope == "")):
                found.append(f"{path.relative_to(root)}:{one.line}: '{one.text[:60]}' is in namespace "
                             f"'{one.scope}'; a private header declares in fmd::internal")
                break  # one finding tells about the whole header
    return found


def check_names(root: Path) -> list[str]:
    places: dict[str, list[str]] = {}
    for path in cpp_files(root / "include") + cpp_files(root / "src"):
        for one in declarations(path.read_text(encoding="utf-8")):
            match = TYPE.match(one.text)
            if match and one.body and "(anonymous)" not in one.scope and "::" not in match[1]:
                places.setdefault(match[1], []).append(f"{path.relative_to(root)}:{one.line}")
    return [f"{where[-1]}: type {name} has the name of another one: {', '.join(where[:-1])}"
            for name, where in sorted(places.items()) if len(where) > 1]


# ---------------------------------------------------------------- disk, folders


def check_disk(root: Path) -> list[str]:
    found = []
    for path in (p for top in ("src", "cli", "include") for p in cpp_files(root / top)):
        where = path.relative_to(root)
        if str(where) == DISK_FILE:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = DISK.search(line.split("//")[0].replace("disk::", "disk."))
            if match:
                found.append(f"{where}:{number}: {match[0]} changes the disk outside {DISK_FILE}")
    return found


def check_folders(root: Path) -> list[str]:
    found = []
    for top in ("include", "src", "cli", "backends", "tests", "bench", "fuzz", "examples", "tools"):
        folders = sorted({p.parent for p in (root / top).rglob("*") if p.suffix in (".h", ".cpp", ".py")})
        for folder in folders:
            files = sum(1 for p in folder.iterdir() if p.suffix in (".h", ".cpp", ".py"))
            if files > MAX_FILES:
                found.append(f"{folder.relative_to(root)}: {files} files, better {MAX_FILES} at most; "
                             "sub-folders can name its parts")
    return found


def main() -> int:
    root = Path(__file__).resolve().parent.parent
    errors = (check_levels(root) + check_pairs(root) + check_private(root) + check_names(root)
              + check_disk(root))
    for text in check_folders(root):
        print(f"warning: {text}")
    for text in errors:
        print(f"error: {text}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
