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
        self.gaps = []  # actor killed → first batch of the next run, less the outage
        self.world.start_actor()
        self.world.push()
        self.auditor = books.Auditor(self.world.port)
        self.consumer = None
        self._start_consumer()
        self.learner = self.world.start_learner(policy="q") if learner else None

    def _entries(self):
        return self.world.entries("c")

    def _start_consumer(self):
        self.consumer = self.world.start_consumer("c", checkpoint_every=self.random.choice((1, 3)))
        self.world.children.remove(self.consumer)

    def _until_more(self):
        before = len(self._entries())
        self.world.wait_until(lambda: len(self._entries()) > before + 4, "batches", 30)
        time.sleep(self.random.uniform(0, self.LONGEST_WAIT))

    def _rest(self):
        """The consumer ends in order, and both ends must agree."""
        self.consumer.send_signal(signal.SIGTERM)
        assert self.consumer.wait(20) == 0
        self.world.reconcile("c")
        self.counts["reconciled"] += 1
        self.counts["lost_with_consumer"] = books.dropped(self.world.sheet(), "lost_with_consumer")[0]

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
        first = self.world.wait_until(news, "a batch of the new run", 30)
        self.gaps.append(first.seconds - back)
        # The ended run: the journal is the record, each batch in it once.
        ended = [entry.sequence for entry in self._entries() if entry.run == old]
        assert len(ended) == len(set(ended)), "inserted twice"
        self._until_more()
        self._rest()
        self._start_consumer()

    def kill_learner(self):
        """The real learner of policy q: between two readings of the actor, its books fit."""
        metrics = self.learner.ports()[0]
        inserted = lambda: books.learner_sheets(metrics).get("live", {}).get("inserted", (0, 0))
        target = inserted()[0] + 4
        self.learner.wait_for(lambda: inserted()[0] >= target, "batches of the learner", 60)
        time.sleep(self.random.uniform(0, self.LONGEST_WAIT))
        before, held, after = self._taken(), inserted(), self._taken(in_flight=True)
        assert before <= held[1] <= after, (before, held, after)
        self.learner.kill()
        self.counts["learner kills"] += 1
        self.learner = self.world.start_learner(policy="q", resume="last", checkpoint_seconds=1)
        self.world.children.pop(-2).kill()
        metrics = self.learner.ports()[0]
        self.learner.wait_for(lambda: inserted()[0] > 0, "batches after the return", 60)
        before, held, after = self._taken(), inserted(), self._taken(in_flight=True)
        assert before <= held[1] <= after, (before, held, after)

    def _taken(self, in_flight=False):
        sheet = self.world.sheet("g", "q")
        return sheet.durable.rows + sheet.acknowledged.rows + (sheet.in_flight.rows if in_flight else 0)

    def finish(self):
        self.counts["looks"] = self.auditor.stop()
        assert self.counts["looks"] > 0

    def close(self):
        if self.consumer is not None:
            self.consumer.kill()
            self.consumer.wait()
        self.world.close()
