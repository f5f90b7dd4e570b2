"""Writes small ONNX models by hand, right ones and wrong ones, without any package."""

import struct


def varint(value: int) -> bytes:
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value & (1 << 64) - 1)


def data(field: int, value: bytes | str) -> bytes:
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def tensor(name: str, dims: list[int], values: list[float], *, kind: int = 1, more: bytes = b"") -> bytes:
    raw = struct.pack(f"<{len(values)}f", *values)
    return b"".join(number(1, d) for d in dims) + number(2, kind) + data(8, name) + (more or data(9, raw))


def outside(name: str, dims: list[int], **entries: object) -> bytes:
    """A tensor whose numbers are in another file."""
    more = b"".join(data(13, data(1, k) + data(2, str(v))) for k, v in entries.items()) + number(14, 1)
    return tensor(name, dims, [], more=more)


def attribute(name: str, value: object) -> bytes:
    if isinstance(value, float):
        return data(5, data(1, name) + varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, 1))
    if isinstance(value, int):
        return data(5, data(1, name) + number(3, value) + number(20, 2))
    if isinstance(value, bytes):  # a tensor
        return data(5, data(1, name) + data(5, value) + number(20, 4))
    return data(5, data(1, name) + data(4, str(value)) + number(20, 3))


def node(op: str, inputs: list[str], outputs: list[str], domain: str = "", **attributes: object) -> bytes:
    return (b"".join(data(1, i) for i in inputs) + b"".join(data(2, o) for o in outputs) + data(4, op)
            + b"".join(attribute(k, v) for k, v in attributes.items()) + (data(7, domain) if domain else b""))


def value(name: str, dims: list[int | str], kind: int = 1) -> bytes:
    shape = b"".join(data(1, number(1, d) if isinstance(d, int) else data(2, d)) for d in dims)
    return data(1, name) + data(2, data(1, number(1, kind) + data(2, shape)))


def graph(nodes: list[bytes], tensors: list[bytes], inputs: list[bytes], outputs: list[bytes]) -> bytes:
    return (b"".join(data(1, n) for n in nodes) + data(2, "graph") + b"".join(data(5, t) for t in tensors)
            + b"".join(data(11, i) for i in inputs) + b"".join(data(12, o) for o in outputs))


def model(contents: bytes, opset: int = 17) -> bytes:
    return number(1, 8) + data(2, "by hand") + data(7, contents) + data(8, data(1, "") + number(2, opset))
