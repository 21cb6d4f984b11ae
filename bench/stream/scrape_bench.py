# SPDX-License-Identifier: Apache-2.0
"""Scrapes of an actor with many streams under load, beside idle connections to its metrics port.

  VIXEN_BIN_DIR=build/release/bin VIXEN_SOURCE_DIR=. python3 bench/stream/scrape_bench.py
"""
import argparse
import json
import pathlib
import re
import socket
import sys
import tempfile
import threading
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/fault"))
from world import World, channel_to  # noqa: E402
from consumer import Stream, batches, open_request  # noqa: E402


def take(port, group, name, stopping):
    """A consumer that takes and acknowledges all it can."""
    channel = channel_to(port)
    stream = Stream(channel, open_request("p", group, name))
    stream.credit(2)
    try:
        for header, _, _ in batches(stream.call):
            stream.acknowledge(header.run_id, header.sequence)
            stream.credit(1)
            if stopping.is_set():
                break
    except Exception as ended:  # the actor went first
        if not stopping.is_set():
            print(ended, file=sys.stderr)
    stream.cancel()
    channel.close()


def main():
    parser = argparse.ArgumentParser(description="Scrapes under load")
    parser.add_argument("--streams", type=int, default=64)
    parser.add_argument("--groups", type=int, default=64)
    parser.add_argument("--scrapes", type=int, default=200)
    parser.add_argument("--idle", type=int, default=500)
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        world = World(folder, episodes=32, steps=64, progress_deadline_seconds=60, keepalive_seconds=60)
        stopping = threading.Event()
        idle = []
        try:
            world.start_actor()
            world.push()
            takers = [threading.Thread(target=take, daemon=True,
                                       args=(world.port, f"g{i % flags.groups}", f"c{i}", stopping))
                      for i in range(flags.streams)]
            for taker in takers:
                taker.start()
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
            stopping.set()
            for connection in idle:
                connection.close()
            world.close()


if __name__ == "__main__":
    main()
