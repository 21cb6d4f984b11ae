# SPDX-License-Identifier: Apache-2.0
"""The PyTorch example learns the test-bed's b2 from the real actor, to the bar that every seed must reach."""
import importlib.util
import json
import subprocess
import sys
import unittest

import package_world  # noqa: F401  (skips where numpy or grpcio is missing)
from package_world import World, run_tool
from processes import SOURCE


class DoubleDqn(unittest.TestCase):
    def test_reaches_the_test_beds_bar_on_b2(self):
        world = World()
        self.addCleanup(world.close)
        bed = run_tool("synth", "b2", "--bars", 200000, "--seed", 1, "--out", world.dataset).stdout
        configuration = world.folder / "actor.textproto"
        configuration.write_text(bed)
        names = ("hidden1", "hidden2", "value_hidden", "advantage_hidden")
        world.actor = package_world.Process(
            world.folder, "actor", "vixen-actor", "--config", configuration, "--dataset", world.dataset, "--listen",
            world.address, "--metrics_listen", "127.0.0.1:0", "--executor", "cpu", "--seed", 1,
            *(text for name, width in zip(names, (64, 64, 16, 16)) for text in (f"--{name}", width)))
        world.actor.ports()
        weights = world.folder / "weights.safetensors"
        done = subprocess.run([sys.executable, SOURCE / "python/examples/double_dqn.py", "--actor", world.address,
                               "--transitions", "20000", "--cache", world.folder / "cache", "--out", weights],
                              capture_output=True, text=True, timeout=360)
        self.assertEqual(done.returncode, 0, done.stderr)
        score = json.loads(run_tool("score", "b2", "--weights", weights, "--json").stdout)["score"]
        self.assertGreaterEqual(score, 0.92, done.stdout)


if __name__ == "__main__":
    if importlib.util.find_spec("torch") is None:
        print("skipped: torch is not installed (scripts/python_env.sh)")
        sys.exit(77)
    unittest.main()
