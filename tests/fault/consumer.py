# SPDX-License-Identifier: Apache-2.0
"""A small consumer that keeps a journal: what it inserted, written before it acknowledges.

As a program it reconnects for ever, as a learner does, until SIGTERM:
  consumer.py --port N --group G --name C --journal FILE [--credit 4] [--checkpoint_every 1]
Journal lines: `run sequence rows unix_seconds`, hexadecimal run. With --checkpoint_every K a line is
written only with the K-th batch after the last ones, and then sent as `durable`: a kill loses what was
inserted since, as a learner does between checkpoints.
"""
import argparse
import collections
import pathlib
import queue
import signal
import sys
import threading
import time

if __name__ == "__main__":  # before gRPC starts threads, which would take the signal
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))
from stock_client import actor_pb2, actor_pb2_grpc, channel_to, grpc  # noqa: E402

Inserted = collections.namedtuple("Inserted", "run sequence rows seconds")


def ranges_of(sequences):
    """A set of numbers as ascending SequenceRange messages."""
    ranges = []
    for sequence in sorted(sequences):
        if ranges and ranges[-1].last + 1 == sequence:
            ranges[-1].last = sequence
        else:
            ranges.append(actor_pb2.SequenceRange(first=sequence, last=sequence))
    return ranges


class Journal:
    """Appends in one write each, so that a killed process leaves whole lines."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.file = open(self.path, "ab", buffering=0)

    @staticmethod
    def read(path):
        path = pathlib.Path(path)
        if not path.exists():
            return []
        entries = []
        text = path.read_text()
        for line in text[:text.rfind("\n") + 1].splitlines():  # the last may be written at this moment
            run, sequence, rows, seconds = line.split()
            entries.append(Inserted(int(run, 16), int(sequence), int(rows), float(seconds)))
        return entries

    def append(self, entries):
        text = "".join(f"{e.run:016x} {e.sequence} {e.rows} {e.seconds:.6f}\n" for e in entries)
        self.file.write(text.encode())


class Stream:
    """One Collect call. `messages()` yields what comes; `send` never waits."""

    def __init__(self, channel, first, timeout=3600, wait_for_ready=False):
        self.outbox = queue.SimpleQueue()
        self.outbox.put(first)
        requests = iter(self.outbox.get, None)
        self.call = actor_pb2_grpc.ActorStub(channel).Collect(requests, timeout=timeout,
                                                                  wait_for_ready=wait_for_ready)

    def send(self, **part):
        self.outbox.put(actor_pb2.CollectRequest(**part))

    def credit(self, n):
        self.send(credit=actor_pb2.Credit(n=n))

    def acknowledge(self, run, sequence):
        self.send(ack=actor_pb2.Acknowledge(run_id=run, sequence=sequence))

    def half_close(self):
        self.outbox.put(None)

    def cancel(self):
        self.call.cancel()
        self.outbox.put(None)


def open_request(policy, group, name, **more):
    return actor_pb2.CollectRequest(open=actor_pb2.Open(policy=policy, group=group, consumer=name, **more))


def batches(call, counters=None):
    """(header, trailer, payload bytes) of each whole batch; checks that the pieces fit."""
    header, size = None, 0
    for message in call:
        part = message.WhichOneof("part")
        if part == "header":
            header, size = message.header, 0
        elif part == "chunk":
            assert message.chunk.offset == size, (message.chunk.offset, size)
            size += len(message.chunk.data)
        elif part == "trailer":
            assert size == header.payload_bytes, (size, header.payload_bytes)
            yield header, message.trailer, size
        elif part == "notice" and counters is not None:
            counters["notices"] += 1


class Consumer:
    """Takes batches until stopped. Thread-safe: `stop`, `inserted`, `duplicates`."""

    def __init__(self, port, group, name, journal, policy="p", credit=4, checkpoint_every=1, pause=0.0,
                 keepalive=False):
        self.port, self.policy, self.group, self.name = port, policy, group, name
        self.window, self.checkpoint_every, self.pause = credit, checkpoint_every, pause
        # A quiet peer is noticed as fast as an actor with keepalive_seconds 2 allows to ask.
        self.options = [("grpc.keepalive_time_ms", 2000), ("grpc.keepalive_timeout_ms", 1000), ("grpc.http2.ping_timeout_ms", 1000),
                        ("grpc.http2.max_pings_without_data", 0)] if keepalive else []
        self.journal = Journal(journal)
        self.have = collections.defaultdict(set)  # run → inserted and still held
        self.unsaved = []
        self.counters = collections.Counter()
        self.last_status = None
        for entry in Journal.read(journal):
            self.have[entry.run].add(entry.sequence)
        self.saved = {run: set(sequences) for run, sequences in self.have.items()}
        self.stopping = threading.Event()
        self.stream = None
        self.thread = threading.Thread(target=self._run, daemon=True)

    def start(self):
        self.thread.start()
        return self

    def stop(self, seconds=60):
        """Half-closes, takes what was reserved, saves, and ends."""
        self.stopping.set()
        stream = self.stream
        if stream is not None:
            stream.half_close()
        self.thread.join(seconds)
        assert not self.thread.is_alive(), f"consumer {self.name} did not end; last status {self.last_status}"

    def abandon(self, seconds=60):
        """Ends without a word to an actor that is gone."""
        self.counters["refused"] += 1
        self.stopping.set()
        deadline = time.monotonic() + seconds
        while self.thread.is_alive() and time.monotonic() < deadline:
            stream = self.stream  # perhaps one that it began meanwhile
            if stream is not None:
                stream.cancel()
            self.thread.join(0.1)

    @property
    def inserted(self):
        return self.counters["inserted"]

    def _run(self):
        channel = channel_to(self.port, *self.options)
        while not self.stopping.is_set():
            try:
                self._session(channel)
                self.last_status = grpc.StatusCode.OK
            except grpc.RpcError as error:
                self.last_status = error.code()
                self.counters[error.code().name] += 1
                if error.code() in (grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.INVALID_ARGUMENT,
                                    grpc.StatusCode.NOT_FOUND):
                    self.counters["refused"] += 1
                    self.stopping.set()
            self.stream = None
            self.stopping.wait(0.05)
        self._save()
        self._farewell(channel)
        channel.close()
        self.journal.file.close()

    def _farewell(self, channel):
        """What came behind the half-close could not be acknowledged there: `held` says it."""
        if self.counters["refused"]:
            return
        try:
            self._session(channel)
        except grpc.RpcError as error:
            self.last_status = error.code()

    def _session(self, channel):
        held = [actor_pb2.RunRanges(run_id=run, ranges=ranges_of(sequences)) for run, sequences in self.have.items()]
        durable = [actor_pb2.RunRanges(run_id=run, ranges=ranges_of(sequences)) for run, sequences in self.saved.items()]
        stream = Stream(channel, open_request(self.policy, self.group, self.name, held=held, durable=durable),
                        wait_for_ready=True)
        self.stream = stream
        if self.stopping.is_set():
            stream.half_close()
        else:
            stream.credit(self.window)
        for header, trailer, _ in batches(stream.call, self.counters):
            self._take(header, trailer, stream)

    def _take(self, header, trailer, stream):
        run, sequence = header.run_id, header.sequence
        if self.pause:
            time.sleep(self.pause)
        if sequence in self.have[run]:
            self.counters["duplicate"] += 1
        else:
            self.have[run].add(sequence)
            self.unsaved.append(Inserted(run, sequence, trailer.statistics.valid_rows, time.time()))
            self.counters["inserted"] += 1
        if len(self.unsaved) >= self.checkpoint_every:
            self._save(stream, run)
        stream.acknowledge(run, sequence)
        if not self.stopping.is_set():
            stream.credit(1)

    def _save(self, stream=None, live_run=None):
        """The journal first, then the actor; what is saved of a run that ended is nobody's to be told."""
        self.journal.append(self.unsaved)
        fresh = collections.defaultdict(set)
        for entry in self.unsaved:
            fresh[entry.run].add(entry.sequence)
        self.unsaved = []
        for run, sequences in fresh.items():
            self.saved.setdefault(run, set()).update(sequences)
            if run == live_run:
                stream.send(durable=actor_pb2.Durable(
                    ranges=actor_pb2.RunRanges(run_id=run, ranges=ranges_of(sequences))))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--policy", default="p")
    parser.add_argument("--group", required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--journal", required=True)
    parser.add_argument("--credit", type=int, default=4)
    parser.add_argument("--checkpoint_every", type=int, default=1)
    arguments = parser.parse_args()
    consumer = Consumer(arguments.port, arguments.group, arguments.name, arguments.journal, arguments.policy,
                        arguments.credit, arguments.checkpoint_every).start()
    signal.sigwait({signal.SIGTERM})
    consumer.stop()
    print(dict(consumer.counters), consumer.last_status)
    return 1 if consumer.counters["refused"] else 0


if __name__ == "__main__":
    sys.exit(main())
