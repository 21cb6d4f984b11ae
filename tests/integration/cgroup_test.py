# SPDX-License-Identifier: Apache-2.0
"""Both daemons in a container's limits, which a folder in place of /sys/fs/cgroup sets."""
import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "fault")]
from world import World  # noqa: E402

MIB = 1 << 20


class Cgroup(unittest.TestCase):
    def start(self, files):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.world = World(folder.name, threads=0, steady_memory=True)
        self.addCleanup(self.world.close)
        root = self.world.folder / "cgroup"
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")
        self.world.environment["VIXEN_CGROUP_ROOT"] = str(root)

    def check(self, memory, cpu):
        """One quota of half a core, 512 MiB: in either layout of the files."""
        self.start({**memory, **cpu})
        too_large = self.world.start_learner(capacity=10_000_000)
        self.assertEqual(too_large.wait(60), 2)
        text = too_large.log.read_text().splitlines()[-1]
        self.assertRegex(text, r"capacity is 10000000: \d+ MiB of replay \+ \d+ MiB for checkpoints \+ \d+ MiB for the "
                               r"rest are more than the 512 MiB .* set capacity to at most \d+")
        self.world.start_actor()
        self.assertEqual(self.world.metric("vixen_cpu_limit_cores"), 1)
        self.assertEqual(self.world.metric("vixen_memory_limit_bytes"), 512 * MIB)
        self.assertRegex(self.world.actor.log.read_text(), "the machine allows 512 MiB")
        self.assertIn(", 1 thread", self.world.info.device)
        learner = self.world.start_learner(torch_threads=0)
        port = learner.ports()[0]
        learner.wait_for(lambda: (learner.metric(port, "vixen_learner_updates_total") or 0) > 20, "updates")
        self.assertIn("1 threads", learner.log.read_text())
        self.assertLess(learner.metric(port, "process_resident_memory_bytes"), 0.9 * 512 * MIB)
        self.assertEqual(learner.terminate(), 0)

    def test_version_2(self):
        self.check({"memory.max": str(512 * MIB)}, {"cpu.max": "50000 100000"})

    def test_version_1(self):
        self.check({"memory/memory.limit_in_bytes": str(512 * MIB)},
                   {"cpu/cpu.cfs_quota_us": "50000", "cpu/cpu.cfs_period_us": "100000"})


if __name__ == "__main__":
    unittest.main()
