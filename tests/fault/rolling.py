# SPDX-License-Identifier: Apache-2.0
"""Rolling restarts of either side under load: SIGTERM, wait for exit 0, start again; books and the gap in training."""
import collections
import re
import signal
import threading
import time

from world import World, books


class UpdateWatch:
    """Looks at the learner's updates without a pause and keeps the longest time without one."""

    def __init__(self, count):
        self.count = count
        self.last, self.seen, self.longest, self.stalls = time.monotonic(), None, 0.0, []
        self._lock, self._stopping = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while not self._stopping.wait(0.01):
            try:
                now = self.count()
            except OSError:
                continue
            with self._lock:
                if now is not None and now != self.seen:
                    if self.seen is not None:
                        self.longest = max(self.longest, time.monotonic() - self.last)
                    self.last, self.seen = time.monotonic(), now

    def take(self):
        """The longest time without an update since the last call."""
        with self._lock:
            longest, self.longest = self.longest, 0.0
            return longest

    def stop(self):
        self._stopping.set()
        self._thread.join(90)


class RollingWorld:
    def __init__(self, folder, **settings):
        self.world = World(folder, **settings)
        self.world.start_actor()
        self.counts, self.drains, self.gaps = collections.Counter(), collections.defaultdict(list), collections.defaultdict(list)
        self.learner = None
        self._start_learner()
        self.auditor = books.Auditor(self.world.port)
        self.watch = UpdateWatch(self._updates)

    def _updates(self):
        learner = self.learner
        if not learner.ports_file.exists():
            return None
        value = learner.metric(int(learner.ports_file.read_text().split()[0]), "vixen_learner_updates_total")
        return (learner.child.pid, value) if value else None

    def _start_learner(self):
        self.learner = self.world.start_learner(resume="last", checkpoint_seconds=2)

    def _trains(self, updates=20):
        """So many updates more of the learner that runs, on batches of the run that runs."""
        metrics = self.learner.ports()[0]
        count = lambda: self.learner.metric(metrics, "vixen_learner_updates_total") or 0
        taken = lambda: sum(s.acknowledged.batches + s.durable.batches for s in books.sheets_of(self.world.channel))
        self.learner.wait_for(lambda: count() > 0 and taken() > 0, "the first update", 60)
        target = count() + updates
        self.learner.wait_for(lambda: count() >= target, f"{updates} updates", 60)

    def _end(self, process, kind):
        began = time.monotonic()
        process.child.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, process.log.read_text()
        self.drains[kind].append(time.monotonic() - began)

    def roll(self, kind):
        self._trains()
        self.watch.take()
        getattr(self, f"_roll_{kind}")()
        self._trains()
        self.gaps[kind].append(self.watch.take())
        self.counts[kind] += 1

    def _roll_actor(self):
        actor, run = self.world.actor, self.world.info.run_id
        self._end(actor, "actor")
        self.world.children.remove(actor)
        # Its last word: the sheet adds up, and the learner has what it says, but for acknowledgements on their way.
        line = next(line for line in actor.log.read_text().splitlines() if "books of policy p, group g" in line)
        for amount in (" batches", " rows"):
            text = line.split(": ", 1)[1].split(" batches; ")[amount == " rows"]
            sheet = {name: int(value) for name, value in re.findall(r"([a-z ]+) (\d+)", text)}
            sheet = {name.strip(" ,"): value for name, value in sheet.items()}
            assert sheet["offered"] == sum(sheet.values()) - sheet["offered"] - sheet["not offered"], line
            learner = books.learner_runs(self.learner.ports()[1])[run]
            inserted = getattr(learner.inserted, amount.strip())
            taken = sheet["durable"] + sheet["acknowledged"]
            assert taken <= inserted <= taken + sheet["in flight"] + sheet["retained"], (line, learner)
        self.world.start_actor()

    def _roll_learner(self):
        learner = self.learner
        self._end(learner, "learner")
        self.world.children.remove(learner)
        sheet = lambda: self.world.sheet()
        self.world.wait_until(lambda: books.pair(sheet().in_flight) == (0, 0), "the stream's end")
        books.reconcile_learner(sheet(), learner.log.read_text())
        assert books.dropped(sheet(), "lost_with_consumer") == (0, 0), sheet()
        self._start_learner()

    def check(self, most_over_drain=5.0):
        """The bar: no gap in training is longer than the drain and five seconds."""
        for kind, gaps in self.gaps.items():
            for gap, drain in zip(gaps, self.drains[kind]):
                assert gap <= drain + most_over_drain, f"{kind}: {gap:.1f} s without an update, drain {drain:.1f} s"

    def finish(self):
        self.watch.stop()
        self.counts["looks at the books"] = self.auditor.stop()

    def close(self):
        self.watch.stop()
        self.world.close()
