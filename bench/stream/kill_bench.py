# SPDX-License-Identifier: Apache-2.0
"""kill -9 of actor, small consumer and real learner at random moments; the books after each, to the row.

  kill_bench.py --bin build/release/bin [--kills 1000] [--seconds S] [--seed N] [--learner_every 10] [--pairs 1]
Prints one JSON line with the figures; exits 1 at the first books that do not balance. Every tenth kill
is of a real learner by default: its start takes seconds. With --pairs, that many worlds of an actor and its
consumers run beside each other, each in a process of its own with the next seed, and share the kills.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COUNTS = ("kills", "actor kills", "consumer kills", "learner kills", "reconciled", "looks at the books",
          "rows lost with a consumer, counted")


def run_pairs(arguments, seed):
    """The figures of every pair's process; None for one whose books did not balance."""
    share = -(-arguments.kills // arguments.pairs)
    children = []
    for pair in range(arguments.pairs):
        command = [sys.executable, __file__, "--bin", arguments.bin, "--kills", share, "--seconds", arguments.seconds,
                   "--seed", seed + pair, "--learner_every", arguments.learner_every]
        children.append(subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True))
    outputs = [child.communicate()[0] for child in children]
    return [json.loads(output) if child.returncode == 0 else None for child, output in zip(children, outputs)]


def sum_of(figures, seed):
    good = [figure for figure in figures if figure is not None]
    counts = collections.Counter()
    for figure in good:
        counts.update({name: figure[name] for name in figure if name in COUNTS})
    worst = lambda name: max((figure[name] for figure in good if figure[name] is not None), default=None)
    return {"figure": "kills", "seeds": [seed, seed + len(figures) - 1], "pairs": len(figures), **counts,
            "first_batch_after_restart_s_max": worst("first_batch_after_restart_s_max"),
            "unbalanced": len(figures) - len(good), "seconds": worst("seconds")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=ROOT / "build/release/bin")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no kill after so long")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--learner_every", type=int, default=10, help="0: no learner")
    parser.add_argument("--pairs", type=int, default=1, help="worlds beside each other, each two processes and more")
    arguments = parser.parse_args()
    os.environ.update(VIXEN_BIN_DIR=str(arguments.bin), VIXEN_SOURCE_DIR=str(ROOT))
    sys.path.insert(0, str(ROOT / "tests/fault"))
    from kills import KillWorld

    seed = random.randrange(1 << 32) if arguments.seed is None else arguments.seed
    print(f"seed {seed}", file=sys.stderr)
    if arguments.pairs > 1:
        figure = sum_of(run_pairs(arguments, seed), seed)
        print(json.dumps(figure))
        return 1 if figure["unbalanced"] else 0
    start, done = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as folder:
        world = KillWorld(folder, seed, learner=arguments.learner_every > 0)
        try:
            for kill in range(1, arguments.kills + 1):
                if time.monotonic() - start > arguments.seconds:
                    break
                done = kill
                if arguments.learner_every and kill % arguments.learner_every == 0:
                    world.kill_learner()
                else:
                    world.random.choice((world.kill_actor, world.kill_consumer))()
                if kill % 20 == 0:
                    print(f"{kill} kills, {time.monotonic() - start:.0f} s, {dict(world.counts)}", file=sys.stderr)
            world.finish()
        finally:
            world.close()
    gaps = sorted(world.gaps)
    print(json.dumps({"figure": "kills", "seed": seed, "kills": done, **world.counts,
                      "first_batch_after_restart_s_median": round(gaps[len(gaps) // 2], 3) if gaps else None,
                      "first_batch_after_restart_s_max": round(gaps[-1], 3) if gaps else None,
                      "unbalanced": 0, "seconds": round(time.monotonic() - start)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
