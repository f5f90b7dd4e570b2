#!/usr/bin/env python3
"""Makes the reference values that tests compare with: tests/golden/*.json.

Each module of tools/golden has a main(out_dir) that writes <module>.json. The results are
committed, so tests need none of this.
"""

import argparse
import importlib.util
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODULES = ["baselines", "head_rivals", "infairness", "metrics", "mlp", "neighbours", "rates", "unlearn"]
PACKAGES = ["torch==2.13.0", "numpy", "scipy", "scikit-learn", "pandas", "fairlearn", "statsmodels", "aif360", "aequitas",
            "smclarify", "concept-erasure", "inFairness"]


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
        epilog=f"needs: pip install {' '.join(PACKAGES)}",
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
            sys.exit(f"make_golden: {name} needs '{error.name}': pip install {' '.join(PACKAGES)}")
        module.main(arguments.out)
        print(f"made {arguments.out / name}.json")


if __name__ == "__main__":
    main()
