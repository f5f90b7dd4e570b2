#!/usr/bin/env python3
"""A model of images from a folder and from a tar file; tensors; what is missing or damaged is named."""

import csv
import json
import pathlib
import random
import struct
import subprocess
import sys
import tarfile
import tempfile
import zlib

from skip import skip

FMD = sys.argv[sys.argv.index("--fmd") + 1]
TREE = pathlib.Path(__file__).resolve().parent.parent.parent
MODELS = TREE / "tests/files/onnx"
ROWS = 240


def run(folder, *arguments, status=0):
    done = subprocess.run([FMD, *map(str, arguments)], cwd=folder, capture_output=True, text=True)
    assert done.returncode == status, (arguments, done.returncode, done.stdout, done.stderr)
    return done


def png(pixels, height, width):
    """The bytes of a PNG file of rows of red, green, blue."""
    lines = b"".join(b"\0" + bytes(pixels[3 * width * r:3 * width * (r + 1)]) for r in range(height))

    def chunk(kind, contents):
        return struct.pack(">I", len(contents)) + kind + contents + struct.pack(">I", zlib.crc32(kind + contents))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b""))


def npy(values, shape, kind="<f4"):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {tuple(shape)}, }}".encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    code = {"<f4": "f", "<i8": "q"}[kind]
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header + struct.pack(f"<{len(values)}{code}", *values)


def make(folder):
    """Images of noise, whose redness goes with sex and whose brightness goes with the label."""
    draw = random.Random(5)
    (folder / "faces").mkdir()
    rows, tensors = [], []
    for i in range(ROWS):
        sex, label = draw.randrange(2), draw.randrange(2)
        pixels = []
        for _ in range(64):
            light = draw.randrange(90, 140) + 50 * label
            pixels += [min(255, light + 60 * sex), light, light]
        (folder / f"faces/{i}.png").write_bytes(png(pixels, 8, 8))
        tensors.append([pixels[3 * p + c] / 255 for c in range(3) for p in range(64)])
        rows.append([i, f"{i}.png", "fm"[sex], label])
    with (folder / "rows.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["id", "file", "sex", "label"], *rows])
    (folder / "rows.npy").write_bytes(npy([v for t in tensors for v in t], [ROWS, 3, 8, 8]))
    with tarfile.open(folder / "faces.tar", "w") as tar:
        tar.add(folder / "faces", "faces")
    (folder / "task.toml").write_text(
        'label = "label"\nid = "id"\n[[attributes]]\nname = "sex"\npairs = "match:cosine"\n', encoding="utf-8")


def predict(folder, *options):
    text = run(folder, "predict", MODELS / "pictures.onnx", "rows.csv", *options).stdout.splitlines()[1:]
    return [[float(p) for p in line.split(",")[2:]] for line in text]


def ways(folder):
    """The same answers from a folder, a tar file and tensors."""
    first = predict(folder, "--images", "faces")
    assert len(first) == ROWS
    (folder / "named.toml").write_text('[[inputs]]\nname = "image"\nimage = "file"\nsize = [8, 8]\n', encoding="utf-8")
    assert predict(folder, "--images", "faces", "--task", "named.toml") == first
    (folder / "tensor.toml").write_text('[[inputs]]\ntensor = "*.npy"\n', encoding="utf-8")
    assert predict(folder, "--task", "tensor.toml") == first
    with tarfile.open(folder / "flat.tar", "w") as tar:
        for i in range(ROWS):
            tar.add(folder / f"faces/{i}.png", f"{i}.png")
    assert predict(folder, "--images", "flat.tar") == first
    assert predict(folder, "--images", "faces", "--threads", "1") == first
    (folder / "scaled.toml").write_text('[[inputs]]\nimage = "file"\nmean = [0.5, 0.5, 0.5]\nstd = 0.25\n',
                                        encoding="utf-8")
    assert predict(folder, "--images", "faces", "--task", "scaled.toml") != first


def story(folder):
    """Audit, features kept in a file, repair and undo of a model of images."""
    model, task = MODELS / "pictures.onnx", ["--task", "task.toml", "--images", "faces"]
    run(folder, "audit", model, "rows.csv", *task)
    run(folder, "features", model, "rows.csv", *task, "-o", "rows.features")
    kept = run(folder, "predict", model, "rows.features", *task).stdout
    assert kept == run(folder, "predict", model, "rows.csv", *task).stdout
    run(folder, "debias", model, "rows.csv", *task, "--best-effort", "-o", "out.onnx")
    run(folder, "predict", "out.onnx", "rows.features", *task)  # the repaired model finds them too
    run(folder, "verify", "out.onnx.receipt.json", "--images", "faces")
    run(folder, "undo", "out.onnx.receipt.json", "-o", "back.onnx")
    assert (folder / "back.onnx").read_bytes() == model.read_bytes()


def other_column(folder):
    """The only column with names of images is found by its cells; two of them are an error."""
    text = (folder / "rows.csv").read_text(encoding="utf-8").splitlines()
    (folder / "other.csv").write_text("\n".join([text[0].replace("file", "picture"), *text[1:]]) + "\n", encoding="utf-8")
    twice = [line + "," + line.split(",")[1] for line in text[1:]]
    (folder / "twice.csv").write_text("\n".join([text[0].replace("file", "left") + ",right", *twice]) + "\n",
                                      encoding="utf-8")
    command = ["predict", MODELS / "pictures.onnx"]
    expected = run(folder, *command, "rows.csv", "--images", "faces").stdout
    done = run(folder, *command, "other.csv", "--images", "faces")
    assert done.stdout == expected and 'column "picture" names the images' in done.stderr, done.stderr
    # Labels -1 and 1 are the outputs in this order; texts are not guessed.
    head, rows = text[0], [line.rsplit(",", 1) for line in text[1:]]
    place = head.split(",").index("label")
    assert place == len(head.split(",")) - 1, head
    (folder / "signs.csv").write_text("\n".join([head, *(f"{a},{'-1' if b == '0' else '1'}" for a, b in rows)]) + "\n",
                                      encoding="utf-8")
    (folder / "words.csv").write_text("\n".join([head, *(f"{a},{'no' if b == '0' else 'yes'}" for a, b in rows)]) + "\n",
                                      encoding="utf-8")
    audit = ["audit", MODELS / "pictures.onnx", "--images", "faces", "--label", "label", "--attribute", "sex", "--json"]
    plain = json.loads(run(folder, *audit, "rows.csv").stdout)
    done = run(folder, *audit, "signs.csv")
    assert "taken for the labels -1" in done.stderr and "--pairs match:overlap" in done.stderr, done.stderr
    assert json.loads(done.stdout)["task"]["attributes"][0]["pairs"] == "match:overlap"
    assert json.loads(done.stdout)["attributes"] == plain["attributes"]
    run(folder, *audit, "words.csv", status=15)
    done = run(folder, *command, "twice.csv", "--images", "faces", status=19)
    assert 'columns "left" and "right" both name images' in done.stderr, done.stderr


def tensors(folder):
    """The same by tensors. A receipt's tensors are found beside it, and nowhere else."""
    text = (folder / "task.toml").read_text(encoding="utf-8").split("[[inputs]]")[0]
    inputs = '\n[[inputs]]\ntensor = "*.npy"\n'
    (folder / "with_tensor.toml").write_text(text + inputs, encoding="utf-8")
    run(folder, "debias", MODELS / "pictures.onnx", "rows.csv", "--task", "with_tensor.toml", "--best-effort", "-o",
        "by_tensor.onnx")
    run(folder, "verify", "by_tensor.onnx.receipt.json")
    receipt = folder / "by_tensor.onnx.receipt.json"
    content = json.loads(receipt.read_text(encoding="utf-8"))
    assert content["task"]["inputs"][0]["tensor"].endswith("*.npy")
    content["task"]["inputs"][0]["tensor"] = "/somewhere/else.npy"
    receipt.write_text(json.dumps(content), encoding="utf-8")
    done = subprocess.run([FMD, "verify", receipt.name], cwd=folder, capture_output=True, text=True)
    assert done.returncode != 0 and "read /somewhere" not in done.stderr + done.stdout, done


def cache(folder):
    """Features that one command computed serve the next, a repair's too; what is damaged is computed again."""
    model, place = MODELS / "pictures.onnx", folder / "kept"

    def audit(network, *options):
        done = run(folder, "audit", network, "rows.csv", "--task", "task.toml", "--images", "faces", *options)
        return done.stdout, done.stderr

    plain, said = audit(model, "--feature-cache", "none")
    assert "features of" not in said and not place.exists(), said
    kept = ["--feature-cache", "kept"]
    first, said = audit(model, *kept)
    assert f"features of {ROWS} rows of rows.csv are kept in kept for later commands" in said, said
    assert first == plain and place.stat().st_mode & 0o77 == 0
    second, said = audit(model, *kept)
    assert f"features of {ROWS} rows of rows.csv were computed before and come from kept" in said, said
    assert second == plain and "are kept in" not in said
    run(folder, "debias", model, "rows.csv", "--task", "task.toml", "--images", "faces", "--best-effort", *kept, "-o",
        "again.onnx")
    assert "were computed before" in audit("again.onnx", *kept)[1]

    # Another image under the same name is another row.
    image = folder / "faces/7.png"
    before = image.read_bytes()
    image.write_bytes(png([9] * 3 * 64, 8, 8))
    said = audit(model, *kept)[1]
    assert f"features of {ROWS - 1} rows of rows.csv were computed before" in said, said
    assert "features of 1 rows of rows.csv are kept" in said, said
    image.write_bytes(before)

    # Other preparation, damaged and foreign files: nothing of them is used.
    (folder / "other.toml").write_text((folder / "task.toml").read_text(encoding="utf-8")
                                       + '[[inputs]]\nimage = "file"\nmean = 0.5\n', encoding="utf-8")
    done = run(folder, "audit", model, "rows.csv", "--task", "other.toml", "--images", "faces", *kept)
    assert "were computed before" not in done.stderr, done.stderr
    files = sorted(place.iterdir(), key=lambda f: f.stat().st_size)
    assert len(files) == 3, files
    for name in files:
        contents = bytearray(name.read_bytes())
        contents[-5] ^= 1
        name.write_bytes(contents)
    third, said = audit(model, *kept)
    assert third == plain and f"features of {ROWS - 1} rows" in said, said
    for name in place.iterdir():
        name.write_bytes(name.read_bytes()[:-1])
    fourth, said = audit(model, *kept)
    assert fourth == plain and "were computed before" not in said, said
    (folder / "file").write_text("no folder", encoding="utf-8")
    assert "could not be kept in file" in audit(model, "--feature-cache", "file")[1]


def pairs(folder):
    """Pairs by a second column of names and by a second folder give what a file of pairs gives; overlap needs no names."""
    with (folder / "rows.csv").open(encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    (folder / "twins").mkdir()
    for row in table:  # the same light, the other redness
        light = 160 if row["label"] == "1" else 110
        pixels = [light + 60 * (row["sex"] == "f"), light, light] * 64
        (folder / "twins" / row["file"]).write_bytes(png(pixels, 8, 8))
        (folder / "faces" / f"twin{row['file']}").write_bytes(png(pixels, 8, 8))

    def write(name, columns):
        with (folder / name).open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows({k: v for k, v in row.items() if k in columns} for row in table)

    for row in table:
        row["other"], row["hat"] = f"twin{row['file']}", str(int(row["id"]) % 3)
    write("two.csv", ["id", "file", "sex", "label", "other", "hat"])
    for row in table:
        row["file"] = row["other"]
    write("partners.csv", ["id", "file", "sex", "label"])
    task = 'label = "label"\nid = "id"\n[[attributes]]\nname = "sex"\npairs = "{}"\n'
    figures = []
    for kind, more in (("given:partners.csv", []), ("column:other", []), ("images", ["--pair-images", "twins"])):
        (folder / "pairs.toml").write_text(task.format(kind), encoding="utf-8")
        how = ["--task", "pairs.toml", "--images", "faces", *more]
        audit = json.loads(run(folder, "audit", MODELS / "pictures.onnx", "two.csv", *how, "--json").stdout)
        figures.append(audit["attributes"][0]["measures"]["co"])
        run(folder, "debias", MODELS / "pictures.onnx", "two.csv", *how, "--attribute", "sex", "--best-effort", "-o",
            "paired.onnx", "--force")
        run(folder, "verify", "paired.onnx.receipt.json", "--images", "faces", *more)
    assert figures[0]["value"] > 0 and figures[0] == figures[1] == figures[2], figures
    done = run(folder, "audit", MODELS / "pictures.onnx", "two.csv", *how[:-2], status=2)
    assert "--pair-images DIR" in done.stderr, done.stderr
    (folder / "pairs.toml").write_text(task.format("column:absent"), encoding="utf-8")
    assert "absent" in run(folder, "audit", MODELS / "pictures.onnx", "two.csv", *how[:-2], status=16).stderr

    # Overlap compares what the table says about the images: not their names, the label, the id or sex itself.
    (folder / "pairs.toml").write_text(task.format("match:overlap") + 'reuse = 2\n', encoding="utf-8")
    audit = json.loads(run(folder, "audit", MODELS / "pictures.onnx", "two.csv", *how[:-2], "--ignore", "other",
                           "--json").stdout)
    match = audit["attributes"][0]["match"]
    assert match["columns"] == ["hat"] and match["most_used"] <= 2, match
    measures = audit["attributes"][0]["measures"]
    assert measures["co_match_floor"]["value"] > 0 and measures["co_match"]["value"] > 0, measures


def sheet(folder):
    """explain names the images of the training rows, and shows the strongest ones on request."""
    how = ["--task", "task.toml", "--images", "faces", "--measure", "demographic_parity_soft:sex"]
    done = run(folder, "explain", MODELS / "pictures.onnx", "rows.csv", "--train", "rows.csv", *how, "-o", "why.csv",
               "--sheet", "why.png", "--sheet-images", "3")
    with (folder / "why.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["row", "file", "label", "sex", "change"] and len(rows) == ROWS, rows[0]
    assert all(row["file"] == f"{int(row['row']) - 1}.png" for row in rows)
    said = done.stdout[done.stdout.index("sheet  why.png"):].split()
    named = [word for word in said if word.endswith(".png")]
    assert named == [row["file"] for row in rows[:3] + rows[:-4:-1]], (named, rows[:3], rows[-3:])
    png_bytes = (folder / "why.png").read_bytes()
    assert png_bytes[:8] == b"\x89PNG\r\n\x1a\n"
    height = struct.unpack(">I", png_bytes[20:24])[0]
    assert height == 6 + 2 * (96 + 8 + 6), height
    (folder / "tensors.toml").write_text('label = "label"\n[[attributes]]\nname = "sex"\n[[inputs]]\n'
                                         'tensor = "*.npy"\n', encoding="utf-8")
    done = run(folder, "explain", MODELS / "pictures.onnx", "rows.csv", "--train", "rows.csv", "--task", "tensors.toml",
               *how[4:], "--sheet", "no.png", status=26)
    assert "reads none" in done.stderr.replace("\n", " ") and not (folder / "no.png").exists(), done.stderr


def wrong(folder):
    """Each wrong thing gets its words."""
    model = MODELS / "pictures.onnx"

    def refused(status, words, *options):
        done = run(folder, "predict", model, "rows.csv", *options, "-o", "no.csv", status=status)
        assert words in done.stderr and ("hint:" in done.stderr or status == 16), (words, done.stderr)
        assert not (folder / "no.csv").exists()

    def with_image(name, contents, status, words):
        path = folder / "faces/7.png"
        before = path.read_bytes()
        if contents is None:
            path.unlink()
        else:
            path.write_bytes(contents)
        refused(status, words, "--images", "faces")
        path.write_bytes(before)

    good = (folder / "faces/7.png").read_bytes()
    with_image("missing", None, 18, "rows.csv, line 9: image \"7.png\" of faces: there is no such file")
    with_image("cut", good[:-20], 18, "image \"7.png\": it is damaged")
    with_image("text", b"hello", 18, "neither JPEG nor PNG")
    with_image("empty", b"", 18, "neither JPEG nor PNG")
    with_image("size", png([1] * 3 * 99, 9, 11), 18, "is 9 x 11, the model takes 8 x 8")
    huge = good[:16] + struct.pack(">II", 60000, 60000) + good[24:]
    with_image("bomb", huge[:29] + struct.pack(">I", zlib.crc32(huge[12:29])) + huge[33:], 18, "67 million pixels")
    refused(2, "nothing says where they are", "--task", "named.toml")
    refused(11, "absent", "--images", "absent")
    (folder / "bad.tar").write_bytes(b"x" * 2000)
    refused(18, "not a header of a tar file", "--images", "bad.tar")
    for text, words in (('image = "file"\nsize = [9, 9]', "takes images of 8 x 8"),
                        ('image = "file"\nchannels = "gray"', "does not take 1 channels"),
                        ('image = "file"\nchannels = "cmyk"', "rgb, bgr or gray"),
                        ('image = "file"\ncolumns = ["sex"]', "exactly one of"),
                        ('image = "file"\nscale = 0', "above 0"),
                        ('image = "file"\nsize = [1, 2, 3]', "[height, width]"),
                        ('image = "file"\nsise = 3', "did you mean \"size\""),
                        ('columns = ["id"]', "3 x 8 x 8 numbers for each row, 1 columns")):
        (folder / "bad.toml").write_text(f"[[inputs]]\n{text}\n", encoding="utf-8")
        refused(19, words, "--task", "bad.toml", "--images", "faces")
    (folder / "bad.toml").write_text('[[inputs]]\nimage = "picture"\n', encoding="utf-8")
    refused(16, "picture", "--task", "bad.toml", "--images", "faces")
    (folder / "bad.toml").write_text('[[inputs]]\ntensor = "bad.npy"\n', encoding="utf-8")
    for contents, status, words in ((npy([0.] * 192, [1, 3, 8, 8]), 18, "has 1 tensors, the table has 240 rows"),
                                    (npy([0.] * ROWS, [ROWS]), 19, "the tensor has one number"),
                                    (npy([0.] * 30, [ROWS, 3, 8, 8]), 18, "bytes are there"),
                                    (npy([0.] * ROWS * 192, [ROWS, 8, 8, 3]), 19, "takes 3 x 8 x 8 for each row")):
        (folder / "bad.npy").write_bytes(contents)
        refused(status, words, "--task", "bad.toml")


def main():
    if not (TREE / "build/venv-onnx/bin/python").exists():
        skip("no ONNX Runtime in build/venv-onnx", download_refused=True)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make(folder)
        ways(folder)
        story(folder)
        other_column(folder)
        tensors(folder)
        cache(folder)
        pairs(folder)
        sheet(folder)
        wrong(folder)


if __name__ == "__main__":
    main()
