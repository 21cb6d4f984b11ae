# SPDX-License-Identifier: Apache-2.0
"""A user's own data through the real programs: scripts/demo.sh on a file of theirs, what it says where it cannot
work, and a feature that leaks the next return, which a learner has to find."""
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

from processes import BIN, SOURCE, WithProcesses, vixen

try:
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)


def demo(folder, *arguments):
    """scripts/demo.sh as called from `folder`, writing there."""
    return subprocess.run([SOURCE / "scripts/demo.sh", *map(str, arguments)], cwd=folder, capture_output=True, text=True,
                          timeout=200, stdin=subprocess.DEVNULL, env={**os.environ, "VIXEN_BIN_DIR": str(BIN)})


def german_bars(path, rows=900):
    """As a European spreadsheet writes daily bars."""
    generator, price = random.Random(3), 10.0
    lines = ["Datum;Eröffnung;Hoch;Tief;Schluss;Stück"]
    for row in range(rows):
        opened, price = price, price * (1 + generator.gauss(0, 0.01))
        day = f"{1 + row % 28:02}.{1 + row // 28 % 12:02}.{1990 + row // 336}"
        numbers = [opened, max(opened, price) * 1.001, min(opened, price) * 0.999, price]
        lines.append(";".join([day, *(f"{number:.4f}".replace(".", ",") for number in numbers), str(generator.randint(1, 999))]))
    path.write_bytes("\ufeff".encode() + "\r\n".join(lines).encode() + b"\r\n\r\n")


class Demo(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def test_makes_a_report_of_a_european_file_in_another_folder(self):
        german_bars(self.path / "kurse.csv")
        done = demo(self.path, "--data", "kurse.csv", "--minutes", "0.05", "--calendar", "equity", "--out", "out", "--",
                    "--decimal", ",", "--volume=Stück", "--embargo", "20",
                    "--columns", "time=Datum,open=Eröffnung,high=Hoch,low=Tief,close=Schluss")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        page = (self.path / "out/report.html").read_text()
        self.assertIn("csv kurse.csv", page)
        info = json.loads(vixen("inspect", self.path / "out/own.safetensors", "--json").stdout)
        self.assertEqual((info["bars"], info["train_rows"]), (630, 520))  # 900 − 250 − 20, split at 0.8 of 650
        self.assertEqual(json.loads((self.path / "out/eval.json").read_text())["calendar"], "equity")

    def test_says_what_is_wrong_before_it_builds_or_trains(self):
        (self.path / "ten.csv").write_text("time,open,high,low,close\n" + "".join(
            f"2024-01-{day:02},1,1,1,1\n" for day in range(1, 11)))
        (self.path / "bad.csv").write_text("time,open,high,low,close\n2024-01-02,1,1,1,1\n2024-01-03,1,0,1,1\n")
        (self.path / "empty.csv").write_text("")
        for arguments, said in ((["--data", "none.csv"], f"--data none.csv: no such file in {self.path}"),
                                (["--data", "."], "--data .: not a file that can be read"),
                                (["--data"], "--data needs a value"),
                                (["--dta", "x"], "unknown option --dta; there are --data"),
                                (["--minutes", "soon"], "--minutes takes a number above 0, not 'soon'"),
                                (["--minutes", "0.0"], "--minutes takes a number above 0, not '0.0'"),
                                (["--calendar", "lunar"], "--calendar lunar: one of 24x7, equity, fx, futures"),
                                (["--data", "daily", "--tz", "UTC"], "--tz and flags of vixen import are for a file of yours"),
                                (["--data", "empty.csv"], "empty.csv: the file holds no line of data"),
                                (["--data", "bad.csv"], "bad.csv: line 3 (row 2), time `2024-01-03`: high = 0 is not above 0"),
                                (["--data", "ten.csv"], "the longest of 1 has 10 bars, warm_up 250 needs at least 252; "
                                                        "bring more bars, or a smaller --warm_up (60 at least)"),
                                (["--data", "ten.csv", "--", "--tzz", "UTC"], "--tz")):
            with self.subTest(arguments):
                done = demo(self.path, "--out", "out", *arguments)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(said, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertNotIn("3/5", done.stdout)

    def test_lists_its_options(self):
        done = demo(self.path, "--help")
        self.assertEqual(done.returncode, 0)
        for option in ("--data", "--tz", "--calendar", "--minutes", "--out", "--preset", "vixen import"):
            self.assertIn(option, done.stdout)


class LeakedReturn(WithProcesses):
    """Costs 0 and three positions: the best that can be had is 0.9 of the equity on the right side of each step. The
    returns are small, so that the equity, which the policy sees, stays where it was in training."""

    def test_reaches_nineteen_twentieths_of_what_a_clairvoyant_earns(self):
        generator = np.random.default_rng(5)
        rows = 12000
        returns = 1e-4 * generator.standard_normal(rows)
        close = (100 * np.exp(np.cumsum(returns))).astype(np.float32).astype(np.float64)
        leak = np.append(np.diff(np.log(close)), 0.0)
        bars = {"time": np.arange(rows) * 60 + 1704067200, "open": close, "high": close, "low": close, "close": close}
        np.savez(self.path / "bars.npz", **bars)
        np.savez(self.path / "mine.npz", next_return=leak, noise=generator.standard_normal(rows))
        data = self.path / "own.safetensors"
        vixen("import", "npy", self.path / "bars.npz", "--features_from", self.path / "mine.npz", "--split", 0.7, "--out", data)
        actor = self.start("actor", "vixen-actor", "--dataset", data, "--listen", "127.0.0.1:0", "--metrics_listen",
                           "127.0.0.1:0", "--threads", 1, "--episodes", 64, "--steps", 4, "--carry_over",
                           "--max_episode_steps", 500, "--actions", "1,19,37", "--gamma", 0.5, "--cost_bps", ",".join(["0"] * 9),
                           "--spread", 0, "--on_barrier", "relabel", "--barrier_bonus", 0, "--risk_scale", 0,
                           "--diversity_penalty", 0, "--curiosity_max", 0, "--pnl_scale", 12000, "--hidden1", 64, "--hidden2", 64,
                           "--value_hidden", 64, "--advantage_hidden", 64)
        learner = self.start("learner", "vixen-learner", "--actor", f"127.0.0.1:{actor.ports()[0]}", "--dataset", data, "--out",
                             self.path / "out", "--capacity", 100000, "--min_size", 512, "--samples_per_insert", 32,
                             "--epsilon_transitions", 2000, "--metrics_listen", "127.0.0.1:0", "--torch_threads", 1,
                             "--max_transitions", 8000)
        self.assertEqual(learner.wait(), 0, learner.log.read_text())
        self.assertEqual(actor.terminate(), 0, actor.log.read_text())
        summary = json.loads(vixen("eval", "--data", data, "--weights", self.path / "out/weights.safetensors",
                                   "--cost_scales", 1, "--resamples", 200, "--json").stdout)
        begin, end = summary["begin"], summary["end"]
        self.assertEqual((begin, end), (8400, 12000))
        best = np.log1p(0.9 * np.abs(np.diff(close[begin:end]) / close[begin:end - 1])).sum()
        earned = math.log1p(summary["metrics"]["policy"]["total_return"])
        self.assertGreater(earned, 0.95 * best)
        self.assertLess(earned, 1.001 * best)
        # The page must not call that chance.
        self.assertFalse([warning for warning in summary["warnings"] if "noise" in warning or "chance" in warning])


if __name__ == "__main__":
    unittest.main()
