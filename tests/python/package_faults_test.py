# SPDX-License-Identifier: Apache-2.0
"""The package while actors die and networks cut: nothing is lost silently, nothing comes twice."""
import asyncio
import threading
import time
import unittest

from package_world import World, random_tensors, wait_for
import vixen
import vixen.aio
from proxy import Proxy


class Faults(unittest.TestCase):
    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)
        self.world.start_actor()

    def push(self, actor):
        self.tensors = random_tensors(actor.info().architecture)
        policy = actor.policy("p")
        policy.push(online=self.tensors, target=self.tensors, epsilon=0.5)
        return policy

    def connect(self, port=None):
        actor = vixen.connect(f"127.0.0.1:{port or self.world.port}", keepalive_seconds=10, timeout=60)
        self.addCleanup(actor.close)
        return actor

    def test_an_actor_that_was_killed_comes_back_with_the_policys_weights(self):
        actor = self.connect()
        policy, taken = self.push(actor), {}  # run → sequences
        with policy.batches(credit=2) as stream:
            for batch in stream:
                run, sequence = batch.identity
                taken.setdefault(run, []).append(sequence)
                if len(taken[run]) == 3:
                    if len(taken) == 2:
                        break
                    self.world.actor.kill()
                    self.world.start_actor()
        old, new = taken.values()
        self.assertEqual(old, list(range(len(old))))
        self.assertLessEqual(len(old), 3 + 2)  # what was under way at the end may still have come
        self.assertEqual(new, [0, 1, 2])
        self.assertGreaterEqual(stream.counters["reconnects"], 1)
        self.assertEqual(policy.weights()[0].sha256, self.world_digest())

    def world_digest(self):
        return vixen.weights.digest(self.tensors)

    def test_a_connection_that_is_cut_costs_no_batch_and_gives_none_twice(self):
        proxy = Proxy(self.world.port)
        self.addCleanup(proxy.close)
        actor = self.connect(proxy.port)
        seen = []
        with self.push(actor).batches(group="cut", limit=60) as stream:
            for batch in stream:
                seen.append(batch.identity)
                if len(seen) % 10 == 5:
                    proxy.cut()
        self.assertEqual(sorted(set(seen)), sorted(seen))
        self.assertEqual([sequence for _, sequence in seen], list(range(60)))
        self.assertGreaterEqual(stream.counters["reconnects"], 5)
        (sheet,) = self.connect().balance("p", "cut")
        self.assertEqual((sheet.acknowledged.batches, sheet.dropped["lost_with_consumer"].batches), (60, 0))

    def test_asyncio_goes_on_too(self):
        proxy = Proxy(self.world.port)
        self.addCleanup(proxy.close)
        self.push(self.connect())

        async def main():
            seen = []
            async with await vixen.aio.connect(f"127.0.0.1:{proxy.port}", keepalive_seconds=10) as actor:
                async with actor.batches("p", group="aio", limit=30) as stream:
                    async for batch in stream:
                        seen.append(batch.header.sequence)
                        if len(seen) % 10 == 5:
                            proxy.cut()
            return seen, stream.counters

        seen, counters = asyncio.run(main())
        self.assertEqual(seen, list(range(30)))
        self.assertGreaterEqual(counters["reconnects"], 3)

    def test_what_was_taken_but_not_acknowledged_before_a_cut_is_acknowledged_after_it(self):
        proxy = Proxy(self.world.port)
        self.addCleanup(proxy.close)
        actor = self.connect(proxy.port)
        with self.push(actor).batches(group="late", credit=1) as stream:
            first = next(stream)
            proxy.cut()
            second = next(stream)
            self.assertNotEqual(first.identity, second.identity)
            second.ack()
        (sheet,) = self.connect().balance("p", "late")
        self.assertEqual((sheet.acknowledged.batches, sheet.in_flight.batches), (2, 0))

    def test_a_dataset_whose_transfer_breaks_goes_on_where_it_was(self):
        proxy = Proxy(self.world.port)
        self.addCleanup(proxy.close)
        actor = self.connect(proxy.port)
        cache = self.world.folder / "cache"
        info = actor.info().dataset
        part = cache / (info.fingerprint.hex() + ".safetensors.part")
        cache.mkdir()
        whole = self.world.dataset.read_bytes()
        part.write_bytes(whole[:5000])  # what an earlier attempt left
        self.assertEqual(len(actor.dataset(cache)), 3000)
        self.assertFalse(part.exists())
        path = part.with_suffix("")
        self.assertEqual(path.read_bytes(), whole)
        stamp = path.stat().st_mtime_ns
        self.assertEqual(len(actor.dataset(cache)), 3000)
        self.assertEqual(path.stat().st_mtime_ns, stamp, "it was fetched again")
        path.write_bytes(whole[:-100] + bytes(100))  # spoilt: fetched again
        self.assertEqual(actor.dataset(cache).fingerprint, info.fingerprint)
        part.write_bytes(b"\0" * 5000)  # an attempt that left nonsense
        path.unlink()
        with self.assertRaises(vixen.DataError):
            actor.dataset(cache)
        self.assertEqual(actor.dataset(cache).fingerprint, info.fingerprint)

    def test_an_actor_that_is_gone_is_given_up_after_the_patience(self):
        actor = self.connect()
        with self.push(actor).batches(patience=0.5) as stream:
            next(stream)
            self.world.actor.kill()
            actor.timeout = 0.2
            began = time.monotonic()
            with self.assertRaises(vixen.ActorUnavailable):
                for _ in stream:
                    pass
        self.assertLess(time.monotonic() - began, 20)
        with self.assertRaisesRegex(vixen.ActorUnavailable, "does the actor listen there"):
            vixen.connect(self.world.address, timeout=0.3)

    def test_a_push_waits_for_an_actor_that_is_away(self):
        actor = self.connect()
        actor.timeout = 0.5
        policy = self.push(actor)
        self.world.actor.kill()
        impatient = actor.policy("p", patience=0)
        with self.assertRaises(vixen.ActorUnavailable):
            impatient.push(online=self.tensors)
        pushed = []
        thread = threading.Thread(target=lambda: pushed.append(policy.push(online=self.tensors)), daemon=True)
        thread.start()
        self.world.start_actor()
        thread.join(60)
        self.assertEqual(pushed, [2])
        self.assertEqual(policy.weights()[0].version, 2)

    def test_a_stream_without_weights_says_what_it_waits_for(self):
        actor = self.connect()
        with self.assertLogs("vixen", "WARNING") as logged:
            stream = actor.batches("nobody", limit=1)
            thread = threading.Thread(target=lambda: list(stream), daemon=True)
            thread.start()
            wait_for(lambda: stream.counters.get("notices"), "the notice")
            actor.policy("nobody").push(online=self.tensors_of(actor), target=self.tensors_of(actor), epsilon=1.0)
            thread.join(60)
        self.assertFalse(thread.is_alive())
        self.assertIn("weights", logged.output[0])

    def tensors_of(self, actor):
        return random_tensors(actor.info().architecture)

    def test_a_draining_actor_ends_the_stream_and_its_successor_is_found(self):
        actor = self.connect()
        policy = self.push(actor)
        taken, enough = [], threading.Event()

        def consume():
            with policy.batches(group="drain", limit=40) as stream:
                for batch in stream:
                    taken.append(batch.identity)
                    if len(taken) >= 5:
                        enough.set()

        thread = threading.Thread(target=consume, daemon=True)
        thread.start()
        self.assertTrue(enough.wait(60))
        self.assertEqual(self.world.actor.terminate(), 0)
        self.world.start_actor()
        thread.join(60)
        wait_for(lambda: not thread.is_alive(), "forty batches", 1)
        self.assertEqual(len(set(taken)), 40)


if __name__ == "__main__":
    unittest.main()
