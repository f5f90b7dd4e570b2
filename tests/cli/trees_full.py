"""Models of CatBoost and trees in ONNX: what fmd reads and writes, against the libraries themselves.

CatBoost alone takes 100 MB. The libraries are in an environment of their own, build/venv-trees-full;
tests/trees/catboost_oracle.py and onnx_oracle.py run there.
"""

import argparse
import pathlib
import subprocess
import sys

from skip import skip

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
REFUSED = 77


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fmd", required=True)
    arguments = parser.parse_args()
    made = subprocess.run([sys.executable, ROOT / "tools/environment.py", "trees-full", "--requirements",
                           ROOT / "tests/trees/full_requirements.txt"], stderr=subprocess.PIPE, text=True)
    if made.returncode == REFUSED:
        skip(made.stderr.strip().removeprefix("skipped: "), download_refused=True)
    if made.returncode != 0:
        sys.stderr.write(made.stderr)
        return 1
    python = ROOT / "build/venv-trees-full/bin/python"
    runs = [subprocess.run([python, ROOT / f"tests/trees/{name}_oracle.py", "--fmd", arguments.fmd]).returncode
            for name in ("catboost", "onnx")]
    return max(runs)


if __name__ == "__main__":
    sys.exit(main())
