"""A thousand runs of debias that are really ended by kill -9, at random moments: old files or new ones, never a mixture."""

import argparse
import os
import pathlib
import random
import signal
import subprocess
import sys
import time
import unittest

import killed

KILLS = int(os.environ.get("FMD_KILLS", "1000"))


class RandomMoments(killed.Killed):
    # Those of the base class have their own entry.
    test_debias_to_a_new_name = test_debias_over_an_old_out = test_other_commands = None

    def test_a_kill_at_any_moment(self):
        rng = random.Random(1)
        old = self.debias_once("--method", "average-column")
        self.keep("old")
        new = self.debias_once("--force")
        begun = time.monotonic()
        self.debias_once("--force")
        length = time.monotonic() - begun
        kills = tries = 0
        seen = {"old": 0, "new": 0}
        while kills < KILLS:
            tries += 1
            self.assertLess(tries, 4 * KILLS + 100, "the kills come too late")
            self.back_to("old")
            process = subprocess.Popen([killed.FMD, *killed.DEBIAS, "--force"], cwd=self.dir,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            # Most of the changes come at the end of a run.
            time.sleep(length * rng.uniform(.5, 1.05) if rng.random() < .8 else length * rng.random())
            process.kill()
            if process.wait() != -signal.SIGKILL:
                continue  # it came to its end before
            kills += 1
            found = self.files()
            self.assertIn(found.get("out"), (old["out"], new["out"]))
            self.fmd("verify", "w/out.receipt.json", codes=(0, 1, 3))
            self.assert_tidy()
            state = "old" if self.files()["out"] == old["out"] else "new"
            seen[state] += 1
            self.assert_undo_works()
        print(f"{kills} of {tries} runs were ended by a kill; {seen['old']} left the old files, {seen['new']} the new ones",
              flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fmd", required=True)
    known, rest = parser.parse_known_args()
    killed.FMD = str(pathlib.Path(known.fmd).resolve())
    unittest.main(argv=[sys.argv[0], *rest])
