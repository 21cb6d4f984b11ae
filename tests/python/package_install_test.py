# SPDX-License-Identifier: Apache-2.0
"""`pip install ./python` from a copy of the tree, without the network: what is installed is whole and typed."""
import importlib.util
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import package_world  # noqa: F401  (skips where numpy or grpcio is missing)
from processes import SOURCE


class Install(unittest.TestCase):
    def test_pip_installs_the_package_with_its_messages_and_type_hints(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            ignored = shutil.ignore_patterns("build", "*.egg-info", "__pycache__")
            for part in ("python", "proto"):
                shutil.copytree(SOURCE / part, folder / part, ignore=ignored)
            done = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index",
                                   "--no-build-isolation", "--target", folder / "site", folder / "python"],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            site = folder / "site"
            for file in ("py.typed", "v1/__init__.py", "v1/actor_pb2.py", "v1/actor_pb2.pyi", "aio.py"):
                self.assertTrue((site / "vixen" / file).exists(), file)
            self.assertTrue(any(site.glob("bin/vixen-export")))
            program = "import vixen, vixen.aio, vixen.export; print(vixen.__file__, vixen.__version__)"
            told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=site,
                                  env={"PYTHONPATH": str(site), "PATH": "/usr/bin:/bin"})
            self.assertEqual(told.returncode, 0, told.stderr)
            self.assertEqual(told.stdout.split(), [str(site / "vixen/__init__.py"), "0.1.0"])


if __name__ == "__main__":
    if importlib.util.find_spec("setuptools") is None or importlib.util.find_spec("pip") is None:
        print("skipped: no setuptools or no pip")
        sys.exit(77)
    unittest.main()
