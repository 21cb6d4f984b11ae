# SPDX-License-Identifier: Apache-2.0
"""Actors for the tests of the Python package. Exit code 77 where one of its packages is not installed."""
import pathlib
import sys
import tempfile
import unittest

try:
    import google_crc32c  # noqa: F401
    import grpc  # noqa: F401
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "fault"))  # proxy.py
import vixen
from processes import Process, free_port
from processes import vixen as run_tool
from processes import wait_for  # noqa: F401
from vixen import weights

SMALL = {"episodes": 8, "steps": 32, "curiosity_max": 0, "hidden1": 32, "hidden2": 32, "value_hidden": 16,
         "advantage_hidden": 16, "threads": 1, "keepalive_seconds": 10}


def random_tensors(architecture, kind="online", seed=1):
    return weights.initial(architecture, kind, seed)


class World:
    """A dataset and actors on one port. `close` ends what still runs."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self._folder.name)
        self.dataset = self.folder / "b2.safetensors"
        run_tool("synth", "b2", "--bars", 3000, "--seed", 5, "--out", self.dataset)
        self.port, self.actor, self.started = free_port(), None, 0

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def start_actor(self, *more, **settings):
        self.started += 1
        flags = [f"--{name}={value}" for name, value in {**SMALL, **settings}.items()]
        self.actor = Process(self.folder, f"actor{self.started}", "vixen-actor", "--dataset", self.dataset, "--listen",
                             self.address, "--metrics_listen", "127.0.0.1:0", *flags, *more)
        self.actor.ports()
        return self.actor

    def connect(self, **options):
        return vixen.connect(self.address, timeout=60, **options)

    def close(self):
        if self.actor is not None:
            self.actor.kill()
        self._folder.cleanup()


class OneActor(unittest.TestCase):
    """Tests that share an actor; `settings` and `extra` are its flags. self.actor is connected, weights are live."""
    settings: dict = {}
    extra: tuple = ()

    @classmethod
    def setUpClass(cls):
        cls.world = World()
        cls.addClassCleanup(cls.world.close)
        cls.process = cls.world.start_actor(*cls.extra, **cls.settings)
        cls.actor = cls.world.connect()
        cls.addClassCleanup(cls.actor.close)
        cls.info = cls.actor.info()
        cls.policy = cls.actor.policy("p")
        given = {kind: random_tensors(cls.info.architecture, kind) for kind in ("online", "curiosity")}
        cls.tensors = given["online"]
        with_curiosity = {"curiosity": given["curiosity"]} if cls.actor.settings().curiosity_max > 0 else {}
        cls.policy.push(online=cls.tensors, target=cls.tensors, epsilon=0.25, **with_curiosity)

    def sheet(self, group):
        (sheet,) = self.actor.balance("p", group)
        parts = [sheet.durable, sheet.acknowledged, sheet.in_flight, sheet.retained, *sheet.dropped.values()]
        self.assertEqual(sheet.offered.batches, sum(part.batches for part in parts), sheet)
        return sheet
