# SPDX-License-Identifier: Apache-2.0
"""The package's type hints hold under mypy --strict, and tell a caller what is wrong."""
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import package_world  # noqa: F401  (skips where numpy or grpcio is missing)
import vixen
from processes import SOURCE

CALLER = """
import vixen

with vixen.connect("127.0.0.1:50051") as actor:
    policy = actor.policy("p")
    for batch in policy.batches(dataset=actor.dataset(), limit=3):
        episodes, steps = batch.shape
        rewards = batch["reward"].sum()
    version: int = policy.push(online={}, epsilon=0.5)
"""


class Types(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()  # holds mypy's cache: numpy's hints are read once
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name

    def mypy(self, *arguments):
        return subprocess.run([sys.executable, "-m", "mypy", "--config-file", SOURCE / "python/pyproject.toml", *arguments],
                              capture_output=True, text=True, timeout=150, cwd=self.folder,
                              env={**os.environ, "MYPYPATH": str(pathlib.Path(vixen.__file__).parents[1])})

    def test_of_the_package_are_strict(self):
        done = self.mypy("-p", "vixen")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_take_a_right_caller_and_name_what_is_wrong_in_another(self):
        done = self.mypy("-c", CALLER)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        wrong = CALLER.replace("version: int", "version: str").replace('policy("p")', "policy(3)")
        done = self.mypy("-c", wrong.replace("batch.shape", "batch.shapes"))
        self.assertEqual(done.returncode, 1)
        self.assertEqual(sorted(int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error: " in line),
                         [5, 7, 9])


if __name__ == "__main__":
    if importlib.util.find_spec("mypy") is None:
        print("skipped: mypy is not installed (scripts/python_env.sh)")
        sys.exit(77)
    unittest.main()
