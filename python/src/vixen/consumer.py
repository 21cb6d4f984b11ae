# SPDX-License-Identifier: Apache-2.0
"""What one consumer of a group knows and says (proto/vixen/v1/actor.proto): credit, acknowledgements,
duplicates, what it holds. No input or output: threads and asyncio share it."""
from __future__ import annotations

import dataclasses
import logging
import os
import re
import socket
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from .batch import Batch
from .dataset import Dataset
from .errors import ConfigurationError, DataError
from .memory import keep_freed_memory
from .sequences import SequenceSet
from .v1 import actor_pb2
from .wire import BatchReader, Layout

log = logging.getLogger("vixen")
NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
State = Mapping[str, list[list[int]]]


def default_consumer() -> str:
    """As vixen-learner's: the same after a restart."""
    name = os.environ.get("POD_NAME") or socket.gethostname()
    return f"{name}-{os.environ['RANK']}" if os.environ.get("RANK") else name


@dataclasses.dataclass
class Options:
    policy: str = "default"
    group: str = "python"
    consumer: str | None = None
    credit: int = 2
    limit: int | None = None
    terms: bool = False
    state: bool = False
    next_state: bool = False
    fp16: bool = False
    slot_states: bool = False
    dataset: Dataset | None = None
    resume: State | None = None
    patience: float | None = 60.0
    max_batch_bytes: int = 2 << 30
    on_run: Callable[[int], None] | None = None
    keep_memory: bool = True

    def __post_init__(self) -> None:
        self.consumer = self.consumer or default_consumer()
        for field in ("policy", "group", "consumer"):
            value = getattr(self, field)
            if not isinstance(value, str) or not NAME.fullmatch(value):
                raise ConfigurationError(f"{field} is {value!r}, expected 1 to 64 of A-Z a-z 0-9 . _ -", field, value)
        for field in ("credit", "limit"):
            value = getattr(self, field)
            if field == "limit" and value is None:
                continue
            if not hasattr(value, "__index__") or value < 1:
                raise ConfigurationError(f"{field} is {value!r}, expected a whole number, at least 1", field, value)
        if self.dataset is not None and not isinstance(self.dataset, Dataset):
            raise ConfigurationError(f"dataset is a {type(self.dataset).__name__}, expected actor.dataset() or "
                                     "vixen.Dataset(path)", "dataset", self.dataset)
        if self.next_state and not self.state:
            raise ConfigurationError("next_state is True with state False; ask for both", "next_state", True)


class Consumer:
    def __init__(self, options: Options):
        self.options = options
        self.counters: Counter[str] = Counter()  # batches, duplicates, reconnects, notices
        self.layout: Layout | None = None
        self.run_id: int | None = None
        self.taken: dict[int, SequenceSet] = {}  # run → given to the caller
        self.held: dict[int, SequenceSet] = {}   # run → acknowledged
        self._durable: dict[int, SequenceSet] = {}
        self._send: Callable[[Any], None] | None = None
        self._unsaid: list[tuple[int, int]] = []
        self._reader: BatchReader | None = None
        self._lock = threading.Lock()
        if options.keep_memory:
            keep_freed_memory()
        for run, ranges in (options.resume or {}).items():
            for books in (self.taken, self.held, self._durable):
                books[int(run, 16)] = SequenceSet((first, last) for first, last in ranges)

    # --- towards the actor ---

    def open_request(self, run_id: int) -> Any:
        """The first message. `run_id` as GetInfo named it just before."""
        options = self.options
        opening = actor_pb2.Open(
            policy=options.policy, group=options.group, consumer=options.consumer,
            encoding=actor_pb2.Encoding(terms=options.terms, state=options.state, next_state=options.next_state,
                                        fp16=options.fp16, slot_states=options.slot_states),
            dataset_fingerprint=options.dataset.fingerprint if options.dataset else b"")
        with self._lock:
            for books, said in ((self.held, opening.held), (self._durable, opening.durable)):
                if run_id in books:
                    said.append(_ranges(run_id, books[run_id]))
        return actor_pb2.CollectRequest(open=opening)

    @property
    def remaining(self) -> int | None:
        return None if self.options.limit is None else self.options.limit - self.counters["batches"]

    def start(self, message: bytes, send: Callable[[Any], None]) -> bool:
        """The stream's first answer; gives out credit. True when the run is another than before."""
        response = actor_pb2.CollectResponse.FromString(message)
        if response.WhichOneof("part") != "opened":
            raise DataError("the stream's first message is not `opened`", "part", response.WhichOneof("part"))
        opened = response.opened
        self.layout = Layout(opened, self.options.max_batch_bytes)
        self._reader = BatchReader(self.layout)
        window = min(self.options.credit, opened.max_credit or self.options.credit)
        if self.remaining is not None:
            window = min(window, self.remaining)
        new_run = bool(opened.run_id != self.run_id)
        with self._lock:
            self.run_id, self._send = opened.run_id, send
            for run, sequence in self._unsaid:
                if run == opened.run_id:
                    send(_acknowledgement(run, sequence))
            self._unsaid = []
            if window > 0:
                send(_credit(window))
        self._granted = window
        return new_run

    def stop_sending(self) -> None:
        with self._lock:
            self._send = None

    def acknowledge(self, batch: Batch) -> None:
        run, sequence = batch.identity
        with self._lock:
            if not self.held.setdefault(run, SequenceSet()).add(sequence):
                return
            if self._send is None:
                self._unsaid.append((run, sequence))
            elif run == self.run_id:
                self._send(_acknowledgement(run, sequence))

    def make_durable(self) -> dict[str, list[list[int]]]:
        """Everything acknowledged is on disk now: says so, and gives the `resume` of a later start."""
        with self._lock:
            self._durable = {run: SequenceSet(ranges) for run, ranges in self.held.items()}
            if self._send is not None and self.run_id in self._durable:
                self._send(actor_pb2.CollectRequest(
                    durable=actor_pb2.Durable(ranges=_ranges(self.run_id, self._durable[self.run_id]))))
            return {f"{run:016x}": [list(part) for part in ranges] for run, ranges in self._durable.items()}

    @property
    def opened(self) -> Any:
        """The actor's answer to the live stream."""
        assert self.layout is not None
        return self.layout.opened

    # --- from the actor ---

    def receive(self, message: bytes) -> Batch | None:
        """A new batch, when the message ends one. Its credit is given back as it is handed out."""
        assert self._reader is not None and self.layout is not None
        what = self._reader.feed(message)
        if what is None:
            return None
        if isinstance(what, actor_pb2.Notice):
            self.counters["notices"] += 1
            log.warning("policy %s, group %s: %s", self.options.policy, self.options.group, what.text)
            return None
        header, trailer, payload = what
        run, sequence = header.run_id, header.sequence
        if run != self.run_id:
            raise DataError(f"batch {sequence} is of run {run:016x}, the stream of {self.run_id:016x}", "run_id", run)
        taken = self.taken.setdefault(run, SequenceSet())
        if sequence in taken:
            self.counters["duplicates"] += 1
            with self._lock:
                if self._send is not None:
                    if sequence in self.held.get(run, ()):
                        self._send(_acknowledgement(run, sequence))
                    self._send(_credit(1))
            return None
        batch = Batch(header, trailer.statistics, self.layout.settings, self.layout.views(payload), payload.nbytes,
                      self.acknowledge, self.options.dataset)
        taken.add(sequence)
        self.counters["batches"] += 1
        with self._lock:
            self._granted -= 1
            if self._send is not None and (self.remaining is None or self.remaining > self._granted):
                self._send(_credit(1))
                self._granted += 1
        return batch


def _credit(n: int) -> Any:
    return actor_pb2.CollectRequest(credit=actor_pb2.Credit(n=n))


def _acknowledgement(run: int, sequence: int) -> Any:
    return actor_pb2.CollectRequest(ack=actor_pb2.Acknowledge(run_id=run, sequence=sequence))


def _ranges(run: int | None, sequences: SequenceSet) -> Any:
    return actor_pb2.RunRanges(run_id=run, ranges=[actor_pb2.SequenceRange(first=first, last=last)
                                                   for first, last in sequences])
