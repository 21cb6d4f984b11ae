# SPDX-License-Identifier: Apache-2.0
"""Probes, drains and faults on purpose of the real actor: startup, readiness, liveness, exit codes."""
import json
import signal
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request

from world import BIN, Process, World, actor_pb2, actor_pb2_grpc, channel_to, flags, free_port, grpc
from consumer import Stream, open_request

SERVING, NOT_SERVING = 1, 2
READINESS = ("", "readiness", "vixen.v1.Actor", "vixen.v1.Weights", "vixen.v1.Admin")


def health(channel, service, timeout=30):
    """grpc.health.v1.Health/Check by hand: one string out, one enum back."""
    name = service.encode()
    check = channel.unary_unary("/grpc.health.v1.Health/Check", request_serializer=None, response_deserializer=None)
    answer = check(b"\x0a" + bytes([len(name)]) + name if name else b"", timeout=timeout, wait_for_ready=True)
    return answer[1] if answer else 0


def page(port, path):
    try:
        answer = urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=30)
        return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


class Probes(unittest.TestCase):
    def prepare(self, *faults, **settings):
        """A world whose actor commits faults, not yet started."""
        self.metrics, self.health = free_port(), free_port()
        self.faults = [text for fault in faults for text in ("--fault", fault)] + ["--allow_faults"]
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.world = World(folder.name, **settings)
        self.addCleanup(self.world.close)

    def launch(self, *more):
        """Starts the actor without waiting for it."""
        settings = {**self.world.settings, "dataset": self.world.dataset, "listen": f"127.0.0.1:{self.world.port}",
                    "metrics_listen": f"127.0.0.1:{self.metrics}", "health_listen": f"127.0.0.1:{self.health}"}
        actor = Process(self.world.folder, "actor", "vixen-actor", *flags(settings), *self.faults, *more)
        self.world.children.append(actor)
        self.world.actor, self.world.metrics_port = actor, self.metrics
        self.world.channel = channel_to(self.world.port)
        self.plain = channel_to(self.health)
        self.addCleanup(self.plain.close)
        return actor

    def serve(self):
        actor = self.launch()
        actor.ports()
        self.world.info = actor_pb2_grpc.ActorStub(self.world.channel).GetInfo(actor_pb2.GetInfoRequest(), timeout=60,
                                                                               wait_for_ready=True)
        self.world.push()
        return actor

    def stream(self, credit, name="c"):
        stream = Stream(self.world.channel, open_request("p", "g", name))
        self.addCleanup(stream.cancel)
        stream.credit(credit)
        return stream

    def test_every_probe_answers_while_the_actor_loads(self):
        self.prepare("slow_start=8")  # long beside what is asked meanwhile
        actor = self.launch()
        for channel in (self.world.channel, self.plain):
            for service in (*READINESS, "startup"):
                self.assertEqual(health(channel, service), NOT_SERVING, service)
            self.assertEqual(health(channel, "liveness"), SERVING)
            with self.assertRaises(grpc.RpcError) as unknown:
                health(channel, "nonsense")
            self.assertEqual(unknown.exception.code(), grpc.StatusCode.NOT_FOUND)
        code, text = page(self.metrics, "startupz")
        self.assertEqual(code, 503)
        self.assertRegex(text, r"^starting for \d+\.\d s: fault slow_start\n$")
        self.assertEqual(page(self.metrics, "readyz")[0], 503)
        self.assertEqual(page(self.metrics, "livez"), (200, "live\n"))
        self.assertEqual(actor.metric(self.metrics, "vixen_ready"), 0)
        stub = actor_pb2_grpc.ActorStub(self.world.channel)
        calls = (lambda: stub.GetInfo(actor_pb2.GetInfoRequest(), timeout=30),
                 lambda: stub.GetBalance(actor_pb2.GetBalanceRequest(), timeout=30),
                 lambda: next(stub.GetDataset(actor_pb2.GetDatasetRequest(), timeout=30)),
                 lambda: next(Stream(self.world.channel, open_request("p", "g", "c"), timeout=30).call))
        for call in calls:
            with self.assertRaises(grpc.RpcError) as refused:
                call()
            self.assertEqual(refused.exception.code(), grpc.StatusCode.UNAVAILABLE)
            self.assertIn("the actor is starting for", refused.exception.details())
        # From the first answer on there is one at every moment, and it turns once.
        seen = []

        def turned():
            seen.append((health(self.plain, "readiness"), health(self.plain, "startup")))
            return seen[-1] == (SERVING, SERVING)
        actor.wait_for(turned, "readiness")
        self.assertLessEqual(set(seen), {(NOT_SERVING, NOT_SERVING), (NOT_SERVING, SERVING), (SERVING, SERVING)})
        self.assertEqual(seen, sorted(seen, reverse=True))
        self.assertRegex(page(self.metrics, "startupz")[1], r"^started in \d+\.\d s\n$")
        self.assertGreater(actor.metric(self.metrics, "vixen_startup_seconds"), 8)
        self.assertEqual(page(self.metrics, "readyz"), (200, "ready\n"))

    def test_a_signal_during_the_load_ends_it_at_once(self):
        self.prepare("slow_start=600")
        actor = self.launch()
        health(self.plain, "startup")
        self.assertEqual(actor.terminate(60), 0)

    def test_a_load_that_fails_ends_the_actor_with_its_reason(self):
        self.prepare()
        (self.world.folder / "nothing").write_text("no dataset")
        self.world.dataset = self.world.folder / "nothing"
        actor = self.launch()
        self.assertEqual(actor.wait(60), 1)
        self.assertIn("nothing", actor.log.read_text().splitlines()[-1])

    def test_a_stuck_launch_fails_liveness_and_the_drain_ends_by_its_watchdog(self):
        self.prepare("stuck_launch=2", launch_deadline_seconds=1, grace_seconds=0.5)
        actor = self.serve()
        self.assertEqual(health(self.plain, "liveness"), SERVING)
        self.stream(3)
        began = time.monotonic()
        # Before the two launches that end nothing is stuck, whatever the watch thinks of a machine that stands still.
        batches = lambda: self.world.metric('vixen_batches_total{policy="p"}')
        self.world.wait_until(lambda: batches() == 2, "two batches")
        self.world.wait_until(lambda: health(self.plain, "liveness") == NOT_SERVING, "liveness to fail")
        print(f"liveness failed after {time.monotonic() - began:.1f} s, deadline 1 s")
        # Told to one listener after the other: the page waits until all know.
        code, text = page(self.metrics, "livez")
        self.assertEqual(code, 503)
        self.assertEqual(health(self.world.channel, "readiness"), NOT_SERVING)
        self.assertRegex(text, r"^a launch has been under way for \d+ s\n$")
        self.assertEqual(actor.metric(self.metrics, "vixen_live"), 0)
        self.assertEqual(batches(), 2)
        self.assertEqual(actor.terminate(60), 1)
        self.assertIn("shutdown hangs while waiting for the last launch", actor.log.read_text())

    def test_a_lost_device_ends_the_actor_and_nothing_from_after_it_is_delivered(self):
        self.prepare("lost_device=3")
        actor = self.serve()
        stream = self.stream(8)
        self.assertEqual(actor.wait(60), 1)
        kinds = []
        with self.assertRaises(grpc.RpcError) as ended:
            for message in stream.call:
                kinds.append(message.WhichOneof("part"))
        self.assertEqual(ended.exception.code(), grpc.StatusCode.UNAVAILABLE)
        self.assertEqual(kinds.count("trailer"), 3)
        log = actor.log.read_text()
        self.assertIn("liveness: NOT_SERVING: fault lost_device", log)
        self.assertIn("vixen-actor: fault lost_device: the device is lost", log.splitlines()[-1])

    def test_a_gpu_that_has_fallen_off_the_bus_fails_liveness(self):
        self.prepare("gpu_lost=0")
        actor = self.launch()
        actor.ports()
        actor.wait_for(lambda: health(self.plain, "liveness") == NOT_SERVING, "liveness to fail")
        self.assertEqual(page(self.metrics, "livez"), (503, "the GPU has fallen off the bus\n"))
        self.assertEqual(actor.metric(self.metrics, "vixen_device_lost"), 1)
        self.assertEqual(actor.terminate(60), 0)

    def test_a_stream_that_is_never_finished_does_not_hold_up_the_exit(self):
        self.prepare("forget_finish", grace_seconds=2)
        actor = self.serve()
        self.stream(1)
        actor.wait_for(lambda: actor.metric(self.metrics, "vixen_stream_sent_batches_total") == 1, "a batch")
        began = time.monotonic()
        self.assertEqual(actor.terminate(60), 0)
        self.assertLess(time.monotonic() - began, 2 + 5 + 2)
        self.assertIn("cutting off streams that did not take", actor.log.read_text())

    def test_what_a_consumer_says_to_a_stream_that_is_ending_is_no_fault_of_its_own(self):
        self.prepare("forget_finish", grace_seconds=3)
        actor = self.serve()
        stream = self.stream(1)
        next(message for message in stream.call if message.WhichOneof("part") == "trailer")
        actor.child.send_signal(signal.SIGTERM)
        next(message for message in stream.call if message.WhichOneof("part") == "notice")
        for _ in range(20):  # detached by then, and never finished
            stream.acknowledge(self.world.info.run_id, 0)
            time.sleep(0.05)
        self.assertEqual(actor.wait(60), 0)
        self.assertIn("cutting off streams", actor.log.read_text())
        self.assertNotIn("a stream ends with", actor.log.read_text())

    def test_draining_ends_in_time_with_eight_streams_and_one_of_them_frozen(self):
        for frozen in (False, True):
            with self.subTest(frozen=frozen):
                self.prepare(grace_seconds=6, keepalive_seconds=30)
                actor = self.serve()
                collect = [BIN / "vixen", "collect", "--actor", f"127.0.0.1:{self.world.port}", "--policy", "p",
                           "--launches", "1000000", "--summary"]
                children = [subprocess.Popen(collect, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                            for _ in range(8)]
                for child in children:
                    self.addCleanup(child.wait)
                    self.addCleanup(child.kill)
                actor.wait_for(lambda: actor.metric(self.metrics, "vixen_streams_open ") == 8, "eight streams")
                actor.wait_for(lambda: actor.metric(self.metrics, 'vixen_batches_total{policy="p"}') > 20, "batches")
                if frozen:
                    children[0].send_signal(signal.SIGSTOP)
                began = time.monotonic()
                self.assertEqual(actor.terminate(60), 0)
                print(f"eight streams, frozen {frozen}: exit 0 after {time.monotonic() - began:.2f} s")
                self.assertLess(time.monotonic() - began, 6 + 2)
                for child in children[frozen:]:
                    self.assertEqual(child.wait(60), 1)  # the stream ended before its launches
                self.world.close()

    def test_a_drain_tells_each_stream_why_it_ends_and_where_the_run_stands(self):
        self.prepare()
        actor = self.serve()
        stream = self.stream(2)
        self.world.wait_until(lambda: self.world.metric("vixen_stream_sent_batches_total") == 2, "two batches")
        self.assertEqual(subprocess.run([BIN / "vixen", "drain", "--actor", f"127.0.0.1:{self.world.port}"],
                                        capture_output=True, timeout=60).returncode, 0)
        self.assertEqual(actor.wait(60), 0)
        notices = []
        with self.assertRaises(grpc.RpcError) as ended:
            for message in stream.call:
                if message.WhichOneof("part") == "notice":
                    notices.append(message.notice)
        self.assertEqual(ended.exception.code(), grpc.StatusCode.UNAVAILABLE)
        self.assertIn("draining", ended.exception.details())
        self.assertEqual([(n.kind, n.run_id, n.next_sequence) for n in notices],
                         [(actor_pb2.Notice.KIND_DRAINING, self.world.info.run_id, 2)])

    def test_health_answers_while_sixty_four_streams_wait(self):
        self.prepare(keepalive_seconds=30)
        self.launch().ports()
        self.assertEqual(health(self.world.channel, "readiness"), SERVING)
        streams = [Stream(self.world.channel, open_request("p", "g", f"c{i}")) for i in range(64)]
        for stream in streams:
            self.addCleanup(stream.cancel)
            stream.credit(1)
        self.world.wait_until(lambda: self.world.metric("vixen_streams_open ") == 64, "64 streams")
        times = []
        for _ in range(20):
            began = time.monotonic()
            self.assertEqual(health(self.plain, "readiness"), SERVING)
            self.assertEqual(health(self.world.channel, "liveness"), SERVING)
            times.append((time.monotonic() - began) / 2)
        print(f"health with 64 streams: median {1e3 * sorted(times)[10]:.1f} ms, most {1e3 * max(times):.1f} ms")

    def test_books_that_do_not_add_up_are_seen_by_inspect(self):
        self.prepare("miscount")
        self.serve()

        def inspect():
            done = subprocess.run([BIN / "vixen", "inspect", "--actor", f"127.0.0.1:{self.world.port}", "--json"],
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(done.stdout)
        self.assertTrue(inspect()["balanced"])
        stream = self.stream(1)
        trailer = next(m.trailer for m in stream.call if m.WhichOneof("part") == "trailer")
        stream.acknowledge(self.world.info.run_id, 0)
        del trailer
        self.world.wait_until(lambda: not inspect()["balanced"], "the books to break")

    def test_faults_are_refused_without_leave(self):
        self.prepare("forget_finish")
        self.faults.remove("--allow_faults")
        actor = self.launch()
        self.assertEqual(actor.wait(60), 2)
        self.assertIn("need allow_faults", actor.log.read_text())

    def test_the_log_level_changes_while_it_runs_and_lines_are_json_about_their_stream(self):
        self.prepare(log_format="json")
        actor = self.serve()
        done = subprocess.run([BIN / "vixen", "log-level", "debug", "--actor", f"127.0.0.1:{self.world.port}"],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (0, "log level debug, before info\n"))
        self.stream(1)
        # Without one that is being written.
        lines = lambda: [json.loads(line) for line in actor.log.read_text().splitlines(keepends=True)
                         if line.startswith("{") and line.endswith("\n")]
        opened = lambda: [line for line in lines() if line["message"].startswith("collect: c of group g")]
        actor.wait_for(opened, "the stream's line")
        line = opened()[0]
        self.assertEqual([line[key] for key in ("policy", "group", "consumer", "run_id", "sequence", "level", "program")],
                         ["p", "g", "c", f"{self.world.info.run_id:016x}", "0", "info", "vixen-actor"])
        wrong = subprocess.run([BIN / "vixen", "log-level", "loud", "--actor", f"127.0.0.1:{self.world.port}"],
                               capture_output=True, text=True, timeout=60)
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("none of trace, debug, info, warn, error", wrong.stderr)
        self.assertEqual(actor.terminate(60), 0)
        self.assertIn("stop: telling the streams", [line["message"] for line in lines() if line["level"] == "debug"])


if __name__ == "__main__":
    unittest.main()
