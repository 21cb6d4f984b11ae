# SPDX-License-Identifier: Apache-2.0
"""The package against the real actor: batches, states, weights, books, TLS; threads and asyncio."""
import asyncio
import json
import pathlib
import subprocess
import sys
import threading
import unittest

from package_world import OneActor, World, random_tensors, run_tool
import numpy as np
import vixen
import vixen.aio
from processes import SOURCE
from vixen import weights


class Batches(OneActor):
    def take(self, n=1, **options):
        with self.actor.batches("p", limit=n, **options) as stream:
            return list(stream)

    def test_states_from_the_dataset_are_the_executors_bit_for_bit(self):
        dataset = self.actor.dataset(self.world.folder / "cache")
        self.assertEqual(dataset.fingerprint, self.info.dataset.fingerprint)
        for batch in self.take(3, group="states", state=True, next_state=True):
            states = dataset.states(batch["bar"], batch["portfolio"])
            self.assertEqual(states.tobytes(), batch["state"].tobytes())
            following = dataset.states(batch["bar"], batch["next_portfolio"], offset=1)
            self.assertEqual(following.tobytes(), batch["next_state"].tobytes())
        (compact,) = self.take(group="compact", dataset=dataset)
        self.assertEqual(compact.states().shape, (8, 32, dataset.state_width))
        self.assertEqual(compact.next_states()[..., -3:].tobytes(), compact["next_portfolio"].tobytes())

    def test_columns_say_what_the_trailer_says(self):
        (batch,) = self.take(group="columns", terms=True)
        self.assertEqual((batch.shape, batch.rows, batch.valid.all()), ((8, 32), 256, True))
        s = batch.statistics
        self.assertEqual(int(batch.explored.sum()), s.explored)
        self.assertEqual(int(batch.terminated.sum()), s.terminated)
        self.assertEqual(int(batch.truncated.sum()), s.truncated)
        self.assertEqual(np.bincount(batch.barrier.ravel(), minlength=4).tolist(), list(s.barrier_result))
        np.testing.assert_allclose(batch["terms"].sum(axis=-1), batch["reward"], atol=1e-5)
        np.testing.assert_allclose(batch["terms"].sum(axis=(0, 1)), s.term_sum, rtol=1e-4, atol=1e-4)
        self.assertEqual((batch.header.online_version, batch.header.target_version), (1, 1))
        self.assertAlmostEqual(batch.header.epsilon, 0.25)

    def test_columns_are_views_and_records_are_the_same_rows(self):
        (batch,) = self.take(group="views")
        flat = batch.flat("bar", "portfolio")
        self.assertTrue(np.shares_memory(flat["portfolio"], batch["portfolio"]))
        self.assertTrue(all(np.shares_memory(column, column.base) for column in batch.values()))
        records = batch.records("bar", "portfolio", "reward")
        np.testing.assert_array_equal(records["portfolio"][32 + 3], batch["portfolio"][1, 3])

    def test_greedy_rows_take_the_best_action_of_the_pushed_network(self):
        (batch,) = self.take(group="greedy", state=True)
        q = weights.q_values(self.tensors, batch["state"])
        allowed = list(self.actor.settings().actions) or list(range(45))
        best = q[..., allowed].max(axis=-1)
        chosen = np.take_along_axis(q, batch["action"].astype(int)[..., None], axis=-1)[..., 0]
        np.testing.assert_allclose(chosen[~batch.explored], best[~batch.explored], atol=1e-4)

    def test_half_precision_halves_the_float_columns(self):
        (full,), (half,) = self.take(group="full", terms=True), self.take(group="half", terms=True, fp16=True)
        self.assertEqual(half["reward"].dtype, np.float16)
        floats = sum(full[name].nbytes for name in ("portfolio", "next_portfolio", "reward", "td", "terms"))
        self.assertEqual(full.nbytes - half.nbytes, floats // 2)

    def test_a_column_that_was_not_asked_for_is_named(self):
        (batch,) = self.take(group="missing")
        with self.assertRaisesRegex(vixen.ConfigurationError, "no column 'terms'; it has bar"):
            batch["terms"]
        with self.assertRaisesRegex(vixen.ConfigurationError, "dataset"):
            batch.states()

    def test_asking_for_the_next_acknowledges_and_leaving_does_not(self):
        with self.actor.batches("p", group="leave", credit=1) as stream:
            first, second = next(stream), next(stream)
            self.assertTrue(first.acknowledged)
            self.assertFalse(second.acknowledged)
        sheet = self.sheet("leave")
        self.assertEqual(sheet.acknowledged.batches, 1)
        (again,) = self.take(group="leave")  # the group gets it, whoever comes
        self.assertEqual(again.identity, second.identity)
        self.assertEqual(again.header.delivery, 2)

    def test_what_was_acknowledged_explicitly_does_not_come_again(self):
        with self.actor.batches("p", group="explicit", credit=1) as stream:
            batch = next(stream)
            batch.ack()
            batch.ack()
            state = stream.make_durable()
        (other,) = self.take(group="explicit", resume=state)
        self.assertNotEqual(other.identity, batch.identity)
        sheet = self.sheet("explicit")
        self.assertEqual((sheet.durable.batches, sheet.dropped["lost_with_consumer"].batches), (1, 0))

    def test_a_consumer_that_comes_back_without_its_batches_has_lost_them(self):
        self.assertEqual(len(self.take(3, group="lost", consumer="c")), 3)
        self.take(1, group="lost", consumer="c")
        self.assertEqual(self.sheet("lost").dropped["lost_with_consumer"].batches, 3)

    def test_groups_in_threads_each_get_every_batch_and_consumers_share_a_group(self):
        found = {}

        def consume(group, name):
            with self.actor.batches("p", group=group, consumer=name, limit=6) as stream:
                found[group, name] = [batch.header.sequence for batch in stream]

        names = [("one", "a"), ("two", "a"), ("shared", "a"), ("shared", "b")]
        threads = [threading.Thread(target=consume, args=name) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual({name: len(sequences) for name, sequences in found.items()}, {name: 6 for name in names})
        self.assertFalse(set(found["shared", "a"]) & set(found["shared", "b"]))
        for group in ("one", "two", "shared"):
            self.assertEqual(self.sheet(group).acknowledged.batches, 12 if group == "shared" else 6)

    def test_a_second_consumer_of_the_same_name_is_told_so(self):
        with self.actor.batches("p", group="name", consumer="c") as first:
            next(first)
            with self.actor.batches("p", group="name", consumer="c", patience=0) as second:
                with self.assertRaises(vixen.ActorError) as raised:
                    next(second)
        self.assertEqual(raised.exception.code.name, "ALREADY_EXISTS")

    def test_another_dataset_is_refused_with_both_fingerprints(self):
        other = self.world.folder / "other.safetensors"
        run_tool("synth", "b2", "--bars", 3000, "--seed", 6, "--out", other)
        with self.assertRaises(vixen.ActorError) as raised:
            self.take(dataset=vixen.Dataset(other))
        self.assertEqual(raised.exception.code.name, "FAILED_PRECONDITION")
        fingerprint = json.loads(run_tool("inspect", other, "--json").stdout)["fingerprint"]
        self.assertIn(fingerprint, str(raised.exception))
        self.assertIn(self.info.dataset.fingerprint.hex(), str(raised.exception))

    def test_bars_of_another_dataset_are_found_out_by_their_number(self):
        with self.assertRaisesRegex(vixen.DataError, "bar 3000 is outside the dataset's 3000"):
            vixen.Dataset(self.world.dataset).states(np.array([3000], np.uint32), np.zeros((1, 3)))

    def test_what_is_closed_says_so_at_once(self):
        actor = self.world.connect()
        stream, waiting = actor.batches("p", group="closed"), actor.batches("p", group="closed2")
        next(stream)
        stream.close()
        self.assertEqual(list(stream), [])
        policy = actor.policy("p")
        actor.close()
        for ask in (actor.info, actor.balance, actor.dataset, lambda: policy.push(online=self.tensors),
                    lambda: policy.set_epsilon(0.5), lambda: policy.weights("online"), lambda: next(waiting)):
            with self.subTest(ask), self.assertRaisesRegex(vixen.ConfigurationError, "this Actor is closed; connect again"):
                ask()

    def test_calls_that_cannot_work_are_refused_before_anything_is_sent(self):
        for call, field in ((lambda: self.policy.push(), "online"), (lambda: self.policy.push(epsilon=0.5), "online"),
                            (lambda: self.policy.push(online=self.tensors, epsilon=1.5), "epsilon"),
                            (lambda: self.policy.push(online=self.tensors, epsilon="0.5"), "epsilon"),
                            (lambda: self.policy.weights("best"), "kind"),
                            (lambda: self.actor.batches("p", dataset=self.world.dataset), "dataset")):
            with self.subTest(field), self.assertRaises(vixen.ConfigurationError) as raised:
                call()
            self.assertEqual(raised.exception.field, field)

    def test_a_program_that_closes_nothing_ends_by_itself(self):
        program = ("import sys, vixen; actor = vixen.connect(sys.argv[1]); "
                   "stream = actor.batches('p', group='unclosed'); next(stream); raise SystemExit(5)")
        done = subprocess.run([sys.executable, "-c", program, self.world.address], capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 5, done.stderr)

    def test_asyncio_takes_several_streams_at_once(self):
        async def take(actor, group):
            async with actor.batches("p", group=group, limit=5, terms=True) as stream:
                return [batch.identity async for batch in stream]

        async def main():
            async with await vixen.aio.connect(self.world.address) as actor:
                self.assertEqual((await actor.info()).run_id, self.info.run_id)
                both = await asyncio.gather(take(actor, "aio1"), take(actor, "aio2"))
                version = await actor.policy("aio").push(online=self.tensors, target=self.tensors, epsilon=0.5)
                return both, version, (await actor.balance("p", "aio1"))[0]

        both, version, sheet = asyncio.run(main())
        self.assertEqual([len(set(one)) for one in both], [5, 5])
        self.assertEqual((version, sheet.acknowledged.batches), (1, 5))

    def test_asyncio_reads_on_after_a_wait_that_was_given_up(self):
        async def main():
            async with await vixen.aio.connect(self.world.address) as actor:
                async with actor.batches("nobody-yet", group="wait", limit=2) as stream:
                    with self.assertRaises(asyncio.TimeoutError):
                        await asyncio.wait_for(stream.__anext__(), 0.3)  # there are no weights
                    await actor.policy("nobody-yet").push(online=self.tensors, target=self.tensors, epsilon=1.0)
                    return [batch.rows async for batch in stream]

        self.assertEqual(asyncio.run(main()), [256, 256])


class Weights(OneActor):
    settings = {"curiosity_max": 0.1, "max_weights_bytes": 200_000}

    def test_go_out_and_come_back_the_same(self):
        header, tensors = self.actor.weights("p", "online")
        self.assertEqual((header.version, header.policy), (1, "p"))
        for name, values in self.tensors.items():
            self.assertEqual(tensors[name].tobytes(), values.tobytes())
        self.assertEqual(set(self.actor.weights("p", "curiosity")[1]), {"0.weight", "0.bias", "1.weight", "1.bias"})

    def test_versions_rise_above_what_others_pushed(self):
        ours, theirs = self.actor.policy("race"), self.actor.policy("race")
        pushed = [who.push(online=self.tensors) for who in (ours, theirs, theirs, ours)]
        self.assertEqual(pushed, [1, 2, 3, 4])

    def test_epsilon_comes_with_a_push_or_alone(self):
        policy = self.actor.policy("epsilon")
        live = lambda: next(p.epsilon for p in self.actor.info().policies if p.policy == "epsilon")
        policy.push(online=self.tensors, target=self.tensors, epsilon=0.5)
        self.assertEqual(live(), 0.5)
        self.assertEqual(policy.set_epsilon(0.25), 0.25)
        policy.push(online=self.tensors)
        self.assertEqual(live(), 0.25)
        for wrong in (-0.1, 1.5, float("nan")):
            with self.assertRaisesRegex(vixen.ConfigurationError, "epsilon is"):
                policy.push(online=self.tensors, epsilon=wrong)

    def test_of_a_refused_push_nothing_is_kept(self):
        policy = self.actor.policy("refused")
        policy.push(online=self.tensors)
        with self.assertRaises(vixen.WeightsError):
            policy.push(online={**self.tensors, "shared_layers.0.bias": np.zeros(3)})
        self.assertEqual(policy.weights()[0].version, 1)
        policy.republish(run_id=0)
        self.assertEqual(policy.weights()[0].version, 2)

    def test_that_were_never_pushed_are_not_found(self):
        with self.assertRaises(vixen.ActorError) as raised:
            self.actor.weights("nobody")
        self.assertEqual(raised.exception.code.name, "NOT_FOUND")
        with self.assertRaisesRegex(vixen.ConfigurationError, "kind is 'all', expected one of online"):
            self.actor.weights("p", "all")

    def test_saved_are_a_bundle_for_the_tools(self):
        path = self.world.folder / "saved.safetensors"
        self.policy.save(path)
        told = json.loads(run_tool("inspect", path, "--json").stdout)
        self.assertEqual([(kind["weights"], kind["version"]) for kind in told["kinds"]],
                         [("online", 1), ("target", 1), ("curiosity", 1)])
        self.assertEqual(told["scaler_fingerprint"], self.info.dataset.scaler_fingerprint.hex())
        run_tool("collect", "--data", self.world.dataset, "--weights", path, "--launches", 1, "--summary")
        self.assertEqual(self.actor.policy("again").push(online=path, target=path, curiosity=path), 1)

    def test_above_the_actors_cap_are_not_even_sent(self):
        wide = World()
        self.addCleanup(wide.close)
        wide.start_actor(hidden1=128, max_weights_bytes=20_000)
        with wide.connect() as actor, self.assertRaisesRegex(vixen.WeightsError, "the actor takes 20000"):
            actor.policy("p").push(online=random_tensors(actor.info().architecture))


class SlotsThatIdle(OneActor):
    settings = {"steps": 200, "max_holding_bars": 3, "recycle": "false"}

    def test_rows_that_are_not_valid_are_zero_and_left_out(self):
        with self.actor.batches("p", group="idle", state=True, next_state=True, limit=1) as stream:
            (batch,) = stream
        self.assertLess(batch.rows, 1600)
        self.assertEqual(batch.rows, int(batch.valid.sum()))
        dataset = vixen.Dataset(self.world.dataset)
        for name, states in (("state", dataset.states(batch["bar"], batch["portfolio"], where=batch.valid)),
                             ("next_state", dataset.states(batch["bar"], batch["next_portfolio"], 1, batch.valid))):
            self.assertEqual(states.tobytes(), batch[name].tobytes())
            self.assertFalse(batch[name][~batch.valid].any())
        self.assertEqual(len(batch.flat()["reward"]), batch.rows)
        self.assertEqual(len(batch.records()), batch.rows)


class CarriedOver(OneActor):
    settings = {"carry_over": "true", "compression": "gzip"}

    def test_slot_states_come_a_slot_through_gzip(self):
        with self.actor.batches("p", group="slots", slot_states=True, limit=2) as stream:
            for batch in stream:
                self.assertEqual(batch["slot_states"].shape, (8, 168))
                self.assertNotIn("slot_states", batch.flat())


class Tls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = World()
        cls.addClassCleanup(cls.world.close)
        cls.certificates = cls.world.folder / "certificates"
        subprocess.run([SOURCE / "scripts/dev-certs.sh", cls.certificates], check=True, capture_output=True)
        cls.world.start_actor(tls_certificate=cls.certificates / "actor.pem", tls_key=cls.certificates / "actor.key",
                              tls_ca=cls.certificates / "ca.pem")

    def connect(self, role):
        folder = pathlib.Path(self.certificates)
        return self.world.connect(tls=vixen.Tls(folder / "ca.pem", folder / f"{role}.pem", folder / f"{role}.key"))

    def test_roles_are_the_certificates(self):
        with self.connect("learner") as actor:
            tensors = random_tensors(actor.info().architecture)
            actor.policy("p").push(online=tensors, target=tensors, epsilon=1.0)
            with actor.batches("p", limit=2) as stream:
                self.assertEqual(sum(batch.rows for batch in stream), 512)
            with self.connect("collect") as other, self.assertRaises(vixen.ActorError) as raised:
                other.policy("p").push(online=tensors)
            self.assertEqual(raised.exception.code.name, "PERMISSION_DENIED")

    def test_asyncio_speaks_it_too(self):
        folder = pathlib.Path(self.certificates)
        tls = vixen.Tls(folder / "ca.pem", folder / "learner.pem", folder / "learner.key")

        async def main():
            async with await vixen.aio.connect(self.world.address, tls) as actor:
                tensors = random_tensors((await actor.info()).architecture)
                await actor.policy("aio").push(online=tensors, target=tensors, epsilon=1.0)
                async with actor.batches("aio", limit=1) as stream:
                    return [batch.rows async for batch in stream]

        self.assertEqual(asyncio.run(main()), [256])

    def test_a_client_without_it_is_told_what_to_look_at(self):
        with self.assertRaisesRegex(vixen.ActorUnavailable, "do both sides use TLS"):
            vixen.connect(self.world.address, timeout=1)


if __name__ == "__main__":
    unittest.main()
