"""Reads one table several times with another library: read_tables.py LIBRARY FILE THREADS TURNS

LIBRARY is polars (CSV, Parquet) or pyarrow (Parquet, CSV). Prints the shortest times as JSON.
"""
import json
import os
import resource
import sys
import time

library, file, threads, turns = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
if library == "polars":
    os.environ["POLARS_MAX_THREADS"] = str(threads)
    import polars

    def read():
        return polars.read_csv(file) if file.endswith(".csv") else polars.read_parquet(file)
    version = polars.__version__
else:
    import pyarrow
    import pyarrow.csv
    import pyarrow.parquet

    pyarrow.set_cpu_count(threads)
    several = threads > 1

    def read():
        if file.endswith(".csv"):
            return pyarrow.csv.read_csv(file, pyarrow.csv.ReadOptions(use_threads=several))
        return pyarrow.parquet.read_table(file, use_threads=several)
    version = pyarrow.__version__

cpu, wall = [], []
for _ in range(turns):
    c, w = time.process_time(), time.perf_counter()
    table = read()
    cpu.append(time.process_time() - c)
    wall.append(time.perf_counter() - w)
    rows, columns = table.shape
    del table
print(json.dumps({"cpu_s": min(cpu), "wall_s": min(wall), "rows": rows, "columns": columns, "version": version,
                  "held_MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
