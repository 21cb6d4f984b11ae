# SPDX-License-Identifier: Apache-2.0
"""What `vixen bench` measures, shortly: its fields, its exit codes, what it refuses. No figure is compared with a bar."""
import json
import pathlib
import tempfile
import unittest

from processes import vixen


class Bench(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def bench(self, *arguments):
        """(what it printed, what it wrote with --json)."""
        file = self.path / "figures.json"
        done = vixen("bench", *arguments, "--json", file)
        self.assertEqual(done.stderr, "")
        return done.stdout, json.loads(file.read_text())

    def refuses(self, code, text, *arguments):
        done = vixen("bench", *arguments, check=False)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertIn(text, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def positive(self, figures, *names):
        for name in names:
            self.assertGreater(figures[name], 0, name)


class Replay(Bench):
    def test_stands_beside_a_limit_and_a_textbook(self):
        text, figures = self.bench("replay", "--rows", 64000, 100000, "--seconds", 0.02, "--rounds", 1, "--batch_size", 32)
        self.assertEqual((figures["bench"], figures["alpha"], figures["n_step"]), ("replay", 0.6, 1))
        self.assertEqual([(case["case"], case["rows"], case["batch_size"]) for case in figures["cases"]],
                         [(case, rows, batch) for rows in (64000, 100000)
                          for case, batch in (("form rows", 64000), ("insert", 64000), ("draw + update", 32))])
        for case in figures["cases"]:
            self.assertEqual(case["program"], "vixen")
            self.positive(case, "rows_per_second", "rows_per_cpu_second", "milliseconds", "share_of_limit")
            self.positive(case["limit"], "rows_per_second")
            self.assertEqual("peer" in case, case["case"] == "draw + update")
        self.positive(figures["cases"][2], "times_peer")
        self.assertEqual(len(text.splitlines()), 6)
        self.assertIn("binary sum tree", text)

    def test_refuses(self):
        self.refuses(2, "--rows", "replay", "--rows", 10)
        self.refuses(2, "--alpha", "replay", "--alpha", 2)
        self.refuses(2, "--secs", "replay", "--secs", 1)


if __name__ == "__main__":
    unittest.main()
