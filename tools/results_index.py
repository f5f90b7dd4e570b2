#!/usr/bin/env python3
"""Writes docs/results/README.md: every figure that the paper prints, beside ours, the missing and lost ones first.

results_index.py [--check]

The printed figures come from repro/*.toml, ours from docs/results/*.json.
  --check   write nothing; exit status 1 if the page is not what would be written
"""

import argparse
import json
import math
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs/results"
PAGE = RESULTS / "README.md"
# How a column of the paper is compared. Seconds are those of another machine.
HIGHER = ("accuracy", "unb", "wor", "avg", "lms", "icat")
LOWER = ("bias", "co", "parity", "opportunity")
NEAR_50 = ("ss",)
SHORT = {"accuracy": "acc.", "parity": "De.", "opportunity": "Eo."}


@dataclass
class Row:
    table: str
    source: str
    case: str
    title: str
    printed: dict[str, float]
    ours: dict[str, float] | None
    is_start: bool  # the trained model, before any method

    def lost(self) -> list[str]:
        """The columns in which ours is not as good as the print."""
        assert self.ours is not None
        found = []
        for column, printed in self.printed.items():
            ours = self.ours.get(column, math.nan)
            worse = {
                column in HIGHER: ours < printed,
                column in LOWER: ours > printed,
                column in NEAR_50: abs(ours - 50) > abs(printed - 50),
            }.get(True, False)
            if worse or math.isnan(ours):
                found.append(SHORT.get(column, column))
        return found


def compared(column: str) -> bool:
    return column in HIGHER + LOWER + NEAR_50


def figures(values: dict[str, float]) -> str:
    return ", ".join(f"{SHORT.get(column, column)} {value:.4g}" for column, value in values.items())


def rows_of(spec: dict) -> list[Row]:
    path = RESULTS / f"{spec['name']}.json"
    table = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"cases": []}
    measured = {(case["name"], row["id"]): row["ours"] for case in table["cases"] for row in case["rows"]}
    titles = {row["id"]: row["title"] for row in spec.get("rows", [])}
    rows = []
    for case in spec.get("cases", []):
        for name, printed in case.get("paper", {}).items():
            values = {column: value for column, value in zip(spec["columns"], printed)
                      if compared(column) and not math.isnan(value)}
            ours = measured.get((case["name"], name))
            means = {column: ours[column]["mean"] for column in values if column in ours} if ours else None
            rows.append(Row(spec["name"], spec["source"], case["title"], titles.get(name, name), values,
                            means or None, name == "vanilla"))
    return rows


def page() -> str:
    rows: list[Row] = []
    for path in sorted((ROOT / "repro").glob("*.toml")):
        rows += rows_of(tomllib.loads(path.read_text(encoding="utf-8")))
    start = [row for row in rows if row.is_start and row.ours]
    others = [row for row in rows if not (row.is_start and row.ours)]
    missing = [row for row in others if not row.ours]
    lost = [row for row in others if row.ours and row.lost()]
    reached = [row for row in others if row.ours and not row.lost()]

    def link(row: Row) -> str:
        return f"[{row.source}]({row.table}.md)" if (RESULTS / f"{row.table}.md").is_file() else row.source

    def section(title: str, words: str, some: list[Row], last: str) -> list[str]:
        lines = [f"## {title}: {len(some)}", "", words, ""]
        if not some:
            return lines
        lines += [f"| table | case | row | printed | {last} |", "|---|---|---|---|---|"]
        for row in some:
            ours = figures(row.ours) if row.ours else "not measured"
            worse = f"{ours}; behind in {', '.join(row.lost())}" if row in lost else ours
            lines.append(f"| {link(row)} | {row.case} | {row.title} | {figures(row.printed)} | {worse} |")
        return lines + [""]

    others_measured = sorted(p.stem for p in RESULTS.glob("*.md")
                             if p.name != PAGE.name and not any(row.table == p.stem for row in rows))
    text = ["# Results: what the paper prints, and what was measured here", "",
            "Written by `tools/results_index.py` from the tables beside this page. \"Ours\" is the mean over seeds; the tables have intervals,",
            "controls, seconds, and the notes that say how each row was made. Seconds are not compared: the paper's are of an RTX 3090.",
            "A row is lost when our figure is behind the print in one column, by however little. Rows of the paper's own method",
            "are repeated as printed; the rows of `solve` beside them in the tables are what `fmd debias` does.", ""]
    text += section("Missing", "Printed by the paper, and without a figure of ours.", missing, "ours")
    text += section("Lost", "Ours does not reach the print.", lost, "ours")
    text += section("Reached", "Ours is as good as the print or better, in every column that is compared.", reached, "ours")
    text += section("Where they start", "The trained models. They are not the paper's, so nothing is won or lost here.", start,
                    "ours")
    text += ["## Not in the paper", "", ", ".join(f"[{name}]({name}.md)" for name in others_measured), ""]
    return "\n".join(text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    text = page()
    if args.check:
        if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text:
            return 0
        print(f"{PAGE.relative_to(ROOT)} is not up to date: tools/results_index.py writes it", file=sys.stderr)
        return 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
