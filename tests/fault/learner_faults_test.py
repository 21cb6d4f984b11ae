# SPDX-License-Identifier: Apache-2.0
"""The real learner under faults: its books and the actor's agree to the row after each."""
import json
import re
import signal
import time
import unittest

from world import BIN, WorldTest, books, vixen
from proxy import DOWN, UP, Proxy


class LearnerFaults(WorldTest):
    def setUp(self):
        # Quick where keepalive has to notice something; elsewhere no process that does not run for a while is to
        # look like one that is gone.
        quick = any(word in self._testMethodName for word in ("frozen", "network", "clock"))
        self.start(pushed=False, tls=self._testMethodName.endswith("mtls"),  # the learner pushes
                   keepalive_seconds=2 if quick else 20)

    def live(self, learner):
        return books.learner_sheets(learner.ports()[0]).get("live", {})

    def received(self, learner):
        return self.live(learner).get("received", (0, 0))[0]

    def more(self, learner, n=5, seconds=60):
        target = self.received(learner) + n
        learner.wait_for(lambda: self.received(learner) >= target, f"{n} batches more", seconds)

    def check_agreement(self, learner):
        """While both live: what the learner inserted lies between two readings of the actor.

        An acknowledgement may be under way, also of a batch that a broken stream gave back to its group.
        """
        taken = lambda sheet: sheet.durable.rows + sheet.acknowledged.rows
        before = self.world.sheet()
        inserted = self.live(learner)["inserted"][1]
        after = self.world.sheet()
        self.assertLessEqual(taken(before), inserted)
        self.assertLessEqual(inserted, taken(after) + after.in_flight.rows + after.retained.rows)

    def end(self, learner):
        """The learner ends in order; its last word and the actor's sheet agree exactly."""
        self.assertEqual(learner.terminate(), 0, learner.log.read_text())
        self.world.wait_until(lambda: books.pair(self.world.sheet().in_flight) == (0, 0), "the stream's end")
        books.reconcile_learner(self.world.sheet(), learner.log.read_text())

    def freeze(self, side, noticed, what):
        """Until the other side's keepalive has found it."""
        side.child.send_signal(signal.SIGSTOP)
        try:
            self.world.wait_until(noticed, what)
        finally:
            side.child.send_signal(signal.SIGCONT)

    def freeze_actor(self, learner):
        ended = lambda: learner.log.read_text().count("stream ended")
        before = ended()
        self.freeze(self.world.actor, lambda: ended() > before, "the learner to find the actor frozen")

    def written(self):
        """What the wall clock said at the newest checkpoint, in seconds; 0 before the first."""
        while True:
            states = sorted(path for path in (self.world.folder / "out/checkpoints").glob("*/state.textproto")
                            if not path.parent.suffix)
            try:
                return int(re.search(r"written_unix_ns: (\d+)", states[-1].read_text()).group(1)) / 1e9 if states else 0
            except FileNotFoundError:
                continue  # made room for newer ones meanwhile

    def test_a_killed_learner_comes_back_and_the_rows_it_lost_are_counted(self):
        world = self.world
        learner = world.start_learner(checkpoint_seconds=0.5, save_seconds=0.5)
        self.more(learner)
        self.check_agreement(learner)
        learner.kill()
        # Not in_flight, which is 0 between two batches too: until the end acknowledgements may still come.
        world.wait_until(lambda: world.metric("vixen_streams_open ") == 0, "the stream's end")
        before = world.sheet()
        again = world.start_learner(checkpoint_seconds=0.5, save_seconds=0.5, resume="last")
        self.more(again)
        self.check_agreement(again)
        sheet = world.sheet()
        # What was acknowledged and is not durable either came back with the checkpoint or is lost.
        lost = books.dropped(sheet, "lost_with_consumer")
        self.assertLessEqual(lost[0], before.acknowledged.batches)
        self.assertGreaterEqual(self.live(again)["inserted"][1],
                                before.durable.rows + before.acknowledged.rows - lost[1])
        self.end(again)

    def test_a_killed_actor_is_found_again_over_mtls(self):
        world = self.world
        learner = world.start_learner()
        self.more(learner)
        for outage in (0.0, 1.0):
            world.actor.kill()
            time.sleep(outage)  # the fault's length
            world.start_actor()
            taken = lambda: any(s.acknowledged.batches for s in books.sheets_of(world.channel))
            world.wait_until(taken, "the first batch")
            self.more(learner)
            self.check_agreement(learner)
        self.end(learner)

    def test_an_actor_that_comes_back_under_another_address_of_its_name_is_found(self):
        world = self.world
        world.actor.kill()
        address = world.folder / "address"
        world.environment.update({"LD_PRELOAD": str(BIN.parent / "tests/moved_host.so"), "VIXEN_MOVED_HOST": str(address),
                                  "GRPC_DNS_RESOLVER": "native"})
        world.sanitizer_options("verify_asan_link_order=0")
        learner = None
        for world.host in ("127.0.0.2", "127.0.0.3"):
            world.start_actor()
            address.write_text(world.host)
            if learner is None:
                learner = world.start_learner(actor=f"actor.vixen.test:{world.port}", insecure=True)
            taken = lambda: any(s.acknowledged.batches for s in books.sheets_of(world.channel))
            learner.wait_for(taken, f"a batch from {world.host}")
            self.more(learner)
            self.check_agreement(learner)
            if world.host == "127.0.0.2":
                world.actor.kill()
        self.end(learner)

    def test_a_stream_that_a_proxy_resets_inside_a_message_goes_on(self):
        world = self.world
        proxy = Proxy(world.port)
        self.addCleanup(proxy.close)
        learner = world.start_learner(port=proxy.port)
        self.more(learner)
        for frames in (1, 7, 23):
            ended = learner.log.read_text().count("stream ended")
            proxy.reset_stream_after(frames)
            learner.wait_for(lambda: learner.log.read_text().count("stream ended") > ended, "the reset to be noticed")
            self.more(learner)
            self.check_agreement(learner)
        self.assertEqual(books.dropped(world.sheet(), "lost_with_consumer"), (0, 0))
        self.end(learner)

    def test_a_push_whose_answer_a_proxy_resets_is_pushed_again_and_the_stream_goes_on(self):
        world = self.world
        proxy = Proxy(world.port)
        self.addCleanup(proxy.close)
        learner = world.start_learner(port=proxy.port)
        self.more(learner)
        again = lambda: learner.log.read_text().count("pushing again")
        for number in (1, 2, 3):
            proxy.reset_stream_after(1, unary=True)
            learner.wait_for(lambda: again() == number, "the reset to be noticed")
            version = world.live().online_version
            learner.wait_for(lambda: world.live().online_version > version + 3, "weights of later versions")
            self.more(learner)
            self.check_agreement(learner)
        self.assertNotIn("stream ended", learner.log.read_text())
        self.end(learner)

    def test_a_limiter_that_waits_says_what_for(self):
        world = self.world
        learner = world.start_learner(checkpoint_seconds=0.5)
        self.more(learner)
        world.actor.kill()
        # One of a time when the actor lived would count it as ready.
        warning = re.compile(r"no update for \d+ s: the limiter waits for inserts \(error -?\d+ of window \d+ samples, "
                             r"\d+ rows inserted, min_size 64\); \d+ launches asked for, 0 of 1 actors ready")
        learner.wait_for(lambda: warning.search(learner.log.read_text()), "the warning")
        # So it does behind a checkpoint at the limiter's bound, where nobody inserts either.
        self.assertEqual(learner.terminate(), 0)
        again = world.start_learner(resume="last", max_seconds=2)
        self.assertEqual(again.wait(), 1)
        self.assertIn("no actor answered within max_seconds 2", again.log.read_text().splitlines()[-1])

    def test_a_killed_actor_is_found_within_two_seconds_and_its_run_is_reported_as_ended(self):
        world = self.world
        learner = world.start_learner()
        self.more(learner)
        for outage in (0.0, 3.0):
            world.actor.kill()
            before = books.learner_sheets(learner.ports()[0])
            time.sleep(outage)  # the fault's length
            world.start_actor()
            back = time.monotonic()
            taken = lambda: any(s.acknowledged.batches for s in books.sheets_of(world.channel))
            world.wait_until(taken, "the first batch")
            gap = time.monotonic() - back
            print(f"outage {outage} s, then first batch after {gap:.2f} s")
            self.assertLess(gap, 2.0)
            self.more(learner)
            ended = books.learner_sheets(learner.ports()[0])["ended"]
            self.assertGreaterEqual(ended["received"][0], before["live"]["received"][0])
            runs = books.learner_runs(learner.ports()[1])
            self.assertEqual([run for run, sheet in runs.items() if not sheet.ended], [world.info.run_id])
            shown = json.loads(vixen("inspect", "--learner", f"127.0.0.1:{learner.ports()[1]}", "--json").stdout)
            self.assertEqual({row["run_id"]: row["run"] for row in shown["balance_rows"]},
                             {f"{run:016x}": "ended" if sheet.ended else "live" for run, sheet in runs.items()})
            self.check_agreement(learner)
        self.end(learner)

    def test_a_frozen_learner_and_a_frozen_actor_go_on_where_they_were(self):
        world = self.world
        learner = world.start_learner()
        self.more(learner)
        self.freeze(learner, lambda: world.metric("vixen_streams_open ") == 0, "the actor to find the learner frozen")
        self.more(learner)
        self.check_agreement(learner)
        self.freeze_actor(learner)
        self.more(learner)
        self.check_agreement(learner)
        self.end(learner)

    def test_a_network_that_cuts_and_swallows_costs_nothing_but_time(self):
        world = self.world
        proxy = Proxy(world.port)
        self.addCleanup(proxy.close)
        learner = world.start_learner(port=proxy.port)
        self.more(learner)
        for fault in (proxy.cut, lambda: proxy.swallow(DOWN), lambda: proxy.swallow(UP)):
            fault()
            if proxy.swallowed:
                world.wait_until(lambda: world.metric("vixen_streams_open ") == 0, "the stream's end")
                proxy.heal()
                proxy.cut()
            self.more(learner)
            self.check_agreement(learner)
        sheet = world.sheet()
        self.assertEqual(books.dropped(sheet, "lost_with_consumer"), (0, 0))
        self.end(learner)

    def test_a_clock_that_jumps_an_hour_either_way_stops_nothing(self):
        world = self.world
        world.actor.kill()
        shift = world.folder / "shift"
        shift.write_text("0")
        world.environment |= {"LD_PRELOAD": str(BIN.parent / "tests/clock_shift.so"), "VIXEN_CLOCK_SHIFT": str(shift)}
        world.sanitizer_options("verify_asan_link_order=0")
        world.start_actor()
        learner = world.start_learner(checkpoint_seconds=0.5)
        self.more(learner)
        shift.write_text("-7200")
        self.freeze_actor(learner)
        self.more(learner)
        for seconds in (3600, -3600, 0):
            shift.write_text(str(seconds))
            learner.wait_for(lambda: abs(self.written() - time.time() - seconds) < 600, "a checkpoint of that hour")
            self.more(learner, 10)
            self.check_agreement(learner)
        # Once the clock was ahead keepalive may notice nothing: the kernel, whose own clock stays, is told to wait
        # until the hour comes.
        world.actor.child.send_signal(signal.SIGSTOP)
        shift.write_text("7200")
        time.sleep(2)  # the fault's length
        world.actor.child.send_signal(signal.SIGCONT)
        self.more(learner)
        self.end(learner)

    def test_a_checkpoint_is_made_good_when_it_failed_and_not_made_when_nothing_changed(self):
        world = self.world
        learner = world.start_learner(checkpoint_seconds=0.2)
        self.more(learner)
        counted = lambda result: learner.metric(learner.ports()[0], f'vixen_checkpoints_total{{result="{result}"}}')
        updates = lambda: learner.metric(learner.ports()[0], "vixen_learner_updates_total ")

        def rests(value):
            before = value()
            time.sleep(1)  # five intervals
            return value() == before

        world.actor.kill()
        learner.wait_for(lambda: rests(lambda: counted("written")), "an end to checkpoints of the same state")
        kept, aside = world.folder / "out/checkpoints", world.folder / "aside"

        def spoil():
            with learner.stopped():  # or it would make the folder anew in between
                kept.rename(aside)
                kept.write_text("")

        spoil()
        world.start_actor()
        learner.wait_for(lambda: counted("failed") > 0, "a failed checkpoint")
        world.actor.kill()
        learner.wait_for(lambda: rests(updates), "an end to updates")
        before = counted("written")
        with learner.stopped():
            kept.unlink()
            aside.rename(kept)
        learner.wait_for(lambda: counted("written") > before, "the checkpoint that failed")
        spoil()
        world.start_actor()
        failed = counted("failed")
        learner.wait_for(lambda: counted("failed") > failed, "another failed checkpoint")
        world.actor.kill()
        learner.wait_for(lambda: rests(updates), "an end to updates")
        self.assertEqual(learner.terminate(), 1, "the last state is in no checkpoint")

    def test_a_learner_that_no_actor_answers_gives_up_after_max_seconds(self):
        self.world.actor.kill()
        learner = self.world.start_learner(max_seconds=0.5)
        self.assertEqual(learner.wait(), 1)
        self.assertIn("no actor answered within max_seconds 0.5", learner.log.read_text().splitlines()[-1])

    def test_another_dataset_after_a_restart_ends_the_learner_with_both_fingerprints(self):
        world = self.world
        learner = world.start_learner()
        self.more(learner)
        ours = world.info.dataset.fingerprint.hex()
        world.actor.kill()
        world.dataset = world.folder / "other.safetensors"
        vixen("synth", "b2", "--bars", 2000, "--seed", 6, "--out", world.dataset)
        world.start_actor()
        self.assertEqual(learner.wait(), 1)
        message = learner.log.read_text()
        self.assertIn(ours, message)
        self.assertIn(world.info.dataset.fingerprint.hex(), message)
        self.assertEqual([s for s in books.sheets_of(world.channel) if s.offered.batches], [])


if __name__ == "__main__":
    unittest.main()
