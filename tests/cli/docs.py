"""The commands in docs/*.md run, and every option of a command is on its page."""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
FMD = ""

# Named in the text of the page, not in its table.
IN_THE_TEXT = {("debias", "--test")}


def commands(page):
    """[command, exit code, output shown] of every "$ " line in the ```console blocks; "# exit N" names
    the code."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```", page.read_text(), re.M | re.S):
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("$ "):
                code = re.search(r"# exit (\d+)$", line)
                found.append([line[2:], int(code[1]) if code else 0, []])
            elif line.strip(" ."):
                found[-1][2].append(line)
    return found


def pattern(shown):
    """Matches a shown line: "..." is anything, and numbers may round otherwise on another machine."""
    parts = re.split(r"(\.\.\.|\s+|[-+]?[\d.,]*\d(?:e[-+]?\d+)?)", shown.strip())
    loose = {"...": ".*"}
    return "".join(loose.get(p) or (r"\s+" if p.isspace() else re.escape(p) if i % 2 == 0 else r"[-+\d.,e]+")
                   for i, p in enumerate(parts))


def options_in_tables(page):
    rows = [line for line in page.read_text().splitlines() if line.startswith("|")]
    # The first cell names options: `-o`, `--out FILE`.
    return {o for row in rows for o in re.findall(r"(?<![\w-])--?[a-z][a-z0-9-]*", row.split("|")[1])}


def options_in_help(verb):
    text = subprocess.run([FMD, *verb.split(), "--help"], capture_output=True, text=True, check=True).stdout
    names = re.findall(r"^  (-[^\s:=]+)", text.split("\nOptions:\n")[1], re.M)
    return {long for name in names for long in name.split(",") if long.startswith("--")}


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.dir = pathlib.Path(cls.folder.name)
        (cls.dir / "bin").mkdir()
        (cls.dir / "bin" / "fmd").symlink_to(FMD)
        cls.env = {**os.environ, "PATH": f"{cls.dir / 'bin'}{os.pathsep}{os.environ['PATH']}"}
        # One demo serves all pages.
        subprocess.run([FMD, "demo"], cwd=cls.dir, check=True, capture_output=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_page(self, page):
        here = self.dir / page.stem
        here.mkdir()
        lines = commands(page)
        if page.stem != "tutorial":
            shutil.copytree(self.dir / "fmd-demo", here / "fmd-demo")
        for command, code, shown in lines:
            # The folder is there already; only the demo's own page runs it.
            if command.startswith("fmd demo >") and page.stem != "demo":
                continue
            run = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=here, env=self.env,
                                 capture_output=True, text=True, timeout=300)
            # 141: head had enough and closed the pipe.
            allowed = (code, 141) if "| head" in command else (code,)
            self.assertIn(run.returncode, allowed,
                          f"{page.name}: {command}\n{run.stdout[-2000:]}\n{run.stderr}")
            for line in shown:
                self.assertRegex(run.stdout + run.stderr, pattern(line), f"{page.name}: {command}")

    def test_commands_run(self):
        ran = 0
        for page in sorted(DOCS.glob("*.md")):
            if commands(page):
                with self.subTest(page=page.name):
                    self.run_page(page)
                    ran += 1
        self.assertGreaterEqual(ran, 9)

    def test_every_option_is_on_its_page(self):
        verbs = re.findall(r"^  (\w+) ", subprocess.run([FMD, "--help"], capture_output=True, text=True)
                           .stdout.split("\nSubcommands:\n")[1].split("\n\n")[0], re.M)
        self.assertIn("audit", verbs)
        shared = options_in_tables(DOCS / "options.md")
        parts = re.findall(r"^  (\w+) ", subprocess.run([FMD, "lm", "--help"], capture_output=True, text=True)
                           .stdout.split("\nSubcommands:\n")[1], re.M)
        self.assertIn("audit", parts)
        for verb in [*verbs, *(f"lm {part}" for part in parts)]:
            with self.subTest(verb=verb):
                page = DOCS / f"{verb.split()[0]}.md"
                self.assertTrue(page.exists(), f"docs/{verb}.md is missing")
                known = shared | options_in_tables(page)
                missing = {o for o in options_in_help(verb) - known if (verb, o) not in IN_THE_TEXT}
                self.assertFalse(missing, f"docs/{verb}.md: not in the table of options: {sorted(missing)}")

    def test_links_lead_somewhere(self):
        for page in [*DOCS.glob("*.md"), DOCS.parent / "README.md"]:
            for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
                self.assertTrue((page.parent / target).exists(), f"{page.name}: {target}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fmd", required=True)
    args, rest = parser.parse_known_args()
    FMD = str(pathlib.Path(args.fmd).resolve())
    unittest.main(argv=[sys.argv[0], *rest])
