#!/usr/bin/env python3
"""The official tests of ONNX operators through the plug-in's own table of functions.

Needs Debian's libonnx-testdata, or FMD_ONNX_NODES with the folder of its node tests. Tests fit when all
their inputs and their only output are float32 tensors.
"""

import ctypes
import glob
import os
import pathlib
import struct
import sys

from skip import skip

BUILD = pathlib.Path(sys.argv[sys.argv.index("--fmd") + 1]).resolve().parent
TREE = pathlib.Path(__file__).resolve().parent.parent.parent
NODES = pathlib.Path(os.environ.get("FMD_ONNX_NODES", "/usr/share/libonnx-testdata/data/node"))
# Random by nature, lists in place of tensors, or rules that later versions of the operator changed.
LEFT_OUT = ("bernoulli", "dft", "dropout", "optional", "random", "resize", "sequence", "training")
FLOAT = 1


class Tensor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("data", ctypes.c_void_p), ("size", ctypes.c_uint64)]


class Table(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint32),
        ("open", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_char_p,
                                  ctypes.c_char_p, ctypes.c_size_t)),
        ("close", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("library", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)),
        ("run", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(Tensor), ctypes.c_int32, ctypes.c_char_p,
                                 ctypes.POINTER(ctypes.c_float), ctypes.c_int64, ctypes.c_char_p, ctypes.c_size_t))]


def fields(data):
    """(number, value) of each field of a protobuf message."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        else:
            size = {1: 8, 5: 4}.get(tag & 7) or varint()
            yield tag >> 3, data[at:at + size]
            at += size


def read_tensor(path):
    """dims (each below 128), type and raw floats of a TensorProto."""
    dims, kind, raw = [], 0, b""
    for number, value in fields(path.read_bytes()):
        if number == 1:  # packed or not
            dims += list(value) if isinstance(value, bytes) else [value]
        elif number == 2:
            kind = value
        elif number in (4, 9):
            raw += value
    return dims, kind, raw


def names(model):
    """Names of the graph's inputs and outputs."""
    graph = dict(fields(model)).get(7, b"")
    found = {11: [], 12: []}
    for number, value in fields(graph):
        if number in found:
            found[number].append(dict(fields(value))[1])
    return found[11], found[12]


def check(table, libraries, folder):
    """None: it does not fit. Otherwise "", or what is wrong."""
    model = (folder / "model.onnx").read_bytes()
    inputs, outputs = names(model)
    data = folder / "test_data_set_0"
    given = [read_tensor(data / f"input_{k}.pb") for k in range(len(glob.glob(str(data / "input_*.pb"))))]
    if len(outputs) != 1 or len(given) != len(inputs) or not given:
        return None
    dims, kind, expected = read_tensor(data / "output_0.pb")
    if kind != FLOAT or any(k != FLOAT for _, k, _ in given):
        return None
    count = len(expected) // 4
    message = ctypes.create_string_buffer(2000)
    opened = table.open(libraries, model, len(model), None, message, len(message))
    if not opened:
        return message.value.decode(errors="replace")
    tensors = (Tensor * len(given))()
    alive = []
    for k, (shape, _, raw) in enumerate(given):
        sizes, numbers = (ctypes.c_int64 * max(1, len(shape)))(*shape), ctypes.create_string_buffer(raw, len(raw) or 1)
        alive += [sizes, numbers]
        tensors[k] = Tensor(inputs[k], FLOAT, len(shape), sizes, ctypes.addressof(numbers), len(raw))
    answer = (ctypes.c_float * max(1, count))()
    done = table.run(opened, tensors, len(given), outputs[0], answer, count, message, len(message))
    table.close(opened)
    if not done:
        return message.value.decode(errors="replace")
    for mine, known in zip(answer, struct.unpack(f"<{count}f", expected)):
        if mine != known and not (mine != mine and known != known) and abs(mine - known) > 1e-5 + 1e-3 * abs(known):
            return f"{mine}, expected {known}"
    return ""


def main():
    libraries = glob.glob(str(TREE / "build/venv-onnx/lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so*"))
    if not libraries:
        skip("no ONNX Runtime in build/venv-onnx", download_refused=True)
    if not NODES.is_dir():
        skip("no node tests: install libonnx-testdata", download_refused=True)
    plugin = ctypes.CDLL(str(BUILD / "fmd_onnx.so"))
    plugin.fmd_onnx.restype = ctypes.POINTER(Table)
    table = plugin.fmd_onnx().contents
    passed, failed, left_out = 0, {}, 0
    for folder in sorted(p for p in NODES.iterdir() if (p / "model.onnx").exists()):
        if any(word in folder.name for word in LEFT_OUT):
            left_out += 1
            continue
        wrong = check(table, "\n".join(libraries).encode(), folder)
        if wrong is None:
            left_out += 1
        elif wrong:
            failed[folder.name] = wrong
        else:
            passed += 1
    print(f"{passed} agree, {len(failed)} do not, {left_out} do not fit")
    for name, wrong in failed.items():
        print(f"  {name}: {wrong[:150]}")
    assert passed >= 300 and not failed


if __name__ == "__main__":
    main()
