# SPDX-License-Identifier: Apache-2.0
"""Fresh golden cases with random settings and widths must pass `vixen verify` on this machine."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy  # noqa: F401  (make_case.py needs it)
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

CASES = 120

class RandomCases(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.make = pathlib.Path(os.environ["VIXEN_SOURCE_DIR"], "tests/golden/make_case.py")

    def verify(self):
        return subprocess.run([pathlib.Path(os.environ["VIXEN_BIN_DIR"], "vixen"), "verify", "--golden", self.folder],
                              capture_output=True, text=True)

    def test_random_settings_and_widths_agree_with_the_float64_reference(self):
        subprocess.run([sys.executable, self.make, self.folder, str(CASES), "1000"], check=True)
        done = self.verify()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(sum(line.startswith("passed") for line in done.stdout.splitlines()), CASES)

    def test_one_changed_reward_fails(self):
        subprocess.run([sys.executable, self.make, self.folder, "1", "7"], check=True)
        path, = self.folder.iterdir()
        image = bytearray(path.read_bytes())
        header_bytes = int.from_bytes(image[:8], "little")

        begin, _ = json.loads(image[8:8 + header_bytes])["out.reward"]["data_offsets"]
        rewards = numpy.frombuffer(image, "<f4", 1, 8 + header_bytes + begin)
        image[8 + header_bytes + begin:8 + header_bytes + begin + 4] = (rewards + numpy.float32(0.01)).tobytes()
        path.write_bytes(image)
        done = self.verify()
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("FAILED", done.stdout.upper())

if __name__ == "__main__":
    unittest.main()
