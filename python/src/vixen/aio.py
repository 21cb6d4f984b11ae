# SPDX-License-Identifier: Apache-2.0
"""The same for asyncio: `async for batch in actor.batches(...)`.

Batches come over a grpc.aio stream of the running loop. The rare calls (info, balance, dataset, pushes) are those of
vixen.Actor in a thread of the loop's executor.
"""
from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio

from . import client
from .batch import Batch
from .connection import Tls, channel_options
from .consumer import Consumer, Options
from .dataset import Dataset
from .errors import ActorError, VixenError, from_rpc
from .policy import Policy as _Policy
from .stream import CLOSE_SECONDS, Backoff
from .v1 import actor_pb2


async def connect(address: str, tls: Tls | None = None, *, insecure: bool = False, keepalive_seconds: float = 20.0,
                  timeout: float = 10.0) -> Actor:
    """As vixen.connect."""
    actor = await asyncio.to_thread(client.connect, address, tls, insecure=insecure,
                                    keepalive_seconds=keepalive_seconds, timeout=timeout)
    options = channel_options(keepalive_seconds, tls)
    channel = (grpc.aio.insecure_channel(address, options) if tls is None
               else grpc.aio.secure_channel(address, tls.credentials(), options))
    return Actor(actor, channel)


class Actor:
    def __init__(self, actor: client.Actor, channel: grpc.aio.Channel):
        self.sync, self.channel, self.address = actor, channel, actor.address

    async def __aenter__(self) -> Actor:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self.channel.close()
        await asyncio.to_thread(self.sync.close)

    async def info(self) -> Any:
        return await asyncio.to_thread(self.sync.info)

    async def balance(self, policy: str = "", group: str = "") -> list[Any]:
        return await asyncio.to_thread(self.sync.balance, policy, group)

    async def dataset(self, cache: str | os.PathLike[str] | None = None) -> Dataset:
        return await asyncio.to_thread(self.sync.dataset, cache)

    def policy(self, name: str = "default") -> Policy:
        return Policy(self, self.sync.policy(name))

    def batches(self, policy: str = "default", **options: Any) -> BatchStream:
        return BatchStream(self, Options(policy=policy, **options))


class Policy:
    """As vixen.Policy; its methods are awaited."""

    def __init__(self, actor: Actor, policy: _Policy):
        self.actor, self.sync, self.name = actor, policy, policy.name

    async def push(self, online: Any = None, target: Any = None, curiosity: Any = None, *,
                   epsilon: float | None = None, step: int = 0) -> int:
        return await asyncio.to_thread(self.sync.push, online, target, curiosity, epsilon=epsilon, step=step)

    async def set_epsilon(self, epsilon: float) -> float:
        return await asyncio.to_thread(self.sync.set_epsilon, epsilon)

    async def weights(self, kind: str = "online") -> tuple[Any, dict[str, Any]]:
        return await asyncio.to_thread(self.sync.weights, kind)

    def batches(self, **options: Any) -> BatchStream:
        options.setdefault("on_run", self.sync.republish)
        return BatchStream(self.actor, Options(policy=self.name, **options))


class BatchStream:
    """As vixen.BatchStream. `on_run` is called in a thread. Cancelling the task that waits leaves the stream usable."""

    def __init__(self, actor: Actor, options: Options):
        self.actor = actor
        self.consumer = Consumer(options)
        self._backoff = Backoff(options.patience)
        self._call: Any = None
        self._reading: asyncio.Future[Any] | None = None
        self._outbox: asyncio.Queue[Any] = asyncio.Queue()
        self._last: Batch | None = None
        self._closed = False

    async def __aenter__(self) -> BatchStream:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    def __aiter__(self) -> BatchStream:
        return self

    @property
    def counters(self) -> dict[str, int]:
        return dict(self.consumer.counters)

    def make_durable(self) -> dict[str, list[list[int]]]:
        return self.consumer.make_durable()

    async def __anext__(self) -> Batch:
        last, self._last = self._last, None
        if last is not None:
            last.ack()
        while not self._closed:
            if self.consumer.remaining == 0:
                await self.close()
                break
            try:
                if self._call is None:
                    await self._open()
                batch = self.consumer.receive(await self._read())
            except VixenError as error:
                self._abandon()
                self.consumer.counters["reconnects"] += 1
                await asyncio.sleep(self._backoff.failed(error))
                continue
            if batch is not None:
                self._backoff.reset()
                self._last = batch
                return batch
        raise StopAsyncIteration

    async def _read(self) -> bytes:
        what = f"actor {self.actor.address}: Collect"
        # A read that is cancelled would end the call, so it goes on by itself and is waited for again.
        if self._reading is None:
            self._reading = asyncio.ensure_future(self._call.read())
        try:
            message: bytes = await asyncio.shield(self._reading)
        except grpc.aio.AioRpcError as error:
            raise from_rpc(error, what) from error
        self._reading = None
        if message is grpc.aio.EOF:
            raise ActorError(what, grpc.StatusCode.UNAVAILABLE, "the actor ended the stream (it is draining)")
        return message

    async def _open(self) -> None:
        run_id = (await self.actor.info()).run_id
        loop = asyncio.get_running_loop()
        outbox: asyncio.Queue[Any] = asyncio.Queue()
        outbox.put_nowait(self.consumer.open_request(run_id))

        async def requests() -> AsyncIterator[Any]:
            while (request := await outbox.get()) is not None:
                yield request

        self._outbox = outbox
        method = self.actor.channel.stream_stream(client.ACTOR + "Collect", actor_pb2.CollectRequest.SerializeToString)
        self._call = method(requests(), wait_for_ready=True)
        # ack() may come from any thread.
        def send(request: Any) -> None:
            loop.call_soon_threadsafe(outbox.put_nowait, request)

        on_run = self.consumer.options.on_run
        if self.consumer.start(await self._read(), send) and on_run is not None:
            await asyncio.to_thread(on_run, self.consumer.opened.run_id)

    def _abandon(self) -> None:
        self.consumer.stop_sending()
        self._outbox.put_nowait(None)
        if self._call is not None:
            self._call.cancel()
        self._call = self._reading = None

    async def close(self) -> None:
        """Half-closes, lets pass what was reserved (the group gets it again), and ends. Idempotent."""
        if self._closed:
            return
        self._closed = True
        if self._call is None:
            return
        self.consumer.stop_sending()
        await asyncio.sleep(0)  # what was said by call_soon is in the outbox now
        self._outbox.put_nowait(None)
        try:
            await asyncio.wait_for(self._drain(), CLOSE_SECONDS)
        except (VixenError, asyncio.TimeoutError):
            self._call.cancel()
        self._call = self._reading = None

    async def _drain(self) -> None:
        while True:
            await self._read()
