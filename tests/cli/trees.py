"""Models of XGBoost and LightGBM: what fmd reads and writes, against the libraries themselves.

The libraries are in an environment of their own, build/venv-trees; tests/trees/oracle.py runs there.
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
    made = subprocess.run([sys.executable, ROOT / "tools/environment.py", "trees", "--requirements",
                           ROOT / "tests/trees/requirements.txt"], stderr=subprocess.PIPE, text=True)
    if made.returncode == REFUSED:
        skip(made.stderr.strip().removeprefix("skipped: "), download_refused=True)
    if made.returncode != 0:
        sys.stderr.write(made.stderr)
        return 1
    python = ROOT / "build/venv-trees/bin/python"
    return subprocess.run([python, ROOT / "tests/trees/oracle.py", "--fmd", arguments.fmd]).returncode


if __name__ == "__main__":
    sys.exit(main())
