# SPDX-License-Identifier: Apache-2.0
"""Small actors, learners and consumers of the fault tests and benches: short launches, narrow networks."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "integration")]
import books  # noqa: E402
from consumer import Journal  # noqa: E402
from processes import BIN, SOURCE, Process, flags, free_port, vixen, wait_for  # noqa: E402
from stock_client import actor_pb2, actor_pb2_grpc, channel_to, grpc, network, np, push, weights_pb2  # noqa: E402

SMALL = {"episodes": 4, "steps": 8, "curiosity_max": 0, "hidden1": 16, "hidden2": 16, "value_hidden": 16,
         "advantage_hidden": 16, "threads": 1, "keepalive_seconds": 20, "progress_deadline_seconds": 30}
LEARNER = {"capacity": 20000, "min_size": 64, "samples_per_insert": 1, "batch_size": 32, "torch_threads": 1,
           "metrics_listen": "127.0.0.1:0", "listen": "127.0.0.1:0", "policy": "p", "group": "g", "consumer": "c"}


class World:
    """A folder with a dataset, an actor on a port that it keeps over restarts, and what talks to it; over mTLS
    when `tls`. `steady_memory`: resident memory means the same under AddressSanitizer, which then finds less."""

    def __init__(self, folder, tls=False, steady_memory=False, **settings):
        self.folder = pathlib.Path(folder)
        self.dataset = self.folder / "b2.safetensors"
        if not self.dataset.exists():
            vixen("synth", "b2", "--bars", 2000, "--seed", 5, "--out", self.dataset)
        self.settings = {**SMALL, **settings}
        self.port, self.actor, self.channel, self.number = free_port(), None, None, 0
        self.host, self.credentials, self.learner_settings = "127.0.0.1", None, {}
        self.children = []
        # Of actors and learners. A proxy that is meant for the web must not catch what goes on between them.
        self.environment = {name: "http://127.0.0.1:9" for name in ("http_proxy", "https_proxy", "grpc_proxy")}
        if steady_memory:
            self.sanitizer_options("quarantine_size_mb=1")
        if tls:
            self._use_tls()

    def sanitizer_options(self, options):
        inherited = self.environment.get("ASAN_OPTIONS", os.environ.get("ASAN_OPTIONS", ""))
        self.environment["ASAN_OPTIONS"] = f"{inherited}:{options}" if inherited else options

    def _use_tls(self):
        made = self.folder / "certificates"
        subprocess.run([SOURCE / "scripts/dev-certs.sh", made], check=True, capture_output=True)
        files = lambda name: {"tls_ca": made / "ca.pem", "tls_certificate": made / f"{name}.pem",
                              "tls_key": made / f"{name}.key"}
        self.settings.update(files("actor"))
        self.learner_settings = files("learner")
        read = {name: path.read_bytes() for name, path in self.learner_settings.items()}
        self.credentials = grpc.ssl_channel_credentials(read["tls_ca"], read["tls_key"], read["tls_certificate"])

    def start_actor(self, **more):
        """Starts it, or starts it again, and waits until it serves."""
        self.number += 1
        settings = {"dataset": self.dataset, "listen": f"{self.host}:{self.port}", "metrics_listen": "127.0.0.1:0",
                    **self.settings, **more}
        self.actor = Process(self.folder, f"actor{self.number}", "vixen-actor", *flags(settings),
                             environment=self.environment)
        self.children.append(self.actor)
        self.metrics_port = self.actor.ports()[1]
        if self.channel is not None:
            self.channel.close()
        self.channel = channel_to(self.port, host=self.host, credentials=self.credentials)
        self.info = actor_pb2_grpc.ActorStub(self.channel).GetInfo(actor_pb2.GetInfoRequest(), timeout=60,
                                                                   wait_for_ready=True)
        return self.actor

    def push(self, version=1, policy="p"):
        tensors = network(self.info.architecture, np.random.default_rng(version))
        for kind in (weights_pb2.WEIGHTS_KIND_TARGET, weights_pb2.WEIGHTS_KIND_ONLINE):
            push(self.channel, self.info, kind, version, tensors, policy=policy, epsilon=0.25)

    def start_learner(self, port=None, **more):
        self.number += 1
        settings = {"actor": f"{self.host}:{port or self.port}", "dataset": self.dataset, "out": self.folder / "out",
                    "keepalive_seconds": self.settings["keepalive_seconds"], **LEARNER, **self.learner_settings, **more}
        learner = Process(self.folder, f"learner{self.number}", "vixen-learner", *flags(settings),
                          environment=self.environment)
        self.children.append(learner)
        return learner

    def start_consumer(self, name, group="g", **more):
        """consumer.py as a process of its own, which can be killed or frozen."""
        settings = {"port": self.port, "group": group, "name": name, "journal": self.journal(name), **more}
        with open(self.folder / f"{name}.log", "ab") as log:
            child = subprocess.Popen([sys.executable, HERE / "consumer.py", *flags(settings)], stdout=log, stderr=log,
                                     stdin=subprocess.DEVNULL)
        self.children.append(child)
        return child

    def journal(self, name):
        return self.folder / f"{name}.journal"

    def entries(self, name):
        return Journal.read(self.journal(name))

    def sheet(self, group="g", policy="p"):
        try:
            return books.sheet_of(self.channel, policy, group)
        except grpc.RpcError as error:
            # This process may not have run for longer than the actor waits for an answer.
            if error.code() != grpc.StatusCode.UNAVAILABLE:
                raise
            return books.sheet_of(self.channel, policy, group)

    def live(self, policy="p"):
        """What the actor says of the policy: its versions, batches, epsilon."""
        info = actor_pb2_grpc.ActorStub(self.channel).GetInfo(actor_pb2.GetInfoRequest(), timeout=60)
        return next(live for live in info.policies if live.policy == policy)

    def metric(self, name):
        return self.actor.metric(self.metrics_port, name)

    def wait_until(self, condition, what, seconds=60):
        """As wait_for, while the actor lives."""
        return self.actor.wait_for(condition, what, seconds)

    def reconcile(self, *names, group="g"):
        """The group's streams are closed: both ends must agree to the row."""
        self.wait_until(lambda: books.pair(self.sheet(group).in_flight) == (0, 0), "an end to what is in flight")
        books.reconcile(self.sheet(group), [self.entries(name) for name in names])

    def rss(self):
        for line in pathlib.Path(f"/proc/{self.actor.child.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        return 0

    def descriptors(self):
        return len(list(pathlib.Path(f"/proc/{self.actor.child.pid}/fd").iterdir()))

    def close(self):
        if self.channel is not None:
            self.channel.close()
        for child in self.children:
            child.kill()
            if isinstance(child, subprocess.Popen):
                child.wait()


class WorldTest(unittest.TestCase):
    """Tests that have a world each."""

    def start(self, pushed=True, **settings):
        """A world whose actor serves, with weights unless `pushed` is false; it ends with the test."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.world = World(folder.name, **settings)
        self.addCleanup(self.world.close)
        self.world.start_actor()
        if pushed:
            self.world.push()
        return self.world


class OneWorldTest(unittest.TestCase):
    """Tests that share a world, whose actor serves with weights of VERSION; each has a channel of its own."""

    SETTINGS = {}
    VERSION = 1

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.world = World(folder.name, **cls.SETTINGS)
        cls.addClassCleanup(cls.world.close)
        cls.world.start_actor()
        cls.world.push(cls.VERSION)
        cls.number = 0

    def setUp(self):
        type(self).number += 1
        self.group = f"g{self.number}"
        self.channel = books.channel_to(self.world.port)
        self.addCleanup(self.channel.close)
