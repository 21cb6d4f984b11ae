# SPDX-License-Identifier: Apache-2.0
"""One policy of an actor: pushes that are proved, versions that rise, and the same weights again for an actor
that came back without them."""
from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import grpc
import numpy as np
from numpy.typing import NDArray

from . import tensor_file
from . import weights as weights_
from .consumer import Options
from .errors import ActorError, ConfigurationError, WeightsError
from .stream import Backoff, BatchStream
from .v1 import weights_pb2

if TYPE_CHECKING:
    from .client import Actor

CHUNK = 1 << 20
PUSH_SECONDS = 30.0


def _check_epsilon(epsilon: Any) -> None:
    try:
        fits = not isinstance(epsilon, str) and 0.0 <= float(epsilon) <= 1.0
    except (TypeError, ValueError):
        fits = False
    if not fits:
        raise ConfigurationError(f"epsilon is {epsilon!r}, expected 0 … 1", "epsilon", epsilon)


class Policy:
    """Made by Actor.policy. Thread-safe: pushes come one after another. A push to an actor that is away is tried again
    for `patience` seconds (None: for ever)."""

    def __init__(self, actor: Actor, name: str, patience: float | None = 60.0):
        self.actor, self.name, self.patience = actor, name, patience
        self.version = 0  # the highest that was pushed here
        self.epsilon: float | None = None
        self._run_id: int | None = None  # that of the last push
        self._kept: dict[str, tuple[dict[str, NDArray[Any]], int]] = {}
        self._lock = threading.RLock()

    def push(self, online: Any = None, target: Any = None, curiosity: Any = None, *, epsilon: float | None = None,
             step: int = 0) -> int:
        """Pushes what is given under the next version, ε with it, and gives that version.

        Sources as in weights.py. An actor launches when online and target (and curiosity, unless curiosity_max is 0)
        are live; `target` alone is what a target sync sends. WeightsError names the tensor; ActorError the refusal.
        """
        if epsilon is not None:
            _check_epsilon(epsilon)
        given = {"online": online, "target": target, "curiosity": curiosity}
        if all(source is None for source in given.values()):
            raise ConfigurationError("nothing to push: give online, target or curiosity (ε alone: set_epsilon)", "online")
        with self._lock:
            wanted = {kind: (weights_.load(source, kind), step) for kind, source in given.items() if source is not None}
            version = self._push(wanted, self.epsilon if epsilon is None else epsilon)
            self._kept |= wanted
            return version

    def republish(self, run_id: int | None = None) -> int | None:
        """Everything pushed so far, again, unless it was pushed in that run: `on_run` of a stream, whose actor may
        have come back without it."""
        with self._lock:
            if not self._kept or run_id == self._run_id:
                return None
            return self._push(self._kept, self.epsilon)

    def set_epsilon(self, epsilon: float) -> float:
        """Changes ε alone; what is in force then."""
        _check_epsilon(epsilon)
        with self._lock:
            answer = self._send(weights_pb2.WeightsHeader(policy=self.name, epsilon=epsilon), b"", "epsilon")
            self.epsilon = epsilon
            return float(answer.epsilon)

    def batches(self, **options: Any) -> BatchStream:
        """As Actor.batches; an actor that came back gets this policy's weights again."""
        options.setdefault("on_run", self.republish)
        return BatchStream(self.actor, Options(policy=self.name, **options))

    def weights(self, kind: str = "online") -> tuple[Any, dict[str, NDArray[Any]]]:
        """(WeightsHeader, tensors) of what is live."""
        if kind not in weights_.KINDS:
            raise ConfigurationError(f"kind is {kind!r}, expected one of {', '.join(weights_.KINDS)}", "kind", kind)
        request = weights_pb2.GetWeightsRequest(policy=self.name, kind=weights_.KINDS[kind])
        header, pieces = None, []
        with self.actor.errors("GetWeights"):
            for answer in self.actor.get_weights_call()(request, timeout=PUSH_SECONDS, wait_for_ready=True):
                if answer.WhichOneof("part") == "header":
                    header = answer.header
                else:
                    pieces.append(answer.chunk)
        tensors = tensor_file.read(b"".join(pieces))[0]
        if header is None or weights_.digest(tensors) != header.sha256:
            raise WeightsError(f"GetWeights: {kind} weights do not have the SHA-256 of their header", "sha256", None)
        return header, tensors

    def save(self, path: str | os.PathLike[str]) -> None:
        """What was pushed last, as a bundle that vixen eval, vixen score and vixen-learner take."""
        info = self.actor.info()
        with self._lock:
            if "online" not in self._kept:
                raise ConfigurationError("nothing to save: no online weights were pushed", "online")
            tensors = {f"{kind}.{name}": values for kind, (kept, _) in self._kept.items() for name, values in kept.items()}
            metadata = {"policy": self.name, "training_step": str(self._kept["online"][1]), "settings": info.settings.hex(),
                        "scaler_fingerprint": info.dataset.scaler_fingerprint.hex()}
            metadata |= {f"{kind}_version": str(self.version) for kind in self._kept}
        tensor_file.write(path, tensors, metadata)

    def _push(self, wanted: Mapping[str, tuple[dict[str, NDArray[Any]], int]], epsilon: float | None) -> int:
        """All of one version; when others were faster, of a later one."""
        backoff, overtaken = Backoff(self.patience), 0
        while True:
            try:
                info = self.actor.info()
                live = max((max(p.online_version, p.target_version, p.curiosity_version) for p in info.policies
                            if p.policy == self.name), default=0)
                version = max(self.version, live) + 1
                for kind, (tensors, step) in wanted.items():
                    self._push_one(kind, version, tensors, step, epsilon, info)
            except ActorError as error:
                if error.code == grpc.StatusCode.ABORTED and overtaken < 3:
                    overtaken += 1
                    continue
                if error.code in (grpc.StatusCode.ABORTED, grpc.StatusCode.RESOURCE_EXHAUSTED):
                    raise
                time.sleep(backoff.failed(error))
                continue
            self.version, self._run_id, self.epsilon = version, info.run_id, epsilon
            return version

    def _push_one(self, kind: str, version: int, tensors: dict[str, NDArray[Any]], step: int, epsilon: float | None,
                  info: Any) -> None:
        weights_.check(tensors, info.architecture, kind)
        image = tensor_file.image(tensors)
        if len(image) > info.max_weights_bytes:
            raise WeightsError(f"{kind} weights are {len(image)} bytes, the actor takes {info.max_weights_bytes} "
                               "(max_weights_bytes)", "max_weights_bytes", len(image))
        header = weights_pb2.WeightsHeader(
            policy=self.name, kind=weights_.KINDS[kind], version=version, architecture=info.architecture,
            sha256=weights_.digest(tensors), size=len(image), scaler_fingerprint=info.dataset.scaler_fingerprint,
            training_step=step)
        if kind == "online" and epsilon is not None:
            header.epsilon = epsilon
        answer = self._send(header, image, f"push of {kind} weights version {version}")
        weights_.check_answer(answer, tensors, info.architecture, kind)

    def _send(self, header: Any, image: bytes, what: str) -> Any:
        def parts() -> Iterator[Any]:
            yield weights_pb2.PushWeightsRequest(header=header)
            for at in range(0, len(image), CHUNK):
                yield weights_pb2.PushWeightsRequest(chunk=image[at:at + CHUNK])

        with self.actor.errors(what):
            return self.actor.push_call()(parts(), timeout=PUSH_SECONDS, wait_for_ready=True)
