"""The one way in which a test script skips itself."""

import os
import sys
from typing import NoReturn


def skip(reason: str, *, download_refused: bool = False) -> NoReturn:
    """End the script as skipped (77), or as failed where skipping is not allowed.

    FMD_STRICT_SKIPS is set by ./dev under CI=true. Then only a refused download, which
    no change of the code can help, is a reason to skip.
    """
    strict = bool(os.environ.get("FMD_STRICT_SKIPS"))
    failed = strict and not download_refused
    print(f"{'failed, must not be skipped' if failed else 'skipped'}: {reason}", file=sys.stderr)
    sys.exit(1 if failed else 77)
