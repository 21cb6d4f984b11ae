# SPDX-License-Identifier: Apache-2.0
"""The package without an actor: bytes in, arrays and errors out."""
import hashlib
import os
import pathlib
import platform
import random
import resource
import subprocess
import sys
import tempfile
import types
import unittest

import package_world  # noqa: F401  (skips where numpy or grpcio is missing)
import google_crc32c
import numpy as np
import vixen
from package_world import random_tensors
from vixen import tensor_file, weights
from vixen.connection import check_address
from vixen.consumer import Consumer, Options
from vixen.sequences import SequenceSet
from vixen.v1 import actor_pb2, batch_pb2, config_pb2, weights_pb2
from vixen.wire import BatchReader, Layout, chunk_of

ARCHITECTURE = weights_pb2.Architecture(features=4, hidden1=16, hidden2=32, value_hidden=16, advantage_hidden=16,
                                        curiosity_hidden=16)


def opened(episodes=3, steps=5, run_id=7, max_credit=64):
    columns = [("bar", batch_pb2.ELEMENT_TYPE_U32, 1), ("portfolio", batch_pb2.ELEMENT_TYPE_F32, 3),
               ("action", batch_pb2.ELEMENT_TYPE_U8, 1), ("flags", batch_pb2.ELEMENT_TYPE_U8, 1)]
    return actor_pb2.Opened(run_id=run_id, episodes=episodes, steps=steps, max_credit=max_credit, chunk_bytes=64,
                            settings=config_pb2.EnvironmentSettings(gamma=0.9).SerializeToString(),
                            columns=[batch_pb2.Column(name=n, type=t, width=w) for n, t, w in columns])


def messages(layout, sequence=0, seed=0, **changes):
    """One batch as serialised responses; `changes`: fields of header or trailer that are to be wrong."""
    rng = np.random.default_rng(seed)
    rows = layout.episodes * layout.steps
    payload = (rng.integers(0, 1000, rows, dtype=np.uint32).tobytes() + rng.random((rows, 3), np.float32).tobytes()
               + rng.integers(0, 45, rows, dtype=np.uint8).tobytes() + bytes([1] * rows))
    header = {"run_id": 7, "sequence": sequence, "payload_bytes": len(payload), "settings_sha256": layout.settings_sha256}
    trailer = {"crc32c": google_crc32c.value(payload), "statistics": batch_pb2.LaunchStatistics(valid_rows=rows)}
    for name, value in changes.items():
        (header if name in header else trailer)[name] = value
    chunks = [batch_pb2.BatchChunk(offset=at, data=payload[at:at + 64]) for at in range(0, len(payload), 64)]
    parts = [{"header": batch_pb2.BatchHeader(**header)}, *({"chunk": chunk} for chunk in chunks),
             {"trailer": batch_pb2.BatchTrailer(**trailer)}]
    return payload, [actor_pb2.CollectResponse(**part).SerializeToString() for part in parts]


class FreedMemory(unittest.TestCase):
    PROGRAM = """
import ctypes, resource, sys
import numpy as np
from vixen.consumer import Consumer, Options
PR_SET_THP_DISABLE = 41
ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)
Consumer(Options(policy="p", consumer="c", keep_memory=sys.argv[1] == "kept"))
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def megabytes():
    blocks = [np.empty(16 << 20, np.uint8) for _ in range(3)]
    for block in blocks:
        block.fill(1)
megabytes()
before = faults()
for _ in range(10):
    megabytes()
print(faults() - before)
"""

    def faults_of(self, kept, **environment):
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_TUNABLES"))}
        run = subprocess.run([sys.executable, "-c", self.PROGRAM, kept], env={**clean, **environment},
                             capture_output=True, text=True, check=True)
        return int(run.stdout)

    @unittest.skipUnless(platform.libc_ver()[0] == "glibc", "another C library than glibc")
    def test_stays_with_the_process_unless_options_or_environment_say_otherwise(self):
        each_time = 10 * (48 << 20) // resource.getpagesize()
        self.assertLess(self.faults_of("kept"), each_time // 10)
        self.assertGreater(self.faults_of("given_back"), each_time // 2)
        self.assertGreater(self.faults_of("kept", MALLOC_TRIM_THRESHOLD_="131072"), each_time // 2)


class Sequences(unittest.TestCase):
    def test_hold_the_same_numbers_as_a_set_in_any_order(self):
        rng = random.Random(3)
        for _ in range(200):
            ours, model = SequenceSet(), set()
            for _ in range(40):
                number = rng.randrange(30)
                self.assertEqual(ours.add(number), number not in model)
                model.add(number)
            self.assertEqual([n for first, last in ours for n in range(first, last + 1)], sorted(model))
            self.assertEqual(len(ours), len(model))
            self.assertEqual([n in ours for n in range(31)], [n in model for n in range(31)])
            ranges = list(ours)
            self.assertTrue(all(a[1] + 1 < b[0] for a, b in zip(ranges, ranges[1:])), ranges)

    def test_refuse_ranges_that_overlap(self):
        for ranges in ([(3, 5), (5, 6)], [(4, 3)], [(-1, 2)]):
            with self.assertRaises(ValueError):
                SequenceSet(ranges)


class Wire(unittest.TestCase):
    def setUp(self):
        self.layout = Layout(opened(), 1 << 20)
        self.reader = BatchReader(self.layout)

    def feed(self, texts):
        for text in texts:
            whole = self.reader.feed(text)
        return whole

    def test_gives_views_of_the_payload_in_declared_order(self):
        payload, texts = messages(self.layout)
        header, trailer, received = self.feed(texts)
        self.assertEqual(received.tobytes(), payload)
        views = self.layout.views(received)
        self.assertEqual(list(views), ["bar", "portfolio", "action", "flags"])
        self.assertEqual(views["portfolio"].shape, (3, 5, 3))
        np.testing.assert_array_equal(views["bar"].ravel(), np.frombuffer(payload, "<u4", 15))
        self.assertTrue(all(np.shares_memory(view, received) for view in views.values()))

    def test_reads_a_chunk_whose_fields_come_in_another_order(self):
        payload, texts = messages(self.layout)
        data = payload[64:128]
        body = b"\x12\x40" + data + b"\x08\x40"  # data, then offset 64
        texts[2] = b"\x1a" + bytes([len(body)]) + body
        self.assertIsNone(chunk_of(texts[2]))
        self.assertEqual(self.feed(texts)[2].tobytes(), payload)

    def test_agrees_with_protobuf_on_any_chunk(self):
        rng = random.Random(1)
        for _ in range(300):
            chunk = batch_pb2.BatchChunk(offset=rng.choice([0, 1, 127, 128, 1 << 20, 1 << 40]),
                                         data=rng.randbytes(rng.choice([1, 127, 128, 20000])))
            text = actor_pb2.CollectResponse(chunk=chunk).SerializeToString()
            offset, begin, end = chunk_of(text)
            self.assertEqual((offset, text[begin:end]), (chunk.offset, chunk.data))
            self.assertIsNone(chunk_of(text[:-1]))

    def test_names_what_does_not_fit(self):
        layout = self.layout
        cases = {
            "crc32c": messages(layout, crc32c=1)[1],
            "payload_bytes": messages(layout, payload_bytes=99)[1],
            "settings_sha256": messages(layout, settings_sha256=b"x" * 32)[1],
            "offset": [text for i, text in enumerate(messages(layout)[1]) if i != 2],
            "sequence": messages(layout)[1][:1] * 2,
        }
        cases["part"] = [actor_pb2.CollectResponse(opened=opened()).SerializeToString()]
        for field, texts in cases.items():
            with self.subTest(field), self.assertRaises(vixen.DataError) as raised:
                self.reader = BatchReader(layout)
                self.feed(texts)
            self.assertEqual(raised.exception.field, field)
        self.reader = BatchReader(layout)
        with self.assertRaisesRegex(vixen.DataError, "trailer after 192 of"):
            texts = messages(layout)[1]
            self.feed([*texts[:4], texts[-1]])

    def test_refuses_a_batch_above_the_limit_before_it_takes_memory(self):
        with self.assertRaisesRegex(vixen.DataError, "max_batch_bytes 1000"):
            Layout(opened(episodes=60000, steps=60000), 1000)

    def test_refuses_a_column_of_a_type_that_it_does_not_know(self):
        message = opened()
        message.columns[0].type = 9
        with self.assertRaises(vixen.DataError) as raised:
            Layout(message, 1 << 20)
        self.assertEqual((raised.exception.field, raised.exception.value), ("bar", 9))


class TheConsumer(unittest.TestCase):
    def start(self, **options):
        self.said = []
        self.consumer = Consumer(Options(policy="p", consumer="c", **options))
        self.open()
        return self.consumer

    def open(self, run_id=7):
        text = actor_pb2.CollectResponse(opened=opened(run_id=run_id)).SerializeToString()
        return self.consumer.start(text, self.said.append)

    def batch(self, sequence):
        found = None
        for text in messages(self.consumer.layout, sequence)[1]:
            found = self.consumer.receive(text)
        return found

    def words(self):
        words = [(r.WhichOneof("part"), r.credit.n or r.ack.sequence) for r in self.said]
        self.said.clear()
        return words

    def test_gives_its_window_of_credit_and_one_more_for_each_batch_taken(self):
        self.start(credit=3)
        self.assertEqual(self.words(), [("credit", 3)])
        self.batch(0)
        self.assertEqual(self.words(), [("credit", 1)])

    def test_gives_no_more_credit_than_its_limit_leaves(self):
        self.start(credit=3, limit=4)
        for sequence in range(4):
            self.batch(sequence)
        self.assertEqual(sum(n for part, n in self.words() if part == "credit"), 4)
        self.assertEqual(self.consumer.remaining, 0)

    def test_drops_a_batch_that_comes_again_and_acknowledges_it_if_it_was(self):
        self.start()
        first, second = self.batch(1), self.batch(2)
        first.ack()
        self.words()
        self.consumer.stop_sending()
        self.assertFalse(self.open(), "the same run")
        self.words()
        self.assertIsNone(self.batch(1))
        self.assertEqual(self.words(), [("ack", 1), ("credit", 1)])
        self.assertIsNone(self.batch(2), "the caller still has it")
        self.assertEqual(self.words(), [("credit", 1)])
        second.ack()
        self.assertEqual(self.words(), [("ack", 2)])
        self.assertEqual(self.consumer.counters["duplicates"], 2)

    def test_says_what_was_acknowledged_between_two_streams_of_a_run(self):
        self.start()
        batch = self.batch(5)
        self.consumer.stop_sending()
        batch.ack()
        held = self.consumer.open_request(7).open.held
        self.assertEqual([(r.run_id, [(x.first, x.last) for x in r.ranges]) for r in held], [(7, [(5, 5)])])
        self.words()
        self.open()
        self.assertIn(("ack", 5), self.words())

    def test_forgets_acknowledgements_of_a_run_that_ended(self):
        self.start()
        batch = self.batch(5)
        self.consumer.stop_sending()
        batch.ack()
        self.assertTrue(self.open(run_id=8), "another run")
        self.assertNotIn("ack", [part for part, _ in self.words()])

    def test_goes_on_from_what_it_made_durable(self):
        self.start()
        for sequence in (0, 1, 4):
            self.batch(sequence).ack()
        state = self.consumer.make_durable()
        self.assertEqual(state, {"0000000000000007": [[0, 1], [4, 4]]})
        self.start(resume=state)
        opening = self.consumer.open_request(7).open
        self.assertEqual(len(opening.held[0].ranges), 2)
        self.assertEqual(opening.held, opening.durable)
        self.assertIsNone(self.batch(4))
        self.assertIsNotNone(self.batch(2))

    def test_names_the_option_that_cannot_work(self):
        for options in ({"policy": "a b"}, {"group": ""}, {"consumer": "x" * 65}, {"credit": 0}, {"limit": 0},
                        {"credit": "3"}, {"credit": 1.5}, {"credit": None}, {"limit": 2.5}, {"dataset": "bars.safetensors"},
                        {"next_state": True}):
            (field, value), = options.items()
            with self.subTest(field), self.assertRaises(vixen.ConfigurationError) as raised:
                Options(**options)
            if value:
                self.assertEqual((raised.exception.field, raised.exception.value), (field, value))


class Addresses(unittest.TestCase):
    def test_must_be_host_and_port(self):
        for address in ("localhost", ":5", "a:b", "a:0", "a:70000"):
            with self.subTest(address), self.assertRaisesRegex(vixen.ConfigurationError, "expected HOST:PORT"):
                check_address(address, None, True)

    def test_outside_of_loopback_need_tls_or_a_word(self):
        for address in ("127.0.0.1:5", "localhost:5", "[::1]:5", "127.9.9.9:5"):
            check_address(address, None, False)
        for address in ("10.0.0.1:5", "actor:5", "[fe80::1]:5"):
            with self.subTest(address), self.assertRaisesRegex(vixen.ConfigurationError, "Tls.*insecure"):
                check_address(address, None, False)
            check_address(address, None, True)
            check_address(address, vixen.Tls("ca.pem"), False)

    def test_certificate_and_key_go_together_and_are_read(self):
        with self.assertRaisesRegex(vixen.ConfigurationError, "certificate alone"):
            vixen.Tls("ca.pem", certificate="c.pem").credentials()
        with self.assertRaisesRegex(vixen.ConfigurationError, "Tls.ca /no/such: No such file"):
            vixen.Tls("/no/such").credentials()


class TensorFiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "a.safetensors"

    def test_give_back_what_was_written(self):
        tensors = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array([1, 2], np.int64),
                   "c": np.array([], np.uint8), "d": np.float64(3) * np.ones(())}
        tensor_file.write(self.path, tensors, {"k": "v"})
        read, metadata = tensor_file.read(self.path)
        self.assertEqual(metadata["k"], "v")
        for name, values in tensors.items():
            self.assertEqual(read[name].dtype, values.dtype)
            np.testing.assert_array_equal(read[name], values)
        body = b"".join(values.tobytes() for values in tensors.values())
        self.assertEqual(metadata["sha256"], hashlib.sha256(body).hexdigest())

    def test_cut_off_anywhere_are_refused_by_name(self):
        image = tensor_file.image({"a": np.arange(6, dtype=np.float32)}, {"k": "v"})
        for length in range(1, len(image)):
            self.path.write_bytes(image[:length])
            with self.assertRaisesRegex(vixen.DataError, "a.safetensors"):
                tensor_file.read(self.path)
        with self.assertRaisesRegex(vixen.DataError, "No such file"):
            tensor_file.read("/no/such/file")

    def test_of_nonsense_are_refused(self):
        for header in (b"[]", b"{\"a\": 3}", b"{\"a\": {\"dtype\": \"F9\", \"shape\": [], \"data_offsets\": [0, 0]}}",
                       b"{\"a\": {\"dtype\": \"F32\", \"shape\": [-1], \"data_offsets\": [0, 4]}}"):
            with self.subTest(header), self.assertRaises(vixen.DataError):
                tensor_file.read(len(header).to_bytes(8, "little") + header + b"\0" * 8)


class Weights(unittest.TestCase):
    def check(self, change):
        tensors = random_tensors(ARCHITECTURE)
        change(tensors)
        with self.assertRaises(vixen.WeightsError) as raised:
            weights.check(weights.load(tensors, "online"), ARCHITECTURE, "online")
        return raised.exception

    def test_are_refused_by_tensor(self):
        name = "value_layers.0.weight"
        self.assertEqual(self.check(lambda t: t.pop(name)).field, name)
        self.assertEqual(self.check(lambda t: t.update({"more": np.zeros(1)})).field, "more")
        wrong = self.check(lambda t: t.update({name: t[name].T.copy()}))
        self.assertEqual((wrong.field, wrong.value), (name, (32, 16)))
        self.assertIn("needs [16, 32]", str(wrong))
        self.assertEqual(self.check(lambda t: t.update({name: np.zeros((16, 32), np.int64)})).field, name)

        def poison(tensors):
            tensors[name][3, 4] = np.inf
        wrong = self.check(poison)
        self.assertEqual((wrong.field, wrong.value), (name, np.inf))
        self.assertIn(f"inf at {3 * 32 + 4}", str(wrong))

    def test_whose_names_have_a_wrappers_prefix_are_told_so(self):
        wrapped = {f"_orig_mod.{name}": values for name, values in random_tensors(ARCHITECTURE).items()}
        with self.assertRaisesRegex(vixen.WeightsError, r"no tensor shared_layers\.0\.weight; .*there is "
                                                        r"_orig_mod\.shared_layers\.0\.weight: take the prefix off"):
            weights.check(weights.load(wrapped, "online"), ARCHITECTURE, "online")
        self.assertIn("there are body.weight", str(self.check(lambda t: (t.clear(), t.update({"body.weight": np.zeros(1)})))))

    def test_of_any_memory_order_and_width_are_taken_as_float32(self):
        plain = random_tensors(ARCHITECTURE)
        name = "shared_layers.1.weight"
        for other in (np.asfortranarray(plain[name]), np.repeat(plain[name], 2, axis=0)[::2], plain[name].astype(np.float64),
                      plain[name].astype(">f4")):
            loaded = weights.load({**plain, name: other}, "online")
            self.assertTrue(loaded[name].flags.c_contiguous)
            self.assertEqual(weights.digest(loaded), weights.digest(plain))

    def test_that_are_no_arrays_by_name_are_refused(self):
        for wrong in ([1, 2], 7, {0: np.zeros(1)}):
            with self.subTest(wrong), self.assertRaises(vixen.WeightsError):
                weights.load(wrong, "online")

    def test_of_a_bundle_are_taken_by_prefix(self):
        online, target = random_tensors(ARCHITECTURE, seed=1), random_tensors(ARCHITECTURE, seed=2)
        bundle = {f"online.{k}": v for k, v in online.items()} | {f"target.{k}": v for k, v in target.items()}
        np.testing.assert_array_equal(weights.load(bundle, "target")["shared_layers.0.bias"],
                                      target["shared_layers.0.bias"])
        with self.assertRaisesRegex(vixen.WeightsError, r"no curiosity\.… tensors"):
            weights.load(bundle, "curiosity")
        image = tensor_file.image(bundle, {})
        self.assertEqual(weights.digest(weights.load(image, "online")), weights.digest(online))

    def test_are_copied_so_that_training_may_go_on(self):
        tensors = random_tensors(ARCHITECTURE)
        loaded = weights.load(tensors, "online")
        tensors["shared_layers.0.bias"] += 1
        self.assertFalse(np.array_equal(loaded["shared_layers.0.bias"], tensors["shared_layers.0.bias"]))

    def test_are_proved_by_the_answer(self):
        tensors = random_tensors(ARCHITECTURE)
        q = weights.probe_outputs(tensors, ARCHITECTURE, "online")
        fp32, fp16 = batch_pb2.PRECISION_FP32, batch_pb2.PRECISION_FP16
        answer = lambda **more: types.SimpleNamespace(**{"sha256": weights.digest(tensors), "probe": list(q),
                                                         "precision": fp32, **more})
        weights.check_answer(answer(), tensors, ARCHITECTURE, "online")
        wrong = {"sha256": {"sha256": b"x" * 32}, "probe": {"probe": list(q[:-1])}}
        for field, more in wrong.items():
            with self.subTest(field), self.assertRaises(vixen.WeightsError) as raised:
                weights.check_answer(answer(**more), tensors, ARCHITECTURE, "online")
            self.assertEqual(raised.exception.field, field)
        off = q.copy()
        off[7] += 0.0015 * np.ptp(q)
        weights.check_answer(answer(probe=list(off), precision=fp16), tensors, ARCHITECTURE, "online")
        for value in (q[7] + 0.01 * np.ptp(q), np.nan):
            off[7] = value
            with self.assertRaisesRegex(vixen.WeightsError, "probe value 7 is"):
                weights.check_answer(answer(probe=list(off), precision=fp16), tensors, ARCHITECTURE, "online")


if __name__ == "__main__":
    unittest.main()
