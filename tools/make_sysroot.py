#!/usr/bin/env python3
"""Unpacks Debian packages of another processor into build/sysroot-ARCHITECTURE.

make_sysroot.py ARCHITECTURE PACKAGE...

The packages come from the archive that the machine uses. They are not installed: neither root nor a change
of the machine is needed, and packages that cannot be installed beside those of this processor do no harm.
What they depend on is not fetched; name it.

Exit status: 0 the folder is there, 77 a download was refused, 1 something else failed.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REFUSED = 77


def apt_options(architecture: str, state: Path) -> list[str]:
    """Options that let apt-get work on lists of its own in a folder."""
    settings = {"APT::Architecture": architecture, "APT::Architectures": architecture,
                "APT::Sandbox::User": "", "Dir::State::lists": state / "lists",
                "Dir::State::status": state / "status", "Dir::Cache": state / "cache"}
    return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]


def keep_links_inside(sysroot: Path) -> None:
    """Links to /lib/... are meant for an installed package; here they must lead into the folder."""
    for link in sysroot.rglob("*"):
        if link.is_symlink() and (target := os.readlink(link)).startswith("/"):
            link.unlink()
            link.symlink_to(os.path.relpath(sysroot / target[1:], link.parent))


def main(architecture: str, packages: list[str]) -> int:
    sysroot = ROOT / f"build/sysroot-{architecture}"
    state, done, wanted = ROOT / f"build/apt-{architecture}", sysroot / ".packages", " ".join(packages)
    if done.is_file() and done.read_text(encoding="utf-8") == wanted:
        return 0
    shutil.rmtree(sysroot, ignore_errors=True)
    for folder in ("lists/partial", "cache/archives/partial", "packages"):
        (state / folder).mkdir(parents=True, exist_ok=True)
    for old in (state / "packages").glob("*.deb"):
        old.unlink()
    (state / "status").touch()
    print(f"dev: unpacking {wanted} for {architecture} in {sysroot.relative_to(ROOT)}", file=sys.stderr)
    log = state / "log"
    with log.open("w", encoding="utf-8") as output:
        for command in (["update"], ["download", *packages]):
            status = subprocess.run(["apt-get", "-q", *apt_options(architecture, state), *command],
                                    cwd=state / "packages", stdout=output, stderr=subprocess.STDOUT).returncode
    if status:  # of the download; lists that could not be renewed show there
        sys.stderr.write(log.read_text(encoding="utf-8", errors="replace"))
        print(f"skipped: {architecture} needs {wanted} from Debian, download refused", file=sys.stderr)
        return REFUSED
    for package in sorted((state / "packages").glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", package, sysroot], check=True)
    keep_links_inside(sysroot)
    done.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(f"usage: {Path(sys.argv[0]).name} ARCHITECTURE PACKAGE...")
    sys.exit(main(sys.argv[1], sys.argv[2:]))
