#!/usr/bin/env python3
"""Makes the NPY and Parquet files of tests/files and tests/bad, each table of the former with the CSV file that must
read the same beside it.

Needs numpy and pyarrow (the environment of ./dev bench has both): make_table_files.py
"""
import datetime
import decimal
import pathlib
import struct

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILES, BAD = ROOT / "tests/files", ROOT / "tests/bad"


def typed_table():
    """Every type that is read, with a null in most columns."""
    none = None
    text = ["a", "b, c", none, "a", "é \"q\"", "?", "d"]
    return pa.table({
        "i8": pa.array([1, -2, none, 4, 5, 6, 127], pa.int8()),
        "u16": pa.array([1, 2, none, 4, 5, 6, 65535], pa.uint16()),
        "i64": pa.array([1, -2, none, 4, 5, 6, 2**40], pa.int64()),
        "u64": pa.array([1, 2, 3, 4, 5, 6, 2**53], pa.uint64()),
        "f16": pa.array(np.array([1, -2.5, 0, 4, 5, 6, 0.125], np.float16)),
        "u32": pa.array([1, none, 3, none, 4294967295, 2147483648, 7], pa.uint32()),
        "f32": pa.array([1, -2.5, none, 0.5, 5, 6, 0.125], pa.float32()),
        "f64": pa.array([1, -2.5, none, 0.1, 5e-300, 6, float("nan")], pa.float64()),
        "dec": pa.array([decimal.Decimal(x) if x else none for x in
                         ["1.25", "-0.10", "", "12345678901234567.89", "0.00", "-7.00", "3.10"]], pa.decimal128(20, 2)),
        "truth": pa.array([True, False, none, True, True, False, False]),
        "text": pa.array(text),
        "large": pa.array(text, pa.large_string()),
        "dict": pa.array(text).dictionary_encode(),
        "day": pa.array([datetime.date(2020, 2, 29), datetime.date(1969, 12, 31), none] +
                        [datetime.date(2000, 1, 1)] * 4),
        "time": pa.array([datetime.datetime(2020, 2, 29, 12, 34, 56, 250000), datetime.datetime(1969, 12, 31, 23, 0),
                          none] + [datetime.datetime(2000, 1, 1)] * 4, pa.timestamp("us")),
        "zip": pa.array([2138, 90210, 10001, 2138, 501, 60601, 99999], pa.int32()),
        "empty": pa.array([none] * 7, pa.null()),
    })


TYPED_CSV = '''i8,u16,i64,u64,f16,u32,f32,f64,dec,truth,text,large,dict,day,time,zip,empty
1,1,1,1,1,1,1,1,1.25,true,a,a,a,2020-02-29,2020-02-29 12:34:56.25,2138,
-2,2,-2,2,-2.5,,-2.5,-2.5,-0.1,false,"b, c","b, c","b, c",1969-12-31,1969-12-31 23:00:00,90210,
,,,3,0,3,,,,,,,,,,10001,
4,4,4,4,4,,0.5,0.1,12345678901234567.89,true,a,a,a,2000-01-01,2000-01-01,2138,
5,5,5,5,5,4294967295,5,5e-300,0,true,"é ""q""","é ""q""","é ""q""",2000-01-01,2000-01-01,501,
6,6,6,6,6,2147483648,6,6,-7,false,?,?,?,2000-01-01,2000-01-01,60601,
127,65535,1099511627776,9007199254740992,0.125,7,0.125,,3.1,false,d,d,d,2000-01-01,2000-01-01,99999,
'''


def npy(header, data=b"", version=1):
    text = header if isinstance(header, bytes) else header.encode()
    size = struct.pack("<H", len(text)) if version == 1 else struct.pack("<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + size + text + data


def head(descr="<f8", fortran="False", shape="(2, 2)"):
    return f"{{'descr': {descr!r}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n"


def bad_npy():
    data = struct.pack("<4d", 1, 2, 3, 4)
    return {
        "npy_cut_off.npy": npy(head(), data[:-3]),
        "npy_longer.npy": npy(head(), data + b"x"),
        "npy_cut_in_header.npy": npy(head(), data)[:30],
        "npy_only_magic.npy": b"\x93NUMPY\x01\x00",
        "npy_big_header.npy": b"\x93NUMPY\x02\x00\xff\xff\xff\x7f" + head().encode(),
        "npy_lying_shape.npy": npy(head(shape="(4611686018427387904, 8)"), data),
        "npy_huge_shape.npy": npy(head(shape="(99999999999999999999999, 2)"), data),
        "npy_negative_shape.npy": npy(head(shape="(-2, 2)"), data),
        "npy_no_rows.npy": npy(head(shape="(0, 5)")),
        "npy_objects.npy": npy(head("|O", shape="(1,)"), b"\x80\x04N."),
        "npy_texts.npy": npy(head("<U4", shape="(1,)"), b"a\0\0\0" * 4),
        "npy_complex.npy": npy(head("<c16", shape="(2,)"), data),
        "npy_three_dimensions.npy": npy(head(shape="(1, 2, 2)"), data),
        "npy_version_9.npy": npy(head(), data, 9),
        "npy_infinite.npy": npy(head(), struct.pack("<4d", 1, 2, 3, float("inf"))),
        "npy_no_shape.npy": npy("{'descr': '<f8', 'fortran_order': False}\n", data),
        "npy_code_in_header.npy": npy("{'descr': __import__('os').name, 'fortran_order': False, 'shape': (4,)}\n", data),
    }


def parquet_bytes(table):
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return sink.getvalue().to_pybytes()


def bad_parquet(good):
    return {
        "parquet_cut_off.parquet": good[: len(good) // 2],
        "parquet_infinite.parquet": parquet_bytes(pa.table({"x": ["a", "b", "a"], "y": [1.0, None, float("-inf")]})),
        "parquet_only_magic.parquet": b"PAR1",
        "parquet_two_magics.parquet": b"PAR1PAR1",
        "parquet_wrong_footer.parquet": good[:-40] + b"\xff" * 32 + good[-8:],
        "parquet_footer_too_long.parquet": good[:-8] + b"\xff\xff\xff\x7f" + b"PAR1",
    }


def main():
    FILES.mkdir(exist_ok=True)
    pq.write_table(typed_table(), FILES / "types.parquet", row_group_size=3)
    (FILES / "types.csv").write_text(TYPED_CSV, encoding="utf-8")
    small = pa.table({"a": [1, 2, 3], "b": ["x", "y", "x"]})
    pq.write_table(small, FILES / "small.parquet")
    nested = pa.table({"a": [1, 2], "list": [[1], [2, 3]], "b": ["x", "y"]})
    pq.write_table(nested, FILES / "nested.parquet")
    # One table in all three forms: codes that look like numbers, and weights.
    weights = {"x": [1.0, 2.0, 3.0, 4.0], "zip": [2138, 90210, 2138, 501], "w": [1.0, 2.5, 0.5, 4.0]}
    pq.write_table(pa.table(weights), FILES / "weights.parquet")
    np.save(FILES / "weights.npy", np.array(list(zip(*weights.values())), dtype=[("x", "f8"), ("zip", "i4"), ("w", "f8")]))
    (FILES / "weights.csv").write_text("x,zip,w\n1,2138,1\n2,90210,2.5\n3,2138,.5\n4,501,4\n")
    good = (FILES / "small.parquet").read_bytes()
    for name, content in {**bad_npy(), **bad_parquet(good)}.items():
        (BAD / name).write_bytes(content)

    values = np.array([[1, 2, 3], [4, 5, 6]])
    for order in "CF":
        for kind in ("<f4", ">f8", "<i2", ">i8", "|u1", ">u4"):
            np.save(FILES / f"matrix_{order}_{'be' if kind[0] == '>' else 'le'}_{kind[1:]}.npy",
                    np.array(values, dtype=kind, order=order))
    fields = np.array([(1.5, 2138, True), (float("nan"), 501, False)],
                      dtype=[("x", "<f4"), ("zip", ">i8"), ("ok", "?")])
    np.save(FILES / "fields.npy", fields)
    np.save(FILES / "list.npy", np.array([3.25, float("nan"), -1]))


if __name__ == "__main__":
    main()
