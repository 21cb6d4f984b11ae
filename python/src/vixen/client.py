# SPDX-License-Identifier: Apache-2.0
"""An actor, for threads. Everything but one BatchStream may be used from several threads at once."""
from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Iterator
from typing import Any

import grpc

from . import fetch
from .connection import Tls, channel_options, check_address
from .consumer import Options
from .dataset import Dataset, default_cache
from .errors import ConfigurationError, VixenError, from_rpc
from .policy import Policy
from .stream import BatchStream
from .v1 import actor_pb2, config_pb2, weights_pb2

ACTOR, WEIGHTS = "/vixen.v1.Actor/", "/vixen.v1.Weights/"


def connect(address: str, tls: Tls | None = None, *, insecure: bool = False, keepalive_seconds: float = 20.0,
            timeout: float = 10.0) -> Actor:
    """Connects to HOST:PORT and asks who is there.

    `timeout` is how long that and every later question may take. Errors: ConfigurationError (address, certificates),
    ActorUnavailable, ActorError.
    """
    check_address(address, tls, insecure)
    options = channel_options(keepalive_seconds, tls)
    channel = (grpc.insecure_channel(address, options) if tls is None
               else grpc.secure_channel(address, tls.credentials(), options))
    # Somebody has to look at the connection between calls, or it answers no keepalive.
    channel.subscribe(lambda state: None, try_to_connect=True)
    actor = Actor(address, channel, timeout)
    try:
        actor.info()
    except VixenError:
        actor.close()
        raise
    return actor


class Actor:
    """Made by `connect`. Closes its streams with it."""

    def __init__(self, address: str, channel: grpc.Channel, timeout: float):
        self.address, self.channel, self.timeout = address, channel, timeout
        # A watched channel that is still open keeps the interpreter from ending.
        self._finalizer = weakref.finalize(self, channel.close)

    def __enter__(self) -> Actor:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._finalizer()

    def _ask(self, method: str, request: Any, answer: Any, timeout: float | None = None) -> Any:
        call = self.channel.unary_unary(ACTOR + method, type(request).SerializeToString, answer.FromString)
        with self.errors(method):
            return call(request, timeout=timeout or self.timeout, wait_for_ready=True)

    @contextlib.contextmanager
    def errors(self, method: str) -> Iterator[None]:
        """grpc's errors as this package's."""
        if not self._finalizer.alive:
            raise ConfigurationError(f"actor {self.address}: {method}: this Actor is closed; connect again", "actor",
                                     self.address)
        try:
            yield
        except grpc.RpcError as error:
            raise from_rpc(error, f"actor {self.address}: {method}") from error

    def info(self, timeout: float | None = None) -> Any:
        """GetInfoResponse: what runs there, its dataset, settings, policies."""
        return self._ask("GetInfo", actor_pb2.GetInfoRequest(), actor_pb2.GetInfoResponse, timeout)

    def settings(self) -> Any:
        """EnvironmentSettings in force: gamma, actions, carry_over and the rest of the rules."""
        return config_pb2.EnvironmentSettings.FromString(self.info().settings)

    def balance(self, policy: str = "", group: str = "") -> list[Any]:
        """BalanceSheet of each (policy, group), exact at the moment of the answer; empty names mean all."""
        request = actor_pb2.GetBalanceRequest(policy=policy, group=group)
        return list(self._ask("GetBalance", request, actor_pb2.GetBalanceResponse).sheets)

    def dataset(self, cache: str | os.PathLike[str] | None = None) -> Dataset:
        """The actor's dataset, fetched once into `cache` (default $XDG_CACHE_HOME/vixen, as vixen-learner)."""
        method = self.channel.unary_stream(ACTOR + "GetDataset", actor_pb2.GetDatasetRequest.SerializeToString,
                                           actor_pb2.GetDatasetResponse.FromString)
        return fetch.dataset(self, method, os.fspath(cache) if cache is not None else default_cache())

    def weights(self, policy: str = "default", kind: str = "online") -> tuple[Any, dict[str, Any]]:
        """(WeightsHeader, float32 tensors by name) of what is live. ActorError NOT_FOUND when nothing was pushed."""
        return Policy(self, policy).weights(kind)

    def policy(self, name: str = "default", patience: float | None = 60.0) -> Policy:
        """The policy of that name: to push its weights and to take its batches."""
        return Policy(self, name, patience)

    def batches(self, policy: str = "default", **options: Any) -> BatchStream:
        """Batches of a policy as an iterator; see BatchStream for the options."""
        return BatchStream(self, Options(policy=policy, **options))

    def push_call(self) -> Any:
        return self.channel.stream_unary(WEIGHTS + "PushWeights", weights_pb2.PushWeightsRequest.SerializeToString,
                                         weights_pb2.PushWeightsResponse.FromString)

    def get_weights_call(self) -> Any:
        return self.channel.unary_stream(WEIGHTS + "GetWeights", weights_pb2.GetWeightsRequest.SerializeToString,
                                         weights_pb2.GetWeightsResponse.FromString)

    def collect_call(self) -> Any:
        # Messages stay bytes: wire.py reads them.
        return self.channel.stream_stream(ACTOR + "Collect", actor_pb2.CollectRequest.SerializeToString, None)
