# SPDX-License-Identifier: Apache-2.0
"""kill -9 of actor, small consumer and real learner at random moments; the books after each, to the row.

  kill_bench.py --bin build/release/bin [--kills 1000] [--seconds S] [--seed N] [--learner_every 10]
Prints one JSON line with the figures; exits 1 at the first books that do not balance. Every tenth kill
is of a real learner by default: its start takes seconds.
"""
import argparse
import json
import os
import pathlib
import random
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=ROOT / "build/release/bin")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no kill after so long")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--learner_every", type=int, default=10, help="0: no learner")
    arguments = parser.parse_args()
    os.environ.update(VIXEN_BIN_DIR=str(arguments.bin), VIXEN_SOURCE_DIR=str(ROOT))
    sys.path.insert(0, str(ROOT / "tests/fault"))
    from kills import KillWorld

    seed = random.randrange(1 << 32) if arguments.seed is None else arguments.seed
    print(f"seed {seed}", file=sys.stderr)
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


if __name__ == "__main__":
    main()
