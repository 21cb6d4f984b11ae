# SPDX-License-Identifier: Apache-2.0
"""Processes that are killed, frozen, drained or slow; pushes while a launch runs."""
import random
import signal
import subprocess
import tempfile
import threading
import time
import unittest

from kills import KillWorld
from world import BIN, WorldTest, books, grpc, weights_pb2
from consumer import Consumer, Stream, batches, open_request
from stock_client import weights_pb2_grpc

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
        world = self.start(episodes=64, steps=512, hidden1=256, hidden2=256)
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
        world = self.start(episodes=64, steps=128, keepalive_seconds=3, steady_memory=True)
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
        groups = [f"collect-{child.pid}" for child in children]
        for group in groups[1:]:
            world.wait_until(lambda: world.sheet(group).acknowledged.batches > 100, f"100 batches of {group}")
        self.assertLess(world.rss() - rss, 16 << 20)
        self.assertEqual(sorted(sheet.group for sheet in books.sheets_of(world.channel)), sorted(groups))
        for group in groups[1:]:
            self.assertEqual(books.dropped(world.sheet(group), "retained_overflow"), (0, 0))

    def test_sigterm_says_where_everything_went(self):
        world = self.start()
        consumer = Consumer(world.port, "g", "c", world.journal("c")).start()
        world.wait_until(lambda: consumer.inserted > 10, "batches")
        world.actor.child.send_signal(signal.SIGTERM)
        self.assertEqual(world.actor.wait(60), 0)
        consumer.abandon()
        text = world.actor.log.read_text()
        line = next(line for line in text.splitlines() if "books of policy p, group g" in line)
        numbers = books.numbers_of(line)
        self.assertEqual(numbers["offered"], sum(numbers.values()) - numbers["offered"] - numbers["not offered"])
        self.assertGreaterEqual(len(world.entries("c")), numbers["acknowledged"] + numbers["durable"])

    def upload_without_end(self):
        """A push of which nothing more comes after its first chunk; gives the call, once the chunk is sent."""
        going_on, uploading = threading.Event(), threading.Event()
        self.addCleanup(going_on.set)
        info = self.world.info

        def parts():
            header = weights_pb2.WeightsHeader(policy="p", kind=weights_pb2.WEIGHTS_KIND_ONLINE, version=9,
                                               architecture=info.architecture, sha256=b"\0" * 32, size=1 << 20,
                                               scaler_fingerprint=info.dataset.scaler_fingerprint)
            yield weights_pb2.PushWeightsRequest(header=header)
            yield weights_pb2.PushWeightsRequest(chunk=b"\0" * 1000)
            uploading.set()
            going_on.wait(60)

        call = weights_pb2_grpc.WeightsStub(self.world.channel).PushWeights.future(parts(), timeout=60)
        self.assertTrue(uploading.wait(20))
        return call

    def test_an_upload_under_way_does_not_hold_up_the_exit(self):
        world = self.start(grace_seconds=3)
        consumer = Consumer(world.port, "g", "c", world.journal("c")).start()
        world.wait_until(lambda: consumer.inserted > 10, "batches")
        pushed = self.upload_without_end()
        self.assertEqual(world.actor.terminate(60), 0)
        consumer.abandon()
        self.assertIn(pushed.exception().code(), (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED))
        line = next(line for line in world.actor.log.read_text().splitlines() if "books of policy p, group g" in line)
        numbers = books.numbers_of(line)
        self.assertEqual(numbers["offered"], sum(numbers.values()) - numbers["offered"] - numbers["not offered"])

    def test_a_second_signal_ends_a_stop_that_takes_its_time_at_once(self):
        world = self.start(episodes=1024, steps=2048, hidden1=1024, hidden2=1024, grace_seconds=60)
        stream = Stream(world.channel, open_request("p", "g", "c"))
        self.addCleanup(stream.cancel)
        stream.credit(1)
        world.wait_until(lambda: world.metric('vixen_launches_total{policy="p"}') == 1, "the launch to begin")
        world.actor.child.send_signal(signal.SIGTERM)
        world.wait_until(lambda: "a second one ends at once" in world.actor.log.read_text(), "the stop to begin")
        world.actor.child.send_signal(signal.SIGTERM)
        self.assertEqual(world.actor.wait(60), 1)
        self.assertIn("again: ending now", world.actor.log.read_text())

    def test_a_launch_that_does_not_end_does_not_hold_up_the_exit(self):
        world = self.start(episodes=1024, steps=2048, hidden1=1024, hidden2=1024, grace_seconds=0.5)
        stream = Stream(world.channel, open_request("p", "g", "c"))
        self.addCleanup(stream.cancel)
        stream.credit(1)
        world.wait_until(lambda: world.metric('vixen_launches_total{policy="p"}') == 1, "the launch to begin")
        start = time.monotonic()
        world.actor.child.send_signal(signal.SIGTERM)
        self.assertEqual(world.actor.wait(60), 1)
        self.assertLess(time.monotonic() - start, 8)
        self.assertIn("shutdown hangs while waiting for the last launch", world.actor.log.read_text())


if __name__ == "__main__":
    unittest.main()
