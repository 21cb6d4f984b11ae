# SPDX-License-Identifier: Apache-2.0
"""A stock gRPC client, or a bare socket, that sends what no consumer would: each ends with its exact status, and
the books say exactly what became of the batches. What breaks the grammar before a batch came:
tests/fault/grammar_faults_test.py."""
import pathlib
import random
import socket
import struct
import sys
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent / "fault")]
from world import OneWorldTest, actor_pb2, actor_pb2_grpc, books, channel_to, grpc  # noqa: E402
from consumer import Consumer, Stream, batches, open_request  # noqa: E402

Code = grpc.StatusCode
EPISODES, STEPS = 64, 64  # a batch of eleven chunks
ROWS = EPISODES * STEPS
MIB = 1 << 20
BOMB = b"\x7a\x80\x80\x80\x80\x01" + b"\0" * (256 * MIB)  # an unknown field of zeros: 256 KiB by gzip
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind, flags, stream, payload=b""):
    """One HTTP/2 frame."""
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


class HostileConsumer(OneWorldTest):
    SETTINGS = {**OneWorldTest.SETTINGS, "steady_memory": True, "episodes": EPISODES, "steps": STEPS, "chunk_bytes": 16384}

    def begin(self, credit, group=None):
        """A stream in the middle of its first batch: `opened`, the header and one chunk were read."""
        stream = Stream(self.channel, open_request("p", group or self.group, "c"), timeout=60)
        self.addCleanup(stream.cancel)
        stream.credit(credit)
        parts = [next(stream.call).WhichOneof("part") for _ in range(3)]
        self.assertEqual(parts, ["opened", "header", "chunk"])
        return stream

    def ends(self, call, code, words=""):
        with self.assertRaises(grpc.RpcError) as raised:
            for _ in call:
                pass
        self.assertEqual(raised.exception.code(), code, raised.exception.details())
        self.assertIn(words, raised.exception.details())

    def books_are(self, group=None, **places):
        """The group's sheet, to the row: batches by place; everything else is zero."""
        group = group or self.group
        expected = {name: (places.get(name, 0), places.get(name, 0) * ROWS)
                    for name in ("offered", "durable", "acknowledged", "in_flight", "retained")}

        def agree():
            sheet = books.sheet_of(self.world.channel, "p", group)
            here = {name: books.pair(getattr(sheet, name)) for name in expected}
            return here == expected and books.dropped(sheet) == (0, 0)
        self.world.wait_until(agree, f"{expected} in {books.sheet_of(self.world.channel, 'p', group)}")

    def test_what_breaks_the_grammar_inside_a_batch_gives_the_batch_back(self):
        run = self.world.info.run_id
        twice = actor_pb2.SequenceRange(first=3, last=3)
        upside_down = actor_pb2.RunRanges(run_id=run, ranges=[actor_pb2.SequenceRange(first=2, last=1)])
        overlapping = actor_pb2.RunRanges(run_id=run, ranges=[twice, twice])
        wrong = [(dict(credit=actor_pb2.Credit(n=-1)), Code.INVALID_ARGUMENT, "-1"),
                 (dict(credit=actor_pb2.Credit(n=0)), Code.INVALID_ARGUMENT, "is 0"),
                 (dict(credit=actor_pb2.Credit(n=1 << 40)), Code.INVALID_ARGUMENT, "max_credit"),
                 (dict(open=open_request("p", "g", "c").open), Code.INVALID_ARGUMENT, "second `open`"),
                 (dict(), Code.INVALID_ARGUMENT, "empty or unknown"),
                 (dict(ack=actor_pb2.Acknowledge(run_id=run, sequence=1 << 50)), Code.NOT_FOUND, "never sent"),
                 (dict(ack=actor_pb2.Acknowledge(run_id=run ^ 1, sequence=0)), Code.NOT_FOUND, "this is run"),
                 (dict(durable=actor_pb2.Durable(ranges=upside_down)), Code.INVALID_ARGUMENT, "ascending"),
                 (dict(durable=actor_pb2.Durable(ranges=overlapping)), Code.INVALID_ARGUMENT, "overlaps")]
        for number, (part, code, words) in enumerate(wrong):
            with self.subTest(part=part):
                group = f"{self.group}.{number}"
                stream = self.begin(1, group)
                stream.send(**part)
                self.ends(stream.call, code, words)
                self.books_are(group, offered=1, retained=1)

    def test_bytes_that_are_no_message_inside_a_batch_give_the_batch_back(self):
        opening = open_request("p", "begun", "c")
        for number, raw in enumerate((
                b"\xff" * 64,                         # no field
                b"\x0b" * 10_000,                     # groups inside groups
                b"\x12\x7f",                          # cut off
                b"\x08\x01",                          # `open` as a number
                b"\x0a\x05\x0a\x03\xff\xfe\xfd",      # a name that is not UTF-8
                b"\x7a\x05later")):                   # a part of a later version
            with self.subTest(raw=raw[:8]):
                group = f"{self.group}.{number}"
                opening.open.group = group
                taken = iter(self.requests(opening, raw))
                call = self.channel.stream_stream("/vixen.v1.Actor/Collect",
                                                  response_deserializer=actor_pb2.CollectResponse.FromString)(taken, timeout=60)
                self.ends(call, Code.INVALID_ARGUMENT)
                self.books_are(group, offered=1, retained=1)

    def requests(self, opening, raw):
        yield opening.SerializeToString()
        yield actor_pb2.CollectRequest(credit=actor_pb2.Credit(n=1)).SerializeToString()
        # There is no sheet before the actor has read `open`.
        sent = lambda: [sheet.in_flight.batches for sheet in books.sheets_of(self.world.channel, "p", opening.open.group)] == [1]
        self.world.wait_until(sent, "the batch to be under way")
        yield raw

    def test_half_closing_inside_a_batch_brings_the_rest_of_what_was_reserved_and_ends_in_order(self):
        stream = self.begin(3)
        stream.half_close()
        rest = [message.WhichOneof("part") for message in stream.call]
        whole = rest.count("trailer")
        self.assertEqual(stream.call.code(), Code.OK)
        self.assertEqual(rest.count("header"), whole - 1)  # the first came before
        self.assertIn(whole, (1, 2, 3))  # what was reserved by then
        self.books_are(offered=whole, retained=whole)
        again = Stream(self.channel, open_request("p", self.group, "c"), timeout=60)
        again.credit(whole)
        taken = batches(again.call)
        for sequence, (header, _, _) in zip(range(whole), taken):
            self.assertEqual((header.sequence - sequence, header.delivery), (self.first_sequence(header, sequence), 2))
            again.acknowledge(header.run_id, header.sequence)
        again.half_close()
        self.assertEqual(list(taken), [])
        self.books_are(offered=whole, acknowledged=whole)

    def first_sequence(self, header, sequence):
        if sequence == 0:
            self.first = header.sequence
        return self.first

    def test_leaving_inside_a_batch_gives_it_back(self):
        for how in ("cancel", "close"):
            with self.subTest(how=how):
                group = f"{self.group}.{how}"
                channel = channel_to(self.world.port)
                stream = Stream(channel, open_request("p", group, "c"), timeout=60)
                stream.credit(1)
                self.assertEqual([next(stream.call).WhichOneof("part") for _ in range(3)], ["opened", "header", "chunk"])
                stream.cancel() if how == "cancel" else channel.close()
                self.books_are(group, offered=1, retained=1)
                stream.half_close()
                channel.close()

    def test_an_acknowledgement_before_the_batch_is_whole_counts_once_however_often_it_comes(self):
        stream = self.begin(1)
        sheet = books.sheet_of(self.world.channel, "p", self.group)
        self.assertEqual(books.pair(sheet.in_flight), (1, ROWS))
        sequence = self.world.live().batches - 1
        for _ in range(1000):
            stream.acknowledge(self.world.info.run_id, sequence)
        stream.half_close()
        self.assertEqual([message.WhichOneof("part") for message in stream.call][-1], "trailer")
        self.assertEqual(stream.call.code(), Code.OK)
        self.books_are(offered=1, acknowledged=1)

    def test_metadata_that_is_too_much_ends_its_own_connection_and_no_other(self):
        stream = self.begin(1)  # on another connection
        for metadata in ((("x-much", "x" * 16_000),), tuple((f"x-{i}", "y" * 100) for i in range(200))):
            channel = channel_to(self.world.port)
            with self.assertRaises(grpc.RpcError) as raised:
                actor_pb2_grpc.ActorStub(channel).GetInfo(actor_pb2.GetInfoRequest(), metadata=metadata, timeout=60)
            self.assertEqual(raised.exception.code(), Code.RESOURCE_EXHAUSTED, raised.exception.details())
            channel.close()
        stream.half_close()
        self.assertEqual([message.WhichOneof("part") for message in stream.call][-1], "trailer")
        self.books_are(offered=1, retained=1)

    def test_compressed_messages_are_refused_and_not_unfolded(self):
        before = self.world.rss()
        opening = open_request("p", self.group, "c").SerializeToString()
        for compression in (grpc.Compression.Gzip, grpc.Compression.Deflate):
            for method in ("/vixen.v1.Actor/Collect", "/vixen.v1.Weights/PushWeights", "/vixen.v1.Actor/GetInfo"):
                with self.subTest(method=method, compression=compression):
                    call = self.channel.stream_stream(method)
                    self.ends(call(iter([opening, BOMB]), compression=compression, timeout=60), Code.UNIMPLEMENTED,
                              "is disabled")
        self.assertLess(self.world.rss() - before, 16 * MIB)

    def test_methods_that_are_not_there_are_unimplemented(self):
        for method in ("/vixen.v1.Actor/Nothing", "/vixen.v2.Actor/Collect", "/"):
            with self.subTest(method=method):
                self.ends(self.channel.unary_stream(method)(b"", timeout=20), Code.UNIMPLEMENTED)

    def test_unary_calls_with_what_they_cannot_mean(self):
        actor = actor_pb2_grpc.ActorStub(self.channel)
        size = self.world.info.dataset.file_bytes
        self.ends(actor.GetDataset(actor_pb2.GetDatasetRequest(offset=size + 1), timeout=20), Code.OUT_OF_RANGE)
        self.ends(actor.GetDataset(actor_pb2.GetDatasetRequest(offset=(1 << 64) - 1), timeout=20), Code.OUT_OF_RANGE)
        self.ends(actor.GetDataset(actor_pb2.GetDatasetRequest(fingerprint=b"short"), timeout=20),
                  Code.FAILED_PRECONDITION)
        nobody = actor.GetBalance(actor_pb2.GetBalanceRequest(policy="x" * 100_000, group="é"), timeout=20)
        self.assertEqual(len(nobody.sheets), 0)
        get_info = self.channel.unary_unary("/vixen.v1.Actor/GetInfo")
        with self.assertRaises(grpc.RpcError) as raised:
            get_info(b"\xff" * 100, timeout=20)
        self.assertEqual(raised.exception.code(), Code.UNIMPLEMENTED)  # gRPC 1.51's answer to a request that is none

    def test_a_thousand_streams_that_leave_at_once_leave_nothing_behind(self):
        descriptors = self.world.descriptors()
        for number in range(1000):
            stream = Stream(self.channel, open_request("p", self.group, f"c{number % 7}"), timeout=60)
            if number % 3 == 0:
                stream.half_close()
            stream.cancel()

        def begun():
            try:
                return self.begin(1)
            except grpc.RpcError as error:  # while the last of the others are still leaving
                self.assertEqual(error.code(), Code.RESOURCE_EXHAUSTED)
        stream = self.world.wait_until(begun, "room for a stream")
        stream.half_close()
        self.assertEqual([message.WhichOneof("part") for message in stream.call][-1], "trailer")
        self.books_are(offered=1, retained=1)
        self.world.wait_until(lambda: self.world.metric("vixen_streams_open ") == 0, "no stream to be left")
        self.world.wait_until(lambda: self.world.descriptors() <= descriptors + 4, "their descriptors to be free")

    def test_a_thousand_connections_that_say_nonsense_hold_up_nobody(self):
        seed = random.randrange(1 << 32)
        print(f"seed {seed}")
        rng = random.Random(seed)
        settings = frame(4, 0, 0)
        words = [b"", PREFACE[:rng.randrange(1, 24)], b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"\x16\x03\x01\x02\x00\x01",
                 rng.randbytes(4096), PREFACE + frame(4, 0, 0, b"\0" * 5),    # settings of no whole number
                 PREFACE + settings + frame(1, 4, 1, b"\xff" * 100),           # headers that HPACK cannot read
                 PREFACE + settings + frame(0, 1, 1, b"\0" * 100),             # data of a stream that never began
                 PREFACE + settings + frame(3, 0, 0, b"\0" * 4),               # a reset of no stream
                 PREFACE + settings + frame(8, 0, 0, b"\0" * 4),               # a window that grows by nothing
                 PREFACE + settings + frame(9, 0, 1, b"\0" * 100),             # headers that go on without a beginning
                 PREFACE + settings + b"\xff\xff\xff\x00\x00\x00\x00\x00\x01"  # a frame of 16 MiB
                 ]
        descriptors = self.world.descriptors()
        consumer = Consumer(self.world.port, self.group, "c", self.world.journal(self.group)).start()
        self.world.wait_until(lambda: consumer.inserted > 3, "batches")
        before = consumer.inserted
        for number in range(1000):
            with socket.create_connection(("127.0.0.1", self.world.port), timeout=60) as peer:
                if number % 3 == 0:  # ends by a reset
                    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                try:
                    peer.sendall(rng.choice(words))
                    if number % 2 == 0:
                        peer.shutdown(socket.SHUT_WR)
                except OSError:
                    continue  # the actor was quicker to end it
        self.world.wait_until(lambda: consumer.inserted > before + 3, "batches meanwhile")
        self.assertEqual(consumer.counters["UNAVAILABLE"], 0)
        consumer.stop()
        self.world.reconcile(self.group, group=self.group)
        self.world.wait_until(lambda: self.world.descriptors() <= descriptors + 4, "their descriptors to be free")


class HostileConsumerOfACompressingActor(OneWorldTest):
    SETTINGS = {**OneWorldTest.SETTINGS, "steady_memory": True, "compression": "gzip"}

    def test_compressed_messages_are_refused_and_not_unfolded_and_others_are_served(self):
        before = self.world.rss()
        opening = open_request("p", self.group, "c").SerializeToString() + b"\x7a\xf4\x03" + b"\0" * 500  # gzip shrinks it
        gzip, deflate = grpc.Compression.Gzip, grpc.Compression.Deflate
        for compression, method, first, code in (
                (gzip, "/vixen.v1.Actor/Collect", opening, Code.INVALID_ARGUMENT),
                (gzip, "/vixen.v1.Actor/Collect", BOMB, Code.INVALID_ARGUMENT),
                (gzip, "/vixen.v1.Weights/PushWeights", BOMB, Code.INVALID_ARGUMENT),
                (gzip, "/vixen.v1.Actor/GetInfo", BOMB, Code.UNIMPLEMENTED),
                (deflate, "/vixen.v1.Actor/Collect", BOMB, Code.UNIMPLEMENTED)):
            with self.subTest(method=method, compression=compression):
                call = self.channel.stream_stream(method)(iter([first]), compression=compression, timeout=60)
                with self.assertRaises(grpc.RpcError) as raised:
                    list(call)
                self.assertEqual(raised.exception.code(), code, raised.exception.details())
        self.assertLess(self.world.rss() - before, 16 * MIB)
        stream = Stream(self.channel, open_request("p", self.group, "c"), timeout=60)
        stream.credit(1)
        header, trailer, _ = next(batches(stream.call))
        self.assertEqual((header.delivery, trailer.statistics.valid_rows), (1, 32))
        stream.cancel()


if __name__ == "__main__":
    unittest.main()
