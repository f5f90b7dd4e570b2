"""A few of the made-up commands of ./dev fuzz --commands: no crash, no hang, no forged line, nothing left behind."""

import argparse
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
    kept = tempfile.mkdtemp(prefix="fmd-fuzz-")
    sys.exit(fuzz_commands.main(["--fmd", known.fmd, "--executions", str(EXECUTIONS), "--kept", kept, "--jobs", "2"]))
