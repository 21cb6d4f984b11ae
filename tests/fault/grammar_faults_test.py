# SPDX-License-Identifier: Apache-2.0
"""What does not fit the grammar ends with the status that actor.proto names, and changes no sheet.

Messages are raw bytes here, so that what no stub would send can be sent.
"""
import time
import unittest

from world import OneWorldTest, actor_pb2, actor_pb2_grpc, books, grpc
from consumer import Consumer, Stream, batches, open_request

Code = grpc.StatusCode


def field(number, payload):
    """One length-delimited protobuf field."""
    out = bytes([number << 3 | 2])
    size = len(payload)
    while size > 0x7F:
        out += bytes([size & 0x7F | 0x80])
        size >>= 7
    return out + bytes([size]) + payload


class GrammarFaults(OneWorldTest):
    def setUp(self):
        super().setUp()
        self.open = open_request("p", self.group, "c").SerializeToString()

    def expect(self, code, *requests, words=""):
        """The stream ends with `code`, and the actor's books balance."""
        call = self.channel.stream_stream("/vixen.v1.Actor/Collect")(iter(requests), timeout=60)
        with self.assertRaises(grpc.RpcError) as raised:
            for _ in call:
                pass
        self.assertEqual(raised.exception.code(), code, raised.exception.details())
        self.assertIn(words, raised.exception.details())
        for sheet in books.sheets_of(self.channel):
            if sheet.group == self.group:
                self.assertEqual(books.pair(sheet.offered), (0, 0), sheet)
        return raised.exception

    def request(self, **part):
        return actor_pb2.CollectRequest(**part).SerializeToString()

    def credit(self, n):
        return self.request(credit=actor_pb2.Credit(n=n))

    def test_zero_negative_and_too_much_credit(self):
        for n in (0, -1, -(1 << 63), 65, (1 << 63) - 1):
            with self.subTest(n=n):
                self.expect(Code.INVALID_ARGUMENT, self.open, self.credit(n), words=str(n))

    def test_a_flood_of_credit_ends_at_the_bound(self):
        # No weights of this policy are live, so that nothing is launched meanwhile.
        flood = [self.credit(1)] * 5000
        opening = open_request("other", self.group, "c").SerializeToString()
        self.expect(Code.INVALID_ARGUMENT, opening, *flood, words="max_credit 64")

    def test_an_acknowledgement_of_what_was_never_sent(self):
        run = self.world.info.run_id
        for run_id, sequence in ((run, 0), (run, (1 << 64) - 1), (run ^ 1, 0)):
            with self.subTest(sequence=sequence):
                ack = actor_pb2.Acknowledge(run_id=run_id, sequence=sequence)
                self.expect(Code.NOT_FOUND, self.open, self.request(ack=ack))

    def test_durable_of_what_was_never_sent_and_ranges_that_are_none(self):
        run = self.world.info.run_id
        whole = actor_pb2.SequenceRange(first=0, last=(1 << 64) - 1)
        upside_down = actor_pb2.SequenceRange(first=2, last=1)
        for ranges, code in (([whole], Code.NOT_FOUND), ([upside_down], Code.INVALID_ARGUMENT),
                             ([whole, whole], Code.INVALID_ARGUMENT)):
            durable = actor_pb2.Durable(ranges=actor_pb2.RunRanges(run_id=run, ranges=ranges))
            self.expect(code, self.open, self.request(durable=durable))

    def test_messages_out_of_order(self):
        self.expect(Code.INVALID_ARGUMENT, self.credit(1), words="before `open`")
        self.expect(Code.INVALID_ARGUMENT, self.open, self.open, words="second `open`")
        self.expect(Code.INVALID_ARGUMENT, words="before `open`")

    def test_bytes_that_are_no_message(self):
        for raw in (b"", b"\xff" * 40, b"\x0a\xff\xff\xff\xff\x0f", b"\x12\x03\x08"):
            with self.subTest(raw=raw):
                self.expect(Code.INVALID_ARGUMENT, self.open, raw)

    def test_a_message_of_a_later_version_alone_is_refused_and_an_unknown_field_beside_known_ones_is_not(self):
        self.expect(Code.INVALID_ARGUMENT, self.open, field(15, b"later"), words="unknown")
        stream = Stream(self.channel, actor_pb2.CollectRequest.FromString(self.open + field(15, b"later")))
        self.assertTrue(next(stream.call).HasField("opened"))
        stream.half_close()
        self.assertEqual(list(stream.call), [])

    def test_names_that_are_none(self):
        for name in ("", "a b", "x" * 65, "é", "a\nb", "x" * 1_000_000):
            with self.subTest(name=name[:8]):
                for opening in (open_request(name, self.group, "c"), open_request("p", name, "c"),
                                open_request("p", self.group, name)):
                    error = self.expect(Code.INVALID_ARGUMENT, opening.SerializeToString())
                    self.assertLess(len(error.details()), 400)

    def test_a_message_above_the_limit_is_refused_with_both_sizes(self):
        self.expect(Code.RESOURCE_EXHAUSTED, self.open, field(15, b"\0" * (9 << 20)), words=str(8 << 20))

    def test_an_open_with_a_long_list_of_what_is_held_is_answered(self):
        ranges = [actor_pb2.SequenceRange(first=2 * i, last=2 * i) for i in range(300_000)]
        held = actor_pb2.RunRanges(run_id=self.world.info.run_id, ranges=ranges)
        stream = Stream(self.channel, open_request("p", self.group, "c", held=[held]))
        self.assertTrue(next(stream.call).HasField("opened"))
        stream.half_close()
        self.assertEqual(list(stream.call), [])

    def test_a_second_live_stream_of_one_consumer_is_refused_and_the_first_goes_on(self):
        consumer = Consumer(self.world.port, self.group, "c", self.world.journal(self.group)).start()
        self.world.wait_until(lambda: consumer.inserted > 3, "batches")
        call = self.channel.stream_stream("/vixen.v1.Actor/Collect")(iter([self.open]), timeout=60)
        with self.assertRaises(grpc.RpcError) as raised:
            list(call)
        self.assertEqual(raised.exception.code(), Code.ALREADY_EXISTS)
        before = consumer.inserted
        self.world.wait_until(lambda: consumer.inserted > before + 3, "batches after the refusal")
        consumer.stop()
        self.world.reconcile(self.group, group=self.group)

    def test_a_live_stream_that_breaks_the_grammar_leaves_its_batches_to_its_group(self):
        stream = Stream(self.channel, actor_pb2.CollectRequest.FromString(self.open))
        stream.credit(3)
        taken = batches(stream.call)
        header, trailer, _ = next(taken)
        stream.acknowledge(header.run_id, header.sequence)
        next(taken)
        stream.acknowledge(header.run_id, 1 << 40)
        with self.assertRaises(grpc.RpcError) as raised:
            list(taken)
        self.assertEqual(raised.exception.code(), Code.NOT_FOUND)
        rows = trailer.statistics.valid_rows
        sheet = self.world.sheet(self.group)
        self.assertEqual(books.pair(sheet.acknowledged), (1, rows))
        self.assertEqual(books.pair(sheet.in_flight), (0, 0))
        self.assertEqual(sheet.retained.batches, sheet.offered.batches - 1)

    def test_many_idle_streams_hold_up_nobody(self):
        streams = [Stream(self.channel, open_request("p", self.group, f"c{i}")) for i in range(60)]
        for stream in streams:
            self.assertTrue(next(stream.call).HasField("opened"))
        times = []
        for _ in range(21):
            start = time.monotonic()
            actor_pb2_grpc.ActorStub(self.channel).GetInfo(actor_pb2.GetInfoRequest(), timeout=20)
            times.append(time.monotonic() - start)
        for stream in streams:
            stream.cancel()
        self.assertLess(sorted(times)[10], 0.1)
        self.assertLess(max(times), 0.5)


if __name__ == "__main__":
    unittest.main()
