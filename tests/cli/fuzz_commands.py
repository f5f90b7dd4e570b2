"""A few of the made-up commands of ./dev fuzz --commands: no crash, no hang, no forged line, nothing left behind."""

import argparse
import os
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import fuzz_commands  # noqa: E402

EXECUTIONS = 1500

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fmd", required=True)
    known = parser.parse_args()
    forked = os.environ.get("FMD_FORKED") or str(pathlib.Path(known.fmd).resolve().parent / "tests/fmd_forked")
    kept = tempfile.mkdtemp(prefix="fmd-fuzz-")
    sys.exit(fuzz_commands.main(["--forked", forked, "--executions", str(EXECUTIONS), "--kept", kept, "--jobs", "2"]))
