# SPDX-License-Identifier: Apache-2.0
"""What a stock gRPC client needs to talk to an actor: the stubs made from the .proto files, and weights.

Nothing of Vixen is imported. Programs exit with 77 (skipped) where grpcio or numpy is not installed;
scripts/python_env.sh installs them.
"""
import atexit
import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

from processes import SOURCE

try:
    import grpc
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)


def _generate():
    if "VIXEN_STUBS_DIR" in os.environ:  # made already, for a machine without protoc
        return sys.path.insert(0, os.environ["VIXEN_STUBS_DIR"])
    folder = tempfile.mkdtemp(prefix="vixen-stubs-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    protos = [f"vixen/v1/{name}.proto" for name in ("batch", "weights", "actor", "learner")]
    root = os.environ.get("VIXEN_PROTO_DIR", SOURCE / "proto")  # of another version: tests/proto/wire
    subprocess.run(["protoc", "-I", root, f"--python_out={folder}", f"--grpc_out={folder}",
                    "--plugin=protoc-gen-grpc=/usr/bin/grpc_python_plugin", *protos], check=True)
    sys.path.insert(0, folder)


_generate()
from vixen.v1 import (actor_pb2, actor_pb2_grpc, batch_pb2, learner_pb2, learner_pb2_grpc,  # noqa: E402
                      weights_pb2, weights_pb2_grpc)


def channel_to(port, *options, host="127.0.0.1", credentials=None):
    """A connection of its own that is tried again quickly.

    The subscription keeps a thread at it: without one grpcio looks at its connection only inside calls,
    answers no keepalive in between, and would find it closed by an actor that asks every second.
    """
    options = [
        ("grpc.use_local_subchannel_pool", 1), ("grpc.initial_reconnect_backoff_ms", 50),
        ("grpc.max_reconnect_backoff_ms", 200), ("grpc.min_reconnect_backoff_ms", 1000),
        ("grpc.max_receive_message_length", 8 << 20), ("grpc.enable_http_proxy", 0), *options]
    address = f"{host}:{port}"
    channel = (grpc.secure_channel(address, credentials, options=options) if credentials else
               grpc.insecure_channel(address, options=options))
    channel.subscribe(lambda state: None, try_to_connect=True)
    return channel


def safetensors(tensors):
    header, offset, blobs = {}, 0, []
    for name, values in tensors.items():
        blob = values.astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [offset, offset + len(blob)]}
        offset += len(blob)
        blobs.append(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(blobs)


def network(architecture, rng):
    """Random tensors of the policy's network."""
    state = architecture.features + 3
    layers = {"shared_layers.0": (architecture.hidden1, state),
              "shared_layers.1": (architecture.hidden2, architecture.hidden1),
              "value_layers.0": (architecture.value_hidden, architecture.hidden2),
              "value_layers.1": (1, architecture.value_hidden),
              "advantage_layers.0": (architecture.advantage_hidden, architecture.hidden2),
              "advantage_layers.1": (45, architecture.advantage_hidden)}
    tensors = {}
    for name, (outputs, inputs) in layers.items():
        bound = inputs ** -0.5
        tensors[name + ".weight"] = rng.uniform(-bound, bound, (outputs, inputs)).astype(np.float32)
        tensors[name + ".bias"] = rng.uniform(-bound, bound, outputs).astype(np.float32)
    return tensors


def push(channel, info, kind, version, tensors, policy="p", epsilon=None):
    """Pushes weights, checks that the actor read back the same bytes, and gives its answer."""
    image = safetensors(tensors)
    digest = hashlib.sha256(b"".join(tensors[name].tobytes() for name in sorted(tensors))).digest()
    header = weights_pb2.WeightsHeader(policy=policy, kind=kind, version=version, architecture=info.architecture,
                                       sha256=digest, size=len(image), epsilon=epsilon,
                                       scaler_fingerprint=info.dataset.scaler_fingerprint)

    def parts():
        yield weights_pb2.PushWeightsRequest(header=header)
        for start in range(0, len(image), 1 << 16):
            yield weights_pb2.PushWeightsRequest(chunk=image[start:start + (1 << 16)])

    answer = weights_pb2_grpc.WeightsStub(channel).PushWeights(parts(), timeout=60)
    assert answer.sha256 == digest and answer.live_version == version, answer
    return answer
