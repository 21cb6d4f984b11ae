# SPDX-License-Identifier: Apache-2.0
"""Long runs of the stream: memory over many small batches, a frozen consumer among ten, freezes of either side.

  soak_bench.py --bin build/release/bin [small_batches|frozen_group|freezes] [--batches 100000] [--seconds 60]
Without a name all of them. One JSON line a figure.
"""
import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def say(figure, **values):
    print(json.dumps({"figure": figure, **values}), flush=True)


def slope(points):
    """Least squares: change of y for one of x."""
    n = len(points)
    mean_x, mean_y = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread


def collect(world, launches):
    command = [world_module.BIN / "vixen", "collect", "--actor", f"127.0.0.1:{world.port}", "--policy", "p",
               "--launches", str(launches), "--summary"]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    world.children.append(child)
    return child


def small_batches(folder, arguments):
    """Resident memory and descriptors of the actor while many batches of 32 rows pass."""
    world = world_module.World(folder)
    try:
        world.start_actor()
        world.push()
        start = time.monotonic()
        child = collect(world, arguments.batches)
        points = []
        while child.poll() is None:
            points.append((world.metric('vixen_batches_total{policy="p"}') or 0, world.rss(), world.descriptors()))
            time.sleep(0.5)
        assert child.returncode == 0, child.returncode
        half = [point for point in points if point[0] >= arguments.batches / 2]
        say("small_batches", batches=arguments.batches, seconds=round(time.monotonic() - start, 1),
            rss_bytes_a_batch_last_half=round(slope([(b, rss) for b, rss, _ in half]), 3),
            rss_first_mib=round(points[len(points) // 10][1] / 2**20, 2), rss_last_mib=round(points[-1][1] / 2**20, 2),
            descriptors=sorted({d for _, _, d in half}))
        books.check_identity(books.sheets_of(world.channel)[0])
    finally:
        world.close()


def frozen_group(folder, arguments):
    """The rate of nine groups beside a tenth that is frozen, against the nine alone, by turns."""
    world = world_module.World(folder, episodes=64, steps=128, keepalive_seconds=2)
    try:
        world.start_actor()
        world.push()
        produced = lambda: world.metric('vixen_batches_total{policy="p"}') or 0
        for _ in range(9):
            collect(world, 10**9)
        world.wait_until(lambda: produced() > 50, "batches")

        def rate(seconds):
            before, start = produced(), time.monotonic()
            time.sleep(seconds)
            return (produced() - before) / (time.monotonic() - start)

        alone, beside, rss = [], [], []
        for _ in range(3):
            alone.append(rate(arguments.seconds / 6))
            tenth = collect(world, 10**9)
            world.wait_until(lambda: world.metric("vixen_streams_open ") == 10, "the tenth")
            tenth.send_signal(signal.SIGSTOP)
            rss.append(world.rss())
            beside.append(rate(arguments.seconds / 6))
            rss.append(world.rss())
            world.wait_until(lambda: world.metric("vixen_streams_open ") == 9, "the frozen one's end")
            tenth.kill()
            tenth.wait()
        loss = 1 - sum(beside) / sum(alone)
        say("frozen_group", groups=10, batches_a_second_alone=[round(r, 1) for r in alone],
            batches_a_second_beside_a_frozen_one=[round(r, 1) for r in beside], loss_percent=round(100 * loss, 2),
            rss_mib=[round(r / 2**20, 1) for r in rss])
        books.sheets_of(world.channel)
    finally:
        world.close()


def freezes(folder, arguments):
    """SIGSTOP of each side for --seconds at the default deadlines: when it is noticed, that it goes on."""
    world = world_module.World(folder, keepalive_seconds=20, progress_deadline_seconds=30)
    try:
        world.start_actor()
        learner = world.start_learner(keepalive_seconds=20)
        metrics = learner.ports()[0]
        received = lambda: books.learner_sheets(metrics).get("live", {}).get("received", (0, 0))[0]
        learner.wait_for(lambda: received() > 5, "batches", 60)

        learner.child.send_signal(signal.SIGSTOP)
        start = time.monotonic()
        world.wait_until(lambda: world.metric("vixen_streams_open ") == 0, "the slot to be free", arguments.seconds)
        noticed = time.monotonic() - start
        time.sleep(max(0.0, arguments.seconds - noticed))
        taken = lambda: sum(s.acknowledged.batches + s.durable.batches for s in books.sheets_of(world.channel))
        before = taken()
        learner.child.send_signal(signal.SIGCONT)
        start = time.monotonic()
        world.wait_until(lambda: world.metric("vixen_streams_open ") == 1 and taken() > before, "a batch", 60)
        say("frozen_learner", seconds=arguments.seconds, slot_free_after_s=round(noticed, 1),
            next_batch_after_s=round(time.monotonic() - start, 2))

        ends = lambda: learner.log.read_text().count("stream ended")
        so_far = ends()
        world.actor.child.send_signal(signal.SIGSTOP)
        start = time.monotonic()
        learner.wait_for(lambda: ends() > so_far, "an end", arguments.seconds)
        noticed = time.monotonic() - start
        time.sleep(max(0.0, arguments.seconds - noticed))
        world.actor.child.send_signal(signal.SIGCONT)
        before, start = taken(), time.monotonic()
        world.wait_until(lambda: taken() > before, "a batch", 60)
        say("frozen_actor", seconds=arguments.seconds, learner_noticed_after_s=round(noticed, 1),
            next_batch_after_s=round(time.monotonic() - start, 2))
        for sheet in books.sheets_of(world.channel):
            assert books.dropped(sheet, "lost_with_consumer") == (0, 0), sheet
    finally:
        world.close()


CASES = {"small_batches": small_batches, "frozen_group": frozen_group, "freezes": freezes}


def main():
    global world_module, books
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", nargs="?", choices=sorted(CASES))
    parser.add_argument("--bin", default=ROOT / "build/release/bin")
    parser.add_argument("--batches", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=60)
    arguments = parser.parse_args()
    os.environ.update(VIXEN_BIN_DIR=str(arguments.bin), VIXEN_SOURCE_DIR=str(ROOT))
    sys.path.insert(0, str(ROOT / "tests/fault"))
    import world as world_module
    import books
    for name, case in CASES.items():
        if arguments.case in (None, name):
            with tempfile.TemporaryDirectory() as folder:
                case(folder, arguments)


if __name__ == "__main__":
    main()
