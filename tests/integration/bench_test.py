# SPDX-License-Identifier: Apache-2.0
"""What `vixen bench` measures, shortly: its fields, its exit codes, what it refuses. No figure is compared with a bar."""
import json
import pathlib
import subprocess
import tempfile
import unittest

from processes import BIN, vixen


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


@unittest.skipUnless((BIN / "vixen-learner").exists(), "a build without LibTorch")
class Learner(Bench):
    def test_stands_beside_the_rate_of_a_large_product(self):
        text, figures = self.bench("learner", "--device", "cpu", "--net", "testbed", "--rows", 64000, "--batch_size", 16, 32,
                                   "--threads", 1, "--seconds", 0.02, "--rounds", 1)
        self.assertEqual({name: figures[name] for name in ("bench", "device", "precision", "rows")},
                         {"bench": "learner", "device": "cpu", "precision": "fp32", "rows": 64000})
        self.assertEqual([(update["batch_size"], update["net"], update["threads"], update["updates_at_once"])
                          for update in figures["updates"]], [(16, "testbed", 1, 1), (32, "testbed", 1, 1)])
        for update in figures["updates"]:
            self.positive(update, "updates_per_second", "limit_gflops", "limit_updates_per_second", "insert_ms", "loss")
            self.assertAlmostEqual(update["share_of_limit"],
                                   update["updates_per_second"] / update["limit_updates_per_second"], places=6)
        self.assertEqual(len(text.splitlines()), 3)

    def test_refuses(self):
        self.refuses(2, "--batch_size", "learner", "--batch_size", 0)
        self.refuses(2, "--precision needs a GPU", "learner", "--device", "cpu", "--precision", "tf32")
        self.refuses(2, "--curiosity_every needs a GPU", "learner", "--device", "cpu", "--curiosity_every", 10)

    def test_names_the_program_that_is_not_there(self):
        alone = self.path / "vixen"
        alone.write_bytes((BIN / "vixen").read_bytes())
        alone.chmod(0o700)
        done = subprocess.run([alone, "bench", "learner"], capture_output=True, text=True, timeout=30)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn(f"{self.path}/learner_bench is missing", done.stderr)


@unittest.skipUnless((BIN / "vixen-learner").exists(), "a build without LibTorch")
class Loop(Bench):
    short = ("loop", "--episodes", 16, "--steps", 64, "--threads", 1, "--torch_threads", 1, "--batch_size", 32,
             "--samples_per_insert", 1, "--warm_up", 0, "--seconds", 2)

    def test_stands_beside_the_executor_alone_and_says_who_waits(self):
        text, figures = self.bench(*self.short, "--learner", "min_size=2000")
        self.assertEqual({name: figures[name] for name in ("bench", "executor", "episodes", "steps", "threads", "torch_threads")},
                         {"bench": "loop", "executor": "cpu", "episodes": 16, "steps": 64, "threads": 1, "torch_threads": 1})
        self.positive(figures, "executor_transitions_per_second", "transitions_per_second", "inserted_per_second",
                      "updates_per_second", "sent_gigabytes_per_second", "share_of_executor")
        self.assertGreaterEqual(figures["seconds"], 2)
        self.assertIn("launching", figures["actor"]["shares"])
        self.assertIn("updating", figures["learner"]["shares"])
        for side in ("actor", "learner"):
            self.positive(figures[side], "cores")
            waiting = [share for name, share in figures[side]["shares"].items() if name.startswith("waiting_")]
            self.assertAlmostEqual(figures[side]["waiting_share"], sum(waiting), places=6)
        self.assertIn("waiting for the other", text)

    def test_refuses(self):
        self.refuses(2, "--episodes", "loop", "--episodes", 0)
        self.refuses(2, "vixen-learner does not start: vixen-learner: unknown flag --min_sise", *self.short,
                     "--learner", "min_sise=3")
        self.refuses(1, "vixen-actor does not start", *self.short, "--dataset", self.path / "none.safetensors")


if __name__ == "__main__":
    unittest.main()
