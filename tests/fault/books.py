# SPDX-License-Identifier: Apache-2.0
"""Reconciles the two ends of a stream, to the row.

As a program: books.py --actor PORT [--learner_metrics PORT]; prints both sheets and exits 1 when they
do not agree.
"""
import argparse
import collections
import pathlib
import re
import sys
import threading
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))
from stock_client import actor_pb2, actor_pb2_grpc, channel_to, grpc, learner_pb2, learner_pb2_grpc  # noqa: E402

PARTS = ("durable", "acknowledged", "in_flight", "retained")


def pair(amount):
    return amount.batches, amount.rows


def plus(*pairs):
    return sum(p[0] for p in pairs), sum(p[1] for p in pairs)


def check_identity(sheet):
    """offered = durable + acknowledged + in flight + retained + Σ dropped, in batches and rows."""
    parts = [pair(getattr(sheet, part)) for part in PARTS] + [pair(amount) for amount in sheet.dropped.values()]
    assert pair(sheet.offered) == plus(*parts), f"the actor's books do not balance: {sheet}"


def numbers_of(line):
    """Batches by place, of the line that an actor logs about a group when it stops."""
    return {name: int(value) for name, value in
            (part.rsplit(" ", 1) for part in line.split(": ", 1)[1].split(" batches", 1)[0].split(", "))}


def sheets_of(channel, policy="", group=""):
    """Every sheet of the actor, each checked."""
    answer = actor_pb2_grpc.ActorStub(channel).GetBalance(
        actor_pb2.GetBalanceRequest(policy=policy, group=group), timeout=60)
    for sheet in answer.sheets:
        check_identity(sheet)
    return list(answer.sheets)


def sheet_of(channel, policy, group):
    sheets = sheets_of(channel, policy, group)
    assert len(sheets) == 1, (policy, group, sheets)
    return sheets[0]


def dropped(sheet, reason=None):
    return plus(*(pair(amount) for name, amount in sheet.dropped.items() if reason in (None, name)))


def reconcile(sheet, journals):
    """The actor's sheet of a group at rest against the journals of the group's consumers.

    No consumer has a batch twice, nothing is missing: what consumers hold is what the actor calls
    durable or acknowledged, and the rest of what was offered is retained or dropped with a reason.
    Gives how many batches two consumers hold: one was killed between its insert and its
    acknowledgement, and the batch went to the other before the first came back.
    """
    check_identity(sheet)
    rows = {}
    copies = 0
    for journal in journals:
        own = [entry for entry in journal if entry.run == sheet.run_id]
        twice = [s for s, n in collections.Counter(entry.sequence for entry in own).items() if n > 1]
        assert not twice, f"inserted twice: {twice}"
        copies += len(own)
        rows.update({entry.sequence: entry.rows for entry in own})
    held = len(rows), sum(rows.values())
    assert pair(sheet.in_flight) == (0, 0), f"not at rest: {sheet}"
    taken = plus(pair(sheet.durable), pair(sheet.acknowledged))
    assert held == taken, f"consumers hold {held}, the actor says {taken}: {sheet}"
    assert pair(sheet.offered) == plus(held, pair(sheet.retained), dropped(sheet)), sheet
    return copies - len(rows)


def learner_sheets(metrics_port):
    """The learner's sheets from its metrics: {run: {state: (batches, rows)}}, run `live` or `ended`; each checked."""
    text = urllib.request.urlopen(f"http://127.0.0.1:{metrics_port}/metrics", timeout=60).read().decode()
    sheets = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0]))
    sample = re.compile(r'vixen_learner_sheet_(batches|rows)\{actor="[^"]*",run="(\w+)",state="(\w+)"\} (\S+)')
    for kind, run, state, value in sample.findall(text):
        sheets[run][state][kind == "rows"] += int(float(value))
    for run, states in sheets.items():
        parts = [states[s] for s in list(states) if s in ("inserted", "duplicate") or s.startswith("rejected_")]
        assert tuple(states["received"]) == plus(*parts), f"the learner's books do not balance: {run} {dict(states)}"
    return {run: {state: tuple(value) for state, value in states.items()} for run, states in sheets.items()}


def learner_runs(port):
    """The learner's sheets run by run, from its own service; each checked."""
    with channel_to(port) as channel:
        answer = learner_pb2_grpc.LearnerStub(channel).GetBalance(learner_pb2.LearnerBalanceRequest(), timeout=60)
    for sheet in answer.sheets:
        parts = [pair(sheet.inserted), pair(sheet.duplicate)] + [pair(amount) for amount in sheet.rejected.values()]
        assert pair(sheet.received) == plus(*parts), f"the learner's books do not balance: {sheet}"
    return {sheet.run_id: sheet for sheet in answer.sheets}


def reconcile_learner(sheet, log):
    """The actor's sheet of a group at rest against the last word of the group's only learner."""
    check_identity(sheet)
    line = [line for line in log.splitlines() if f"run {sheet.run_id:016x} of" in line][-1]
    inserted = tuple(map(int, re.search(r"inserted (\d+) batches, (\d+) rows", line).groups()))
    taken = plus(pair(sheet.durable), pair(sheet.acknowledged))
    assert inserted == taken, f"the learner says {inserted}, the actor {taken}: {line} {sheet}"


class Auditor:
    """Asks for the actor's sheets without a pause while faults happen: they must balance at every moment."""

    def __init__(self, port):
        self.port, self.looks, self.failure = port, 0, None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        channel = channel_to(self.port)
        while not self._stopping.wait(0.02):
            try:
                sheets_of(channel)
                self.looks += 1
            except grpc.RpcError:
                continue  # the actor is away
            except AssertionError as failure:
                self.failure = failure
                return
        channel.close()

    def stop(self):
        self._stopping.set()
        self._thread.join(90)
        assert self.failure is None, self.failure
        return self.looks


def main():
    parser = argparse.ArgumentParser(description="Reconciles actor and learner")
    parser.add_argument("--actor", type=int, required=True, help="gRPC port on loopback")
    parser.add_argument("--learner_metrics", type=int, help="metrics port of the group's only learner")
    arguments = parser.parse_args()
    channel = channel_to(arguments.actor)
    before = sheets_of(channel)
    learner = learner_sheets(arguments.learner_metrics) if arguments.learner_metrics else {}
    after = sheets_of(channel)
    for sheet in after:
        print(sheet)
    print(learner)
    if "live" in learner:
        # Acknowledgements follow inserts, so the learner's number lies between the actor's two.
        inserted = learner["live"]["inserted"][1]
        taken = [sum(s.durable.rows + s.acknowledged.rows for s in sheets) for sheets in (before, after)]
        sent = sum(s.in_flight.rows for s in after)
        assert taken[0] <= inserted <= taken[1] + sent, (taken, inserted, sent)
    print("balanced")


if __name__ == "__main__":
    try:
        main()
    except AssertionError as failure:
        print(failure)
        sys.exit(1)
