"""Part "reading" of compare.py: tables from files, against polars and pyarrow."""
import json
import os
import pathlib

from measure import last_line, row, run_process, say, shortest

RIVALS = pathlib.Path(__file__).parent / "rivals"


def make_files(out, python, rows):
    """The two files, made once; a text that says what is missing when they cannot be."""
    files = {kind: out / f"acs_{rows}.{kind}" for kind in ("csv", "parquet")}
    if all(file.exists() for file in files.values()):
        return files, ""
    source = pathlib.Path(os.environ.get("FMD_DATA", "data")) / "acs_income/ACSIncome.test.parquet"
    if not source.exists():
        return None, "FMD_DATA has no acs_income"
    if python is None:
        return None, "no Python with pyarrow"
    done = run_process([python, RIVALS / "tile_acs.py", source, out, str(rows)])
    return (files, "") if done.code == 0 else (None, last_line(done.errors))


def measure(command):
    done = run_process(command, one_thread=False)
    return (json.loads(done.output), "") if done.code == 0 else (None, last_line(done.errors))


def compare(what, rival, bar, reads):
    """Lines of the table for one file and one number of threads; reads are turns of both, taken in turns."""
    mine, other = [r[0][0] for r in reads], [r[1][0] for r in reads]
    if any(r is None for r in mine):
        return [row(what, "failed", bar, None, None, next(r[0][1] for r in reads if r[0][0] is None))]
    best = shortest([(r["cpu_s"], r["wall_s"]) for r in mine])
    memory = min(r["held_MB"] for r in mine) / max(mine[0]["columns_MB"], 1e-9)
    note = f"{mine[0]['rows']:,} rows; {memory:.2f} x the columns in memory"
    if any(r is None for r in other):
        return [row(what, "rival missing", bar, None, best,
                    f"{note}; {rival}: {next(r[1][1] for r in reads if r[1][0] is None)}")]
    least = shortest([(r["cpu_s"], r["wall_s"]) for r in other])
    ratio = best[0] / least[0], best[1] / least[1]
    return [row(f"{what}; against {rival}", f"{ratio[0]:.2f} x CPU, {ratio[1]:.2f} x wall", bar,
                max(ratio) <= 1.2, best, note),
            row(f"  {rival} {other[0]['version']}", "", "", None, least, f"{other[0]['held_MB']:.0f} MB")]


def reading(build, out, pythons, quick):
    rows = 1_000_000 if quick else 10_000_000
    python = pythons.get("bench")
    say(f"reading {rows:,} rows")
    files, problem = make_files(out, python, rows)
    if files is None:
        return [row("reading tables", "not measured", "<= 1.2 x", None, None, problem)]
    turns, lines = (2 if quick else 5), []
    for kind, rival in (("csv", "polars"), ("parquet", "pyarrow")):
        for threads in (1, 2):
            ours = [build / "bench/reading_bench", files[kind], str(threads), "3"]
            theirs = [python or "python3", RIVALS / "read_tables.py", rival, files[kind], str(threads), "3"]
            reads = [(measure(ours), measure(theirs)) for _ in range(turns)]
            lines += compare(f"read {kind}, {rows:,} x 12, {threads} thread{'s' if threads > 1 else ''}", rival,
                             "<= 1.2 x", reads)
        stream, problem = measure([build / "bench/reading_bench", files[kind], "2", "2", "stream"])
        if stream:
            lines.append(row(f"  the same as a stream of blocks, {kind}, 2 threads", f"{stream['held_MB']:.0f} MB", "",
                             None, (stream["cpu_s"], stream["wall_s"]), "most memory held beyond the start"))
    return lines
