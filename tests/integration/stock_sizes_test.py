# SPDX-License-Identifier: Apache-2.0
"""A stock grpcio client with gRPC's default limits (4 MiB a message): large batches and large weights pass."""
import pathlib
import sys
import tempfile
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent / "fault")]
from world import World, grpc, network, np, push, weights_pb2  # noqa: E402
from consumer import Stream, batches, open_request  # noqa: E402
from stock_client import safetensors, weights_pb2_grpc  # noqa: E402

EPISODES, STEPS, ROW_BYTES = 1024, 400, 42


class StockSizes(unittest.TestCase):
    def start(self, **settings):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        world = World(folder.name, keepalive_seconds=20, progress_deadline_seconds=30, **settings)
        self.addCleanup(world.close)
        world.start_actor()
        channel = grpc.insecure_channel(f"127.0.0.1:{world.port}")
        self.addCleanup(channel.close)
        return world, channel

    def test_a_batch_of_seventeen_megabytes(self):
        world, channel = self.start(episodes=EPISODES, steps=STEPS)
        world.push()
        stream = Stream(channel, open_request("p", "g", "c"), timeout=60)
        stream.credit(1)
        taken = batches(stream.call)
        _, trailer, size = next(taken)
        self.assertEqual(size, EPISODES * STEPS * ROW_BYTES)
        self.assertEqual(trailer.statistics.valid_rows, EPISODES * STEPS)
        stream.half_close()  # before the batch was reserved it would have taken the credit back
        self.assertEqual(list(taken), [])

    def test_weights_of_the_widest_network(self):
        world, channel = self.start(hidden1=1024, hidden2=1024)
        tensors = network(world.info.architecture, np.random.default_rng(1))
        image = safetensors(tensors)
        self.assertGreater(len(image), 4 << 20)
        push(channel, world.info, weights_pb2.WEIGHTS_KIND_ONLINE, 1, tensors)
        live = list(weights_pb2_grpc.WeightsStub(channel).GetWeights(
            weights_pb2.GetWeightsRequest(policy="p", kind=weights_pb2.WEIGHTS_KIND_ONLINE), timeout=30))
        self.assertEqual(b"".join(part.chunk for part in live[1:]), image)


if __name__ == "__main__":
    unittest.main()
