"""What the scripts beside this one share: safetensors files, the clock, and the end of a rival."""
import argparse
import json
import time

import numpy as np

KINDS = {"F32": "<f4", "F64": "<f8", "I32": "<i4", "I64": "<i8"}


def read(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    arrays = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        first, last = entry["data_offsets"]
        arrays[name] = np.frombuffer(data[first:last], KINDS[entry["dtype"]]).reshape(entry["shape"])
    return arrays


def write(path, arrays):
    names = {np.dtype(kind): name for name, kind in KINDS.items()}
    header, chunks, at = {}, [], 0
    for name, array in arrays.items():
        chunks.append(np.ascontiguousarray(array).tobytes())
        header[name] = {"dtype": names[array.dtype], "shape": list(array.shape),
                        "data_offsets": [at, at + len(chunks[-1])]}
        at += len(chunks[-1])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + b"".join(chunks))


def best_of(repeats, function):
    """What the function returned last, and its least CPU and wall seconds."""
    times = []
    for _ in range(repeats):
        cpu, wall = time.process_time(), time.perf_counter()
        result = function()
        times.append((time.process_time() - cpu, time.perf_counter() - wall))
    return result, min(t[0] for t in times), min(t[1] for t in times)


def run_rival(version, methods):
    """SCRIPT METHOD JOB OUT REPEATS: the influence of every training row, by methods[METHOD].

    methods[METHOD](job) prepares, outside the clock, and returns the function to be timed.
    That one gives the change of B for each row. Writes it to OUT as `change` and prints JSON.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("method", choices=methods)
    parser.add_argument("job")
    parser.add_argument("out")
    parser.add_argument("repeats", type=int)
    options = parser.parse_args()
    change, cpu, wall = best_of(options.repeats, methods[options.method](read(options.job)))
    write(options.out, {"change": np.asarray(change, dtype=np.float64)})
    print(json.dumps({"version": version, "cpu_s": cpu, "wall_s": wall}))
