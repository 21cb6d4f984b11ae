# SPDX-License-Identifier: Apache-2.0
"""A stock gRPC client that pushes what are no weights: each refusal has its status and its name, nothing is taken
in, and the weights that were live stay live, byte for byte."""
import concurrent.futures
import hashlib
import io
import pathlib
import pickle
import sys
import unittest
import zipfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent / "fault")]
from world import OneWorldTest, books, grpc, network, np, push, weights_pb2  # noqa: E402
from stock_client import safetensors, weights_pb2_grpc  # noqa: E402

Code = grpc.StatusCode
MIB = 1 << 20
ONLINE = weights_pb2.WEIGHTS_KIND_ONLINE


def archive():
    """What torch.jit.save writes begins so: a zip with code in it."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("archive/code/__torch__.py", "op_version_set = 1\n")
        file.writestr("archive/data.pkl", pickle.dumps({"a": 1}))
    return out.getvalue()


class HostilePusher(OneWorldTest):
    SETTINGS = {**OneWorldTest.SETTINGS, "steady_memory": True, "max_policies": 2, "max_weights_bytes": 16 * MIB}
    VERSION = 5

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tensors = network(cls.world.info.architecture, np.random.default_rng(6))

    def setUp(self):
        super().setUp()
        self.before = self.live()

    def tearDown(self):
        self.assertEqual(self.live(), self.before)

    def live(self):
        """Header and bytes of the weights that launches read."""
        request = weights_pb2.GetWeightsRequest(policy="p", kind=ONLINE)
        parts = list(weights_pb2_grpc.WeightsStub(self.channel).GetWeights(request, timeout=20))
        return parts[0].header.version, hashlib.sha256(b"".join(part.chunk for part in parts[1:])).hexdigest()

    def header(self, image, tensors=None, **more):
        tensors = self.tensors if tensors is None else tensors
        digest = hashlib.sha256(b"".join(tensors[name].tobytes() for name in sorted(tensors))).digest()
        fields = dict(policy="p", kind=ONLINE, version=6, architecture=self.world.info.architecture, sha256=digest,
                      size=len(image), scaler_fingerprint=self.world.info.dataset.scaler_fingerprint)
        return weights_pb2.PushWeightsRequest(header=weights_pb2.WeightsHeader(**{**fields, **more}))

    def refused(self, code, words, *requests, timeout=60):
        rejected = lambda: sum(self.world.metric(f'vixen_weights_rejected_total{{reason="{reason}"}}')
                               for reason in ("invalid", "limit", "precondition", "stale"))
        before = rejected()
        with self.assertRaises(grpc.RpcError) as raised:
            weights_pb2_grpc.WeightsStub(self.channel).PushWeights(iter(requests), timeout=timeout)
        self.assertEqual(raised.exception.code(), code, raised.exception.details())
        self.assertIn(words, raised.exception.details())
        self.world.wait_until(lambda: rejected() == before + 1, "the refusal to be counted")

    def image_refused(self, words, image, tensors=None):
        self.refused(Code.INVALID_ARGUMENT, words, self.header(image, tensors),
                     weights_pb2.PushWeightsRequest(chunk=image))

    def test_pickles_and_archives_with_code_are_no_weights(self):
        class Bomb:
            def __reduce__(self):
                return open, (str(self.path), "w")
        Bomb.path = self.world.folder / "executed"
        for image in (pickle.dumps(Bomb()), archive(), b"\x80\x02" * 100, b"\0" * 100):
            with self.subTest(image=image[:4]):
                self.image_refused("online version 6", image)
        self.assertFalse(Bomb.path.exists())

    def test_a_tensor_too_few_or_too_many_or_of_another_shape_is_named(self):
        name = "value_layers.0.bias"
        missing = {key: value for key, value in self.tensors.items() if key != name}
        extra = {**self.tensors, "another.bias": np.zeros(3, np.float32)}
        turned = {**self.tensors, "shared_layers.0.weight": self.tensors["shared_layers.0.weight"].T.copy()}
        for tensors, words in ((missing, name), (extra, "another.bias"), (turned, "shared_layers.0.weight")):
            with self.subTest(words=words):
                self.image_refused(words, safetensors(tensors), tensors)

    def test_numbers_that_are_none_are_refused_by_tensor(self):
        for value in (np.nan, np.inf, -np.inf):
            tensors = {name: values.copy() for name, values in self.tensors.items()}
            tensors["advantage_layers.1.bias"][44] = value
            self.image_refused("advantage_layers.1.bias", safetensors(tensors), tensors)

    def test_sizes_that_are_too_much_are_refused_with_both_numbers_before_memory_is_taken(self):
        before = self.world.rss()
        for size in (16 * MIB + 1, (2 << 30) + 1, (1 << 64) - 1):
            self.refused(Code.RESOURCE_EXHAUSTED, f"header.size is {size}, max_weights_bytes is {16 * MIB}",
                         self.header(b"", size=size))
        for _ in range(8):  # announces all that it may, and sends 1 KiB
            self.refused(Code.INVALID_ARGUMENT, "", self.header(b"", size=16 * MIB),
                         weights_pb2.PushWeightsRequest(chunk=b"\0" * 1024))
        self.assertLess(self.world.rss() - before, 8 * MIB)

    def test_chunks_out_of_order_or_beyond_what_was_announced(self):
        image = safetensors(self.tensors)
        chunk = weights_pb2.PushWeightsRequest(chunk=image)
        empty = weights_pb2.PushWeightsRequest(chunk=b"")
        large = weights_pb2.PushWeightsRequest(chunk=b"\0" * (MIB + 1))
        header = self.header(image)
        self.refused(Code.INVALID_ARGUMENT, "before the header", chunk)
        self.refused(Code.INVALID_ARGUMENT, "without a header")
        self.refused(Code.INVALID_ARGUMENT, "second header", header, header)
        self.refused(Code.INVALID_ARGUMENT, "empty or unknown", header, weights_pb2.PushWeightsRequest())
        self.refused(Code.INVALID_ARGUMENT, "allowed is 1 to", header, empty)
        self.refused(Code.INVALID_ARGUMENT, "allowed is 1 to", self.header(b"", size=4 * MIB), large)
        self.refused(Code.INVALID_ARGUMENT, f"more than header.size {len(image)}", header, chunk, chunk)

    def test_a_thousand_pushes_of_an_old_version_leave_no_memory_behind(self):
        image = safetensors(self.tensors)
        requests = [self.header(image, version=4), weights_pb2.PushWeightsRequest(chunk=image)]
        stub = weights_pb2_grpc.WeightsStub(self.channel)

        def many(count):
            for _ in range(count):
                with self.assertRaises(grpc.RpcError) as raised:
                    stub.PushWeights(iter(requests), timeout=20)
                self.assertEqual(raised.exception.code(), Code.ABORTED, raised.exception.details())
        many(200)
        before = self.world.rss()
        many(1000)
        self.assertLess(self.world.rss() - before, 4 * MIB)

    def test_pushes_beside_each_other_hold_no_more_than_twice_the_cap(self):
        """500 of 1.2 MB that do not end: what is above twice max_weights_bytes is turned away."""
        size = 1_200_000
        header = self.header(b"", size=size, policy="q")
        chunks = [weights_pb2.PushWeightsRequest(chunk=b"\0" * part) for part in (600_000, 599_999)]
        before = self.world.rss()

        def one(number):
            channel = grpc.insecure_channel(f"127.0.0.1:{self.world.port}",
                                            options=[("grpc.use_local_subchannel_pool", 1)])
            try:
                weights_pb2_grpc.WeightsStub(channel).PushWeights(iter([header, *chunks]), timeout=60)
            except grpc.RpcError as error:
                return error.code(), error.details()
            finally:
                channel.close()
            return Code.OK, ""
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            answers = list(pool.map(one, range(500)))
        grown = self.world.rss() - before
        # None is complete: refused for that, or for the memory that the others hold.
        self.assertLessEqual({code for code, _ in answers}, {Code.INVALID_ARGUMENT, Code.RESOURCE_EXHAUSTED})
        for code, details in answers:
            self.assertIn("uploads under way hold" if code == Code.RESOURCE_EXHAUSTED else str(size), details)
        self.assertLess(grown, 2 * 16 * MIB + 32 * MIB)

    def test_weights_of_nothing_but_zeros_are_taken_by_another_policy_and_answer_with_their_bias(self):
        zeros = {name: np.zeros_like(values) for name, values in self.tensors.items()}
        answer = push(self.channel, self.world.info, ONLINE, (1 << 53) + 1, zeros, policy="zeros")
        self.assertEqual(set(answer.probe), {0.0})
        self.assertEqual(answer.live_version, (1 << 53) + 1)


if __name__ == "__main__":
    unittest.main()
