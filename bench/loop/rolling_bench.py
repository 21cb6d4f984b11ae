# SPDX-License-Identifier: Apache-2.0
"""Rolling restarts of actor and learner by turns under load: books after each, drains, gaps in training.

  VIXEN_BIN_DIR=build/release/bin VIXEN_SOURCE_DIR=. python3 bench/loop/rolling_bench.py --rounds 20
Exits 1 when the books do not agree or a gap is longer than the drain and 5 s.
"""
import argparse
import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/fault"))
from rolling import RollingWorld  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description="Rolling restarts under load")
    parser.add_argument("--rounds", type=int, default=20, help="restarts of each side")
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        world = RollingWorld(folder)
        try:
            for number in range(flags.rounds):
                for kind in ("actor", "learner"):
                    world.roll(kind)
                    print(f"{number + 1} {kind}: drain {world.drains[kind][-1]:.2f} s, "
                          f"longest time without an update {world.gaps[kind][-1]:.2f} s", file=sys.stderr, flush=True)
            world.finish()
            world.check()
        finally:
            world.close()
        middle = lambda values: round(sorted(values)[len(values) // 2], 2)
        print(json.dumps({"bench": "rolling", **world.counts,
                          **{f"{kind}_{what}_{name}": of(values[kind])
                             for kind in ("actor", "learner")
                             for what, values in (("drain", world.drains), ("gap", world.gaps))
                             for name, of in (("median", middle), ("most", lambda v: round(max(v), 2)))}}))


if __name__ == "__main__":
    main()
