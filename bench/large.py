"""Part "large" of compare.py: files larger than memory is meant to hold, and how time grows with their rows."""
import pathlib
import random
import tempfile

from measure import last_line, row, run_process, run_program, say, shortest

PART = 250_000  # rows that are made; a file repeats them


def large(build, out, quick):
    return mapped(build, out, quick) + heads(build, quick) + growth(build, quick)


def mapped(build, out, quick):
    rows = 1_000_000 if quick else 10_000_000
    say(f"explain of {rows:,} mapped rows")
    file = out / "large.features"
    turns = [run_program(build, "large_bench", "^explain", f"--file={file}", f"--rows={rows}")["explain/mapped"]
             for _ in range(1 if quick else 2)]
    file.unlink(missing_ok=True)
    best = shortest([(t["cpu_s"], t["wall_s"]) for t in turns])
    # The best time against the highest roof of all turns: no turn is chosen for its ratio.
    share = min(t["roof_s"] for t in turns) / best[0]
    memory = max(t["anonymous_MB"] for t in turns)
    read, gemm = (max(t[key] for t in turns) for key in ("read_GBs", "gemm_GFLOPs"))
    lower = "reading" if turns[0]["memory_bound"] else "GEMM"
    return [row(f"explain of {rows:,} x 100 from a mapped file", f"{100 * share:.1f} %", ">= 60 % of the lower roof",
                share >= 0.6, best, f"here {lower}: {read:.1f} GB/s, {gemm:.1f} GFLOP/s; by "
                + (f"cg, {turns[0]['passes']:.0f} passes at {max(t['own_GBs'] for t in turns):.1f} GB/s; each turn "
                   if turns[0]["cg"] else "cholesky; each turn ")
                + ", ".join(f"{100 * t['share']:.0f} %" for t in turns)),
            row("  most anonymous memory", f"{memory:.0f} MB", "< 1,000 MB", memory < 1000, None)]


def write_categories(file, rows, levels, classes, seed):
    """Rows of category columns and one number: each level has a weight for each class, labels follow them."""
    rng, weights = random.Random(seed), random.Random(7)
    pull = [[[weights.gauss(0, 0.6) for _ in range(classes - 1)] for _ in range(count)] for count in levels]
    with open(file, "w") as handle:
        handle.write(",".join(["sex", *(f"c{j}" for j in range(1, len(levels))), "x", "label"]) + "\n")
        for i in range(rows):
            # All levels and classes are there; later rows prefer low ones.
            cells = [i % count if i < count else int(count * rng.random() ** 2) for count in levels]
            scores = [0.0] + [sum(pull[j][cell][k] for j, cell in enumerate(cells)) + rng.gauss(0, 1)
                              for k in range(classes - 1)]
            label = i if i < classes else max(range(classes), key=scores.__getitem__)
            handle.write(",".join([*(f"v{cell}" for cell in cells), f"{rng.gauss(0, 1):.3f}", f"k{label}"]) + "\n")


def heads(build, quick):
    """Linear heads whose p x p matrix would not fit: trained, repaired and explained by products."""
    cases = {"20,000 features": ((2, 5, 5000, 5000, 5000, 4990), 2, 60_000, 15_000)}
    if not quick:
        cases["1,000 features x 50 classes"] = ((2, 5, *(99,) * 10), 50, 30_000, 10_000)
    lines = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        train, data, model, out = (folder / part for part in ("train.csv", "data.csv", "m.safetensors", "o.safetensors"))
        for what, (levels, classes, rows, others) in cases.items():
            write_categories(train, rows, levels, classes, 1)
            write_categories(data, others, levels, classes, 2)
            commands = {"train": ["train", train, "--label", "label", *(("--positive", "k1") if classes == 2 else
                                                                        ("--favorable", "k0")),
                                  "--attribute", "sex", "-o", model]}
            for method in ("step", "path", "solve"):
                commands[f"debias --method {method}"] = ["debias", model, data, "--method", method, "-o", out]
            commands["explain"] = ["explain", model, data, "--train", train, "-o", folder / "influence.csv"]
            for command, words in commands.items():
                say(f"{command}, {what}")
                done = run_process([build / "fmd", *words, "--force"], one_thread=False)
                if done.code not in (0, 1, 3):
                    lines.append(row(f"{command}, {what}", "failed", "", None, None, last_line(done.errors)))
                    continue
                lines.append(row(f"{command}, {what}", f"{done.memory_MB:.0f} MB", "< 1,000 MB", done.memory_MB < 1000,
                                 (done.cpu_s, done.wall_s)))
    return lines


def write_table(file, rows):
    """Rows of four columns, drawn once and repeated."""
    rng = random.Random(1)
    lines = []
    for _ in range(PART):
        sex, race, hours = rng.random() < 0.48, int(9 * rng.random() ** 2), rng.randint(1, 80)
        label = rng.random() < 0.2 + 0.005 * hours - 0.1 * sex
        lines.append(f"{'yes' if label else 'no'},{hours},{'f' if sex else 'm'},r{race}\n")
    text = "".join(lines).encode()
    with open(file, "wb") as handle:
        handle.write(b"label,hours,sex,race\n")
        for _ in range(rows // PART):
            handle.write(text)


def growth(build, quick):
    sizes = (250_000, 1_000_000) if quick else (1_000_000, 10_000_000, 100_000_000)
    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        table, features, model = (folder / part for part in ("rows.csv", "rows.features", "m.safetensors"))
        commands = {
            "audit of a CSV": [build / "fmd", "audit", model, table, "--json"],
            "features of a CSV": [build / "fmd", "features", model, table, "-o", features, "--force"],
            "audit of mapped features": [build / "fmd", "audit", model, features, "--json"],
            "explain of mapped features": [build / "fmd", "explain", model, features, "--train", features,
                                           "--attribute", "sex", "-o", folder / "influence.csv", "--force"],
        }
        for rows in sizes:
            say(f"files of {rows:,} rows")
            write_table(table, rows)
            if rows == sizes[0]:
                done = run_process([build / "fmd", "train", table, "--label", "label", "--positive", "yes",
                                    "--attribute", "sex", "--attribute", "race", "-o", model])
                if done.code != 0:
                    return [row("growth with rows", "failed", "", None, None, last_line(done.errors))]
            for what, command in commands.items():
                runs = [run_process(command, one_thread=False) for _ in range(1 if rows > 10_000_000 else 2)]
                if any(done.code != 0 for done in runs):
                    return [row(what, "failed", "", None, None, last_line(runs[0].errors + runs[-1].errors))]
                found[what, rows] = (shortest([(done.cpu_s, done.wall_s) for done in runs]),
                                     max(done.anonymous_MB for done in runs))
    lines = []
    for what in commands:
        for rows in sizes:
            times, memory = found[what, rows]
            factor = times[0] / rows / (found[what, sizes[0]][0][0] / sizes[0])
            last = rows == sizes[-1]
            lines.append(row(f"{'' if last else '  '}{what}, {rows:,} rows", f"{factor:.2f} x a row",
                             f"<= 1.2 x those of {sizes[0]:,}" if last else "", factor <= 1.2, times,
                             f"{1e-6 * rows / times[1]:.1f} M rows/s, at most {memory:.0f} MB anonymous"))
    return lines
