# SPDX-License-Identifier: Apache-2.0
"""A few rolling restarts of each side under load; bench/loop/rolling_bench.py does twenty and holds the bar."""
import tempfile
import unittest

from rolling import RollingWorld


class Rolling(unittest.TestCase):
    def test_training_goes_on_and_the_books_agree_over_restarts_of_either_side(self):
        with tempfile.TemporaryDirectory() as folder:
            world = RollingWorld(folder)
            try:
                for _ in range(2):
                    world.roll("actor")
                    world.roll("learner")
                world.finish()
                for kind in ("actor", "learner"):
                    print(kind, "drains", [f"{t:.2f}" for t in world.drains[kind]], "gaps", [f"{t:.2f}" for t in world.gaps[kind]])
                self.assertGreater(world.counts["looks at the books"], 0)
            finally:
                world.close()


if __name__ == "__main__":
    unittest.main()
