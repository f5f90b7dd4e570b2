#!/usr/bin/env python3
"""Makes the reference values that tests compare with: tests/golden/*.json.

Each module of tools/golden has PACKAGES, what it needs from PyPI, and main(out_dir), which
writes its file and returns its path. The results are committed, so tests need none of this.
"""

import argparse
import importlib.util
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODULES = ["metrics", "unlearn"]


def load(name):
    path = ROOT / "tools" / "golden" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"golden_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="packages: torch==2.13.0 numpy scikit-learn (and what a missing one is named as)",
    )
    parser.add_argument("only", nargs="*", metavar="NAME",
                        help=f"which to make: {', '.join(MODULES)}; all without a name")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "tests" / "golden",
                        help="where to write; tests/golden by default")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.only if name not in MODULES]
    if unknown:
        parser.error(f"no module {', '.join(unknown)}; there are {', '.join(MODULES)}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.only or MODULES:
        try:
            module = load(name)
        except ModuleNotFoundError as error:
            sys.exit(f"make_golden: {name} needs the package '{error.name}': pip install it first")
        print(module.main(arguments.out))


if __name__ == "__main__":
    main()
