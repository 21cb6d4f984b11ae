# SPDX-License-Identifier: Apache-2.0
"""A stock grpcio client against the real actor: push weights, take a batch, decode it by the docs alone.

Nothing of Vixen is imported: only the .proto files, grpcio and numpy (stock_client.py).
"""
import hashlib
import queue
import tempfile
import unittest

from processes import Process, vixen
from stock_client import actor_pb2, actor_pb2_grpc, channel_to, grpc, network, np, push, weights_pb2

DTYPES = {1: np.uint8, 2: np.dtype("<u4"), 3: np.dtype("<f4"), 4: np.dtype("<f2")}


def q_values(tensors, states):
    lrelu = lambda x: np.where(x > 0, x, 0.01 * x)
    linear = lambda x, name: x @ tensors[name + ".weight"].T.astype(np.float64) + tensors[name + ".bias"]
    hidden = lrelu(linear(lrelu(linear(states, "shared_layers.0")), "shared_layers.1"))
    value = linear(lrelu(linear(hidden, "value_layers.0")), "value_layers.1")
    advantage = linear(lrelu(linear(hidden, "advantage_layers.0")), "advantage_layers.1")
    return value + advantage - advantage.mean(axis=-1, keepdims=True)


class StockClient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        dataset = f"{cls.folder.name}/b2.safetensors"
        vixen("synth", "b2", "--bars", 4000, "--seed", 5, "--out", dataset)
        cls.actor = Process(cls.folder.name, "actor", "vixen-actor", "--dataset", dataset, "--listen", "127.0.0.1:0",
                            "--metrics_listen", "127.0.0.1:0", "--episodes", 8, "--steps", 32, "--curiosity_max", 0,
                            "--hidden1", 32, "--hidden2", 32, "--value_hidden", 16, "--advantage_hidden", 16)
        cls.channel = channel_to(cls.actor.ports()[0])

    @classmethod
    def tearDownClass(cls):
        cls.channel.close()
        try:
            code = cls.actor.terminate()
        finally:
            cls.actor.kill()
            cls.folder.cleanup()
        assert code == 0, f"the actor ended with {code}"

    def test_takes_and_decodes_a_batch(self):
        actor = actor_pb2_grpc.ActorStub(self.channel)
        info = actor.GetInfo(actor_pb2.GetInfoRequest(), timeout=20)
        tensors = network(info.architecture, np.random.default_rng(3))
        probe = np.array(push(self.channel, info, weights_pb2.WEIGHTS_KIND_ONLINE, 1, tensors, epsilon=0.25).probe)
        push(self.channel, info, weights_pb2.WEIGHTS_KIND_TARGET, 1, tensors)
        width = info.architecture.features + 3
        state = np.array([((j * 37 % 64) - 32) / 32 for j in range(width)])
        np.testing.assert_allclose(probe, q_values(tensors, state), atol=1e-3)

        def requests():
            yield actor_pb2.CollectRequest(open=actor_pb2.Open(
                policy="p", group="python", consumer="c1", encoding=actor_pb2.Encoding(terms=True, state=True)))
            yield actor_pb2.CollectRequest(credit=actor_pb2.Credit(n=1))
            yield from iter(lambda: acknowledgements.get(timeout=30), None)

        acknowledgements = queue.Queue()
        opened = header = trailer = None
        payload = bytearray()
        for message in actor.Collect(requests(), timeout=60):
            part = message.WhichOneof("part")
            if part == "opened":
                opened = message.opened
            elif part == "header":
                header = message.header
            elif part == "chunk":
                self.assertEqual(message.chunk.offset, len(payload))
                payload += message.chunk.data
            elif part == "trailer":
                trailer = message.trailer
                acknowledgements.put(actor_pb2.CollectRequest(ack=actor_pb2.Acknowledge(
                    run_id=header.run_id, sequence=header.sequence)))
                acknowledgements.put(None)
        self.assertIsNotNone(trailer)
        self.assertEqual(len(payload), header.payload_bytes)
        self.assertEqual(hashlib.sha256(opened.settings).digest(), header.settings_sha256)
        self.assertEqual((header.online_version, header.target_version), (1, 1))
        self.assertAlmostEqual(header.epsilon, 0.25)

        rows, offset, columns = header.episodes * header.steps, 0, {}
        for column in opened.columns:
            count = rows * column.width
            columns[column.name] = np.frombuffer(payload, DTYPES[column.type], count, offset).reshape(rows, column.width)
            offset += columns[column.name].nbytes
        self.assertEqual(offset, len(payload))
        flags = columns["flags"][:, 0]
        self.assertTrue((flags & 1).all())
        self.assertEqual(int((flags & 1).sum()), trailer.statistics.valid_rows)
        self.assertEqual(int((flags & 32 > 0).sum()), trailer.statistics.explored)
        np.testing.assert_allclose(columns["terms"].sum(axis=1), columns["reward"][:, 0], atol=1e-5)
        np.testing.assert_array_equal(columns["state"][:, -3:], columns["portfolio"])
        greedy = flags & 32 == 0
        q = q_values(tensors, columns["state"].astype(np.float64))
        chosen = np.take_along_axis(q, columns["action"].astype(np.int64), axis=1)[:, 0]
        np.testing.assert_allclose(chosen[greedy], q.max(axis=1)[greedy], atol=1e-4)

    def test_is_told_why_a_fingerprint_is_refused(self):
        request = actor_pb2.CollectRequest(open=actor_pb2.Open(
            policy="p", group="python", consumer="c2", dataset_fingerprint=b"\1" * 32))
        with self.assertRaises(grpc.RpcError) as raised:
            list(actor_pb2_grpc.ActorStub(self.channel).Collect(iter([request]), timeout=20))
        self.assertEqual(raised.exception.code(), grpc.StatusCode.FAILED_PRECONDITION)
        self.assertIn("01" * 32, raised.exception.details())


if __name__ == "__main__":
    unittest.main()
