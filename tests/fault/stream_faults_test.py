# SPDX-License-Identifier: Apache-2.0
"""Faults of the network and of consumers: nothing is lost without a reason, nothing comes twice."""
import random
import signal
import unittest

from world import WorldTest, books, grpc, vixen, wait_for
from consumer import Consumer, Stream, open_request
from proxy import DOWN, UP, Proxy


class StreamFaults(WorldTest):
    def consume(self, port, name="c", group="g", **more):
        return Consumer(port, group, name, self.world.journal(name), **more).start()

    def through_proxy(self, **more):
        self.proxy = Proxy(self.world.port)
        self.addCleanup(self.proxy.close)
        return self.consume(self.proxy.port, **more)

    def more_batches(self, consumer, n=5, seconds=60):
        target = consumer.inserted + n
        self.world.wait_until(lambda: consumer.inserted >= target, f"{n} batches more", seconds)

    def end(self, *consumers):
        for consumer in consumers:
            consumer.stop()
        self.world.reconcile(*(consumer.name for consumer in consumers))

    def test_a_reset_inside_a_chunk_is_made_good_by_sending_again(self):
        seed = random.randrange(1 << 32)
        print(f"seed {seed}")
        rng = random.Random(seed)
        world = self.start(episodes=64, steps=64, chunk_bytes=16384)
        consumer = self.through_proxy()
        for _ in range(8):
            self.more_batches(consumer, 2)
            broken = consumer.counters["UNAVAILABLE"] + consumer.counters["INTERNAL"]
            self.proxy.reset_after(DOWN, rng.randrange(1, 400_000))
            world.wait_until(lambda: consumer.counters["UNAVAILABLE"] + consumer.counters["INTERNAL"] > broken,
                             "the reset to be noticed")
        self.more_batches(consumer)
        self.end(consumer)
        self.assertEqual(books.pair(world.sheet().dropped["lost_with_consumer"]), (0, 0))

    def test_a_stream_that_a_proxy_resets_inside_a_message_goes_on_on_the_same_connection(self):
        seed = random.randrange(1 << 32)
        print(f"seed {seed}")
        rng = random.Random(seed)
        world = self.start(episodes=64, steps=64, chunk_bytes=16384)
        consumer = self.through_proxy()
        for number in range(1, 9):
            self.more_batches(consumer, 2)
            self.proxy.reset_stream_after(rng.randrange(1, 60))
            world.wait_until(lambda: consumer.counters["INTERNAL"] == number, "the reset to be noticed")
        self.more_batches(consumer)
        self.assertEqual(self.proxy.connections, 1)
        self.end(consumer)
        self.assertEqual(books.pair(world.sheet().dropped["lost_with_consumer"]), (0, 0))

    def test_half_open_streams_that_fill_the_actor_give_their_room_to_a_new_consumer(self):
        world = self.start(max_streams=64, keepalive_seconds=2)
        proxy = Proxy(world.port)
        self.addCleanup(proxy.close)
        channels = [books.channel_to(proxy.port) for _ in range(8)]
        for channel in channels:
            self.addCleanup(channel.close)
        streams = [Stream(channels[i % 8], open_request("p", "g", f"c{i}")) for i in range(64)]
        for stream in streams:
            self.addCleanup(stream.cancel)
            self.assertTrue(next(stream.call).HasField("opened"))
        consumer = self.consume(world.port, "new", "h")
        world.wait_until(lambda: consumer.counters["RESOURCE_EXHAUSTED"] > 0, "the refusal")
        self.assertEqual(consumer.inserted, 0)
        proxy.swallow(UP, DOWN)
        self.more_batches(consumer)  # keepalive has found out about the others
        world.wait_until(lambda: world.metric("vixen_streams_open ") == 1, "the others' end")
        consumer.stop()
        world.reconcile("new", group="h")

    def test_a_slow_reader_beside_a_quick_group_costs_bounded_memory_and_each_batch_has_its_place(self):
        world = self.start(episodes=64, steps=128, retain_batches=4, steady_memory=True)
        slow = self.consume(world.port, "slow", "s", credit=16, pause=0.2)
        self.more_batches(slow, 1)  # its sheet begins with the first launch
        quick = self.consume(world.port, "quick", "q", credit=16)
        self.more_batches(quick, 50)
        rss = world.rss()
        self.more_batches(quick, 400)
        lost = lambda sheet: sheet.not_offered.batches + books.dropped(sheet, "slow_consumer")[0]
        world.wait_until(lambda: lost(world.sheet("s")) > 100, "the slow one to fall behind")
        self.assertLess(world.rss() - rss, 8 << 20)
        slow.stop()
        quick.stop()
        for name, group in (("slow", "s"), ("quick", "q")):
            world.reconcile(name, group=group)
        # What the slow one gave no credit for, or did not take, is its own loss and stands in its sheet.
        slow, quick = world.sheet("s"), world.sheet("q")
        self.assertGreater(lost(slow), 100)
        self.assertLessEqual(slow.retained.batches, 4)
        self.assertEqual(books.dropped(quick), (0, 0))
        launched = world.metric('vixen_batches_total{policy="p"}')
        self.assertLessEqual(slow.offered.batches + slow.not_offered.batches, launched)
        self.assertGreaterEqual(slow.offered.batches + slow.not_offered.batches, quick.offered.batches)

    def test_bytes_that_vanish_one_way_are_noticed_and_made_good(self):
        for way in (DOWN, UP):
            with self.subTest(way=way):
                world = self.start(keepalive_seconds=2)
                consumer = self.through_proxy(keepalive=True)
                self.more_batches(consumer)
                opened = world.metric("vixen_streams_opened_total")
                self.proxy.swallow(way)
                # Keepalive 2 s and half of it for the answer, at either end.
                world.wait_until(lambda: world.metric("vixen_streams_open ") == 0 or
                                 world.metric("vixen_streams_opened_total") > opened, "the broken stream's end", 25)
                self.proxy.heal()
                self.more_batches(consumer)
                self.end(consumer)

    def test_a_half_open_idle_stream_is_found_by_keepalive(self):
        world = self.start(keepalive_seconds=3)
        proxy = Proxy(world.port)
        self.addCleanup(proxy.close)
        channel = books.channel_to(proxy.port)
        self.addCleanup(channel.close)
        stream = Stream(channel, open_request("p", "g", "c"))
        self.addCleanup(stream.cancel)
        self.assertTrue(next(stream.call).HasField("opened"))
        # Several questions are asked and answered while nothing else is sent.
        answered = proxy.answered_pings
        world.wait_until(lambda: proxy.answered_pings >= answered + 3, "answers to keepalive")
        self.assertEqual(world.metric("vixen_streams_open "), 1)
        proxy.swallow(UP, DOWN)
        world.wait_until(lambda: world.metric("vixen_streams_open ") == 0, "the slot to be free", 25)

    def test_a_question_that_nobody_answers_ends_at_its_deadline(self):
        world = self.start()
        proxy = Proxy(world.port)
        self.addCleanup(proxy.close)
        proxy.swallow(UP)  # the actor's greeting still comes: to the tool this is a connection
        address = f"127.0.0.1:{proxy.port}"
        for command in (["inspect", "--actor", address],
                        ["collect", "--actor", address, "--policy", "p", "--launches", "1"]):
            done = vixen(*command, check=False)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(f"GetInfo at {address}: Deadline Exceeded", done.stderr)

    def test_a_frozen_consumer_is_evicted_and_the_other_group_goes_on(self):
        world = self.start(episodes=64, steps=128, progress_deadline_seconds=3, steady_memory=True)
        frozen = world.start_consumer("frozen", credit=64)
        other = self.consume(world.port, "other", "h")
        world.wait_until(lambda: world.entries("frozen"), "a first batch")
        frozen.send_signal(signal.SIGSTOP)
        evicted = lambda: any("made no progress and is evicted" in line and "consumer=frozen" in line
                              for line in world.actor.log.read_text().splitlines())
        world.wait_until(evicted, "the eviction")
        self.assertGreaterEqual(world.metric("vixen_streams_evicted_total"), 1)
        rss = world.rss()
        self.more_batches(other, 200)
        self.assertLess(world.rss() - rss, 8 << 20)
        frozen.send_signal(signal.SIGCONT)
        before = len(world.entries("frozen"))
        world.wait_until(lambda: len(world.entries("frozen")) > before + 2, "batches after it woke up")
        frozen.send_signal(signal.SIGTERM)
        self.assertEqual(frozen.wait(60), 0)
        other.stop()
        world.reconcile("frozen")
        world.reconcile("other", group="h")

    def test_a_frozen_actor_is_left_and_found_again(self):
        world = self.start(keepalive_seconds=2)
        consumer = self.consume(world.port, keepalive=True)
        self.more_batches(consumer)
        world.actor.child.send_signal(signal.SIGSTOP)
        try:
            wait_for(lambda: consumer.counters["UNAVAILABLE"] > 0, "the consumer to notice", 25)
        finally:
            world.actor.child.send_signal(signal.SIGCONT)
        self.more_batches(consumer)
        self.end(consumer)

    def test_what_a_dying_consumer_had_goes_to_the_other_of_its_group(self):
        world = self.start()
        dying = world.start_consumer("dying", checkpoint_every=4)
        other = self.consume(world.port, "other")
        world.wait_until(lambda: len(world.entries("dying")) > 8, "both to take part")
        dying.kill()
        dying.wait()
        self.more_batches(other, 20)
        # It comes back without what it had inserted after its last checkpoint.
        again = world.start_consumer("dying", checkpoint_every=4)
        before = len(world.entries("dying"))
        world.wait_until(lambda: len(world.entries("dying")) > before + 4, "batches after its return")
        again.send_signal(signal.SIGTERM)
        self.assertEqual(again.wait(60), 0)
        other.stop()
        world.reconcile("dying", "other")

    def test_a_delay_changes_nothing_but_time(self):
        self.start()
        consumer = self.through_proxy()
        self.more_batches(consumer)
        self.proxy.delay_seconds = 0.05
        self.more_batches(consumer, 10)
        self.end(consumer)

    def test_a_consumer_is_told_when_the_actor_comes_back_with_another_dataset(self):
        world = self.start()
        fingerprint = world.info.dataset.fingerprint
        world.actor.kill()
        world.dataset = world.folder / "other.safetensors"
        vixen("synth", "b2", "--bars", 2000, "--seed", 6, "--out", world.dataset)
        world.start_actor()
        stream = Stream(world.channel, open_request("p", "g", "c", dataset_fingerprint=fingerprint))
        with self.assertRaises(grpc.RpcError) as raised:
            list(stream.call)
        self.assertEqual(raised.exception.code(), grpc.StatusCode.FAILED_PRECONDITION)
        self.assertIn(fingerprint.hex(), raised.exception.details())
        self.assertIn(world.info.dataset.fingerprint.hex(), raised.exception.details())


if __name__ == "__main__":
    unittest.main()
