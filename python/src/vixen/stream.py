# SPDX-License-Identifier: Apache-2.0
"""Batches as an iterator, for threads."""
from __future__ import annotations

import queue
import random
import threading
import time
from typing import Any

import grpc

from .batch import Batch
from .consumer import Consumer, Options, log
from .errors import TRANSIENT, ActorError, ConfigurationError, DataError, VixenError, from_rpc

CLOSE_SECONDS = 3.0


class Backoff:
    """0.2 s, doubling up to 5 s, with a tenth of chance in it. `failed` raises after `patience` seconds of failures."""

    def __init__(self, patience: float | None):
        self.patience = patience
        self._next, self._since = 0.2, 0.0

    def reset(self) -> None:
        self._next, self._since = 0.2, 0.0

    def failed(self, error: VixenError) -> float:
        """How long to wait before the next attempt."""
        now = time.monotonic()
        self._since = self._since or now
        code = getattr(error, "code", None)
        fatal = isinstance(error, ConfigurationError) or (isinstance(error, ActorError) and code not in TRANSIENT)
        if fatal or (self.patience is not None and now - self._since >= self.patience):
            raise error
        wait, self._next = self._next * random.uniform(0.9, 1.1), min(2 * self._next, 5.0)
        log.warning("%s; connecting again", error)
        return wait


class BatchStream:
    """`for batch in stream`: one consumer of `group`; every group sees each batch, a batch goes to one consumer of it.

    credit            batches that may be under way; 1 couples actor and learner as closely as can be
    limit             ends after so many batches
    terms, state, next_state, fp16, slot_states: further columns (docs/formats.md)
    dataset           for batch.states(); its fingerprint is compared before the first batch
    consumer          the same name after a restart; default $POD_NAME or the host's name
    resume            what make_durable() gave: batches of a former process that need not come again
    patience          seconds without a connection, or with broken batches only, until the error is raised; None: for ever
    on_run            called with each new run id (an actor that came back has no weights)
    keep_memory       the process keeps memory that glibc would give back and fetch anew for every batch (memory.py)

    A batch is acknowledged when the next one is asked for, or by batch.ack(). What is not acknowledged goes to the
    group again. Batches that come twice are dropped by (run id, sequence). One thread at a time may iterate. A closed
    stream has no more batches.
    """

    def __init__(self, actor: Any, options: Options):
        self.actor = actor
        self.consumer = Consumer(options)
        self._backoff = Backoff(options.patience)
        self._call: Any = None
        self._outbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._last: Batch | None = None
        self._closed = False

    def __enter__(self) -> BatchStream:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __iter__(self) -> BatchStream:
        return self

    @property
    def counters(self) -> dict[str, int]:
        """batches, duplicates, reconnects, notices so far."""
        return dict(self.consumer.counters)

    def make_durable(self) -> dict[str, list[list[int]]]:
        """Call after your checkpoint is on disk; keep the result there and give it as `resume`. Any thread."""
        return self.consumer.make_durable()

    def __next__(self) -> Batch:
        last, self._last = self._last, None
        if last is not None:
            last.ack()
        while not self._closed:
            if self.consumer.remaining == 0:
                self.close()
                break
            try:
                if self._call is None:
                    self._open()
                batch = self.consumer.receive(self._read())
            except VixenError as error:
                self._abandon()
                self.consumer.counters["reconnects"] += 1
                time.sleep(self._backoff.failed(error))
                continue
            if batch is not None:
                self._backoff.reset()
                self._last = batch
                return batch
        raise StopIteration

    def _read(self) -> bytes:
        """The next message; the stream's end is an error here, whoever ended it."""
        what = f"actor {self.actor.address}: Collect"
        try:
            message: bytes = next(self._call)
        except StopIteration:
            raise ActorError(what, grpc.StatusCode.UNAVAILABLE, "the actor ended the stream (it is draining)") from None
        except grpc.RpcError as error:
            raise from_rpc(error, what) from error
        return message

    def _open(self) -> None:
        run_id = self.actor.info().run_id
        outbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._outbox = outbox
        outbox.put(self.consumer.open_request(run_id))
        self._call = self.actor.collect_call()(iter(outbox.get, None), wait_for_ready=True)
        on_run = self.consumer.options.on_run
        if self.consumer.start(self._read(), outbox.put) and on_run is not None:
            on_run(self.consumer.opened.run_id)

    def _abandon(self) -> None:
        self.consumer.stop_sending()
        if self._call is not None:
            self._call.cancel()
            self._outbox.put(None)
            self._call = None

    def close(self) -> None:
        """Half-closes, lets pass what was reserved (the group gets it again), and ends. Idempotent."""
        if self._closed:
            return
        self._closed = True
        call = self._call
        if call is None:
            return
        self.consumer.stop_sending()
        self._outbox.put(None)
        watchdog = threading.Timer(CLOSE_SECONDS, call.cancel)
        watchdog.daemon = True
        watchdog.start()
        try:
            for _ in call:
                pass
        except grpc.RpcError as error:
            log.debug("closing: %s", error)
        finally:
            watchdog.cancel()
            self._call = None
