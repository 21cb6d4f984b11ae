# SPDX-License-Identifier: Apache-2.0
"""The metrics of `vixen eval` beside those of a package that people know, and beside plain arithmetic on its files.

The package is empyrical-reloaded, in the environment of `scripts/python_env.sh metrics` (it is 400 MB with what it
pulls in, so it has its own); without it that one test is skipped and says so.
"""
import csv
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from processes import SOURCE, vixen

PEER = """
import json, sys
import empyrical, numpy
returns, year = numpy.array(json.load(sys.stdin)["returns"]), float(sys.argv[1])
json.dump({
    "total_return": empyrical.cum_returns_final(returns),
    "annual_return": empyrical.annual_return(returns, annualization=year),
    "volatility": empyrical.annual_volatility(returns, annualization=year),
    "sharpe": empyrical.sharpe_ratio(returns, annualization=year),
    "sortino": empyrical.sortino_ratio(returns, annualization=year),
    "max_drawdown": -empyrical.max_drawdown(returns),
    "calmar": empyrical.calmar_ratio(returns, annualization=year),
}, sys.stdout)
"""


def peer_python():
    """The interpreter that has the package, or None."""
    for python in (os.environ.get("VIXEN_METRICS_PYTHON") or sys.executable, sys.executable):
        if subprocess.run([python, "-c", "import empyrical"], capture_output=True).returncode == 0:
            return python
    return None


def write_weights(path, features):
    """A policy of random weights: it trades, at no time for a reason."""
    import numpy
    sys.path.insert(0, str(SOURCE / "tests/golden"))
    from make_case import write_safetensors
    generator, width = numpy.random.default_rng(5), 16
    state = features + 3
    layers = {"shared_layers.0": (width, state), "shared_layers.1": (width, width), "value_layers.0": (width, width),
              "value_layers.1": (1, width), "advantage_layers.0": (width, width), "advantage_layers.1": (45, width)}
    tensors = {}
    for kind in ("online.", "target."):
        for name, shape in layers.items():
            tensors[f"{kind}{name}.weight"] = generator.standard_normal(shape).astype("float32")
            tensors[f"{kind}{name}.bias"] = numpy.zeros(shape[0], "float32")
    write_safetensors(path, tensors, {"policy": "random", "online_version": "1"})


class Metrics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        path = pathlib.Path(cls.folder.name)
        vixen("import", "csv", SOURCE / "data/us-daily.csv.gz", "--symbol", "IBM", "--split", 0.6, "--embargo", 5,
              "--out", path / "d.safetensors")
        features = json.loads(vixen("inspect", path / "d.safetensors", "--json").stdout)["features"]
        write_weights(path / "w.safetensors", features if isinstance(features, int) else len(features))
        vixen("eval", "--data", path / "d.safetensors", "--weights", path / "w.safetensors", "--calendar", "equity",
              "--curiosity_max", 0, "--out", path / "e.json", "--trades", path / "t.csv")
        cls.evaluation = json.loads((path / "e.json").read_text())
        with open(path / "t.csv", newline="") as file:
            cls.trades = list(csv.DictReader(file))

    def returns(self, series):
        equity = [self.evaluation["initial_capital"]] + self.evaluation["series"][series]
        return [after / before - 1 for before, after in zip(equity, equity[1:])]

    def test_equal_those_of_empyrical_over_the_same_steps(self):
        python = peer_python()
        if python is None:
            self.skipTest("empyrical-reloaded is not installed (scripts/python_env.sh metrics)")
        year = self.evaluation["annualisation"]["steps_a_year"]
        for series, column in (("equity", "policy"), ("buy_and_hold", "buy_and_hold"),
                               ("moving_average", "moving_average")):
            done = subprocess.run([python, "-c", PEER, repr(year)], input=json.dumps({"returns": self.returns(series)}),
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            for name, expected in json.loads(done.stdout).items():
                found = self.evaluation["metrics"][column][name]
                self.assertTrue(math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-12),
                                f"{column} {name}: {found}, empyrical {expected}")

    def test_of_trades_follow_from_the_csv_file(self):
        metrics = self.evaluation["metrics"]["policy"]
        closed = [float(trade["profit"]) for trade in self.trades if trade["status"] == "closed"]
        opened = [float(trade["profit"]) for trade in self.trades if trade["status"] == "open"]
        self.assertGreater(len(closed), 20)
        gains, losses = sum(p for p in closed if p > 0), -sum(p for p in closed if p < 0)
        expected = {"closed_trades": len(closed), "open_trades": len(opened),
                    "win_rate": sum(p > 0 for p in closed) / len(closed), "profit_factor": gains / losses,
                    "expectancy": sum(closed) / len(closed), "closed_profit": sum(closed),
                    "costs": sum(float(trade["costs"]) for trade in self.trades)}
        for name, value in expected.items():
            self.assertTrue(math.isclose(metrics[name], value, rel_tol=1e-9), f"{name}: {metrics[name]}, {value}")
        change = self.evaluation["series"]["equity"][-1] - self.evaluation["initial_capital"]
        self.assertAlmostEqual(sum(closed) + sum(opened), change, delta=1e-6)

    def test_of_the_random_benchmark_keep_turnover_and_exposure(self):
        policy, chance = self.evaluation["metrics"]["policy"], self.evaluation["metrics"]["random"]
        self.assertEqual(chance["exposure_time"], policy["exposure_time"])
        self.assertAlmostEqual(chance["turnover"] / policy["turnover"], 1, delta=0.1)


if __name__ == "__main__":
    unittest.main()
