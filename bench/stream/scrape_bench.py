# SPDX-License-Identifier: Apache-2.0
"""Scrapes of an actor with many streams under load, beside idle connections to its metrics port.

  VIXEN_BIN_DIR=build/release/bin VIXEN_SOURCE_DIR=. python3 bench/stream/scrape_bench.py
"""
import argparse
import json
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/fault"))
from world import World, channel_to  # noqa: E402
from consumer import Stream, batches, open_request  # noqa: E402


STREAMS_A_PROCESS = 8


def take(port, group, name):
    """A consumer that takes and acknowledges all it can, until the process is killed."""
    channel = channel_to(port)
    stream = Stream(channel, open_request("p", group, name))
    stream.credit(2)
    for header, _, _ in batches(stream.call):
        stream.acknowledge(header.run_id, header.sequence)
        stream.credit(1)


def take_all(port, numbers, groups):
    threads = [threading.Thread(target=take, args=(port, f"g{i % groups}", f"c{i}")) for i in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main():
    parser = argparse.ArgumentParser(description="Scrapes under load")
    parser.add_argument("--streams", type=int, default=64)
    parser.add_argument("--groups", type=int, default=64)
    parser.add_argument("--scrapes", type=int, default=200)
    parser.add_argument("--idle", type=int, default=500)
    parser.add_argument("--take", help=argparse.SUPPRESS)  # PORT:FIRST: a process of consumers
    flags = parser.parse_args()
    if flags.take:
        port, first = map(int, flags.take.split(":"))
        return take_all(port, range(first, min(first + STREAMS_A_PROCESS, flags.streams)), flags.groups)
    with tempfile.TemporaryDirectory() as folder:
        world = World(folder, episodes=32, steps=64, progress_deadline_seconds=60, keepalive_seconds=60)
        idle = []
        try:
            world.start_actor()
            world.push()
            # Not in this process, whose answers they would hold up.
            for first in range(0, flags.streams, STREAMS_A_PROCESS):
                world.children.append(subprocess.Popen(
                    [sys.executable, __file__, "--take", f"{world.port}:{first}", "--streams", str(flags.streams),
                     "--groups", str(flags.groups)], stderr=subprocess.DEVNULL))
            world.wait_until(lambda: world.metric("vixen_streams_open ") == flags.streams, "all streams", 60)
            idle = [socket.create_connection(("127.0.0.1", world.metrics_port)) for _ in range(flags.idle)]
            produced = lambda: world.metric('vixen_batches_total{policy="p"}')
            before, began, times = produced(), time.monotonic(), []
            for _ in range(flags.scrapes):
                start = time.monotonic()
                text = urllib.request.urlopen(f"http://127.0.0.1:{world.metrics_port}/metrics", timeout=30).read().decode()
                times.append(1e3 * (time.monotonic() - start))
                time.sleep(0.02)
            seconds = time.monotonic() - began
            rate = (produced() - before) / seconds
            inside = {name: float(value) for name, value in
                      re.findall(r"^vixen_scrape_seconds_(sum|count) (\S+)$", text, re.MULTILINE)}
            times.sort()
            print(json.dumps({
                "bench": "scrape", "streams": flags.streams, "groups": flags.groups, "idle_connections": flags.idle,
                "bytes": len(text), "batches_per_second": round(rate, 1), "scrape_ms_median": round(times[len(times) // 2], 2),
                "scrape_ms_p99": round(times[int(0.99 * len(times))], 2), "scrape_ms_most": round(times[-1], 2),
                "collect_and_write_ms_mean": round(1e3 * inside["sum"] / inside["count"], 2)}))
        finally:
            for connection in idle:
                connection.close()
            world.close()


if __name__ == "__main__":
    main()
