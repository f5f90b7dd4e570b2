#!/usr/bin/env python3
"""Damaged and hostile ONNX models: each gets its own words, and nothing is written."""

import os
import pathlib
import struct
import subprocess
import sys
import tempfile

import onnx_writer as onnx
from onnx_writer import data, node, number, outside, tensor, value

FMD = sys.argv[sys.argv.index("--fmd") + 1]
TREE = pathlib.Path(__file__).resolve().parent.parent.parent
HAS_RUNTIME = (TREE / "build/venv-onnx/bin/python").exists()

X, Y = [value("x", ["n", 2])], [value("y", ["n", 1])]
W, B = tensor("w", [2, 1], [1, 2]), tensor("b", [1], [.5])
DENSE = [node("Tanh", ["x"], ["h"]), node("Gemm", ["h", "w", "b"], ["y"])]


def made(nodes=DENSE, tensors=(W, B), inputs=X, outputs=Y, **more):
    return onnx.model(onnx.graph(list(nodes), list(tensors), list(inputs), list(outputs)), **more)


def external(**entries):
    return made(tensors=[outside("w", [2, 1], **entries), B])


GOOD = made()
NESTED = node("Relu", ["x"], ["q"])
for _ in range(40):
    NESTED = node("If", ["x"], ["q"]) + data(5, data(1, "then_branch") + data(6, data(1, NESTED)))

# name: (bytes, exit status, words). 20 = bad-model, 26 = unsupported, 19 = bad-task.
CASES = {
    "empty": (b"", 20, "the file is empty"),
    "cut in the graph": (GOOD[:60], 20, "goes past the end"),
    "cut in a number": (GOOD[:2] + b"\x3a\xff\xff" + b"\xff" * 20, 20, "more than ten bytes"),
    "length of 1 GB": (number(1, 8) + data(2, "a") + b"\x3a" + onnx.varint(1 << 30) + GOOD, 20,
                       "a length of 1073741824 goes past the end"),
    "length of 2^63": (number(1, 8) + data(2, "a") + b"\x3a" + b"\xff" * 9 + b"\x01" + GOOD, 20, "past the end"),
    "unknown kind": (number(1, 8) + data(2, "a") + b"\x3b" + GOOD, 20, "unknown kind 3"),
    "field 0": (number(1, 8) + data(2, "a") + b"\x02" + GOOD, 20, "no valid number"),
    "no graph": (number(1, 8) + data(2, "a program that wrote no graph"), 20, "there is no graph"),
    "two graphs": (GOOD + GOOD, 20, "there are two graphs"),
    "training": (GOOD + data(20, b""), 26, "training information"),
    "graph is a number": (number(1, 8) + data(2, "a") + number(7, 5) + bytes(16), 20, "must have 2"),
    "long name": (made([node("Tanh", ["x"], ["h" * 5000]), DENSE[1]]), 20, "a name of 5000 bytes"),
    "circle": (made([node("Add", ["x", "h"], ["g"]), node("Relu", ["g"], ["h"]), DENSE[1]]), 20, "a circle"),
    "name from nowhere": (made([node("Relu", ["nothing"], ["h"]), DENSE[1]]), 20, "\"nothing\", which nothing gives"),
    "output from nowhere": (made(outputs=[value("z", ["n", 1])]), 20, "nothing gives its output \"z\""),
    "name given twice": (made([DENSE[0], DENSE[0], DENSE[1]]), 20, "two operations give \"h\""),
    "tensor twice": (made(tensors=[W, W, B]), 20, "two tensors have the name \"w\""),
    "too few numbers": (made(tensors=[tensor("w", [2, 1], [1]), B]), 20, "2 numbers by its shape, but 4 bytes"),
    "huge shape": (made(tensors=[tensor("w", [1 << 40, 1 << 40], [1]), B]), 20, "its shape cannot be"),
    "negative shape": (made(tensors=[tensor("w", [-2, 1], [1, 2]), B]), 20, "its shape cannot be"),
    "many dimensions": (made(tensors=[tensor("w", [1] * 17, [1]), B]), 20, "more than 16 numbers"),
    "not finite": (made(tensors=[tensor("w", [2, 1], [float("nan"), 1]), B]), 20, "not finite"),
    "nested deep": (made([NESTED, *DENSE]), 20, "nested too deep"),
    "no dense end": (made([node("Relu", ["x"], ["y"])]), 26, "does not end in a dense layer"),
    "no output": (made(outputs=[]), 26, "the model has no output"),
    "computed weights": (made([node("Tanh", ["x"], ["h"]), node("Gemm", ["h", "x", "b"], ["y"])]), 26, "computed"),
    "quantised": (made([node("Tanh", ["x"], ["h"]), node("DequantizeLinear", ["q", "s"], ["w"]),
                        node("Gemm", ["h", "w", "b"], ["y"])],
                       [tensor("q", [2, 1], [], kind=3, more=data(9, b"\1\2")), tensor("s", [], [1]), B]), 26,
                  "quantised"),
    "float16 as a list": (made(tensors=[tensor("w", [2, 1], [], kind=10, more=data(5, bytes(2))), B]), 26, "a list"),
    "float16 too few": (made(tensors=[tensor("w", [2, 1], [], kind=10, more=data(9, bytes(6))), B]), 20, "6 bytes"),
    "bfloat16": (made(tensors=[tensor("w", [2, 1], [], kind=16, more=data(9, bytes(4))), B]), 26, "bfloat16"),
    "quantised below a sum": (made([node("MatMulInteger", ["x", "q"], ["h"]), node("Cast", ["h"], ["f"], to=1),
                                    node("Mul", ["f", "s"], ["g"]), node("Add", ["g", "b"], ["y"])],
                                   [tensor("q", [2, 1], [], kind=3, more=data(9, b"\1\2")), tensor("s", [], [1]), B]),
                              26, "quantised"),
    "not both classes": (made([node("Gemm", ["x", "w", "b"], ["z"]), node("Sigmoid", ["z"], ["p"]),
                               node("Sub", ["two", "p"], ["q"]), node("Concat", ["q", "p"], ["y"], axis=1)],
                              [W, B, tensor("two", [1], [2])]), 26, "do not add up to 1"),
    "reshaped classes": (made([node("Gemm", ["x", "w", "b"], ["z"]), node("Reshape", ["z", "all"], ["y"])],
                              [tensor("w", [2, 3], [1] * 6), tensor("b", [3], [0] * 3),
                               tensor("all", [1], [], kind=7, more=data(9, b"\xff" * 8))]), 26, "are reshaped"),
    "shared weights": (made([node("MatMul", ["x", "w"], ["g"]), node("Concat", ["g", "g"], ["h"], axis=1), DENSE[1]]),
                       26, "used at another place"),
    "several answers": (made([node("Gemm", ["x", "w", "b"], ["z"]), node("Sigmoid", ["z"], ["y"])],
                             [tensor("w", [2, 3], [1] * 6), tensor("b", [3], [0] * 3)]), 26, "several answers"),
    "axis": (made([node("Gemm", ["x", "w", "b"], ["z"]), node("Softmax", ["z"], ["y"], axis=0)],
                  [tensor("w", [2, 3], [1] * 6), tensor("b", [3], [0] * 3)]), 26, "over axis 0"),
    "external above": (external(location="../w.bin"), 20, "not a plain name"),
    "external absolute": (external(location="/etc/passwd"), 20, "not a plain name"),
    "external without a name": (external(offset=0), 20, "not a plain name"),
    "external link": (external(location="link.bin"), 20, "a link"),
    "external folder": (external(location="folder"), 20, "not a regular file"),
    "external absent": (external(location="absent.bin"), 20, "cannot be read"),
    "external too short": (external(location="short.bin", offset=0, length=8), 20, "bytes 0 to 8 of short.bin"),
    "external offset": (external(location="short.bin", offset="x"), 20, "not a number of bytes"),
    "external offset far": (external(location="short.bin", offset=1 << 62, length=8), 20, "of short.bin, which has 4"),
}
# These are seen by ONNX Runtime, or when the rows come.
RUN_CASES = {
    "unknown operator": (made([node("Nonsense", ["x"], ["h"]), DENSE[1]]), 20, "ONNX Runtime refuses it"),
    "operator of others": (made([node("Custom", ["x"], ["h"], domain="my.own"), DENSE[1]]), 20,
                           "ONNX Runtime refuses it"),
    "wrong width": (made(inputs=[value("x", ["n", 3])]), 19, "takes 3 numbers for each row, 2 columns"),
    "head of another width": (made(tensors=[tensor("w", [5, 1], [1] * 5), B]), 20, "numbers are needed"),
    "unknown input": (made(inputs=[value("x", ["n", 2]), value("u", ["n", 4])],
                           nodes=[node("Concat", ["x", "u"], ["h"], axis=1), DENSE[1]],
                           tensors=[tensor("w", [6, 1], [1] * 6), B]), 19, "needs a name"),
    "input of truth values": (made([node("Cast", ["x"], ["h"], to=1), DENSE[1]], inputs=[value("x", ["n", 2], 9)]), 19,
                              "cannot be given"),
}


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "rows.csv").write_text("a,b,label\n1,2,0\n3,4,1\n", encoding="utf-8")
        (folder / "task.toml").write_text('label = "label"\n[[inputs]]\ncolumns = ["a", "b"]\n', encoding="utf-8")
        (folder / "short.bin").write_bytes(struct.pack("<f", 1))
        (folder / "link.bin").symlink_to("short.bin")
        (folder / "folder").mkdir()
        for case, (contents, status, words) in {**CASES, **(RUN_CASES if HAS_RUNTIME else {})}.items():
            (folder / "m.onnx").write_bytes(contents)
            before = set(os.listdir(folder))
            done = subprocess.run([FMD, "predict", "m.onnx", "rows.csv", "--task", "task.toml", "-o", "out.csv"],
                                  cwd=folder, capture_output=True, text=True, timeout=20)
            assert done.returncode == status and words in done.stderr, (case, done.returncode, done.stderr)
            assert "hint:" in done.stderr, (case, done.stderr)
            assert set(os.listdir(folder)) == before, (case, os.listdir(folder))
        if HAS_RUNTIME:
            (folder / "m.onnx").write_bytes(GOOD)
            subprocess.run([FMD, "predict", "m.onnx", "rows.csv", "--task", "task.toml"], cwd=folder, check=True,
                           capture_output=True)


if __name__ == "__main__":
    main()
