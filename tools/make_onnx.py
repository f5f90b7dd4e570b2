#!/usr/bin/env python3
"""Makes the small ONNX models of tests/files/onnx, with what ONNX Runtime answers on a few rows.

make_onnx.py [FOLDER]

Needs torch 2.13, onnx, onnxscript, skl2onnx and onnxruntime. Run it again only to add a model: the
files are committed, so that no test needs these packages.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper

ROWS = 8


def rows(columns: int, seed: int = 7) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(ROWS, columns)).astype(np.float32)


def save(folder: Path, name: str, model: onnx.ModelProto) -> Path:
    onnx.checker.check_model(model)
    path = folder / f"{name}.onnx"
    path.write_bytes(model.SerializeToString(deterministic=True))
    return path


def graph_model(nodes: list, inputs: list, outputs: list, tensors: dict, opset: int = 17) -> onnx.ModelProto:
    initialisers = [numpy_helper.from_array(value, name) for name, value in tensors.items()]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, initialisers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8,
                             producer_name="hand")


def value(name: str, *dims: object, kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, list(dims))


def numbers(*shape: int, seed: int = 1, kind: type = np.float32) -> np.ndarray:
    return (0.5 * np.random.default_rng(seed).normal(size=shape)).astype(kind)


class Net(torch.nn.Module):
    """A table's columns -> two hidden layers -> two classes."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.BatchNorm1d(6)
        self.first = torch.nn.Linear(6, 8)
        self.second = torch.nn.Linear(8, 5)
        self.last = torch.nn.Linear(5, 2)
        self.drop = torch.nn.Dropout(0.2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.relu(self.first(torch.sigmoid(self.scale(x))))
        return self.last(self.drop(torch.relu(self.second(h))))


class Pictures(torch.nn.Module):
    """Small pictures -> convolution -> mean -> one logit."""

    def __init__(self) -> None:
        super().__init__()
        self.below = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.ReLU(),
                                         torch.nn.AdaptiveAvgPool2d(2), torch.nn.Flatten())
        self.last = torch.nn.Linear(16, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.below(x))


class Text(torch.nn.Module):
    """Six word numbers -> one layer of a transformer -> mean -> three classes."""

    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(11, 8)
        self.layer = torch.nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0, batch_first=True)
        self.last = torch.nn.Linear(8, 3)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.last(self.layer(self.words(ids)).mean(1)), -1)


class Two(torch.nn.Module):
    """Two inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.left = torch.nn.Linear(3, 4)
        self.right = torch.nn.Linear(2, 4)
        self.last = torch.nn.Linear(8, 1)

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        h = torch.cat([torch.tanh(self.left(a)), torch.tanh(self.right(b))], 1)
        return torch.sigmoid(self.last(h))


def export(folder: Path, name: str, net: torch.nn.Module, example: tuple, inputs: list[str],
           dynamo: bool = False) -> Path:
    path = folder / f"{name}.onnx"
    batch = {k: {0: "n"} for k in [*inputs, "y"]}
    if dynamo:
        shapes = tuple({0: torch.export.Dim("n")} for _ in inputs)
        torch.onnx.export(net.eval(), example, path, dynamo=True, input_names=inputs, output_names=["y"],
                          dynamic_shapes=shapes, external_data=False, verbose=False)
    else:
        torch.onnx.export(net.eval(), example, path, dynamo=False, input_names=inputs, output_names=["y"],
                          dynamic_axes=batch, opset_version=17)
    model = onnx.load(path, load_external_data=False)
    for node in model.graph.node:  # notes on where each node came from: half of the file
        node.ClearField("metadata_props")
        node.ClearField("doc_string")
    for info in model.graph.value_info:
        info.ClearField("metadata_props")
    for part in [*model.graph.input, *model.graph.output, *model.graph.initializer]:
        part.ClearField("metadata_props")
    path.write_bytes(model.SerializeToString(deterministic=True))
    return path


def hand_made(folder: Path) -> list[tuple[Path, dict]]:
    x = rows(6)
    made = []

    def add(name: str, model: onnx.ModelProto, given: dict | None = None) -> None:
        made.append((save(folder, name, model), given or {"x": x}))

    xin, y1, y2 = value("x", "n", 6), value("y", "n", 1), value("y", "n", 2)
    node = helper.make_node
    add("matmul", graph_model(  # as tf2onnx writes Dense layers
        [node("MatMul", ["x", "w0"], ["a"]), node("Add", ["a", "b0"], ["b"]), node("Relu", ["b"], ["c"]),
         node("MatMul", ["c", "w1"], ["d"]), node("Add", ["d", "b1"], ["e"]), node("Softmax", ["e"], ["y"], axis=1)],
        [xin], [y2], {"w0": numbers(6, 4, seed=2), "b0": numbers(4, seed=3), "w1": numbers(4, 2, seed=4),
                      "b1": numbers(2, seed=5)}))
    add("gemm", graph_model(  # alpha, beta, weights [inputs, outputs], float64
        [node("Cast", ["x"], ["xd"], to=TensorProto.DOUBLE), node("Tanh", ["xd"], ["h"]),
         node("Gemm", ["h", "w", "c"], ["z"], alpha=0.5, beta=2.0), node("Sigmoid", ["z"], ["y"])],
        [xin], [value("y", "n", 1, kind=TensorProto.DOUBLE)],
        {"w": numbers(6, 1, kind=np.float64), "c": numbers(1, seed=9, kind=np.float64)}))
    listed = graph_model(  # float_data instead of raw_data, and no intercepts
        [node("Gelu", ["x"], ["h"]), node("MatMul", ["h", "w"], ["y"])], [xin], [y2], {}, opset=20)
    listed.graph.initializer.append(helper.make_tensor("w", TensorProto.FLOAT, [6, 2], numbers(6, 2).flatten()))
    add("listed", listed)
    add("constant", graph_model(  # weights in Constant nodes, through Identity and Transpose
        [node("Constant", [], ["w0"], value=numpy_helper.from_array(numbers(1, 6))),
         node("Identity", ["w0"], ["w1"]), node("Transpose", ["w1"], ["w"], perm=[1, 0]),
         node("Sigmoid", ["x"], ["h"]), node("MatMul", ["h", "w"], ["m"]), node("Add", ["b", "m"], ["y"])],
        [xin], [y1], {"b": numbers(1, seed=3)}))
    ids = np.random.default_rng(3).integers(0, 11, size=(ROWS, 6))
    add("words", graph_model(  # several inputs of one number or text each, as skl2onnx writes tables
        [node("Cast", ["age"], ["age_f"], to=TensorProto.FLOAT), node("Concat", ["age_f", "income"], ["h"], axis=1),
         node("Gemm", ["h", "w", "b"], ["y"], transB=1)],
        [value("age", "n", 1, kind=TensorProto.INT64), value("income", "n", 1)], [y2],
        {"w": numbers(2, 2), "b": numbers(2, seed=8)}), {"age": ids[:, :1], "income": x[:, :1]})
    return made


def exported(folder: Path) -> list[tuple[Path, dict]]:
    torch.manual_seed(5)
    x, net = rows(6), Net()
    with torch.no_grad():
        net.scale.running_mean.copy_(torch.linspace(-0.5, 0.5, 6))
    pictures = np.random.default_rng(4).uniform(size=(ROWS, 3, 8, 8)).astype(np.float32)
    ids = np.random.default_rng(3).integers(0, 11, size=(ROWS, 6))
    table = (torch.from_numpy(x),)
    made = [(export(folder, "torch", net, table, ["x"]), {"x": x}),
            (export(folder, "dynamo", net, table, ["x"], dynamo=True), {"x": x}),
            (export(folder, "pictures", Pictures(), (torch.from_numpy(pictures),), ["image"]), {"image": pictures}),
            (export(folder, "text", Text(), (torch.from_numpy(ids),), ["ids"]), {"ids": ids})]
    outside = folder / "outside.onnx"  # every number in a second file
    onnx.save_model(onnx.load(made[0][0]), outside, save_as_external_data=True, location="outside.onnx.data",
                    size_threshold=0)
    made.append((outside, {"x": x}))
    a, b = rows(3, 11), rows(2, 12)
    made.append((export(folder, "two", Two(), (torch.from_numpy(a), torch.from_numpy(b)), ["a", "b"]),
                 {"a": a, "b": b}))
    return made


def from_sklearn(folder: Path) -> list[tuple[Path, dict]]:
    import skl2onnx
    from skl2onnx.common.data_types import FloatTensorType
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    x = np.random.default_rng(2).normal(size=(400, 6)).astype(np.float32)
    noise = np.random.default_rng(8).logistic(size=400)
    made = []
    for name, y in (("skl", np.where(x[:, 0] + noise > 0, "yes", "no")),
                    ("skl_three", np.digitize(x[:, 1] + noise, [-1, 1]))):
        model = make_pipeline(StandardScaler(), LogisticRegression()).fit(x, y)
        proto = skl2onnx.to_onnx(model, initial_types=[("X", FloatTensorType([None, 6]))], options={"zipmap": False},
                                 target_opset={"": 17, "ai.onnx.ml": 3})
        made.append((save(folder, name, proto), {"X": rows(6)}))
    return made


def main() -> int:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent / "tests/files/onnx")
    folder.mkdir(parents=True, exist_ok=True)
    answers = {}
    for path, given in hand_made(folder) + exported(folder) + from_sklearn(folder):
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        output = session.get_outputs()[-1].name
        y = session.run([output], given)[0]
        answers[path.stem] = {"inputs": {k: v.tolist() for k, v in given.items()},
                              "output": np.asarray(y, dtype=np.float64).reshape(ROWS, -1).tolist()}
    rounded = json.dumps(answers, separators=(",", ":"))
    (folder / "answers.json").write_text(rounded + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
