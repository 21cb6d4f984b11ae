# SPDX-License-Identifier: Apache-2.0
"""Processes that are killed, frozen, drained or slow; pushes while a launch runs."""
import random
import signal
import subprocess
import tempfile
import time
import unittest

from kills import KillWorld
from world import BIN, WorldTest, books
from consumer import Consumer, Stream, batches, open_request

KILLS = 6


class ProcessFaults(WorldTest):
    def test_the_books_balance_after_each_kill_of_either_side(self):
        with tempfile.TemporaryDirectory() as folder:
            seed = random.randrange(1 << 32)
            print(f"seed {seed}")
            world = KillWorld(folder, seed, learner=False)
            try:
                for _ in range(KILLS):
                    world.kill_consumer()
                    world.kill_actor()
                world.finish()
            finally:
                world.close()

    def test_a_push_while_a_launch_runs_counts_from_the_next_launch_on(self):
        world = self.start(episodes=64, steps=512, hidden1=256, hidden2=256, progress_deadline_seconds=30)
        stream = Stream(world.channel, open_request("p", "g", "c"))
        self.addCleanup(stream.cancel)
        stream.credit(1)
        world.wait_until(lambda: world.metric('vixen_launches_total{policy="p"}') == 1, "the launch to begin")
        for version in range(2, 8):
            world.push(version)
        stream.credit(1)
        taken = batches(stream.call)
        versions = [(header.online_version, header.target_version) for header, _, _ in (next(taken), next(taken))]
        self.assertEqual(versions, [(1, 1), (7, 7)])
        sheet = world.sheet()
        self.assertEqual(sheet.in_flight.batches, 2)

    def test_one_frozen_of_ten_groups_neither_stops_the_others_nor_grows_the_memory(self):
        world = self.start(episodes=64, steps=128)
        collect = [BIN / "vixen", "collect", "--actor", f"127.0.0.1:{world.port}", "--policy", "p", "--launches",
                   "100000", "--summary"]
        children = [subprocess.Popen(collect, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(10)]
        for child in children:
            self.addCleanup(child.wait)
            self.addCleanup(child.kill)
        produced = lambda: world.metric('vixen_batches_total{policy="p"}') or 0
        world.wait_until(lambda: produced() > 20, "batches for all")
        children[0].send_signal(signal.SIGSTOP)
        # It took what it had credit for; only keepalive can tell that it is gone.
        world.wait_until(lambda: world.metric("vixen_streams_open ") == 9, "the frozen one's end")
        rss, before = world.rss(), produced()
        world.wait_until(lambda: produced() > before + 200, "200 batches more")
        self.assertLess(world.rss() - rss, 16 << 20)
        sheets = sorted(books.sheets_of(world.channel), key=lambda sheet: sheet.acknowledged.batches)
        self.assertEqual(len(sheets), 10)
        for sheet in sheets[1:]:
            self.assertEqual(books.dropped(sheet, "retained_overflow"), (0, 0))
            self.assertGreater(sheet.acknowledged.batches, 100)

    def test_sigterm_says_where_everything_went(self):
        world = self.start()
        consumer = Consumer(world.port, "g", "c", world.journal("c")).start()
        world.wait_until(lambda: consumer.inserted > 10, "batches")
        world.actor.child.send_signal(signal.SIGTERM)
        self.assertEqual(world.actor.wait(20), 0)
        consumer.abandon()
        text = world.actor.log.read_text()
        line = next(line for line in text.splitlines() if "books of policy p, group g" in line)
        numbers = {name: int(value) for name, value in
                   (part.rsplit(" ", 1) for part in line.split(": ", 1)[1].split(" batches", 1)[0].split(", "))}
        self.assertEqual(numbers["offered"], sum(numbers.values()) - numbers["offered"] - numbers["not offered"])
        self.assertGreaterEqual(len(world.entries("c")), numbers["acknowledged"] + numbers["durable"])

    def test_a_launch_that_does_not_end_does_not_hold_up_the_exit(self):
        world = self.start(episodes=1024, steps=2048, hidden1=1024, hidden2=1024, grace_seconds=0.5)
        stream = Stream(world.channel, open_request("p", "g", "c"))
        self.addCleanup(stream.cancel)
        stream.credit(1)
        world.wait_until(lambda: world.metric('vixen_launches_total{policy="p"}') == 1, "the launch to begin")
        start = time.monotonic()
        world.actor.child.send_signal(signal.SIGTERM)
        self.assertEqual(world.actor.wait(20), 1)
        self.assertLess(time.monotonic() - start, 8)
        self.assertIn("shutdown hangs while waiting for the last launch", world.actor.log.read_text())


if __name__ == "__main__":
    unittest.main()
