# SPDX-License-Identifier: Apache-2.0
"""kill -9 of either side at random moments under load, and the books after each."""
import collections
import random
import signal
import time

from world import World, books


class KillWorld:
    """An actor, one small consumer (a kill loses what it had not saved) and, if asked, a real learner.

    kill_consumer and kill_actor each wait for a random moment of a working system, kill, start again,
    and compare both ends to the row when the consumer is at rest. An auditor looks at the actor's
    sheets all the time.
    """

    LONGEST_WAIT = 0.4

    def __init__(self, folder, seed, learner, **settings):
        self.random = random.Random(seed)
        self.world = World(folder, **settings)
        self.counts = collections.Counter()
        self.lost = {}  # (run, policy) → rows
        self.gaps = []  # actor killed → first batch of the next run, less the outage
        self.world.start_actor()
        self.world.push()
        self.auditor = books.Auditor(self.world.port)
        self.consumer = None
        self._start_consumer()
        self.learner = None
        if learner:
            self._start_learner()

    def _entries(self):
        return self.world.entries("c")

    def _start_consumer(self):
        self.consumer = self.world.start_consumer("c", checkpoint_every=self.random.choice((1, 3)))
        self.world.children.remove(self.consumer)

    def _until_more(self):
        before = len(self._entries())
        self.world.wait_until(lambda: len(self._entries()) > before + 4, "batches")
        time.sleep(self.random.uniform(0, self.LONGEST_WAIT))

    def _rest(self):
        """The consumer ends in order, and both ends must agree."""
        self.consumer.send_signal(signal.SIGTERM)
        assert self.consumer.wait(60) == 0
        self.world.reconcile("c")
        self.counts["reconciled"] += 1
        self.lost[self.world.info.run_id, "p"] = books.dropped(self.world.sheet(), "lost_with_consumer")[1]

    def kill_consumer(self):
        self._until_more()
        self.consumer.kill()
        self.consumer.wait()
        self.counts["consumer kills"] += 1
        self._start_consumer()
        self._until_more()
        self._rest()
        self._start_consumer()

    def kill_actor(self):
        self._until_more()
        old = self.world.info.run_id
        self.world.actor.kill()
        self.counts["actor kills"] += 1
        self.world.start_actor()
        back = time.time()
        self.world.push()
        news = lambda: next((e for e in self._entries() if e.run == self.world.info.run_id), None)
        first = self.world.wait_until(news, "a batch of the new run")
        self.gaps.append(first.seconds - back)
        # The ended run: the journal is the record, each batch in it once.
        ended = [entry.sequence for entry in self._entries() if entry.run == old]
        assert len(ended) == len(set(ended)), "inserted twice"
        self._until_more()
        self._rest()
        self._start_consumer()

    def kill_learner(self):
        """The real learner of policy q. When it has come back and ends in order, its last word is exact."""
        self._learner_more()
        time.sleep(self.random.uniform(0, self.LONGEST_WAIT))
        self.learner.kill()
        self.counts["learner kills"] += 1
        self._start_learner()
        self._learner_more()
        assert self.learner.terminate() == 0, self.learner.log.read_text()
        sheet = lambda: self.world.sheet("g", "q")
        self.world.wait_until(lambda: books.pair(sheet().in_flight) == (0, 0), "the learner's stream to end")
        books.reconcile_learner(sheet(), self.learner.log.read_text())
        self.counts["reconciled"] += 1
        self.lost[sheet().run_id, "q"] = books.dropped(sheet(), "lost_with_consumer")[1]
        self._start_learner()

    def _start_learner(self):
        if self.learner in self.world.children:
            self.world.children.remove(self.learner)
        self.learner = self.world.start_learner(policy="q", device="cpu", resume="last", checkpoint_seconds=1)

    def _learner_more(self):
        """Batches on a stream of this process, not only those of a checkpoint."""
        metrics = self.learner.ports()[0]
        received = lambda: books.learner_sheets(metrics).get("live", {}).get("received", (0, 0))[0]
        opened = lambda: "stream open" in self.learner.log.read_text()
        self.learner.wait_for(opened, "the learner's stream", 60)
        target = received() + 4
        self.learner.wait_for(lambda: received() >= target, "batches of the learner", 60)

    def finish(self):
        self.counts["rows lost with a consumer, counted"] = sum(self.lost.values())
        self.counts["looks at the books"] = self.auditor.stop()
        assert self.counts["looks at the books"] > 0

    def close(self):
        if self.consumer is not None:
            self.consumer.kill()
            self.consumer.wait()
        self.world.close()
