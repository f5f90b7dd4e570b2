#!/usr/bin/env python3
"""Makes the small images of tests/files/images, with their pixels as Pillow reads and resizes them.

make_images.py [FOLDER]

Needs Pillow and numpy. Run it again only to add an image: the files are committed.
"""

import json
import sys
from pathlib import Path

import numpy as np
from PIL import Image


def main() -> int:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent / "tests/files/images")
    folder.mkdir(parents=True, exist_ok=True)
    y, x = np.mgrid[0:20, 0:30]
    waves = np.stack([128 + 90 * np.sin(x / 4), 128 + 90 * np.cos(y / 3), 8 * x], axis=-1).astype(np.uint8)
    picture = Image.fromarray(waves)
    picture.save(folder / "waves.jpg", quality=85)
    picture.save(folder / "progressive.jpg", quality=85, progressive=True)
    picture.save(folder / "waves.png")
    picture.convert("L").save(folder / "gray.jpg", quality=85)
    picture.convert("L").save(folder / "gray.png")
    picture.quantize(16).save(folder / "palette.png")
    alpha = np.dstack([waves, 255 - waves[:, :, :1]])
    Image.fromarray(alpha).save(folder / "alpha.png")
    Image.fromarray((waves[:, :, 0].astype(np.uint16) * 257)).save(folder / "sixteen.png")
    known = {}
    for path in sorted(folder.glob("*.[jp][pn]g")):
        if path.stem == "sixteen":  # Pillow clips it where others take the high byte
            continue
        image = Image.open(path).convert("RGB")
        known[path.name] = {"pixels": np.asarray(image).flatten().tolist()}
        if path.name == "waves.png":
            for name, size in (("smaller", (8, 8)), ("larger", (31, 25))):
                resized = image.resize(size, Image.Resampling.BILINEAR)
                known[path.name][name] = np.asarray(resized).flatten().tolist()
    (folder / "known.json").write_text(json.dumps(known, separators=(",", ":")) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
